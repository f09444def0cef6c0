//! A waiting room as files have it.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use controllers::catalogue::parse_time;
use serde::{Deserialize, Serialize};

use super::{HardnessSearch, ReplicaSpec, TokenBinding, WaitingRoomSpec, per_second::PerSecond};

/// The most replicas of one waiting room.
const MOST_REPLICAS: usize = 16;

/// Where settings begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoomPreset {
    /// [`WaitingRoomSpec::as_published`].
    AsPublished,
}

/// The keys.
pub(super) const KEYS: [&str; 17] = [
    "preset",
    "capacity",
    "hardness",
    "binding",
    "single_use",
    "skew",
    "stay",
    "horizon",
    "source_share",
    "page",
    "keys",
    "name",
    "epoch",
    "training_epochs",
    "search",
    "replicas",
    "listen_replicas",
];

/// Every key has a default; `waiting_room:` with nothing else is one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<RoomPreset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<PerSecond>,
    hardness: Option<Vec<f64>>,
    binding: Option<TokenBinding>,
    single_use: Option<bool>,
    skew: Option<String>,
    stay: Option<String>,
    horizon: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<PathBuf>,
    name: Option<String>,
    epoch: Option<String>,
    training_epochs: Option<usize>,
    search: Option<HardnessSearch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<Vec<SocketAddr>>,
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
