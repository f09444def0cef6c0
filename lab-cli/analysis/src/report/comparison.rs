//! The table of comparisons.

use std::fmt::Write as _;

use crate::{
    judge::compare::words::{chance, in_words, metric_in_words},
    summary::{Comparison, RunSummary},
    text::{percent, scrubbed, table::Table},
};

/// The table of a run with several blocks; nothing for one block, which decides nothing.
pub(super) fn table(summary: &RunSummary) -> String {
    let several = |comparison: &&Comparison| comparison.blocks > 1;
    let mut text = String::new();
    let mut said = None;
    for comparison in summary.comparisons.iter().filter(several) {
        let Comparison { metric, phase, baseline, primary, blocks, .. } = comparison;
        if said != Some(metric) {
            said = Some(metric);
            let rank = if *primary { "" } else { " (secondary)" };
            let _ = writeln!(
                text,
                "{} in {} against {}, {blocks} blocks{rank}",
                scrubbed(metric),
                scrubbed(phase),
                scrubbed(baseline)
            );
        }
        let _ =
            writeln!(text, "  {:14} {}, {}", scrubbed(&comparison.policy), in_words(comparison), chance(comparison));
    }
    text
}

/// Rows of these comparisons, of whatever metric and arm.
pub(super) fn rows(comparisons: &[&Comparison]) -> Table {
    let mut table = Table::new(&["metric", "phase", "arm", "baseline", "result", "p", "margin", "blocks"], 5..);
    for found in comparisons {
        let Comparison { metric, phase, policy, baseline, primary, blocks, margin, .. } = found;
        let metric = metric_in_words(metric) + if *primary { "" } else { " (secondary)" };
        let p = chance(found).trim_start_matches("p ").to_owned();
        let [phase, policy, baseline] = [phase, policy, baseline].map(Clone::clone);
        table.row([metric, phase, policy, baseline, in_words(found), p, percent(*margin), blocks.to_string()]);
    }
    table
}

/// End of a comparison that ran until it was decided; nothing where the number of blocks was fixed.
pub(super) fn decision(summary: &RunSummary) -> String {
    let Some(decision) = &summary.decision else { return String::new() };
    let open: String = decision.open_points().map(|line| format!("  {}\n", scrubbed(&line))).collect();
    format!("{}\n{open}", decision.in_words())
}
