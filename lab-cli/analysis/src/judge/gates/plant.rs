//! PLANT: were the costs of a run in virtual time measured properly?

use super::{Check, Context, Reasons, ValidityGate};
use crate::summary::{Arm, Validity};

pub(super) const PLANT: ValidityGate = ValidityGate {
    code: "PLANT",
    verdicts: &[Validity::Warn],
    finds: "the plant of a run in virtual time was measured with a debug build of the lab",
    limit: "a release build",
    remedy: "measure it again with a release build",
    checks: &[Check::Arm(measured_by_debug_build)],
    reading: |run| run.count(|arm| u64::from(arm.reasons.iter().any(|reason| reason.code == "PLANT"))),
};

fn measured_by_debug_build(_: &Arm, context: &Context, reasons: &mut Reasons) {
    if context.debug_build_plant {
        reasons.warn(
            "the plant was measured with a debug build",
            "a release build",
            "what requests cost is not what they cost in a live run: the program that measured it was slow itself",
            "measure it again: cargo run --release -- calibrate ...",
        );
    }
}
