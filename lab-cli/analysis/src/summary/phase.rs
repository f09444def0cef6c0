//! A phase of an arm, by request type and class.

use std::collections::BTreeMap;

use measure::{BackgroundLedger, Replies};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Measured, Measures};

/// One phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Phase")]
pub struct PhaseSummary {
    /// Its name.
    pub name: String,
    /// How long it was.
    pub seconds: f64,
    /// The run was stopped before its end: `seconds` is how long it lasted until then, 0 if it had not begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// Users at most.
    pub users: u32,
    /// Goodput as a share of the oracle's in the same phase and block, where there is an oracle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_oracle: Option<f64>,
    /// What went on beside requests: idle connections, those that come and go, health checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<BackgroundLedger>,
    /// What follows from its seconds: recovery, fairness, waste, whether it settled.
    #[serde(default, skip_serializing_if = "Measures::is_nothing")]
    pub measures: Measures,
    /// What was measured. A request belongs to the phase of its intended start.
    #[serde(flatten)]
    pub measured: Measured,
    /// Answers by HTTP status, and errors by their text.
    #[serde(flatten)]
    pub replies: Replies,
    /// By request type.
    #[serde(default)]
    pub by_type: BTreeMap<String, Measured>,
    /// By user class.
    #[serde(default)]
    pub by_class: BTreeMap<String, Measured>,
}

/// The busiest of these phases: the one with the most requests per second, which an experiment that names no phase is about. A long
/// calm phase has more requests in all than a short overload.
pub fn busiest<'a>(phases: impl IntoIterator<Item = &'a PhaseSummary>) -> Option<&'a PhaseSummary> {
    phases.into_iter().max_by(|a, b| a.planned_per_s().total_cmp(&b.planned_per_s()))
}

impl PhaseSummary {
    /// Requests per second that were to be sent, retries included; 0 in a phase that had not begun.
    fn planned_per_s(&self) -> f64 {
        if self.seconds > 0.0 { self.measured.planned as f64 / self.seconds } else { 0.0 }
    }

    /// Its name in tables: one that was cut off says so.
    pub fn shown_name(&self) -> String {
        match (self.cut_off, self.seconds > 0.0) {
            (false, _) => self.name.clone(),
            (true, true) => format!("{} (cut off)", self.name),
            (true, false) => format!("{} (not begun)", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_overload_is_busier_than_a_long_calm_phase() {
        let phase = |name: &str, seconds: f64, planned: u64| PhaseSummary {
            name: name.to_owned(),
            seconds,
            measured: Measured { planned, ..Measured::default() },
            ..PhaseSummary::default()
        };
        let phases = [phase("calm", 60.0, 6_000), phase("spike", 10.0, 4_000), phase("not begun", 0.0, 0)];
        assert_eq!(busiest(&phases).map(|phase| phase.name.as_str()), Some("spike"));
        assert!(busiest([]).is_none());
    }
}
