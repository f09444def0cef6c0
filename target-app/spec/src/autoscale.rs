//! Horizontal autoscaling of a service.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Horizontal autoscaling of a service by the CPU use of its tasks, whose number goes from `min` to
/// [`tasks`](crate::services::ServiceSpec::tasks).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutoscaleSpec {
    /// Fewest tasks.
    pub min: u32,
    /// Tasks at the start of the run.
    pub first: u32,
    /// Mean CPU use of a task that is aimed at, as a share of its processors.
    pub utilization: f64,
    /// Relative deviation from it that changes nothing.
    pub tolerance: f64,
    /// Time between two looks.
    #[serde(with = "controllers::millis")]
    pub period: Duration,
    /// The number goes down to the highest that was wanted within this time.
    #[serde(with = "controllers::millis")]
    pub down: Duration,
    /// Time from the decision until a new task takes requests.
    #[serde(with = "controllers::millis")]
    pub start: Duration,
}
