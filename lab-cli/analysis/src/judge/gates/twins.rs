//! A/A and POWER: an arm against itself. What differs there is the noise of the lab.

use super::{Check, Gate, Reasons};
use crate::{
    judge::compare::{Decision, words::in_words},
    summary::{Comparison, Verdict},
};

pub(super) const A_A: Gate = Gate {
    code: "A/A",
    verdicts: &[Verdict::Invalid],
    finds: "two arms that are the same came out different",
    limit: "the verdict of the comparison",
    remedy: "repeat on a quiet machine",
    checks: &[Check::Twins(different)],
    reading: |run| run.twins(|found| found.verdict.clone()),
};

fn different(twins: &Comparison, reasons: &mut Reasons) {
    if twins.verdict == Decision::Different.word() {
        reasons.invalid(
            format!("{}: {}", named(twins), in_words(twins)),
            "not different",
            "two arms that are the same came out different: so may any other two",
            "look at the order of the blocks in manifest.json and at what else ran; repeat on a quiet machine",
        );
    }
}

pub(super) const POWER: Gate = Gate {
    code: "POWER",
    verdicts: &[Verdict::Warn],
    finds: "the noise between two arms that are the same is larger than the margin: nothing can come out equivalent",
    limit: "compare.margin",
    remedy: "more blocks, longer phases, a larger margin",
    checks: &[Check::Twins(noisy)],
    reading: |run| run.twins(in_words),
};

fn noisy(twins: &Comparison, reasons: &mut Reasons) {
    if twins.verdict == Decision::Different.word() {
        return;
    }
    // On the scale on which the interval is given: a ratio's nothing is 1.
    let nothing = if twins.ratio.is_some() { 1.0 } else { 0.0 };
    let floor = twins.interval.map(|[low, high]| (high - nothing).max(nothing - low));
    if let Some(floor) = floor.filter(|floor| *floor > twins.margin) {
        reasons.warn(
            format!("{}: known to {:.1} % only", named(twins), floor * 100.0),
            format!("{:.1} %, the margin", twins.margin * 100.0),
            "the noise is larger than what is said to matter: no two arms can come out equivalent",
            "repeat more often (repeat), run longer phases, or declare a larger margin (compare.margin)",
        );
    }
}

fn named(twins: &Comparison) -> String {
    let Comparison { metric, phase, baseline, policy, .. } = twins;
    format!("{metric} of {policy} and {baseline} in {phase}")
}
