//! The plan of a run, as far as measures depend on it.

use serde::{Deserialize, Serialize};

use crate::summary::{LatencyObjective, PlannedLoad};

/// Planned phases and faults, as far as measures depend on them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuresPlan {
    /// The promise.
    pub objective: LatencyObjective,
    /// Phases in order.
    pub phases: Vec<PlannedPhase>,
    /// Begin and end of each fault, in seconds of the arm.
    pub faults: Vec<(f64, f64)>,
    /// Requests a second that the service can serve, where that is known.
    #[serde(default)]
    pub capacity_per_s: Option<f64>,
}

/// A phase of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedPhase {
    /// Name in the experiment file.
    pub name: String,
    /// Length of the phase.
    pub seconds: f64,
    /// Load, where that stays the same.
    pub load: Option<PlannedLoad>,
    /// The highest load that it plans; `None` where that cannot be told, as for a recording.
    #[serde(default)]
    pub peak: Option<PlannedLoad>,
    /// `steady` of the file.
    pub steady: Option<bool>,
}
