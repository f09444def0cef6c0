//! WARM-UP and UNSTABLE: is what a phase shows the same at its end as at its beginning?

use super::{invalid, warn};
use crate::{
    summary::{Arm, Phase, Reason, Steadiness, Verdict},
    text,
};

/// A phase of one load that is at least so long is read as a steady state unless the file says `steady: false`, or its subject is
/// a spike, a fault or a recovery. Shorter ones are mostly crowds and sweeps, which are about what happens on the way.
const STEADY_S: f64 = 60.0;

pub(super) fn check(arm: &Arm, reasons: &mut Vec<Reason>) {
    for phase in &arm.phases {
        let Some(found) = asked(phase) else { continue };
        if found.growth_per_s > 0.0 {
            unstable(phase, found, reasons);
        } else if is_steady(phase, found) {
            warm_up(phase, found, reasons);
        }
    }
}

/// What is known of a phase that may be asked whether it settled.
pub(super) fn asked(phase: &Phase) -> Option<Steadiness> {
    phase.measures.steadiness.filter(|found| found.declared != Some(false))
}

/// It is read as a steady state.
pub(super) fn is_steady(phase: &Phase, found: Steadiness) -> bool {
    found.declared == Some(true) || (phase.seconds >= STEADY_S && !found.transient)
}

/// A finding about the service, not a fault of the measurement.
fn unstable(phase: &Phase, found: Steadiness, reasons: &mut Vec<Reason>) {
    let goodput = text::rate(phase.measured.goodput_per_s);
    let finding = warn(
        "UNSTABLE",
        format!(
            "{}: {} more requests in flight each second, with {goodput} a second in time",
            phase.name,
            text::rate(found.growth_per_s)
        ),
        "1 % of what comes".to_owned(),
        "the service never settled: percentiles of this phase depend on how long it was",
        "read growth and goodput; steady: false for a phase that is not about a steady state",
    );
    reasons.push(Reason { verdict: Verdict::Unstable, ..finding });
}

fn warm_up(phase: &Phase, found: Steadiness, reasons: &mut Vec<Reason>) {
    let half = found.batch_s * found.batches as f64 / 2.0;
    if found.warm_up_s > half {
        // Where a steady state is what the file promises, there is none.
        let finding = if found.declared == Some(true) { invalid } else { warn };
        reasons.push(finding(
            "WARM-UP",
            format!("{}: not settled after {:.0} s", phase.name, found.warm_up_s),
            format!("{half:.0} s, half of it"),
            "most of the phase is warm-up: its figures are not those of a steady state",
            "make the phase longer; steady: false for a phase that is not about a steady state",
        ));
    } else if found.warm_up_s > 0.0 {
        reasons.push(warn(
            "WARM-UP",
            format!(
                "{}: the first {:.0} s differ by {} from the rest",
                phase.name,
                found.warm_up_s,
                text::percent(found.warm_up_effect)
            ),
            "10 %".to_owned(),
            "the figures of the phase are about its warm-up too",
            "ask for the part after it in thresholds (name[20%..]), or give the warm-up a phase of its own",
        ));
    }
    if found.trend > 0.0 {
        reasons.push(warn(
            "WARM-UP",
            format!("{}: changes by {} after its warm-up", phase.name, text::percent(found.trend)),
            "10 %, or chance".to_owned(),
            "goodput or response times go on rising or falling: the phase is not steady",
            "make it longer, and look at timeline.jsonl for what goes on changing",
        ));
    }
}
