//! WARM-UP and UNSTABLE: is what a phase shows the same at its end as at its beginning?

use super::{Check, Context, Reasons, ValidityGate, reading::greatest};
use crate::{
    summary::{Arm, PhaseSummary, Steadiness, Validity},
    text::{percent, rate},
};

pub(super) const WARM_UP: ValidityGate = ValidityGate {
    code: "WARM-UP",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "a phase that is read as a steady state begins otherwise than it goes on (MSER), or goes on changing",
    limit: "10 %; void if more than half is warm-up and the file says `steady: true`",
    remedy: "a phase of its own for the warm-up; `steady: false` where that is the subject",
    checks: &[Check::Arm(warm_up)],
    reading: |run| {
        run.most(
            |arm| greatest(read_as_steady(arm).map(|(_, found)| found.warm_up_s)),
            |seconds, _| format!("{seconds:.0} s until settled"),
        )
    },
};

pub(super) const UNSTABLE: ValidityGate = ValidityGate {
    code: "UNSTABLE",
    verdicts: &[Validity::Unstable],
    finds: "requests in flight, or in the service's queues, grew all the time: a finding about the service, whose percentiles depend on how long it was watched",
    limit: "1 % of what comes, and no chance (Mann and Kendall, 1 %)",
    remedy: "read growth and goodput",
    checks: &[Check::Arm(unstable)],
    reading: |run| {
        run.most(
            |arm| greatest(arm.phases.iter().filter_map(asked).map(|found| found.growth_per_s)),
            |growth, _| format!("{} more in flight or queued each second", rate(growth)),
        )
    },
};

/// A phase of one load that is at least so long is read as a steady state unless the file says `steady: false`, or its subject is
/// a spike, a fault or a recovery. Shorter ones are mostly crowds and sweeps, which are about what happens on the way.
const STEADY_S: f64 = 60.0;

/// What is known of a phase that may be asked whether it settled.
fn asked(phase: &PhaseSummary) -> Option<Steadiness> {
    phase.measures.steadiness.filter(|found| found.declared != Some(false))
}

/// Phases that are read as a steady state.
fn read_as_steady(arm: &Arm) -> impl Iterator<Item = (&PhaseSummary, Steadiness)> {
    let asked = arm.phases.iter().filter_map(|phase| Some((phase, asked(phase)?)));
    asked.filter(|(phase, found)| found.declared == Some(true) || (phase.seconds >= STEADY_S && !found.transient))
}

/// A finding about the service, not a fault of the measurement.
fn unstable(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let asked = arm.phases.iter().filter_map(|phase| Some((phase, asked(phase)?)));
    for (phase, found) in asked.filter(|(_, found)| found.growth_per_s > 0.0) {
        let (growth, goodput) = (rate(found.growth_per_s), rate(phase.measured.goodput_per_s));
        reasons.add(
            Validity::Unstable,
            format!("{}: requests in flight or queued at the service grow by {growth} a second, at a goodput of {goodput}/s", phase.name),
            "1 % of what comes",
            "the service never reached a steady state: percentiles depend on the length of the phase",
            "read growth and goodput; steady: false for a phase that is not about a steady state",
        );
    }
}

/// What UNSTABLE finds is no warm-up, though it looks like one.
fn warm_up(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    for (phase, found) in read_as_steady(arm).filter(|(_, found)| found.growth_per_s <= 0.0) {
        phase_warm_up(phase, found, reasons);
    }
}

fn phase_warm_up(phase: &PhaseSummary, found: Steadiness, reasons: &mut Reasons) {
    let half = found.batch_s * found.batches as f64 / 2.0;
    if found.warm_up_s > half {
        // Where a steady state is what the file promises, there is none.
        let verdict = if found.declared == Some(true) { Validity::Invalid } else { Validity::Warn };
        reasons.add(
            verdict,
            format!("{}: not settled after {:.0} s", phase.name, found.warm_up_s),
            format!("{half:.0} s, half of it"),
            "most of the phase is warm-up: its figures are not those of a steady state",
            "make the phase longer; steady: false for a phase that is not about a steady state",
        );
    } else if found.warm_up_s > 0.0 {
        reasons.warn(
            format!(
                "{}: the first {:.0} s differ by {} from the rest",
                phase.name,
                found.warm_up_s,
                percent(found.warm_up_effect)
            ),
            "10 %",
            "the figures of the phase are about its warm-up too",
            "ask for the part after it in thresholds (name[20%..]), or give the warm-up a phase of its own",
        );
    }
    if found.trend > 0.0 {
        reasons.warn(
            format!("{}: changes by {} after its warm-up", phase.name, percent(found.trend)),
            "10 %, or chance",
            "goodput or response times go on rising or falling: the phase is not steady",
            "make it longer, and look at timeline.jsonl for what goes on changing",
        );
    }
}
