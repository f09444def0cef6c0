//! FILES, PORTS and MEMORY: the load generator had the descriptors, ports and memory that it needed.

use super::{
    context::Context,
    gate::{Check, Count, Reasons, ValidityGate},
    limits::SPARE_FILES,
};
use crate::summary::{Arm, Validity};

pub(super) const FILES: ValidityGate = ValidityGate {
    code: "FILES",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "the generator ran out of descriptors, or came close",
    limit: "0; 64 spare",
    remedy: "`ulimit -n`, fewer users",
    checks: &[Check::Arm(files)],
    reading: |run| {
        run.live()?.most(
            |arm| (arm.generator.open_files_limit > 0).then_some(arm.generator.open_files_max as f64),
            |open, arm| format!("{open:.0} open, of {}", arm.generator.open_files_limit),
        )
    },
};

fn files(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let generator = &arm.generator;
    let raise = "raise the limit (ulimit -n), use fewer users, or let thinking users close their connections";
    if generator.files_exhausted > 0 {
        reasons.invalid(
            format!("{} sends failed: no descriptor left", generator.files_exhausted),
            "0",
            "users could not open connections",
            raise,
        );
    } else if generator.open_files_limit > 0 && generator.open_files_max + SPARE_FILES > generator.open_files_limit {
        reasons.warn(
            format!("{} of {} descriptors in use", generator.open_files_max, generator.open_files_limit),
            format!("{SPARE_FILES} spare"),
            "the generator came close to its limit",
            raise,
        );
    }
}

pub(super) const PORTS: ValidityGate = ValidityGate {
    code: "PORTS",
    verdicts: &[Validity::Invalid],
    finds: "the generator ran out of local ports",
    limit: "0",
    remedy: "more source addresses (`sources`), kept connections",
    checks: &[Check::Count(Count {
        of: |arm| arm.generator.ports_exhausted,
        found: |sends| format!("{sends} sends failed: no local port left"),
        message: "users could not open connections",
        remedy: "spread the users over more source addresses, or keep connections open",
    })],
    reading: |run| run.live()?.count(|arm| arm.generator.ports_exhausted),
};

pub(super) const MEMORY: ValidityGate = ValidityGate {
    code: "MEMORY",
    verdicts: &[Validity::Invalid],
    finds: "the generator ran out of memory for answers (256 MiB for all of those under way that users read)",
    limit: "0",
    remedy: "fewer users, smaller answers",
    checks: &[Check::Count(Count {
        of: |arm| arm.generator.memory_exhausted,
        found: |answers| format!("{answers} answers given up: no memory left for them"),
        message: "the answers under way were larger, all together, than the generator has room for: those count as failed",
        remedy: "use fewer users, or ask for smaller answers",
    })],
    reading: |run| run.live()?.count(|arm| arm.generator.memory_exhausted),
};
