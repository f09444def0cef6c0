//! The plan of a run, as far as measures depend on it.

use serde::{Deserialize, Serialize};

use crate::summary::{LatencyObjective, PlannedLoad};

/// What was planned, as far as measures depend on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuresPlan {
    /// The promise.
    pub objective: LatencyObjective,
    /// In order.
    pub phases: Vec<PlannedPhase>,
    /// When faults begin, and when they are over, in seconds of the arm.
    pub faults: Vec<(f64, f64)>,
    /// Requests a second that the service can serve, where that is known.
    #[serde(default)]
    pub capacity_per_s: Option<f64>,
}

/// A phase of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedPhase {
    /// Its name.
    pub name: String,
    /// Its length.
    pub seconds: f64,
    /// Its load, where that stays the same.
    pub load: Option<PlannedLoad>,
    /// The highest load that it plans; `None` where that cannot be told, as for a recording.
    #[serde(default)]
    pub peak: Option<PlannedLoad>,
    /// `steady` of the file.
    pub steady: Option<bool>,
}
