//! PLANT: were the costs of a run in virtual time measured properly, and here?

use super::{
    context::{Context, PlantDoubts},
    gate::{Check, Reasons, ValidityGate},
};
use crate::summary::{Arm, Validity};

pub(super) const PLANT: ValidityGate = ValidityGate {
    code: "PLANT",
    verdicts: &[Validity::Warn],
    finds: "the plant of a run in virtual time was measured with a debug build, on another machine, by another version or not VALID, or does not say where",
    limit: "a release build of this version on this machine, VALID",
    remedy: "measure it again with a release build",
    checks: &[Check::Arm(measured_by_debug_build), Check::Arm(doubtful)],
    reading: |run| run.count(|arm| u64::from(arm.reasons.iter().any(|reason| reason.code == "PLANT"))),
};

fn measured_by_debug_build(_: &Arm, context: &Context, reasons: &mut Reasons) {
    if context.debug_build_plant {
        reasons.warn(
            "the plant was measured with a debug build",
            "a release build",
            "what requests cost is not what they cost in a live run: the program that measured it was slow itself",
            "measure it again with a release build (cargo run --release -- calibrate)",
        );
    }
}

fn doubtful(_: &Arm, context: &Context, reasons: &mut Reasons) {
    let PlantDoubts { unknown_origin, other_machine, other_version, not_valid } = context.plant;
    let doubts = [
        (
            unknown_origin,
            "the plant file does not say which machine and version measured it (measured_by)",
            "it is said",
        ),
        (other_machine, "the plant was measured on another machine", "this machine"),
        (other_version, "the plant was measured by another version of the lab", "this version"),
        (not_valid, "the plant was not VALID when it was measured", "VALID"),
    ];
    for (_, value, limit) in doubts.into_iter().filter(|(holds, ..)| *holds) {
        let message = "what requests cost here may be something else";
        reasons.warn(
            value,
            limit,
            message,
            "measure it here with a new file (lab calibrate -o NEW), and name that one",
        );
    }
}
