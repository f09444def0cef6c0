//! A phase of an arm, by request type and class.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Measured, Measures};

/// One phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// How long it was.
    pub seconds: f64,
    /// Users at most.
    pub users: u32,
    /// Goodput as a share of the oracle's in the same phase and block, where there is an oracle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_oracle: Option<f64>,
    /// What went on beside requests: idle connections, those that come and go, health checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// What follows from its seconds: recovery, fairness, waste, whether it settled.
    #[serde(default, skip_serializing_if = "Measures::is_nothing")]
    pub measures: Measures,
    /// What was measured. A request belongs to the phase of its intended start.
    #[serde(flatten)]
    pub measured: Measured,
    /// By request type.
    #[serde(default)]
    pub by_type: BTreeMap<String, Measured>,
    /// By user class.
    #[serde(default)]
    pub by_class: BTreeMap<String, Measured>,
}

/// Connections that were opened for their own sake, and health checks: in no ledger of requests, and no goodput.
/// `checks = answered + refused + failed + in_flight`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Beside {
    /// Connections made.
    pub connections: u64,
    /// Connections that could not be made.
    pub connect_failed: u64,
    /// Health checks begun.
    pub checks: u64,
    /// Answered as asked.
    pub answered: u64,
    /// Refused because of load.
    pub refused: u64,
    /// Answered otherwise, or not at all.
    pub failed: u64,
    /// Open as the run ended.
    pub in_flight: u64,
}
