//! What can be seen of a site.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Gauge;

/// One stage, or what looks like one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageGauges {
    /// Its name.
    pub name: String,
    /// Jobs waiting.
    pub queue: u32,
    /// Workers that exist.
    pub workers: u32,
    /// Workers without work.
    pub idle: u32,
    /// Largest batch.
    pub batch: u32,
    /// Jobs that asked, since the start.
    pub offered: u64,
    /// Let in.
    pub admitted: u64,
    /// Turned away.
    pub refused: u64,
    /// Finished.
    pub completed: u64,
    /// Time that workers were busy, milliseconds, since the start.
    pub busy_ms: f64,
    /// What its policy and machines show: `admission_rate_per_s`, `p90_ms`, `quality`, `limit`; with a class: `name[class]`.
    pub policy: BTreeMap<String, f64>,
    /// What else is counted here, since the start: `attempt_0`, the first attempts that came.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// Which policy sits here; empty where none can.
    #[serde(default)]
    pub policy_name: String,
}

/// Writes a gauge down by its name; with a class, `name[class]`.
pub(super) fn write_down(into: &mut BTreeMap<String, f64>, gauge: Gauge, value: f64) {
    let name = match gauge.class {
        Some(class) => format!("{}[{}]", gauge.name, class.0),
        None => gauge.name.to_owned(),
    };
    into.insert(name, value);
}

/// A length as gauges and facts have it.
pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
