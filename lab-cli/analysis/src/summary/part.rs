//! A part of an arm's users, sent by a generator of its own.

use measure::Shard;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Validity;

/// A part of an arm's users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartSummary {
    /// Which of how many: `2/8`.
    #[schemars(with = "String")]
    pub shard: Shard,
    /// The agent that sent it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Why it is no part of this arm, if it is none: missing, not whole, of another plan, of another version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<String>,
    /// Requests that were due.
    pub planned: u64,
    /// Requests that were written.
    pub sent: u64,
    /// Send lag, 99th percentile.
    pub send_lag_p99_ms: f64,
    /// CPU that its generator used, as a share of a core.
    pub cpu: f64,
    /// Its beginning after that of the first part, by their clocks; `None` in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begins_ms: Option<f64>,
    /// The most by which that may be wrong, since clocks differ; `None`: nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ms: Option<f64>,
    /// Verdict on its generator and machine.
    pub verdict: Validity,
}

impl PartSummary {
    /// The part, with the agent that was to send it.
    pub fn shown_name(&self) -> String {
        match &self.agent {
            Some(agent) => format!("{} ({agent})", self.shard),
            None => self.shard.to_string(),
        }
    }
}
