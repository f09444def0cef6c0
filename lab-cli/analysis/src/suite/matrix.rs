//! Matrix of a suite: rows of policies, columns of scenarios. `lab suite --output json` writes it as it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::summary::Validity;

/// Version of the layout.
pub const SUITE_SCHEMA: u32 = 1;

/// Least score that a geometric mean takes: one dead cell would make it zero, whatever the others are.
const FLOOR: f64 = 0.01;

/// Policies in scenarios, best first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteMatrix {
    /// [`SUITE_SCHEMA`].
    pub schema: u32,
    /// Version of the lab.
    pub lab: String,
    /// Runs of each policy in each scenario.
    pub repeat: u32,
    /// Names of the scenarios, in their order.
    pub scenarios: Vec<String>,
    /// Facts about them, by name.
    pub about: BTreeMap<String, SuiteScenario>,
    /// Policies.
    pub rows: Vec<SuiteRow>,
}

/// Facts about a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteScenario {
    /// One line.
    pub about: String,
    /// Longest response time of a good answer.
    pub objective_ms: f64,
    /// Reason for which it has no score, if it has none: it is in no mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unscored: Option<String>,
    /// Folder of its run.
    #[serde(skip)]
    pub folder: String,
}

/// A policy in all scenarios.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteRow {
    /// Name of the policy.
    pub policy: String,
    /// Geometric mean of its scores, each taken as .01 at least; `None`: it has none.
    pub geometric_mean: Option<f64>,
    /// The lowest of them.
    pub min: Option<f64>,
    /// Scenario of the lowest.
    pub min_scenario: Option<String>,
    /// Number of scores.
    pub scored: usize,
    /// Figures by scenario.
    pub cells: BTreeMap<String, SuiteCell>,
}

/// A policy in a scenario: medians over the repetitions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuiteCell {
    /// Goodput over the bound `blind` in the worst phase, 1 at most; `None`: there is no such figure.
    pub score: Option<f64>,
    /// Lowest and highest of the repetitions in that phase.
    pub range: Option<[f64; 2]>,
    /// The worst phase.
    pub phase: Option<String>,
    /// 99th percentile of the response times of what was served, in the phase where it is highest.
    pub p99_ms: Option<f64>,
    /// It is more than that: time-outs hide it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub p99_at_least: bool,
    /// Longest time to recover; `None`: there was nothing to recover from.
    pub recovery_s: Option<f64>,
    /// It was longer than that: the phase was over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recovery_at_least: bool,
    /// Goodput over the bound, or what was offered, in the first calm phase, 1 at most.
    pub calm: Option<f64>,
    /// Least share of what it is entitled to that a class or customer had in the busiest phase.
    pub fairness: Option<f64>,
    /// Share of the answers that were less than was asked for, where any was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<f64>,
    /// Worst verdict of its runs; `None`: it was not run, or nobody judged it.
    pub verdict: Option<Validity>,
    /// Reason for which it has no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SuiteRow {
    /// The row of a policy with these figures.
    pub fn of(policy: &str, cells: BTreeMap<String, SuiteCell>, order: &[String]) -> Self {
        let scores: Vec<(f64, &String)> =
            order.iter().filter_map(|name| Some((cells.get(name)?.score?, name))).collect();
        let least = scores.iter().copied().reduce(|least, other| if other.0 < least.0 { other } else { least });
        let logarithms: f64 = scores.iter().map(|(score, _)| libm::log(score.max(FLOOR))).sum();
        Self {
            policy: policy.to_owned(),
            geometric_mean: least.map(|_| rounded(libm::exp(logarithms / scores.len() as f64))),
            min: least.map(|(score, _)| score),
            min_scenario: least.map(|(_, name)| name.clone()),
            scored: scores.len(),
            cells,
        }
    }
}

impl SuiteMatrix {
    /// Puts the best first: by the mean, then by the lowest; what has no score comes last, in the order in which it was.
    pub fn sort(&mut self) {
        let key = |row: &SuiteRow| (row.geometric_mean.unwrap_or(-1.0), row.min.unwrap_or(-1.0));
        self.rows.sort_by(|a, b| {
            let ((mean, min), (other_mean, other_min)) = (key(a), key(b));
            other_mean.total_cmp(&mean).then(other_min.total_cmp(&min))
        });
    }

    /// Scenarios without a score, each with the reason.
    pub fn unscored(&self) -> impl Iterator<Item = (&String, &String)> {
        self.scenarios.iter().filter_map(|name| Some((name, self.about.get(name)?.unscored.as_ref()?)))
    }
}

/// Share with four digits, in which the noise of a run begins long before.
pub(super) fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scores: &[(&str, Option<f64>)]) -> SuiteRow {
        let cell = |score: Option<f64>| SuiteCell { score, ..SuiteCell::default() };
        let cells = scores.iter().map(|(name, score)| ((*name).to_owned(), cell(*score))).collect();
        let order: Vec<String> = scores.iter().map(|(name, _)| (*name).to_owned()).collect();
        SuiteRow::of("codel", cells, &order)
    }

    #[test]
    fn a_dead_cell_is_shown_as_it_is_and_counts_as_a_hundredth() {
        // (1 * 0.25 * 0.01)^(1/3) = 0.1357; the fourth has no score, and is in no mean.
        let found = row(&[("step", Some(1.0)), ("ramp", Some(0.25)), ("cold", Some(0.0)), ("crowd", None)]);
        assert_eq!(
            (found.geometric_mean, found.min, found.min_scenario.as_deref(), found.scored),
            (Some(0.1357), Some(0.0), Some("cold"), 3)
        );
        let none = row(&[("crowd", None)]);
        assert_eq!((none.geometric_mean, none.min, none.min_scenario, none.scored), (None, None, None, 0));
    }

    #[test]
    fn the_best_come_first_and_those_without_a_score_last() {
        let named = |name: &str, mean: Option<f64>, min| SuiteRow {
            policy: name.to_owned(),
            geometric_mean: mean,
            min,
            ..SuiteRow::default()
        };
        let rows = vec![named("a", None, None), named("b", Some(0.5), Some(0.1)), named("c", Some(0.5), Some(0.2))];
        let mut matrix = SuiteMatrix { rows, ..SuiteMatrix::default() };
        matrix.sort();
        let names: Vec<&str> = matrix.rows.iter().map(|row| row.policy.as_str()).collect();
        assert_eq!(names, ["c", "b", "a"]);
    }
}
