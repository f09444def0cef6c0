//! Verdicts of a comparison, in the form that each output is made of.

use analysis::{
    judge::compare::{
        Across,
        words::{asides as of_effect, chance, effect},
    },
    recommend::Recommendation,
    summary::{Comparison, ComparisonVerdict, deciding},
    text::table::Table,
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

    /// A table for each metric: who won, by how much, and how sure that is.
    pub fn tables(&self) -> impl Iterator<Item = Table> {
        let metrics = self.comparisons.chunk_by(|one, next| one.comparison.metric == next.comparison.metric);
        metrics.map(|found| {
            let first = &found[0].comparison;
            let rank = if first.primary { "" } else { " (secondary)" };
            let title = format!("{} in {}{rank}", first.metric, self.phase);
            let mut table = Table::new(&[&title, "against", "won", "effect", "p", "how"], ..0);
            found.iter().for_each(|found| table.row(row(found)));
            table
        })
    }
}

fn row(found: &Across) -> [String; 6] {
    let comparison = &found.comparison;
    let won = match comparison.verdict {
        ComparisonVerdict::Better => &comparison.policy,
        ComparisonVerdict::Worse => &comparison.baseline,
        open => open.word(),
    };
    let chance = if comparison.blocks > 1 { chance(comparison) } else { String::new() };
    let p = chance.strip_prefix("p ").unwrap_or(&chance).to_owned();
    let effect = effect(comparison).unwrap_or_else(|| "-".to_owned()) + &of_effect(comparison);
    [comparison.policy.clone(), comparison.baseline.clone(), won.to_owned(), effect, p, found.how()]
}

/// Lines before the tables: what was left out, then notes.
pub(super) fn asides(left_out: &[NotCompared], notes: &[String]) -> Vec<String> {
    let left_out = left_out.iter().map(|NotCompared { what, why, .. }| format!("left out: {what}: {why}"));
    left_out.chain(notes.iter().map(|note| format!("note: {note}"))).collect()
}
