//! Verdicts of a comparison, in the form that each output is made of.

use analysis::{
    judge::compare::Across,
    recommend::Recommendation,
    summary::{Comparison, deciding},
};
use serde::Serialize;

use super::sides::NotCompared;

/// Version of the JSON.
pub(super) const SCHEMA: u32 = 1;

/// The output of `lab compare --output json`.
#[derive(Debug, Serialize)]
pub(super) struct Verdicts {
    pub schema: u32,
    pub metric: &'static str,
    pub phase: String,
    /// Runs and arms that were not compared.
    pub left_out: Vec<NotCompared>,
    pub notes: Vec<String>,
    pub comparisons: Vec<Across>,
    /// The arm to deploy; `None`: they are not compared by goodput, or there is no choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommendation: Option<Recommendation>,
}

impl Verdicts {
    pub fn deciding(&self) -> Vec<&Comparison> {
        deciding(self.comparisons.iter().map(|found| &found.comparison))
    }

    /// Comparisons in groups of one metric and one baseline, each with its title.
    pub fn tables(&self) -> impl Iterator<Item = (String, &[Across])> {
        let about = |found: &Across| (found.comparison.metric.clone(), found.comparison.baseline.clone());
        let tables = self.comparisons.chunk_by(move |one, next| about(one) == about(next));
        tables.map(|found| {
            let first = &found[0].comparison;
            let rank = if first.primary { "" } else { " (secondary)" };
            (format!("{} in {} against {}{rank}", first.metric, self.phase, first.baseline), found)
        })
    }
}

/// Lines before the tables: what was left out, then notes.
pub(super) fn asides(left_out: &[NotCompared], notes: &[String]) -> Vec<String> {
    let left_out = left_out.iter().map(|NotCompared { what, why, .. }| format!("left out: {what}: {why}"));
    left_out.chain(notes.iter().map(|note| format!("note: {note}"))).collect()
}
