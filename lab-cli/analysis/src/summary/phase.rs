//! A phase of an arm, by request type and class.

use std::collections::{BTreeMap, BTreeSet};

use measure::{BackgroundLedger, Replies};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Measured, Measures, PhaseRole, PlannedLoad};

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
    /// Goodput as a share of what no policy exceeds in the mean that does not know sizes, where that was computed: for all arms of a block,
    /// or for the tasks that each was given (`blind_per_s`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_blind: Option<f64>,
    /// Of that bound itself: requests a second by which a single run may exceed it by chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_chance_per_s: Option<f64>,
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

/// The busiest of these phases, which an experiment that names none is about: of those with overload or a fault, else of all, the one
/// with the highest load, and of equal ones the longest. Loads are those of the plan; where one has none there, or they have several
/// units, they are what was offered per second. A phase that had not begun is none.
pub fn busiest<'a>(phases: impl IntoIterator<Item = &'a PhaseSummary>) -> Option<&'a PhaseSummary> {
    let begun: Vec<&PhaseSummary> = phases.into_iter().filter(|phase| phase.seconds > 0.0).collect();
    let is_stress = |phase: &&PhaseSummary| phase.measures.role.is_some_and(PhaseRole::is_stress);
    let stress: Vec<&PhaseSummary> = begun.iter().copied().filter(is_stress).collect();
    let of = if stress.is_empty() { begun } else { stress };
    let units: BTreeSet<Option<&str>> = of.iter().map(|phase| phase.measures.load.map(PlannedLoad::unit)).collect();
    let planned = units.len() == 1 && !units.contains(&None);
    let load = |phase: &PhaseSummary| match phase.measures.load {
        Some(load) if planned => load.amount(),
        _ => phase.measured.offered_per_s,
    };
    // Of equal ones the first.
    of.into_iter().rev().max_by(|a, b| load(a).total_cmp(&load(b)).then(a.seconds.total_cmp(&b.seconds)))
}

impl PhaseSummary {
    /// Name in tables: one that was cut off says so.
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

    fn phase(name: &str, seconds: f64, role: Option<PhaseRole>, load: Option<PlannedLoad>) -> PhaseSummary {
        let measures = Measures { role, load, ..Measures::default() };
        PhaseSummary { name: name.to_owned(), seconds, measures, ..PhaseSummary::default() }
    }

    fn name(phases: &[PhaseSummary]) -> Option<&str> {
        busiest(phases).map(|phase| phase.name.as_str())
    }

    #[test]
    fn a_short_overload_is_what_it_is_about_and_not_a_long_calm_phase() {
        let users = |users: u32| Some(PlannedLoad::Users(users));
        let phases = [
            phase("calm", 600.0, Some(PhaseRole::Calm), users(3)),
            // It climbs to as many.
            phase("spike begins", 15.0, Some(PhaseRole::Overload), users(1000)),
            phase("spike", 105.0, Some(PhaseRole::Overload), users(1000)),
            phase("after", 60.0, Some(PhaseRole::After), users(3)),
        ];
        assert_eq!(name(&phases), Some("spike"));
    }

    #[test]
    fn a_fault_under_a_calm_load_counts_as_busy() {
        let rate = |rate: f64| Some(PlannedLoad::RequestsPerS(rate));
        let phases = [
            phase("before", 20.0, Some(PhaseRole::Calm), rate(80.0)),
            phase("fault", 10.0, Some(PhaseRole::Fault), rate(70.0)),
        ];
        assert_eq!(name(&phases), Some("fault"));
    }

    #[test]
    fn without_a_planned_load_it_is_what_was_offered() {
        let offered = |name: &str, offered_per_s: f64| PhaseSummary {
            measured: Measured { offered_per_s, ..Measured::default() },
            ..phase(name, 10.0, None, None)
        };
        let late = PhaseSummary { seconds: 0.0, ..offered("not begun", 900.0) };
        assert_eq!(name(&[offered("a", 5.0), offered("b", 7.0), offered("c", 7.0), late]), Some("b"));
        assert_eq!(name(&[]), None);
    }
}
