//! MODEL, CAP, SAMPLES and HEADROOM: was it the load that was meant, and enough of it to say something?

use measure::least_samples;

use super::{
    context::Context,
    gate::{Check, Reasons, ValidityGate},
    limits::{self, NULL_SHARE, OVERLOADED},
    reading::{fraction, greatest},
};
use crate::{
    summary::{Arm, Measured, PhaseSummary, Validity, busiest},
    text::{percent, time},
};

pub(super) const MODEL: ValidityGate = ValidityGate {
    code: "MODEL",
    verdicts: &[Validity::Warn],
    finds: "a closed load under overload: users who wait do not ask",
    limit: "5 % not served in time",
    remedy: "read it as a fixed number of users, or declare closed-overload",
    checks: &[Check::Arm(model)],
    reading: |run| {
        run.most(
            |arm| greatest(arm.phases.iter().map(|phase| overloaded(&phase.measured))),
            |share, _| {
                // The gate asks no other.
                let which = if share > OVERLOADED { ", of an open load or one that declares it" } else { "" };
                format!("{} not served in time{which}", percent(share))
            },
        )
    },
};

/// Closed loops, in which users who wait do not ask: a collapse under open load would not be seen (Schroeder, Wierman
/// and Harchol-Balter, NSDI'06). A caution: no file says whether a claim is about open arrivals.
fn model(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    if !context.closed {
        return;
    }
    let worst = arm.phases.iter().map(|phase| (overloaded(&phase.measured), phase.name.as_str()));
    let Some((share, phase)) = worst.max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
    if share > OVERLOADED {
        reasons.warn(
            format!("{:.1} % of the requests of {phase} not served in time", share * 100.0),
            format!("{:.0} %", OVERLOADED * 100.0),
            "closed load under overload: users who wait send nothing, so the offered load falls with the service",
            "interpret it as a closed system with a fixed number of users; for open arrivals see overload-sweep",
        );
    }
}

fn overloaded(measured: &Measured) -> f64 {
    let not_in_time = measured.served_late
        + measured.rejected
        + measured.refused_locally
        + measured.timed_out
        + measured.connect_failed;
    fraction(not_in_time, measured.planned)
}

/// An open load whose generator has no room for one more user has silently become a closed one.
pub(super) const CAP: ValidityGate = ValidityGate {
    code: "CAP",
    verdicts: &[Validity::Warn],
    finds: "the generator had no room for more users: an open load has become a closed one",
    limit: "not once; of `lab load -c`, 1 % of the requests",
    remedy: "raise the limit on open files or `-c`, shorten the time-out, lower the load",
    checks: &[Check::Arm(|arm, _, reasons| {
        let conditions = &arm.conditions;
        let full = conditions.busy_users_limit > 0 && conditions.busy_users_max >= conditions.busy_users_limit;
        if full || conditions.waited_for_turn > 0 {
            reasons.warn(
                format!(
                    "{} users at a request at once, of {}; {} times one had to wait for its turn",
                    conditions.busy_users_max, conditions.busy_users_limit, conditions.waited_for_turn
                ),
                "fewer than there can be",
                "the generator had no room for more users: an open load has become a closed one",
                "raise the limit on open files (ulimit -n), shorten the time-out, or lower the load",
            );
        }
        let planned = arm.sum(|measured| measured.planned);
        let waited = conditions.waited_for_connection;
        if fraction(waited, planned) > limits::WAITED {
            reasons.warn(
                format!("{waited} of {planned} requests waited for a connection"),
                percent(limits::WAITED),
                "all connections were in use: an open load has become a closed one, and what was found may be what so many connections can do",
                "raise -c (`users.connections` in a file) or leave it out, or lower the load",
            );
        }
    })],
    reading: |run| {
        run.most(occupancy, |_, arm| {
            format!(
                "{} users at a request at once, of {}",
                arm.conditions.busy_users_max, arm.conditions.busy_users_limit
            )
        })
    },
};

fn occupancy(arm: &Arm) -> Option<f64> {
    let limit = arm.conditions.busy_users_limit;
    (limit > 0).then(|| f64::from(arm.conditions.busy_users_max) / f64::from(limit))
}

pub(super) const SAMPLES: ValidityGate = ValidityGate {
    code: "SAMPLES",
    verdicts: &[Validity::Warn],
    finds: "too few response times in the busiest phase for the percentile that the objective is about",
    limit: "6, 29, 59, 299 and 2995 for the 50th, 90th, 95th, 99th and 99.9th",
    remedy: "a longer phase",
    checks: &[Check::Arm(samples)],
    reading: |run| run.least(|arm| Some(counted(arm)?.1), |n, _| format!("{n:.0} response times")),
};

/// The objective is about a percentile: with too few samples it is not known whether it was kept. `lab load` has none.
fn samples(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    let Some((busiest, count)) = counted(arm) else { return };
    let least = least_samples(context.objective.percentile);
    if context.own_target && busiest.measured.sent > 0 && count < least {
        reasons.warn(
            format!("{} has {count} response times", busiest.name),
            format!("{least} for the {}th percentile", context.objective.percentile),
            "too few for the percentile that the objective is about: it is not given",
            "make the phase longer; a policy that refuses nearly all has no response times to be judged by",
        );
    }
}

/// The busiest phase, and the count of its response times.
fn counted(arm: &Arm) -> Option<(&PhaseSummary, u64)> {
    let busiest = busiest(&arm.phases)?;
    let times = &busiest.measured.response_time_ms;
    Some((busiest, times.count + times.censored))
}

pub(super) const HEADROOM: ValidityGate = ValidityGate {
    code: "HEADROOM",
    verdicts: &[Validity::Invalid],
    finds: "generator and machine cannot do much more than was asked of them, measured against a service that does nothing",
    limit: "twice the busiest second; p99 a tenth of the objective",
    remedy: "lower the load, a quieter machine",
    checks: &[Check::Arm(headroom)],
    reading: |run| {
        let headroom = run.live()?.0.headroom?;
        let p99 = headroom.response_p99_ms.map(|ms| format!("; p99 {}", time(ms))).unwrap_or_default();
        let sent = |sent, _: &Arm| format!("{sent:.0} in the busiest second, of {:.0}{p99}", headroom.ceiling_per_s);
        run.most(|arm| Some(arm.conditions.sent_per_s_max), sent)
    },
};

/// Against a service that does nothing, on the same machine, before the first arm.
fn headroom(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    let Some(headroom) = context.headroom else { return };
    let wanted = limits::HEADROOM * arm.conditions.sent_per_s_max;
    if headroom.ceiling_per_s < wanted {
        reasons.invalid(
            format!(
                "{:.0} requests in a second, of {:.0} that the generator can send here",
                arm.conditions.sent_per_s_max, headroom.ceiling_per_s
            ),
            format!("half of what it can ({wanted:.0} would do)"),
            "the generator has too little in hand: what it shows may be its own limit",
            "lower the load, or raise the work a request (target.capacity)",
        );
    }
    let limit = context.objective.response_time_ms * NULL_SHARE;
    if let Some(p99) = headroom.response_p99_ms.filter(|p99| *p99 > limit) {
        reasons.invalid(
            format!("a service that does nothing has a p99 of {p99:.1} ms"),
            format!("{limit:.1} ms (a tenth of the objective)"),
            "generator and machine alone add that much to every response time",
            "run on a quieter machine, or with a longer objective",
        );
    }
}
