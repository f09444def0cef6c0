//! HDR, UNSENT, LAG, CPU, GAP, FILES, PORTS and PANIC: the load generator must not be the bottleneck.

use super::{
    Context, fraction, invalid,
    limits::{self, CPU, GAP_MS, SPARE_FILES, UNSENT},
};
use crate::summary::{Arm, Reason, Verdict};

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
    if generator.cpu > CPU {
        reasons.push(invalid(
            "CPU",
            format!("generator at {:.0} % of its core", generator.cpu * 100.0),
            format!("{:.0} %", CPU * 100.0),
            "the generator was nearly saturated: it may have measured itself",
            "lower the load, or raise the work a request (target.capacity) so that the service saturates first",
        ));
    }
    gap(arm, context, reasons);
    files_and_ports(arm, reasons);
    panics(arm, reasons);
}

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

fn gap(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    let gap = arm.generator.loop_gap_max_ms;
    let hiccup = limits::hiccup_ms(context.objective.response_time_ms);
    if gap > GAP_MS {
        reasons.push(invalid(
            "GAP",
            format!("the generator stood still for {gap:.0} ms"),
            format!("{GAP_MS:.0} ms"),
            "the machine was suspended, or the generator was stopped or starved",
            "run again on a quiet machine",
        ));
    } else if gap > hiccup {
        let mut reason = invalid(
            "GAP",
            format!("the generator stood still for {gap:.0} ms"),
            format!("{hiccup:.0} ms (a quarter of the objective)"),
            "pauses of the generator may show as response time",
            "run again on a quieter machine and compare",
        );
        reason.verdict = Verdict::Warn;
        reasons.push(reason);
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
        let mut reason = invalid(
            "FILES",
            format!("{} of {} descriptors in use", generator.open_files_max, generator.open_files_limit),
            format!("{SPARE_FILES} spare"),
            "the generator came close to its limit",
            raise,
        );
        reason.verdict = Verdict::Warn;
        reasons.push(reason);
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
