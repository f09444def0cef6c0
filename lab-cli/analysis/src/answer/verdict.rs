//! An arm against the baseline, in a word.

use crate::{
    judge::compare::words,
    summary::{ArmVerdict, ArmVerdictWord, Comparison, ComparisonVerdict, RunSummary},
};

/// Verdict in the metric that decides.
pub(super) fn of(arm: &str, baseline: &str, summary: &RunSummary) -> ArmVerdict {
    if !summary.valid {
        return ArmVerdict::default();
    }
    if arm == baseline {
        return ArmVerdict { word: ArmVerdictWord::Baseline, ..ArmVerdict::default() };
    }
    let found = summary.comparisons.iter().find(|found| found.primary && found.policy == arm);
    let Some(found) = found else { return ArmVerdict::default() };
    let word = word(found);
    // How many blocks one block lacks is said once, of all arms.
    let effect = match word {
        ArmVerdictWord::OneBlock => words::effect_and_requests(found),
        _ => words::effect_and_needs(found),
    };
    ArmVerdict { word, metric: found.metric.clone(), phase: found.phase.clone(), effect }
}

fn word(found: &Comparison) -> ArmVerdictWord {
    match found.verdict {
        _ if found.blocks < 2 => ArmVerdictWord::OneBlock,
        ComparisonVerdict::Better => ArmVerdictWord::Better,
        ComparisonVerdict::Worse => ArmVerdictWord::Worse,
        ComparisonVerdict::Equivalent => ArmVerdictWord::Equivalent,
        ComparisonVerdict::Undecided => ArmVerdictWord::Undecided,
    }
}
