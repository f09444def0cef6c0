//! UNSENT and LAG: the load generator kept to the plan.

use super::{
    context::{Context, quieter},
    effect::{self, Source},
    gate::{Check, Reasons, ValidityGate},
    limits,
    reading::fraction,
};
use crate::{
    summary::{Arm, Validity},
    text::time,
};

pub(super) const UNSENT: ValidityGate = ValidityGate {
    code: "UNSENT",
    verdicts: &[Validity::Invalid],
    finds: "planned requests that were never sent",
    limit: "0.1 %, and more than one",
    remedy: "lower the load; look at CPU and FILES",
    checks: &[Check::Arm(unsent)],
    reading: |run| run.count(|arm| arm.generator.unsent),
};

/// Stricter than a bound on the rate that was reached: every request that was planned and not sent is one. A single one may have been due
/// in the moment in which a run was ended, between two turns of the generator.
fn unsent(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let planned = arm.sum(|measured| measured.planned);
    let unsent = arm.sum(|measured| measured.unsent).max(arm.generator.unsent);
    let share = fraction(unsent, planned.max(unsent));
    if unsent > 1 && share > limits::UNSENT {
        reasons.invalid(
            format!("{unsent} of {planned} planned requests ({:.2} %) never sent", share * 100.0),
            format!("{} %, and more than one", limits::UNSENT * 100.0),
            "the generator could not keep up with the plan",
            "lower the load; look at the generator's CPU and descriptors",
        );
    }
}

pub(super) const LAG: ValidityGate = ValidityGate {
    code: "LAG",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "requests left late, which moves what is shown, and no pause of the generator explains it",
    limit: effect::LIMIT,
    remedy: "fewer users, no other programs, `--no-tui`",
    checks: &[Check::Arm(|arm, context, reasons| {
        let remedy = format!("use fewer users or a lower rate, or {}", quieter(context));
        effect::tell(arm, Source::Lateness, "requests left later than planned", &remedy, reasons);
    })],
    reading: |run| {
        run.live()?.most(
            |arm| Some(arm.generator.send_lag_p99_ms),
            |p99, arm| format!("p99 {}, p99.9 {}", time(p99), time(arm.conditions.send_lag_p999_ms)),
        )
    },
};
