//! HDR, UNSENT, LAG, CPU, CROWDED, FILES, PORTS, MEMORY and PANIC: the load generator must not be the bottleneck; and LITTLE, BOOKS and JOBS:
//! the lab's own figures must agree with each other.

use super::{
    Context, fraction, invalid,
    limits::{self, CPU, CROWDED_EFFECT, LITTLE, RUN_QUEUE, SPARE_FILES, UNSENT, WAKE_UP},
    quieter, warn,
};
use crate::summary::{Arm, Reason, Times};

pub(super) fn check(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    let generator = &arm.generator;
    if generator.saturated > 0 {
        reasons.push(invalid(
            "HDR",
            format!("{} times beyond the histogram's range", generator.saturated),
            "0".to_owned(),
            "times were recorded as shorter than they were",
            "the range is twice the time-out: is the time-out right?",
        ));
    }
    unsent(arm, reasons);
    if !context.flat_out {
        lag(arm, context, reasons);
    }
    if generator.cpu > CPU && !context.flat_out {
        reasons.push(invalid(
            "CPU",
            format!("generator at {:.0} % of its core", generator.cpu * 100.0),
            format!("{:.0} %", CPU * 100.0),
            "the generator was nearly saturated: it may have measured itself",
            "lower the load, or raise the work a request (target.capacity) so that the service saturates first",
        ));
    }
    crowded(arm, context, reasons);
    books(arm, reasons);
    files_and_ports(arm, reasons);
    memory(arm, reasons);
    panics(arm, reasons);
    jobs(arm, reasons);
}

fn lag(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    let (p99, p999) = (arm.generator.send_lag_p99_ms, arm.conditions.send_lag_p999_ms);
    let (lag, rare) = lag_limits(context);
    if p99 > lag {
        reasons.push(invalid(
            "LAG",
            format!("send lag p99 {p99:.1} ms"),
            format!("{lag:.1} ms (5 % of the objective, at least 2 ms)"),
            "requests left later than planned: the load was not the one that was asked for",
            &format!("use fewer users or a lower rate, or {}", quieter(context)),
        ));
    }
    if p999 > rare {
        reasons.push(invalid(
            "LAG",
            format!("send lag p99.9 {p999:.1} ms"),
            format!("{rare:.1} ms (a tenth of the objective, at least 4 ms)"),
            "more than one request in a thousand left far later than planned",
            quieter(context),
        ));
    }
}

fn lag_limits(context: &Context) -> (f64, f64) {
    let objective = context.objective.response_time_ms;
    (limits::lag_ms(objective), limits::rare_lag_ms(objective))
}

fn keeps_to_the_plan(arm: &Arm, context: &Context) -> bool {
    let (lag, rare) = lag_limits(context);
    arm.generator.send_lag_p99_ms <= lag && arm.conditions.send_lag_p999_ms <= rare
}

/// Stricter than a bound on the rate that was reached: every request that was planned and not sent is one.
fn unsent(arm: &Arm, reasons: &mut Vec<Reason>) {
    let planned: u64 = arm.phases.iter().map(|phase| phase.measured.planned).sum();
    let unsent: u64 = arm.phases.iter().map(|phase| phase.measured.unsent).sum::<u64>().max(arm.generator.unsent);
    let share = fraction(unsent, planned.max(unsent));
    if share > UNSENT {
        reasons.push(invalid(
            "UNSENT",
            format!("{unsent} of {planned} planned requests ({:.2} %) never sent", share * 100.0),
            format!("{} %", UNSENT * 100.0),
            "the generator could not keep up with the plan",
            "lower the load; look at the generator's CPU and descriptors",
        ));
    }
}

/// By effect: other programs on the sender's core spoil nothing while the plan is kept and what their turns add to a response time is a
/// small part of it (without a plan of times, the latter alone). A sender that wakes thousands of times a second waits over the limit in waits that are all harmless, so
/// that only what is over it beyond those can spoil anything.
fn crowded(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    let generator = &arm.generator;
    if generator.run_queue <= RUN_QUEUE {
        return;
    }
    let (added, median) = (added_ms(arm, context), median_ms(arm));
    let share = median.map_or(0.0, |median| added / median);
    let is_late = !context.flat_out && !keeps_to_the_plan(arm, context);
    let spoils = generator.crowded > RUN_QUEUE && (share > CROWDED_EFFECT || is_late);
    let effect = match median {
        Some(median) => {
            format!("this adds up to {added:.2} ms to the median of {median:.2} ms ({:.1} %)", share * 100.0)
        }
        None => format!("this adds up to {added:.2} ms; nothing was timed"),
    };
    let or_late = if context.flat_out { "" } else { " or requests are sent late (LAG)" };
    let finding = if spoils { invalid } else { warn };
    reasons.push(finding(
        "CROWDED",
        format!(
            "the sender was ready and waited for its processor for {:.1} % of the time, {:.1} % if {} µs are allowed for each \
             wake-up; {effect}",
            generator.run_queue * 100.0,
            generator.crowded * 100.0,
            WAKE_UP.as_micros(),
        ),
        format!(
            "{} % of the time; INVALID only if it is over {} % with the allowance too, and over {} % is added to the median{or_late}",
            RUN_QUEUE * 100.0,
            RUN_QUEUE * 100.0,
            CROWDED_EFFECT * 100.0
        ),
        "other programs ran on the generator's processor while it was ready to send",
        quieter(context),
    ));
}

