//! EXCLUDED: blocks that the machine spoiled, and not what was compared in them.
//!
//! A block may be left out for reasons that no policy can cause, whatever its figures were; and if few are, what is left still
//! says what it says. Then the run has a verdict, and its own list of reasons names what was left out.

use std::collections::BTreeSet;

use super::{
    gate::{Check, Reasons, ValidityGate},
    limits,
    machine::{NOISE, STEAL},
    neighbours::STARVED,
    pauses::GAP,
    reading::{fraction, label},
};
use crate::summary::{Arm, GateFinding, Validity};

pub(super) const EXCLUDED: ValidityGate = ValidityGate {
    code: "EXCLUDED",
    verdicts: &[Validity::Warn],
    finds: "the machine spoiled a block (STEAL, NOISE, STARVED or GAP made an arm INVALID): it is left out of comparisons, thresholds and curves, and the run stands",
    limit: "20 % of the blocks; with more, or for another reason, the run is INVALID",
    remedy: "a quieter machine",
    checks: &[Check::Arms(check)],
    reading: |run| {
        let blocks: BTreeSet<u32> = run.0.arms.iter().map(|arm| arm.block).collect();
        Some(format!("{} of {} blocks", excluded(&run.0.arms).len(), blocks.len()))
    },
};

/// Gates about the machine alone. What a policy may bring about (a busy generator, a crowded processor) is none of them.
const EXTERNAL: [ValidityGate; 4] = [STEAL, NOISE, STARVED, GAP];

/// A gate about the machine alone gave this reason: no policy can cause it.
pub fn is_external(reason: &GateFinding) -> bool {
    EXTERNAL.iter().any(|gate| gate.code == reason.code)
}

/// Blocks that can be left out: all that have an arm that is INVALID, if each is so for such reasons alone and there are not too
/// many. Else none.
pub fn excluded(arms: &[Arm]) -> BTreeSet<u32> {
    let blocks: BTreeSet<u32> = arms.iter().map(|arm| arm.block).collect();
    let void = |arm: &&Arm| arm.verdict == Validity::Invalid;
    let spoiled: BTreeSet<u32> = arms.iter().filter(void).map(|arm| arm.block).collect();
    let external = arms.iter().filter(void).flat_map(void_reasons).all(is_external);
    let few = fraction(spoiled.len() as u64, blocks.len() as u64) <= limits::EXCLUDED;
    if external && few { spoiled } else { BTreeSet::new() }
}

/// The first block that was not left out: the one that is drawn where all of them would hide each other.
pub fn first_kept(arms: &[Arm]) -> u32 {
    let left_out = excluded(arms);
    arms.iter().map(|arm| arm.block).filter(|block| !left_out.contains(block)).min().unwrap_or(1)
}

fn void_reasons(arm: &Arm) -> impl Iterator<Item = &GateFinding> {
    arm.reasons.iter().filter(|reason| reason.verdict == Validity::Invalid)
}

/// Turns what spoiled these blocks into cautions against the run, and adds one that says that they are left out.
fn check(arms: &[Arm], left_out: &BTreeSet<u32>, reasons: &mut Reasons) {
    if left_out.is_empty() {
        return;
    }
    for reason in reasons.list.iter_mut().filter(|reason| is_external(reason)) {
        reason.verdict = Validity::Warn;
    }
    let void = arms.iter().filter(|arm| arm.verdict == Validity::Invalid);
    let why: Vec<String> = void
        .map(|arm| {
            let codes: BTreeSet<&str> = void_reasons(arm).map(|reason| &*reason.code).collect();
            format!("{}: {}", label(arm), codes.into_iter().collect::<Vec<_>>().join(", "))
        })
        .collect();
    let blocks: BTreeSet<u32> = arms.iter().map(|arm| arm.block).collect();
    let external = EXTERNAL.map(|gate| gate.code).join(", ");
    reasons.warn(
        format!("{} of {} blocks ({})", left_out.len(), blocks.len(), why.join("; ")),
        format!("{:.0} % of the blocks, and only for {external}", limits::EXCLUDED * 100.0),
        "the machine spoiled these blocks: comparisons, thresholds and curves are over the others",
        "none is needed; for all blocks, run again on a quieter machine",
    );
}
