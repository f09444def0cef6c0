//! Figures over the load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure over the load, for one arm: every phase with one load is a point. Only where there are three loads or more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Curve {
    /// The arm.
    pub arm: String,
    /// In order of the load.
    pub points: Vec<CurvePoint>,
}

/// One load. Of several blocks, medians.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CurvePoint {
    /// The phase.
    pub phase: String,
    /// What was planned: users, or sessions or requests a second.
    pub planned: f64,
    /// Blocks that it is made of: INVALID ones are left out.
    pub blocks: u32,
    /// First attempts a second.
    pub offered_per_s: f64,
    /// Intents a second that were met within the objective.
    pub goodput_per_s: f64,
    /// The lowest and the highest of the blocks.
    pub goodput_range: [f64; 2],
    /// Rejected of those sent.
    pub reject_fraction: f64,
    /// 99th percentile of response time.
    pub p99_ms: Option<f64>,
    /// Where time-outs hide it: at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_at_least_ms: Option<f64>,
}
