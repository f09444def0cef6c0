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

impl PhaseSummary {
    /// Its name in tables: one that was cut off says so.
    pub fn shown_name(&self) -> String {
        match (self.cut_off, self.seconds > 0.0) {
            (false, _) => self.name.clone(),
            (true, true) => format!("{} (cut off)", self.name),
            (true, false) => format!("{} (not begun)", self.name),
        }
    }
}
