//! A/A and POWER: an arm against itself. What differs there is the noise of the lab.

use super::{invalid, warn};
use crate::summary::{Comparison, Reason};

/// Judges comparisons of arms that are the same but for their names. Only the metric that decides: of four metrics one is
/// more often different by chance than the test says.
pub fn judge_twins(noise_floor: &[Comparison]) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for twins in noise_floor.iter().filter(|comparison| comparison.primary) {
        let Comparison { metric, phase, baseline, policy, margin, .. } = twins;
        let named = format!("{metric} of {policy} and {baseline} in {phase}");
        if twins.verdict == "different" {
            reasons.push(invalid(
                "A/A",
                format!("{named}: {}", crate::judge::compare::words::in_words(twins)),
                "not different".to_owned(),
                "two arms that are the same came out different: so may any other two",
                "look at the order of the blocks in manifest.json and at what else ran; repeat on a quiet machine",
            ));
            continue;
        }
        // On the scale on which the interval is given: a ratio's nothing is 1.
        let nothing = if twins.ratio.is_some() { 1.0 } else { 0.0 };
        let floor = twins.interval.map(|[low, high]| (high - nothing).max(nothing - low));
        if let Some(floor) = floor.filter(|floor| floor > margin) {
            reasons.push(warn(
                "POWER",
                format!("{named}: known to {:.1} % only", floor * 100.0),
                format!("{:.1} %, the margin", margin * 100.0),
                "the noise is larger than what is said to matter: no two arms can come out equivalent",
                "repeat more often (repeat), run longer phases, or declare a larger margin (compare.margin)",
            ));
        }
    }
    reasons
}
