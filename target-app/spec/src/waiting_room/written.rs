//! A waiting room as files have it, with a rate as people write it: `100/s`, or the number alone.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use controllers::catalogue::parse_time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WaitingRoomSpec, search::HardnessSearch};

/// The most replicas of one waiting room.
const MOST_REPLICAS: usize = 16;

/// A replica among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaSpec {
    /// The address that the others send their reports to.
    pub listen: SocketAddr,
    /// The addresses of the others.
    pub peers: Vec<SocketAddr>,
}

/// Whom a token is given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TokenBinding {
    /// The bearer of a cookie, whatever the address.
    Cookie,
    /// A client's address, as published; the token travels in the URL.
    Address,
}

/// Where settings begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoomPreset {
    /// [`WaitingRoomSpec::as_published`].
    AsPublished,
}

/// Every key has a default; `waiting_room:` with nothing else is one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Written {
    /// Where settings begin. `as-published`: `binding: address`, `single_use: false`, `skew: 0s`, `stay: 0s`, as the paper has it (*WebQ*, sections II and III).
    #[schemars(example = &"as-published")]
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<RoomPreset>,
    /// Requests of hardness 1 that the service takes, for all replicas together; absent: estimated. A change of one that was given comes into force at once.
    #[schemars(with = "Option<String>", example = &"100/s", extend("unit" = "requests a second"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<PerSecond>,
    /// The work of a request by class: a request of class 1 is four of class 0. A class beyond the list counts as its last.
    #[schemars(example = [1.0, 4.0])]
    hardness: Option<Vec<f64>>,
    /// Whom a token is given to. `cookie`: a browser, whatever its address; the token is a cookie (`__Host-lab-turn` under TLS, else `lab-turn`). `address`: whoever has the address of the connection (behind another proxy: that proxy's); the token is in the URL (`lab-turn=…`), and no cookie is needed.
    #[schemars(example = &"address")]
    binding: Option<TokenBinding>,
    /// A turn is taken once, by each replica; at most 65 536 used tokens are remembered, more where the capacity asks for it. What cannot be remembered is told to come again a second later, and counted.
    #[schemars(example = false)]
    single_use: Option<bool>,
    /// How far clocks may differ, and how early or late a turn may be taken: 0 to 30 s.
    #[schemars(example = &"5s", extend("unit" = "time"))]
    skew: Option<String>,
    /// For how long who was let in needs no turn, in whole seconds: a page is more than one request. Requests of those inside are counted against the capacity before new turns are given. A visit that is used goes on. `0s`: each request has a turn of its own.
    #[schemars(example = &"10m", extend("unit" = "time"))]
    stay: Option<String>,
    /// What can be promised, 1 to 3600 s: who would wait longer is told that the queue is full, and when to try again.
    #[schemars(example = &"30m", extend("unit" = "time"))]
    horizon: Option<String>,
    /// The part of the queue (`capacity × horizon`) that one address, or network of 64 bits, may have promised, over 0 to 1: who asks beyond it is told that the queue is full. What it costs: [front-doors.md](../front-doors.md#what-it-does-not). Absent: all of it.
    #[schemars(example = 0.05)]
    #[serde(skip_serializing_if = "Option::is_none")]
    source_share: Option<f64>,
    /// A file of at most 64 KiB in which `{{refresh}}` (a meta element, for the head), `{{wait}}` (2 min 5 s), `{{seconds}}`, `{{at}}` (UTC), `{{title}}`, `{{message}}`, `{{when}}` and `{{advice}}` are filled in; absent: the proxy's own.
    #[schemars(example = &"wait.html")]
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PathBuf>,
    /// A file of mode 0600, a line `NUMBER KEY` for each key of 64 hexadecimal digits; the last one seals. All replicas read the same. Absent: drawn at the start.
    #[schemars(example = &"/etc/lab/keys.txt")]
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<PathBuf>,
    /// What tokens are for: two services with the same keys need two names.
    #[schemars(example = &"tickets")]
    name: Option<String>,
    /// Length of an epoch of the estimate.
    #[schemars(example = &"10s", extend("unit" = "time"))]
    epoch: Option<String>,
    /// Epochs of a training period of the estimate.
    #[schemars(example = 84, extend("unit" = "epochs"))]
    training_epochs: Option<usize>,
    /// How the estimate looks for the hardness of requests.
    #[schemars(example = &"annealing")]
    search: Option<HardnessSearch>,
    /// The addresses of the others, 1 to 15.
    #[schemars(example = ["10.0.0.2:7100", "10.0.0.3:7100"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<Vec<SocketAddr>>,
    /// The address that the others have for this one.
    #[schemars(example = &"10.0.0.1:7100")]
    #[serde(skip_serializing_if = "Option::is_none")]
    listen_replicas: Option<SocketAddr>,
}

