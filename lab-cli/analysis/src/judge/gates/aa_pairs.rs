//! A/A and POWER: an arm against itself. What differs there is the noise of the lab.

use super::gate::{Check, Reasons, ValidityGate};
use crate::{
    judge::compare::words::in_words,
    summary::{Comparison, Validity},
};

pub(super) const A_A: ValidityGate = ValidityGate {
    code: "A/A",
    verdicts: &[Validity::Invalid],
    finds: "two arms that are the same came out different",
    limit: "the verdict of the comparison",
    remedy: "repeat on a quiet machine",
    checks: &[Check::Twins(different)],
    reading: |run| run.twins(|found| found.verdict.word().to_owned()),
};

fn different(twins: &Comparison, reasons: &mut Reasons) {
    if twins.verdict.is_different() {
        reasons.invalid(
            format!("{}: {}", named(twins), in_words(twins)),
            "not different",
            "two arms that are the same came out different: so may any other two",
            "look at the order of the blocks in manifest.json and at what else ran; repeat on a quiet machine",
        );
    }
}

pub(super) const POWER: ValidityGate = ValidityGate {
    code: "POWER",
    verdicts: &[Validity::Warn],
    finds: "the noise between two arms that are the same is larger than the margin: nothing can come out equivalent",
    limit: "compare.margin",
    remedy: "more blocks, longer phases, a larger margin",
    checks: &[Check::Twins(noisy)],
    reading: |run| run.twins(in_words),
};

fn noisy(twins: &Comparison, reasons: &mut Reasons) {
    if twins.verdict.is_different() {
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
