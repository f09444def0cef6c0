//! EMPTY, BOOKS, LITTLE, HDR, PANIC and JOBS: the lab's own figures are there, and agree with each other.

use super::{
    context::Context,
    gate::{Check, Count, FAULT_OF_THE_LAB, Reasons, ValidityGate},
    limits,
};
use crate::{
    summary::{Arm, GateFinding, Measured, Stopped, Validity},
    text::percent,
};

pub(super) const EMPTY: ValidityGate = ValidityGate {
    code: "EMPTY",
    verdicts: &[Validity::Invalid],
    finds: "nothing was sent: no request was due, or none got a connection; or a run of several turns was stopped before the first block (of one block: the first arm) had ended",
    limit: "1 request; 1 block",
    remedy: "see whether the service is up; look for an earlier error; make phases longer",
    checks: &[Check::Arm(empty)],
    reading: |run| run.least(|arm| Some(arm.sum(|m| m.sent)), |n, _| format!("{n:.0} requests sent")),
};

fn empty(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    if arm.sum(Measured::written) > 0 {
        return;
    }
    let unconnected = arm.sum(|measured| measured.connect_failed);
    let (value, remedy) = if unconnected == 0 {
        ("0 requests sent".to_owned(), "look for an earlier error; are the phases long enough for a request?")
    } else {
        let errors = arm.phases.iter().flat_map(|phase| &phase.replies.errors);
        let first = errors.max_by_key(|(_, count)| **count).map(|(text, _)| format!("; {text}")).unwrap_or_default();
        let value = format!("0 requests sent: none of {unconnected} attempts got a connection{first}");
        (value, "is the service up, and is this its address?")
    };
    reasons.invalid(value, "at least 1", "nothing was measured", remedy);
}

/// Finding about a run of several turns that was stopped before one ended: a lone turn has its figures so far.
pub fn nothing_ended(stopped: &Stopped) -> Option<GateFinding> {
    let Stopped { blocks_planned, blocks_whole, turns_planned, turns_whole, .. } = *stopped;
    let whole = if blocks_planned > 1 { blocks_whole } else { turns_whole };
    if whole > 0 || turns_planned < 2 {
        return None;
    }
    let mut reasons = Reasons { code: EMPTY.code, arm: String::new(), list: Vec::new() };
    let remedy = "let it run to its end, or ask for less (--repeat, shorter phases)";
    reasons.invalid(stopped.in_words(), "at least 1", "nothing was measured to its end", remedy);
    reasons.list.pop()
}

pub(super) const BOOKS: ValidityGate = ValidityGate {
    code: "BOOKS",
    verdicts: &[Validity::Invalid],
    finds: "the generator's own counts contradict each other",
    limit: "exactly equal",
    remedy: "report it with the results folder",
    checks: &[Check::Arm(|arm, _, reasons| {
        if let [first, ..] = &arm.generator.books[..] {
            reasons.fault_of_the_lab(
                first.clone(),
                "sums exactly equal",
                "the load generator lost count of its own requests",
            );
        }
    })],
    reading: |run| run.most(|arm| Some(arm.generator.books.len() as f64), |n, _| format!("{n:.0} sums that differ")),
};

pub(super) const LITTLE: ValidityGate = ValidityGate {
    code: "LITTLE",
    verdicts: &[Validity::Invalid],
    finds: "the mean number in flight is not the rate times the time (Little's law)",
    limit: "5 %",
    remedy: "report it with the results folder",
    checks: &[Check::Arm(|arm, _, reasons| {
        let apart = arm.generator.little;
        if apart > limits::LITTLE {
            reasons.fault_of_the_lab(
                format!("in flight on average, and rate times time, are {:.1} % apart", apart * 100.0),
                format!("{:.0} %", limits::LITTLE * 100.0),
                "requests were lost, or their times are wrong",
            );
        }
    })],
    reading: |run| run.most(|arm| Some(arm.generator.little), |share, _| percent(share)),
};

pub(super) const HDR: ValidityGate = ValidityGate {
    code: "HDR",
    verdicts: &[Validity::Invalid],
    finds: "times beyond the range of the histograms, which is twice the time-out",
    limit: "0",
    remedy: "see whether the time-out is right",
    checks: &[Check::Count(Count {
        of: |arm| arm.generator.saturated,
        found: |times| format!("{times} times beyond the histogram's range"),
        message: "times were recorded as shorter than they were",
        remedy: "the range is twice the time-out: is the time-out right?",
    })],
    reading: |run| run.count(|arm| arm.generator.saturated),
};

pub(super) const PANIC: ValidityGate = ValidityGate {
    code: "PANIC",
    verdicts: &[Validity::Invalid],
    finds: "a part of the lab or the service failed",
    limit: "0",
    remedy: "report it with the results folder",
    checks: &[Check::Arm(panics)],
    reading: |run| run.count(|arm| arm.generator.panics + arm.server.as_ref().map_or(0, |server| server.panics)),
};

fn panics(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    for (who, panics) in
        [("generator", arm.generator.panics), ("service", arm.server.as_ref().map_or(0, |server| server.panics))]
    {
        if panics > 0 {
            reasons.fault_of_the_lab(format!("{panics} in the {who}"), "0", "a part of the lab failed while it ran");
        }
    }
}

/// Books of policies: what their sites were told must fit what they had admitted, else limits and estimates are about
/// other jobs. The sites are those of the service, and the users' own.
pub(super) const JOBS: ValidityGate = ValidityGate {
    code: "JOBS",
    verdicts: &[Validity::Invalid],
    finds: "a policy's site, of the service or of the users, was told of the start or the end of a job that was not in flight there: told twice, or never admitted",
    limit: "0",
    remedy: "report it with the results folder",
    checks: &[Check::Count(Count {
        of: contradictions,
        found: |jobs| format!("{jobs} starts or ends of jobs that were not in flight"),
        message: "what the policies were told does not fit what they had admitted",
        remedy: FAULT_OF_THE_LAB,
    })],
    reading: |run| run.count(contradictions),
};

fn contradictions(arm: &Arm) -> u64 {
    arm.generator.contradictions + arm.server.as_ref().map_or(0, |server| server.contradictions)
}
