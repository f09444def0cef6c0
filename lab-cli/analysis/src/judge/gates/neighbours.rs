//! STARVED and THROTTLED: the service had the processor time that it wanted.

use super::{
    context::Context,
    effect,
    gate::{Check, Reasons, ValidityGate},
    limits::{self, MOVED, MOVED_MS, STARVED_BUSY},
};
use crate::{
    summary::{Arm, Measured, ServiceWait, Throttled, Validity},
    text::{percent, time},
};

pub(super) const STARVED: ValidityGate = ValidityGate {
    code: "STARVED",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "the service was ready and waited for its processor while others had it; a caution where neither its waits nor others' use can be read",
    limit: "5 % of the time that it wanted one, if that adds over 5 % and 0.1 ms to the median response time, or the service was busy for over half of the time; INVALID (no load) above 10 % if that adds over 10 % and 0.2 ms to the median response time, or the service was busy for over half of the time",
    remedy: "stop other programs, also outside of the container",
    checks: &[Check::Arm(starved)],
    reading: |run| {
        let wait = |arm: &Arm| arm.conditions.neighbours.as_ref()?.service;
        run.live()?.most(|arm| wait(arm).map(|wait| wait.share()), |share, _| percent(share))
    },
};

/// Waits by their effect, as CROWDED: they count as a share of the time in which the service wanted a processor,
/// since that is the share of its capacity that it lost. Where it was seldom busy, what they add to a response time
/// is what they can spoil.
fn starved(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    let Some(neighbours) = &arm.conditions.neighbours else { return };
    if let Some(wait) = &neighbours.service {
        waited(arm, wait, context, reasons);
    }
    if let Some(why) = &neighbours.unknown {
        reasons.warn(
            format!("whether others, or a limit on CPU time, held the service up is not known: {why}"),
            "its threads' waits, or what others use of its processors",
            "a service without processor time looks like a slow one",
            if context.is_load() {
                "run the lab where it can see the service's processes (/proc)"
            } else {
                "give target.pid, or run the lab where it can see the service's processes (/proc)"
            },
        );
    }
}

fn waited(arm: &Arm, wait: &ServiceWait, context: &Context, reasons: &mut Reasons) {
    let share = wait.share();
    let Some(verdict) = effect::verdict(share, f64::INFINITY) else { return };
    let answered = arm.sum(|found: &Measured| found.served + found.served_late + found.rejected + found.failed).max(1);
    let added_ms = wait.starved_s * 1e3 / answered as f64;
    let medians = arm.phases.iter().filter_map(|phase| phase.measured.response_time_ms.p50);
    let median = medians.min_by(f64::total_cmp);
    let is_busy = wait.wanted() > STARVED_BUSY;
    let moves = median.map_or(Some(Validity::Invalid), |median| effect::verdict(added_ms / median, added_ms));
    if !is_busy && (moves.is_none() || median.is_none() && wait.wanted() < MOVED.0) {
        return;
    }
    // Of a load a caution, since what runs beside it may belong to the service.
    let spoils = !context.is_load() && wait.confirmed && (moves == Some(Validity::Invalid) || is_busy);
    let effect = match median {
        Some(median) => format!("{} a request, beside a median of {}", time(added_ms), time(median)),
        None => format!("{} a request", time(added_ms)),
    };
    let others = if wait.confirmed { "others had it" } else { "others may have had it" };
    reasons.add(
        if spoils { verdict } else { Validity::Warn },
        format!(
            "for {:.1} % of the time that the service wanted a processor, {others}: {effect}; it wanted one for {:.0} % of the time",
            share * 100.0,
            wait.wanted() * 100.0
        ),
        if context.is_load() {
            percent(MOVED.0)
        } else {
            format!(
                "{}; INVALID above {} if that adds over {2} and {3} ms to a median, or the service wants a processor for over {4} of the time",
                percent(MOVED.0),
                percent(MOVED.1),
                percent(MOVED.1),
                MOVED_MS.1,
                percent(STARVED_BUSY)
            )
        },
        "the service was starved: what it could do was decided by what else ran there, on this side of a container's wall or beyond",
        if context.foreign_service { "stop other programs, also outside of the container, or give the service processors of its own" } else { "stop other programs, also outside of the container" },
    );
}

pub(super) const THROTTLED: ValidityGate = ValidityGate {
    code: "THROTTLED",
    verdicts: &[Validity::Warn],
    finds: "a limit on CPU time (cgroup: docker --cpus, Kubernetes, systemd CPUQuota) stopped service or lab",
    limit: "0.1 % of the time",
    remedy: "a higher limit, unless it is the service's own",
    checks: &[Check::Arm(throttled)],
    reading: |run| {
        let seconds = |throttled: &Option<Throttled>| throttled.map_or(0.0, |throttled| throttled.seconds);
        run.live()?.most(
            |arm| {
                let neighbours = arm.conditions.neighbours.as_ref()?;
                Some(seconds(&neighbours.service_throttled) + seconds(&neighbours.lab_throttled))
            },
            |seconds, _| format!("{seconds:.1} s"),
        )
    },
};

/// A caution: the limit may be the service's in production too, and then it belongs to what is measured.
fn throttled(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let Some(neighbours) = &arm.conditions.neighbours else { return };
    let lasted: f64 = arm.phases.iter().map(|phase| phase.seconds).sum();
    let (service, lab) = (neighbours.service_throttled, neighbours.lab_throttled);
    let all = match (service, lab) {
        (Some(service), Some(lab)) if service == lab => vec![("service and lab were", service)],
        _ => [("the service was", service), ("the lab was", lab)]
            .into_iter()
            .filter_map(|(who, found)| Some((who, found?)))
            .collect(),
    };
    for (who, found) in all.into_iter().filter(|(_, found)| found.seconds > lasted * limits::THROTTLED) {
        reasons.warn(
            format!("{who} throttled: stopped for {:.1} s in {} periods by a limit on CPU time", found.seconds, found.periods),
            format!("{} % of the time", limits::THROTTLED * 100.0),
            "it stood still in bursts, as the limit of its control group had been reached",
            "raise the limit (docker --cpus, cpu.max), or keep it if the service has the same one in production; the lab itself must have none",
        );
    }
}