impl TryFrom<Written> for WaitingRoomSpec {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let usual = match written.preset {
            Some(RoomPreset::AsPublished) => Self::as_published(),
            None => Self::default(),
        };
        let hardness = written.hardness.unwrap_or(usual.hardness);
        if let Some(wrong) = hardness.iter().find(|hardness| !(0.001..=1000.0).contains(*hardness)) {
            return Err(format!("hardness: {wrong} is none; 1 for the easiest class, up to 1000"));
        }
        let spec = Self {
            capacity: written.capacity.map(|capacity| capacity.read()).transpose()?,
            hardness,
            binding: written.binding.unwrap_or(usual.binding),
            single_use: written.single_use.unwrap_or(usual.single_use),
            skew_s: seconds("skew", written.skew, usual.skew_s)?,
            stay_s: seconds("stay", written.stay, usual.stay_s)?,
            horizon_s: seconds("horizon", written.horizon, usual.horizon_s)?,
            source_share: written.source_share.or(usual.source_share),
            page: written.page,
            keys: written.keys,
            name: written.name.unwrap_or(usual.name),
            epoch_s: seconds("epoch", written.epoch, usual.epoch_s)?,
            training_epochs: written.training_epochs.unwrap_or(usual.training_epochs),
            search: written.search.unwrap_or(usual.search),
            replicas: replicas(written.listen_replicas, written.replicas)?,
        };
        if spec.replicas.is_some() && (spec.capacity.is_none() || spec.keys.is_none()) {
            return Err("replicas: they need a capacity (an estimate sees one replica's requests alone) and the \
                        same file of keys: capacity: 100/s, keys: FILE"
                .to_owned());
        }
        spec.check().map_err(|wrong| wrong.to_string())?;
        Ok(spec)
    }
}

impl From<WaitingRoomSpec> for Written {
    fn from(spec: WaitingRoomSpec) -> Self {
        let time = |seconds: u32| Some(format!("{seconds}s"));
        Self {
            preset: None,
            capacity: spec.capacity.map(PerSecond::of),
            hardness: Some(spec.hardness),
            binding: Some(spec.binding),
            single_use: Some(spec.single_use),
            skew: time(spec.skew_s),
            stay: time(spec.stay_s),
            horizon: time(spec.horizon_s),
            source_share: spec.source_share,
            page: spec.page,
            keys: spec.keys,
            name: Some(spec.name),
            epoch: time(spec.epoch_s),
            training_epochs: Some(spec.training_epochs),
            search: Some(spec.search),
            listen_replicas: spec.replicas.as_ref().map(|replicas| replicas.listen),
            replicas: spec.replicas.map(|replicas| replicas.peers),
        }
    }
}

fn replicas(listen: Option<SocketAddr>, peers: Option<Vec<SocketAddr>>) -> Result<Option<ReplicaSpec>, String> {
    match (listen, peers) {
        (None, None) => Ok(None),
        (Some(listen), Some(peers)) if !peers.is_empty() && peers.len() < MOST_REPLICAS => {
            Ok(Some(ReplicaSpec { listen, peers }))
        }
        (Some(_), Some(peers)) => Err(format!("replicas: {}; 1 to {} others", peers.len(), MOST_REPLICAS - 1)),
        _ => Err("replicas: the addresses of the others, and listen_replicas: the one that they send to; both or none"
            .to_owned()),
    }
}

/// Whole seconds: turns, tokens and the `Refresh` header know nothing finer.
fn seconds(key: &str, text: Option<String>, usual: u32) -> Result<u32, String> {
    let Some(text) = text else { return Ok(usual) };
    let whole = parse_time(&text).filter(|time| time.subsec_nanos() == 0 && *time <= Duration::from_secs(86_400));
    whole
        .and_then(|time| u32::try_from(time.as_secs()).ok())
        .ok_or_else(|| format!("{key}: {text:?} is not a time in whole seconds, up to a day; 5s and 10m are some"))
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum PerSecond {
    Number(f64),
    Text(String),
}

/// The greatest rate.
const MOST: f64 = 1e6;

impl PerSecond {
    /// As it is written again.
    pub(super) fn of(rate: f64) -> Self {
        Self::Text(format!("{rate}/s"))
    }

    /// The rate in events a second.
    ///
    /// # Errors
    /// What it is, and what is one.
    pub(super) fn read(&self) -> Result<f64, String> {
        let rate = match self {
            Self::Number(rate) => Some(*rate),
            Self::Text(text) => text.trim().strip_suffix("/s").and_then(|rate| rate.trim().parse().ok()),
        };
        let written = match self {
            Self::Number(rate) => rate.to_string(),
            Self::Text(text) => format!("{text:?}"),
        };
        rate.filter(|rate| *rate > 0.0 && *rate <= MOST)
            .ok_or_else(|| format!("capacity: {written} is not a rate over 0 and up to 1000000/s; 100/s is one"))
    }
}
