//! HDR, UNSENT, LAG, CPU, CROWDED, FILES, PORTS and PANIC: the load generator must not be the bottleneck; and LITTLE and BOOKS:
//! its own figures must agree with each other.

use super::{
    Context, fraction, invalid,
    limits::{self, CPU, LITTLE, RUN_QUEUE, SPARE_FILES, UNSENT},
    warn,
};
use crate::summary::{Arm, Reason};

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
    let lag = limits::lag_ms(context.objective.response_time_ms);
    if generator.send_lag_p99_ms > lag {
        reasons.push(invalid(
            "LAG",
            format!("send lag p99 {:.1} ms", generator.send_lag_p99_ms),
            format!("{lag:.1} ms (5 % of the objective, at least 2 ms)"),
            "requests left later than planned: the load was not the one that was asked for",
            "use fewer users or a lower rate, stop other programs, or run without the live view (--no-tui)",
        ));
    }
    let rare = limits::rare_lag_ms(context.objective.response_time_ms);
    if arm.conditions.send_lag_p999_ms > rare {
        reasons.push(invalid(
            "LAG",
            format!("send lag p99.9 {:.1} ms", arm.conditions.send_lag_p999_ms),
            format!("{rare:.1} ms (a tenth of the objective, at least 4 ms)"),
            "more than one request in a thousand left far later than planned",
            "stop other programs, or run without the live view (--no-tui)",
        ));
    }
    if generator.cpu > CPU {
        reasons.push(invalid(
            "CPU",
            format!("generator at {:.0} % of its core", generator.cpu * 100.0),
            format!("{:.0} %", CPU * 100.0),
            "the generator was nearly saturated: it may have measured itself",
            "lower the load, or raise the work a request (target.capacity) so that the service saturates first",
        ));
    }
    crowded(arm, reasons);
    books(arm, reasons);
    files_and_ports(arm, reasons);
    panics(arm, reasons);
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

/// A sender that wakes thousands of times a second waits over the limit in waits that are all harmless: void is only what
/// is over it beyond them.
fn crowded(arm: &Arm, reasons: &mut Vec<Reason>) {
    let generator = &arm.generator;
    if generator.run_queue <= RUN_QUEUE {
        return;
    }
    let finding = if generator.crowded > RUN_QUEUE { invalid } else { warn };
    reasons.push(finding(
        "CROWDED",
        format!(
            "the sender waited for its core for {:.1} % of the time, {:.1} % in other waits than those of every wake-up",
            generator.run_queue * 100.0,
            generator.crowded * 100.0
        ),
        format!("{} %, void if the latter is", RUN_QUEUE * 100.0),
        "others ran on the generator's core while it was ready to send",
        "stop other programs, or run without the live view (--no-tui)",
    ));
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
