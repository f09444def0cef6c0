//! The settings of a waiting room, the same for a proxy and for a plant in virtual time. The machine behind them is
//! [`controllers::webq::WaitingRoom`].

mod search;
mod written;

use std::path::PathBuf;

use controllers::{
    UnixSeconds,
    webq::{BadParams, BookingParams, CheckParams, ReplicaParams, RoomParams, Subunits, TokenGenParams},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use search::HardnessSearch;
use written::Written;
pub use written::{ReplicaSpec, RoomPreset, TokenBinding};

/// A waiting room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Written", into = "Written")]
pub struct WaitingRoomSpec {
    /// Requests of hardness 1 that the service takes a second; `None`: it is estimated.
    pub capacity: Option<f64>,
    /// The hardness of requests by class, as long as it is not estimated; a class beyond the list counts as its last.
    pub hardness: Vec<f64>,
    /// Whom a token is given to.
    pub binding: TokenBinding,
    /// True: a turn is taken once.
    pub single_use: bool,
    /// Seconds by which clocks may differ and users may come early or late, 0 to 30.
    pub skew_s: u32,
    /// Seconds for which a user who was let in needs no turn; 0: each request has a turn of its own.
    pub stay_s: u32,
    /// Seconds that can be promised, 1 to 3600: whoever would wait longer is turned away.
    pub horizon_s: u32,
    /// The part of the queue that one address may have (in IPv6 one network of 64 bits), up to 1; `None`: all of it.
    pub source_share: Option<f64>,
    /// A file with the page for those who wait; `None`: the proxy's own.
    pub page: Option<PathBuf>,
    /// A file with the keys of tokens; `None`: a key that is drawn at the start, and known to this process alone.
    pub keys: Option<PathBuf>,
    /// What tokens are for: services that share keys have different names.
    pub name: String,
    /// Length of an epoch of the estimate, seconds.
    pub epoch_s: u32,
    /// Epochs of a training period.
    pub training_epochs: usize,
    /// How the estimate looks for the hardness of requests.
    pub search: HardnessSearch,
    /// The other replicas; `None`: this is the only one.
    pub replicas: Option<ReplicaSpec>,
}

/// The waiting rooms before a plant in virtual time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomsSpec {
    /// What each of them is. The lab's users keep no cookies: tokens are for their addresses, and there are no visits.
    pub room: WaitingRoomSpec,
    /// Replicas that share the capacity: users of class n ask number n, and the classes begin again after the last.
    pub replicas: u16,
}

/// The shortest memory of used tokens.
const LEAST_MEMORY: usize = 65_536;

/// Slices of time that a memory of used tokens has at most, each as long as a window.
const SLICES: f64 = 3.0;

impl Default for WaitingRoomSpec {
    /// A stay of five minutes is the default of Cloudflare's waiting rooms (`session_duration`); skew and memory are those of
    /// [`CheckParams`], the horizon is that of WebQ's released code, and the estimate that of the paper.
    fn default() -> Self {
        let tokens = TokenGenParams::alone();
        Self {
            capacity: None,
            hardness: vec![1.0],
            binding: TokenBinding::Cookie,
            single_use: true,
            skew_s: CheckParams::default().skew_s,
            stay_s: 300,
            horizon_s: tokens.booking.horizon_s,
            source_share: None,
            page: None,
            keys: None,
            name: "waiting room".to_owned(),
            epoch_s: tokens.epoch_s,
            training_epochs: tokens.training_epochs,
            search: HardnessSearch::default(),
            replicas: None,
        }
    }
}

impl WaitingRoomSpec {
    /// As published: a token for an address, for the promised second alone, as often as it comes in it; each request has a turn
    /// of its own.
    #[must_use]
    pub fn as_published() -> Self {
        Self { binding: TokenBinding::Address, single_use: false, skew_s: 0, stay_s: 0, ..Self::default() }
    }

    /// True for a key of its settings.
    #[must_use]
    pub fn has_key(key: &str) -> bool {
        serde_json::from_value::<Written>(serde_json::json!({ key: null })).is_ok()
    }

    /// These settings with other values for some keys. A preset among them begins anew.
    ///
    /// # Errors
    /// What is wrong with the values.
    pub fn with(&self, changes: impl IntoIterator<Item = (String, serde_json::Value)>) -> Result<Self, String> {
        let changes: serde_json::Map<_, _> = changes.into_iter().collect();
        let mut written = if changes.contains_key("preset") { serde_json::json!({}) } else { serde_json::json!(self) };
        if let Some(keys) = written.as_object_mut() {
            keys.extend(changes);
        }
        serde_json::from_value(written).map_err(|error| error.to_string())
    }

    /// The machine's settings, for a process that starts now.
    #[must_use]
    pub fn params(&self, replica: ReplicaParams, started: UnixSeconds) -> RoomParams {
        RoomParams {
            tokens: TokenGenParams {
                booking: BookingParams { horizon_s: self.horizon_s, replica, started },
                hardness: self.hardness(),
                estimates: self.capacity.is_none(),
                epoch_s: self.epoch_s,
                training_epochs: self.training_epochs,
                ..TokenGenParams::alone()
            },
            check: CheckParams { skew_s: self.skew_s, single_use: self.single_use.then(|| self.memory()) },
            stay_s: self.stay_s,
            source_share: self.source_share,
        }
    }

    /// The capacity as the machine takes it.
    #[must_use]
    pub fn capacity(&self) -> Option<Subunits> {
        self.capacity.map(Subunits::of)
    }

    /// The hardness by class as the machine takes it.
    #[must_use]
    pub fn hardness(&self) -> Vec<Subunits> {
        self.hardness.iter().copied().map(Subunits::of).collect()
    }

    /// The number of the request type of a class.
    #[must_use]
    pub fn kind(&self, class: u8) -> usize {
        usize::from(class).min(self.hardness.len().saturating_sub(1))
    }

    /// Room for all turns that can come while one is remembered, twice the promised ones.
    fn memory(&self) -> usize {
        let window = f64::from(2 * self.skew_s + 1);
        let least = self.hardness.iter().copied().fold(f64::INFINITY, f64::min);
        let turns = self.capacity.unwrap_or(0.0) / least.max(f64::MIN_POSITIVE) * window * SLICES;
        LEAST_MEMORY.max(turns.ceil() as usize)
    }

    /// The longest life of a token, seconds: the longest wait or stay, and a window.
    #[must_use]
    pub fn longest_life_s(&self) -> u64 {
        u64::from(self.horizon_s.max(self.stay_s)) + u64::from(self.skew_s) + 1
    }

    /// What the machine says of the settings.
    ///
    /// # Errors
    /// The first that is out of range.
    pub fn check(&self) -> Result<(), BadParams> {
        controllers::webq::WaitingRoom::new(&self.params(ReplicaParams::alone(), UnixSeconds(0))).map(drop)
    }
}

#[cfg(test)]
mod tests;
