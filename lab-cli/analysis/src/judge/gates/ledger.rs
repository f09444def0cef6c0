//! LEDGER, EMPTY and BACKLOG: every request is accounted for once, on both sides, and the kernel refused none in secret.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{Context, invalid, warn};
use crate::summary::{Arm, Joined, Measured, Phase, Reason, Server};

/// Nothing reached the service.
fn empty(arm: &Arm, reasons: &mut Vec<Reason>) {
    let unconnected: u64 = arm.phases.iter().map(|phase| phase.measured.connect_failed).sum();
    let (value, remedy) = if unconnected == 0 {
        ("0 requests sent".to_owned(), "look for an earlier error; are the phases long enough for a request?")
    } else {
        let errors = arm.phases.iter().flat_map(|phase| &phase.replies.errors);
        let first = errors.max_by_key(|(_, count)| **count).map(|(text, _)| format!("; {text}")).unwrap_or_default();
        let value = format!("0 requests sent: none of {unconnected} attempts got a connection{first}");
        (value, "is the service up, and is this its address?")
    };
    reasons.push(invalid("EMPTY", value, "at least 1".to_owned(), "nothing was measured", remedy));
}

/// Largest difference between requests written by the client and read by the service, as a share of the former.
const TOLERANCE: f64 = 0.001;

pub(super) fn check(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    for phase in &arm.phases {
        client(phase, reasons);
    }
    let written: u64 = arm.phases.iter().map(|phase| phase.measured.written()).sum();
    if written == 0 {
        empty(arm, reasons);
    }
    match &arm.server {
        Some(server) => {
            own_sum(server, reasons);
            services(server, reasons);
            both_sides(arm, written, server, context, reasons);
        }
        None if context.own_target => reasons.push(invalid(
            "LEDGER",
            "no ledger from the service".to_owned(),
            "one".to_owned(),
            "the service could not be asked what it saw",
            "did it crash? its last lines are in the results folder",
        )),
        None => {}
    }
    kernel(arm, context, reasons);
}

/// The client's two equations, in all and in every group, and groups that add up to the whole.
fn client(phase: &Phase, reasons: &mut Vec<Reason>) {
    let groups = phase.by_type.iter().chain(&phase.by_class).map(|(name, group)| (name.as_str(), group));
    for (name, group) in std::iter::once(("all", &phase.measured)).chain(groups) {
        if !group.balances() {
            reasons.push(lost(format!("{}, {name}: planned {}, sent {}", phase.name, group.planned, group.sent)));
        }
    }
    for groups in [&phase.by_type, &phase.by_class] {
        let (planned, sent) = sums(groups);
        if !groups.is_empty() && (planned, sent) != (phase.measured.planned, phase.measured.sent) {
            let all = &phase.measured;
            reasons.push(lost(format!(
                "{}: groups have {planned} planned, {sent} sent; the whole {}, {}",
                phase.name, all.planned, all.sent
            )));
        }
    }
}

fn sums(groups: &BTreeMap<String, Measured>) -> (u64, u64) {
    groups.values().fold((0, 0), |(planned, sent), group| (planned + group.planned, sent + group.sent))
}

fn lost(value: String) -> Reason {
    invalid(
        "LEDGER",
        value,
        "sums exactly equal".to_owned(),
        "the load generator lost count of its own requests",
        "this is a fault of the lab: please report it with the results folder",
    )
}

/// The service's equation: `read = served + refused + errors + client gone + in flight`.
fn own_sum(server: &Server, reasons: &mut Vec<Reason>) {
    let refused: u64 = server.refused.values().sum();
    let ended = server.served + refused + server.errors + server.client_gone + server.in_flight;
    if ended != server.requests_read {
        reasons.push(invalid(
            "LEDGER",
            format!("the service read {} requests and accounts for {ended}", server.requests_read),
            "sums exactly equal".to_owned(),
            "the service lost count of its own requests",
            "this is a fault of the lab: please report it with the results folder",
        ));
    }
}

