//! Comparisons in words.

use std::fmt::Write as _;

use crate::{
    summary::{Comparison, Summary},
    text::scrubbed,
};

/// `x1.20 [1.10, 1.31]`: how the policy compares, and where that lies; `None` if nothing is known.
pub fn effect(comparison: &Comparison) -> Option<String> {
    let effect = match (comparison.ratio, comparison.difference) {
        (Some(ratio), _) => format!("x{ratio:.2}"),
        (None, Some(points)) => format!("{:+.1} points", points * 100.0),
        (None, None) => return None,
    };
    let scale = if comparison.ratio.is_some() { 1.0 } else { 100.0 };
    let interval = comparison.interval.map(|ends| ends.map(|end| end * scale));
    let interval = interval.map_or_else(String::new, |[low, high]| format!(" [{low:.2}, {high:.2}]"));
    let bound = if comparison.bound { " or further" } else { "" };
    Some(format!("{effect}{bound}{interval}"))
}

/// `x1.20 [1.10, 1.31] different`, or `~` before what does not say anything for sure.
pub fn in_words(comparison: &Comparison) -> String {
    let Some(effect) = effect(comparison) else { return "~".to_owned() };
    match (comparison.verdict.as_str(), comparison.more_blocks) {
        ("inconclusive", Some(more)) => format!("~ {effect}, about {more} more blocks"),
        ("inconclusive", None) => format!("~ {effect}"),
        (known, _) => format!("{effect} {}", scrubbed(known)),
    }
}

/// The table of a run with several blocks; nothing for one block, which decides nothing.
pub(super) fn table(summary: &Summary) -> String {
    let several = |comparison: &&Comparison| comparison.blocks > 1;
    let mut text = String::new();
    let mut said = None;
    for comparison in summary.comparisons.iter().filter(several) {
        let Comparison { metric, phase, baseline, primary, blocks, .. } = comparison;
        if said != Some(metric) {
            said = Some(metric);
            let rank = if *primary { "" } else { " (to look at)" };
            let _ = writeln!(
                text,
                "{} in {} against {}, {blocks} blocks{rank}",
                scrubbed(metric),
                scrubbed(phase),
                scrubbed(baseline)
            );
        }
        let p = comparison.p_adjusted.map_or_else(String::new, |p| format!(", p {p:.3}"));
        let _ = writeln!(text, "  {:14} {}{p}", scrubbed(&comparison.policy), in_words(comparison));
    }
    text
}
