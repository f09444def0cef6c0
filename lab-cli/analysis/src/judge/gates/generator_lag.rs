//! UNSENT and LAG: the load generator kept to the plan.

use super::{Check, Context, Reasons, ValidityGate, fraction, limits, quieter};
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
    verdicts: &[Validity::Invalid],
    finds: "requests left later than planned",
    limit: "p99: 5 % of the objective, at least 2 ms; p99.9: 10 %, at least 4 ms",
    remedy: "fewer users, no other programs, `--no-tui`",
    checks: &[Check::Arm(lag)],
    reading: |run| {
        run.live()?.most(
            |arm| Some(arm.generator.send_lag_p99_ms),
            |p99, arm| format!("p99 {}, p99.9 {}", time(p99), time(arm.conditions.send_lag_p999_ms)),
        )
    },
};

fn lag(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    if context.flat_out {
        return;
    }
    let (p99, p999) = (arm.generator.send_lag_p99_ms, arm.conditions.send_lag_p999_ms);
    let (lag, rare) = lag_limits(context);
    if p99 > lag {
        reasons.invalid(
            format!("send lag p99 {p99:.1} ms"),
            format!("{lag:.1} ms (5 % of the objective, at least 2 ms)"),
            "requests left later than planned: the load was not the one that was asked for",
            &format!("use fewer users or a lower rate, or {}", quieter(context)),
        );
    }
    if p999 > rare {
        reasons.invalid(
            format!("send lag p99.9 {p999:.1} ms"),
            format!("{rare:.1} ms (a tenth of the objective, at least 4 ms)"),
            "more than one request in a thousand left far later than planned",
            quieter(context),
        );
    }
}

fn lag_limits(context: &Context) -> (f64, f64) {
    let objective = context.objective.response_time_ms;
    (limits::lag_ms(objective), limits::rare_lag_ms(objective))
}

pub(super) fn keeps_to_the_plan(arm: &Arm, context: &Context) -> bool {
    let (lag, rare) = lag_limits(context);
    arm.generator.send_lag_p99_ms <= lag && arm.conditions.send_lag_p999_ms <= rare
}