/// Of several services: each one's books of calls, those that it read and those that it made, and both against each other.
fn services(server: &Server, reasons: &mut Vec<Reason>) {
    let mut bad = |value: String| {
        reasons.push(invalid(
            "LEDGER",
            value,
            "sums exactly equal".to_owned(),
            "the services lost count of their calls",
            "this is a fault of the lab: please report it with the results folder",
        ));
    };
    for service in &server.services {
        if !service.balances() {
            bad(format!("{} read {} calls and accounts for others", service.name, service.calls_read));
        }
        for calls in service.calls.iter().filter(|calls| !calls.balances()) {
            bad(format!("{} wanted {} attempts at {} and accounts for others", service.name, calls.attempts, calls.to));
        }
        let written: u64 =
            server.services.iter().flat_map(|caller| &caller.calls).map(|calls| calls.written_to(service)).sum();
        if written < service.calls_read {
            bad(format!("{} read {} calls, of {written} written to it", service.name, service.calls_read));
        }
    }
}

/// Requests written against requests read.
fn both_sides(arm: &Arm, written: u64, server: &Server, context: &Context, reasons: &mut Vec<Reason>) {
    let read = server.requests_read;
    if context.kernel_backlog_declared {
        return backlog(arm, written, server, reasons);
    }
    // One request may always be on the wire when the ledgers are read, however few there are.
    let allowed = (written as f64 * TOLERANCE).max(1.0);
    let difference = written.abs_diff(read);
    if difference as f64 > allowed {
        let percent = difference as f64 / written.max(1) as f64 * 100.0;
        reasons.push(invalid(
            "LEDGER",
            format!("{written} written, {read} read: {percent:.2} % apart"),
            format!("{} %, or one request", TOLERANCE * 100.0),
            "what the clients wrote is not what the service read",
            "something else talked to the service, or requests were lost on the way: compare both ledgers, then look at \
             the kernel's counters",
        ));
    }
}

/// A policy at accept leaves connections in the kernel: what was written and not read must be exactly those requests that
/// never got an answer and were never read. Where both sides could not be joined, what is missing must at least be no more
/// than what never got an answer.
fn backlog(arm: &Arm, written: u64, server: &Server, reasons: &mut Vec<Reason>) {
    let read = server.requests_read;
    let (holds, wanted) = match &arm.requests {
        Some(joined) => exactly(written, server, joined),
        None => {
            let unanswered: u64 = arm.phases.iter().map(|phase| unanswered(&phase.measured)).sum();
            let bounded = read <= written && written - read <= unanswered;
            (bounded, format!("{read} read and at most {unanswered} unanswered"))
        }
    };
    if !holds {
        reasons.push(invalid(
            "LEDGER",
            format!("{written} written"),
            wanted,
            "the difference between what was written and what was read is not what was left unread without an answer",
            "compare both ledgers; with connections waiting in the kernel only those may be missing",
        ));
    }
}

/// Every request by its number. An answer to one that was not read can only come from the door, which counts whom it turns
/// away.
fn exactly(written: u64, server: &Server, joined: &Joined) -> (bool, String) {
    let Joined { turned_away, read_again, strange, .. } = joined;
    let holds = written == joined.written
        && joined.read_of(written) == Some(server.requests_read)
        && *turned_away <= server.connections_refused
        && *strange as f64 <= (written as f64 * TOLERANCE).max(1.0);
    let mut wanted = format!("{} read and {} left unread", server.requests_read, joined.unread());
    let others = [
        (*turned_away, "answered unread"),
        (server.connections_refused, "refused at the door"),
        (*read_again, "read again"),
        (*strange, "of somebody else"),
        (written.abs_diff(joined.written), "without a number"),
    ];
    for (count, what) in others.iter().filter(|(count, _)| *count > 0) {
        let _ = write!(wanted, ", {count} {what}");
    }
    (holds, wanted)
}

fn unanswered(measured: &Measured) -> u64 {
    measured.timed_out + measured.abandoned + measured.in_flight + measured.failed
}

fn kernel(arm: &Arm, context: &Context, reasons: &mut Vec<Reason>) {
    let dropped = arm.kernel.dropped();
    if dropped > 0 && !context.kernel_backlog_declared {
        reasons.push(invalid(
            "BACKLOG",
            format!("{dropped} connections dropped by a full queue in the kernel"),
            "0, unless the policy works at accept".to_owned(),
            "the kernel did the admission control, not the policy",
            "raise the backlog (and net.core.somaxconn), or use fewer new connections a second",
        ));
    }
    if arm.kernel.unread && !context.kernel_backlog_declared {
        reasons.push(warn(
            "BACKLOG",
            "the kernel's counters of dropped connections could not be read".to_owned(),
            "ListenOverflows and ListenDrops in /proc/net/netstat".to_owned(),
            "whether the kernel refused connections in the policy's place is not known",
            "run where /proc/net/netstat can be read",
        ));
    }
}
