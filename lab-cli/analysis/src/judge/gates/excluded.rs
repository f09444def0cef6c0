//! EXCLUDED: blocks that the machine spoiled, and not what was compared in them.
//!
//! A block may be left out for reasons that no policy can cause, whatever its figures were; and if few are, what is left still
//! says what it says. Then the run has a verdict, and its own list of reasons names what was left out.

use std::collections::BTreeSet;

use super::{fraction, label, limits::EXCLUDED, warn};
use crate::summary::{
    Arm, Reason,
    Verdict::{Invalid, Warn},
};

/// Gates about the machine alone. What a policy may bring about (a busy generator, a crowded processor) is none of them.
pub const BLIND: [&str; 3] = ["STEAL", "NOISE", "GAP"];

/// Blocks that can be left out: all that have an arm that is INVALID, if each is so for such reasons alone and there are not too
/// many. Else none.
pub fn excluded(arms: &[Arm]) -> BTreeSet<u32> {
    let blocks: BTreeSet<u32> = arms.iter().map(|arm| arm.block).collect();
    let void = |arm: &&Arm| arm.verdict == Invalid;
    let spoiled: BTreeSet<u32> = arms.iter().filter(void).map(|arm| arm.block).collect();
    let blind = arms.iter().filter(void).all(|arm| all_blind(&arm.reasons));
    let few = fraction(spoiled.len() as u64, blocks.len() as u64) <= EXCLUDED;
    if blind && few { spoiled } else { BTreeSet::new() }
}

/// The first block that was not left out: the one that is drawn where all of them would hide each other.
pub fn first_kept(arms: &[Arm]) -> u32 {
    let left_out = excluded(arms);
    arms.iter().map(|arm| arm.block).filter(|block| !left_out.contains(block)).min().unwrap_or(1)
}

fn all_blind(reasons: &[Reason]) -> bool {
    let mut void = reasons.iter().filter(|reason| reason.verdict == Invalid);
    void.all(|reason| BLIND.contains(&&*reason.code))
}

/// What spoiled these blocks speaks against the run as a caution, and one more says that they are left out.
pub fn judge_excluded(arms: &[Arm], left_out: &BTreeSet<u32>, reasons: &mut Vec<Reason>) {
    if left_out.is_empty() {
        return;
    }
    for reason in reasons.iter_mut().filter(|reason| BLIND.contains(&&*reason.code)) {
        reason.verdict = Warn;
    }
    let void = arms.iter().filter(|arm| arm.verdict == Invalid);
    let why: Vec<String> = void
        .map(|arm| {
            let codes: BTreeSet<&str> =
                arm.reasons.iter().filter(|reason| reason.verdict == Invalid).map(|reason| &*reason.code).collect();
            format!("{}: {}", label(arm), codes.into_iter().collect::<Vec<_>>().join(", "))
        })
        .collect();
    let blocks: BTreeSet<u32> = arms.iter().map(|arm| arm.block).collect();
    reasons.push(warn(
        "EXCLUDED",
        format!("{} of {} blocks ({})", left_out.len(), blocks.len(), why.join("; ")),
        format!("{:.0} % of the blocks, and only for {}", EXCLUDED * 100.0, BLIND.join(", ")),
        "the machine spoiled these blocks: comparisons, thresholds and curves are over the others",
        "none is needed; for all blocks, run again on a quieter machine",
    ));
}
