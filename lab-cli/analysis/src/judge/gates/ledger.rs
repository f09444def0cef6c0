//! LEDGER, RESENT, UNASKED and BACKLOG: every request is accounted for once, on both sides, and the kernel refused none in secret.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    context::Context,
    gate::{Check, Count, Reasons, ValidityGate},
    limits,
    reading::fraction,
};
use crate::{
    summary::{Arm, Joined, Measured, PhaseSummary, Server, Validity},
    text::percent,
};

pub(super) const LEDGER: ValidityGate = ValidityGate {
    code: "LEDGER",
    verdicts: &[Validity::Invalid],
    finds: "a request that is not accounted for exactly once, by the clients, by the service, or between the two",
    limit: "sums exactly equal; both sides to 0.1 %, and to the last request where each was numbered and the kernel may hold some",
    remedy: "report it with the results folder; where something else talks to the service, stop that",
    checks: &[Check::Arm(check)],
    reading: |run| run.most(unexplained, |n, _| format!("{n:.0} requests unexplained")),
};

/// Largest difference between requests written by the client and read by the service, as a share of the former.
const TOLERANCE: f64 = 0.001;

fn check(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    for phase in &arm.phases {
        client(phase, reasons);
    }
    let written = arm.sum(Measured::written);
    match &arm.server {
        Some(server) => {
            own_sum(server, reasons);
            services(server, reasons);
            // What was sent of a part without a record is known to the service alone: SHARES says that it is missing.
            let is_whole = arm.parts.iter().all(|part| part.wrong.is_none());
            if is_whole || written > server.requests_read {
                both_sides(arm, written, server, context, reasons);
            }
        }
        None if context.own_target => reasons.invalid(
            "no ledger from the service",
            "one",
            "the service could not be asked what it saw",
            "did it crash? its last lines are in the results folder",
        ),
        None => {}
    }
}

/// The client's two equations, in all and in every group, and groups that add up to the whole.
fn client(phase: &PhaseSummary, reasons: &mut Reasons) {
    let mut lost = |value: String| {
        reasons.fault_of_the_lab(value, "sums exactly equal", "the load generator lost count of its own requests");
    };
    let groups = phase.by_type.iter().chain(&phase.by_class).map(|(name, group)| (name.as_str(), group));
    for (name, group) in std::iter::once(("all", &phase.measured)).chain(groups) {
        if group.imbalance().is_some() {
            lost(format!("{}, {name}: planned {}, sent {}", phase.name, group.planned, group.sent));
        }
    }
    for groups in [&phase.by_type, &phase.by_class] {
        let (planned, sent) = sums(groups);
        if !groups.is_empty() && (planned, sent) != (phase.measured.planned, phase.measured.sent) {
            let all = &phase.measured;
            lost(format!(
                "{}: groups have {planned} planned, {sent} sent; the whole {}, {}",
                phase.name, all.planned, all.sent
            ));
        }
    }
}

fn sums(groups: &BTreeMap<String, Measured>) -> (u64, u64) {
    groups.values().fold((0, 0), |(planned, sent), group| (planned + group.planned, sent + group.sent))
}

/// The service's equation: `read = served + refused + errors + client gone + in flight`.
fn own_sum(server: &Server, reasons: &mut Reasons) {
    let refused: u64 = server.refused.values().sum();
    let ended = server.served + refused + server.errors + server.client_gone + server.in_flight;
    if ended != server.requests_read {
        reasons.fault_of_the_lab(
            format!("the service read {} requests and accounts for {ended}", server.requests_read),
            "sums exactly equal",
            "the service lost count of its own requests",
        );
    }
}