/// What waits for the core add to a response time: one wait each where the request is written and where its answer is read, or
/// what all but one request in a hundred were late by, where that is more and they have times to be late for.
fn added_ms(arm: &Arm, context: &Context) -> f64 {
    let lag = if context.flat_out { 0.0 } else { arm.generator.send_lag_p99_ms };
    (2.0 * arm.generator.core_wait_ms).max(lag)
}

/// The least median of a phase: of response times, or of rejects where nothing was served. A bound is as good.
fn median_ms(arm: &Arm) -> Option<f64> {
    let of = |times: &Times| times.p50.or(times.p50_at_least);
    let medians = arm.phases.iter().map(|phase| &phase.measured);
    medians.filter_map(|found| of(&found.response_time_ms).or(of(&found.reject_time_ms))).min_by(f64::total_cmp)
}

/// The generator's figures against each other.
fn books(arm: &Arm, reasons: &mut Vec<Reason>) {
    let generator = &arm.generator;
    let fault = "this is a fault of the lab: please report it with the results folder";
    if generator.little > LITTLE {
        reasons.push(invalid(
            "LITTLE",
            format!("in flight on average, and rate times time, are {:.1} % apart", generator.little * 100.0),
            format!("{:.0} %", LITTLE * 100.0),
            "requests were lost, or their times are wrong",
            fault,
        ));
    }
    if let [first, ..] = &generator.books[..] {
        reasons.push(invalid(
            "BOOKS",
            first.clone(),
            "sums exactly equal".to_owned(),
            "the load generator lost count of its own requests",
            fault,
        ));
    }
}

fn files_and_ports(arm: &Arm, reasons: &mut Vec<Reason>) {
    let generator = &arm.generator;
    let raise = "raise the limit (ulimit -n), use fewer users, or let thinking users close their connections";
    if generator.files_exhausted > 0 {
        reasons.push(invalid(
            "FILES",
            format!("{} sends failed: no descriptor left", generator.files_exhausted),
            "0".to_owned(),
            "users could not open connections",
            raise,
        ));
    } else if generator.open_files_limit > 0 && generator.open_files_max + SPARE_FILES > generator.open_files_limit {
        reasons.push(warn(
            "FILES",
            format!("{} of {} descriptors in use", generator.open_files_max, generator.open_files_limit),
            format!("{SPARE_FILES} spare"),
            "the generator came close to its limit",
            raise,
        ));
    }
    if generator.ports_exhausted > 0 {
        reasons.push(invalid(
            "PORTS",
            format!("{} sends failed: no local port left", generator.ports_exhausted),
            "0".to_owned(),
            "users could not open connections",
            "spread the users over more source addresses, or keep connections open",
        ));
    }
}

fn memory(arm: &Arm, reasons: &mut Vec<Reason>) {
    let given_up = arm.generator.memory_exhausted;
    if given_up > 0 {
        reasons.push(invalid(
            "MEMORY",
            format!("{given_up} answers given up: no memory left for them"),
            "0".to_owned(),
            "the answers under way were larger, all together, than the generator has room for: those count as failed",
            "use fewer users, or ask for smaller answers",
        ));
    }
}

fn panics(arm: &Arm, reasons: &mut Vec<Reason>) {
    for (who, panics) in
        [("generator", arm.generator.panics), ("service", arm.server.as_ref().map_or(0, |server| server.panics))]
    {
        if panics > 0 {
            reasons.push(invalid(
                "PANIC",
                format!("{panics} in the {who}"),
                "0".to_owned(),
                "a part of the lab failed while it ran",
                "this is a fault of the lab: please report it with the results folder",
            ));
        }
    }
}

/// What sites of policies were told must fit what they had admitted: else limits and estimates are about other jobs.
fn jobs(arm: &Arm, reasons: &mut Vec<Reason>) {
    let found = arm.server.as_ref().map_or(0, |server| server.contradictions);
    if found > 0 {
        reasons.push(invalid(
            "JOBS",
            format!("{found} starts or ends of jobs that were not in flight"),
            "0".to_owned(),
            "what the policies were told does not fit what they had admitted",
            "this is a fault of the lab: please report it with the results folder",
        ));
    }
}
