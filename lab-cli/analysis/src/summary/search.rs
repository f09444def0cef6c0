//! Searches: the work knob before the first arm, and the limit of arms that ask for the best.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the limit of a `best-static` arm was found: each of those tried ran on every seed of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitSearch {
    /// The arm.
    pub arm: String,
    /// Of those tried, the one with the most requests answered in time; of equal ones the lowest.
    pub limit: u32,
    /// All of them, by limit.
    pub tried: Vec<LimitTry>,
}

/// One limit that was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitTry {
    /// The limit.
    pub limit: u32,
    /// Unique wants that were answered within the objective, over all phases and seeds.
    pub in_time: u64,
}

/// The work knob, as it was solved for on the users' own mix, without pauses, before the first arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Requests a second that were asked for.
    pub wanted_per_s: f64,
    /// Requests a second that the last step measured.
    pub measured_per_s: f64,
    /// Extra database operations a request.
    pub operations: f64,
    /// The search.
    pub steps: Vec<CapacityStep>,
    /// Extra database operations a request in arms whose work has weights or a spread of its own, solved for likewise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_operations: BTreeMap<String, f64>,
}

/// One step of the search for a capacity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityStep {
    /// Extra database operations a request.
    pub operations: f64,
    /// Requests a second that this gave.
    pub measured_per_s: f64,
}
