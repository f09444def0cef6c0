//! Percentiles of different requests: an arm that refuses half of them answers the rest sooner, and is not better for it. A percentile of
//! all requests is of the same ones, and may lie among those without an answer.

use super::{Metric, sample::middle};
use crate::summary::{Comparison, ComparisonVerdict, PhaseSummary};

/// The share of what users wanted that had an answer, in time or late; of several blocks the one in the middle. `None` where nothing was
/// wanted.
pub(super) fn answered<'a>(blocks: impl Iterator<Item = &'a PhaseSummary>) -> Option<f64> {
    let mut shares: Vec<f64> = blocks.filter_map(|phase| phase.measured.answered()).collect();
    shares.sort_by(f64::total_cmp);
    (!shares.is_empty()).then(|| middle(&shares))
}

/// Takes back what a percentile says where the side that it favours, or that it calls equal, answers fewer requests, by more than the margin.
pub(super) fn hold_back(comparison: &mut Comparison, metric: Metric, [theirs, ours]: [Option<f64>; 2]) {
    let (Some(theirs), Some(ours)) = (theirs, ours) else { return };
    if metric.is_of_all() && (comparison.bound || comparison.policy_value.is_none()) {
        comparison.answered = Some([theirs, ours]);
    }
    if !metric.is_of_answers() || (theirs - ours).abs() <= comparison.margin {
        return;
    }
    comparison.answered = Some([theirs, ours]);
    let favours_fewer = match comparison.verdict {
        ComparisonVerdict::Better => ours < theirs,
        ComparisonVerdict::Worse => theirs < ours,
        ComparisonVerdict::Equivalent => true,
        ComparisonVerdict::Undecided => false,
    };
    if favours_fewer {
        comparison.verdict = ComparisonVerdict::Undecided;
    }
    if comparison.verdict == ComparisonVerdict::Undecided {
        comparison.more_blocks = None;
    }
}
