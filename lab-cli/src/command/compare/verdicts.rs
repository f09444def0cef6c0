//! Verdicts of a comparison, in the form that each output is made of, and the text for a pull request.

use std::fmt::Write as _;

use analysis::{
    judge::compare::{
        Across, sentence,
        words::{answered, chance, different_requests, effect, metric_in_words},
    },
    recommend::Recommendation,
    report::markdown::{escaped, put, recommendation},
    summary::{Comparison, ComparisonVerdict, deciding},
    text::{scrubbed, table::Table},
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

    /// Contests by name, each with a row for each metric, the one that decides first.
    pub fn contests(&self) -> impl Iterator<Item = (String, Table)> {
        let of_a_metric = |one: &Across, next: &Across| one.comparison.metric == next.comparison.metric;
        let contests = self.comparisons.chunk_by(of_a_metric).next().map_or(0, <[_]>::len);
        (0..contests).map(move |at| {
            let mut metrics: Vec<&Across> = self.comparisons.iter().skip(at).step_by(contests).collect();
            metrics.sort_by_key(|found| !found.comparison.primary);
            let mut table = Table::new(&[&format!("in {}", self.phase), "won", "effect", "p"], ..0);
            metrics.iter().for_each(|found| table.row(row(&found.comparison)));
            (title(&metrics), table)
        })
    }

    /// Words of the tables that need saying.
    pub fn words(&self) -> Vec<&'static str> {
        let any = |is: fn(&Comparison) -> bool| self.comparisons.iter().any(|found| is(&found.comparison));
        let others = any(|found| different_requests(found).is_some()).then_some(OTHERS);
        let unknown = any(|found| effect(found).is_none()).then_some("-: hidden by time-outs, or too few samples");
        [Some(WON), others, unknown].into_iter().flatten().collect()
    }
}

const WON: &str = "the first row decides; won: ahead by more than the margin, which chance seldom does (p); equivalent: within the margin; \
                   undecided: the blocks cannot tell";
const OTHERS: &str =
    "p90, p99: of answered requests, here other ones in each arm: undecided where the quicker arm answers fewer";

/// `new against old, 7 pairs of blocks; answers 53 %, old 100 %`.
fn title(metrics: &[&Across]) -> String {
    let Some(surest) = metrics.iter().max_by_key(|found| found.comparison.blocks) else { return String::new() };
    let Comparison { policy, baseline, .. } = &surest.comparison;
    let shares = metrics.iter().find_map(|found| answered(&found.comparison));
    let shares = shares.map_or_else(String::new, |shares| format!("; {shares}"));
    scrubbed(&format!("{policy} against {baseline}, {}{shares}", surest.how()))
}

fn row(comparison: &Comparison) -> [String; 4] {
    let won = match comparison.verdict {
        ComparisonVerdict::Better => &comparison.policy,
        ComparisonVerdict::Worse => &comparison.baseline,
        open => open.word(),
    };
    let chance = if comparison.blocks > 1 { chance(comparison) } else { String::new() };
    let p = chance.strip_prefix("p ").unwrap_or(&chance).to_owned();
    [metric_in_words(&comparison.metric), won.to_owned(), effect(comparison).unwrap_or_else(|| "-".to_owned()), p]
}

/// Lines before the tables: what was left out, then notes.
pub(super) fn asides(left_out: &[NotCompared], notes: &[String]) -> Vec<String> {
    let left_out = left_out.iter().map(|NotCompared { what, why, .. }| format!("left out: {what}: {why}"));
    left_out.chain(notes.iter().map(|note| format!("note: {note}"))).collect()
}

/// A sentence for each comparison that decides, a table for each contest, and what a reader should know.
pub(super) fn document(verdicts: &Verdicts) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", headline(verdicts));
    for (title, table) in verdicts.contests() {
        let _ = writeln!(text, "\n{}\n", escaped(&title));
        put(&table, &mut text);
    }
    let _ = writeln!(text, "\n{}", escaped(&verdicts.words().join(". ")));
    let asides = asides(&verdicts.left_out, &verdicts.notes);
    if !asides.is_empty() {
        text.push('\n');
        asides.iter().for_each(|aside| text.push_str(&format!("- {}\n", escaped(aside))));
    }
    if let Some(recommended) = &verdicts.recommendation {
        let _ = write!(text, "\n{}", recommendation(recommended));
    }
    text
}

fn headline(verdicts: &Verdicts) -> String {
    let lines: Vec<String> =
        verdicts.deciding().into_iter().map(|found| format!("**{}**", escaped(&sentence(found)))).collect();
    lines.join("  \n")
}
