//! WARM-UP and UNSTABLE: is what a phase shows the same at its end as at its beginning?

use std::collections::{BTreeMap, BTreeSet};

use super::{
    context::Context,
    gate::{Check, Reasons, ValidityGate},
    reading::greatest,
};
use crate::{
    judge::steady::{EndShift, beginning, end, in_most_blocks},
    summary::{Arm, PhaseSummary, Steadiness, Validity},
    text::{percent, rate},
};

pub(super) const WARM_UP: ValidityGate = ValidityGate {
    code: "WARM-UP",
    verdicts: &[Validity::Warn],
    finds: "a phase that is read as a steady state begins otherwise than it goes on, or ends otherwise than it began, in most blocks of an arm",
    limit: "10 %, far outside of what the third at the other end shows, for a quarter of the phase (an eighth in each of several blocks); not judged: under 12 relaxation times of its queue",
    remedy: "a phase of its own for the warm-up; `steady: false` where that is the subject",
    checks: &[Check::Arms(warm_up)],
    reading: |run| {
        let judged = |arm: &Arm| {
            greatest(read_as_steady(arm).filter(|(_, found)| found.judged).map(|(_, found)| found.warm_up_s))
        };
        let settled = run.most(judged, |seconds, _| format!("{seconds:.0} s until settled"));
        settled.or_else(|| {
            let any = run.0.arms.iter().any(|arm| read_as_steady(arm).next().is_some());
            any.then(|| "not judged: too few requests for a queue of that length".to_owned())
        })
    },
};

pub(super) const UNSTABLE: ValidityGate = ValidityGate {
    code: "UNSTABLE",
    verdicts: &[Validity::Unstable],
    finds: "requests in flight, or in the service's queues, grew all the time: a finding about the service, whose percentiles depend on how long it was watched",
    limit: "1 % of what comes, and no chance (Mann and Kendall, 1 %); not judged: phases under 20 s",
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

/// Steadiness of a phase that may be asked whether it settled.
fn asked(phase: &PhaseSummary) -> Option<Steadiness> {
    phase.measures.steady_state()
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

/// Over all blocks of an arm: what one of them shows may be chance.
fn warm_up(arms: &[Arm], left_out: &BTreeSet<u32>, reasons: &mut Reasons) {
    let mut blocks: BTreeMap<(&str, &str), Vec<Option<Steadiness>>> = BTreeMap::new();
    for arm in arms.iter().filter(|arm| !left_out.contains(&arm.block)) {
        for (phase, found) in read_as_steady(arm) {
            // What UNSTABLE finds is no warm-up, though it looks like one.
            let settles = found.judged && found.growth_per_s <= 0.0;
            blocks.entry((arm.shown_name(), phase.name.as_str())).or_default().push(settles.then_some(found));
        }
    }
    for ((arm, phase), blocks) in blocks {
        arm.clone_into(&mut reasons.arm);
        let of = |found: usize| {
            if blocks.len() > 1 { format!(" (in {found} of {} blocks)", blocks.len()) } else { String::new() }
        };
        if let Some((EndShift { seconds, effect }, found)) = in_most_blocks(&blocks, beginning) {
            let (effect, of) = (percent(effect), of(found));
            reasons.warn(
                format!("{phase}: the first {seconds:.0} s differ by {effect} from the last third{of}"),
                "10 %, and what a queue does by chance",
                "the figures of the phase are about its warm-up too",
                "ask for the part after it in thresholds (name[20%..]), or give the warm-up a phase of its own",
            );
        } else if let Some((EndShift { seconds, effect }, found)) = in_most_blocks(&blocks, end) {
            let (effect, of) = (percent(effect), of(found));
            reasons.warn(
                format!("{phase}: the last {seconds:.0} s differ by {effect} from the first third{of}"),
                "10 %, and what a queue does by chance",
                "goodput or response times changed late: the phase is not steady",
                "look at timeline.jsonl for what changed; steady: false for a phase that is not about a steady state",
            );
        }
    }
    reasons.arm.clear();
}