/// Books of several services: each one's calls, those that it read and those that it made, and both against each
/// other.
fn services(server: &Server, reasons: &mut Reasons) {
    let mut bad = |value: String| {
        reasons.fault_of_the_lab(value, "sums exactly equal", "the services lost count of their calls");
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
fn both_sides(arm: &Arm, written: u64, server: &Server, context: &Context, reasons: &mut Reasons) {
    let read = server.requests_read;
    if context.kernel_backlog_declared || context.tasks_crash {
        return backlog(arm, written, server, reasons);
    }
    // One request may always be on the wire when the ledgers are read, however few there are.
    let allowed = (written as f64 * TOLERANCE).max(1.0);
    let difference = written.abs_diff(read);
    if difference as f64 > allowed {
        let percent = difference as f64 / written.max(1) as f64 * 100.0;
        reasons.invalid(
            format!("{written} written, {read} read: {percent:.2} % apart"),
            format!("{} %, or one request", TOLERANCE * 100.0),
            "what the clients wrote is not what the service read",
            "something else talked to the service, or requests were lost on the way: compare both ledgers, then look at \
             the kernel's counters",
        );
    }
}

/// A policy at accept leaves connections in the kernel, and so does a process that dies: what was written and not read must be exactly those requests that
/// never got an answer and were never read. Where both sides could not be joined, what is missing must at least be no more
/// than what never got an answer.
fn backlog(arm: &Arm, written: u64, server: &Server, reasons: &mut Reasons) {
    let read = server.requests_read;
    let (holds, wanted) = match &arm.requests {
        Some(joined) => exactly(written, server, joined),
        None => {
            let unanswered = arm.sum(unanswered);
            let bounded = read <= written && written - read <= unanswered;
            (bounded, format!("{read} read and at most {unanswered} unanswered"))
        }
    };
    if !holds {
        reasons.invalid(
            format!("{written} written"),
            wanted,
            "the difference between what was written and what was read is not what was left unread without an answer",
            "compare both ledgers; with connections waiting in the kernel only those may be missing",
        );
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

/// Written by one side and not read by the other, without those that are known to wait in the kernel.
fn unexplained(arm: &Arm) -> Option<f64> {
    let written = arm.sum(Measured::written);
    let waiting = arm.requests.as_ref().map_or(0, Joined::unread);
    Some(written.abs_diff(arm.server.as_ref()?.requests_read + waiting) as f64)
}

pub(super) const RESENT: ValidityGate = ValidityGate {
    code: "RESENT",
    verdicts: &[Validity::Warn],
    finds: "the service closed kept connections: requests found them closed before anything was written, and went out on new ones",
    limit: "0.1 % of the requests sent",
    remedy: "have the service keep idle connections for longer, or say in its answers that it closes them",
    checks: &[Check::Arm(resent)],
    reading: |run| run.most(|arm| Some(share_resent(arm)), |share, _| percent(share)),
};

fn resent(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    if share_resent(arm) > limits::RESENT {
        let (resent, sent) = (arm.sum(|measured| measured.resent), arm.sum(|measured| measured.sent));
        reasons.warn(
            format!("{resent} of {sent} requests ({:.2} %)", 100.0 * share_resent(arm)),
            percent(limits::RESENT),
            "the service had closed their connections: they went out on new ones, and what that takes is in their times",
            RESENT.remedy,
        );
    }
}

fn share_resent(arm: &Arm) -> f64 {
    fraction(arm.sum(|measured| measured.resent), arm.sum(|measured| measured.sent))
}

pub(super) const UNASKED: ValidityGate = ValidityGate {
    code: "UNASKED",
    verdicts: &[Validity::Warn],
    finds: "on kept connections the service sent bytes that no request had asked for: answers may belong to other requests than their times say",
    limit: "0",
    remedy: "find out why it answers twice; a 408 before it closes an idle connection is one too: have it keep those for longer",
    checks: &[Check::Count(Count {
        of: |arm| arm.conditions.unasked,
        found: |connections| {
            format!("bytes that no request had asked for on {connections} connections, which were closed")
        },
        message: "an answer that comes too early is taken for the next request's: its time is too short, and its content another one's",
        remedy: "compare answers with what was asked (--expect 'text …{{number}}…'); a 408 before the service closes an idle connection is harmless",
    })],
    reading: |run| run.live()?.count(|arm| arm.conditions.unasked),
};

pub(super) const BACKLOG: ValidityGate = ValidityGate {
    code: "BACKLOG",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "the kernel dropped connections at the target's listening sockets that the policy was meant to decide about; a caution where only the whole machine's drops are known, or none",
    limit: "0, unless the policy works at accept or the file declares kernel-backlog",
    remedy: "a longer backlog, fewer new connections",
    checks: &[Check::Arm(kernel)],
    reading: |run| {
        let of_machine = |arm: &Arm| (!arm.kernel.unread).then(|| arm.kernel.dropped_by_anybody());
        run.live()?.most(
            |arm| arm.kernel.own_drops.or_else(|| of_machine(arm)).map(|count| count as f64),
            |count, _| format!("{count:.0}"),
        )
    },
};

fn kernel(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    if context.kernel_backlog_declared {
        return;
    }
    let (message, remedy) = (
        "the kernel did the admission control, not the policy",
        "raise the backlog (and net.core.somaxconn), or use fewer new connections a second",
    );
    match (arm.kernel.own_drops, arm.kernel.dropped_by_anybody()) {
        (Some(0), _) | (None, 0) => {}
        (Some(dropped), _) => reasons.invalid(
            format!("{dropped} connections dropped by a full queue in the kernel"),
            "0, unless the policy works at accept",
            message,
            remedy,
        ),
        // Before a service of one's own, its queue overflows under load, and the kernel's sum does not tell it from the proxy's.
        (None, _) if context.foreign_service => {}
        (None, dropped) => reasons.warn(
            format!("{dropped} connections dropped by full queues in the kernel, by all programs of this machine"),
            "0, unless the policy works at accept",
            &format!("which program lost them is not known: perhaps {message}"),
            remedy,
        ),
    }
    if arm.kernel.own_drops.is_none() && arm.kernel.unread {
        reasons.warn(
            "the kernel's counters of dropped connections could not be read",
            "drops by socket (sock_diag), or ListenOverflows and ListenDrops in /proc/net/netstat",
            "whether the kernel refused connections in the policy's place is not known",
            "run where /proc/net/netstat can be read",
        );
    }
}
