//! How a limit was looked for.

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
