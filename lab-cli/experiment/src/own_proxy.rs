//! Somebody else's proxy before a service of one's own: its command and its configuration.

mod filled;
mod preset;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workloads::plan::RefusalMarks;

use super::own_service::CommandWords;

pub(super) use filled::{CONFIG, LISTENS, SENDS};
pub use filled::{ProxyPlaces, Template};
pub use preset::{PRESETS, PresetSetting, ProxyPreset};
pub(super) use preset::{PresetValues, preset, preset_setting};

/// Somebody else's proxy. A manifest has neither its arguments nor its configuration, which may be confidential.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OwnProxy {
    /// The preset; `None`: all is written in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Settings of the preset, as its template takes them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The program and its arguments, with places to fill in.
    pub command: CommandWords,
    /// Its configuration, with places to fill in.
    #[serde(skip)]
    pub config: Option<Template>,
    /// The path that shows that requests get through; `None`: the service's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// The marks of what it refuses; `None`: those of the users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusalMarks>,
}
