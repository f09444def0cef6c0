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
    ArmVerdict {
        word: word(found),
        metric: found.metric.clone(),
        phase: found.phase.clone(),
        effect: words::effect_and_needs(found),
    }
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
