//! Measures of a run beside its counts and times, from its seconds: whether phases settled, how the service recovered, what was
//! wasted, who was served, and what changes with the load.
//!
//! Functions of what is in a run's folder alone (`timeline.jsonl`, and the arm's record, which has the plan), so that they can
//! be computed again.

mod collapse;
mod curves;
mod hysteresis;
mod plan;
mod recovery;
mod roles;
mod speed;
#[cfg(test)]
mod tests;
mod transient;

use crate::{
    live::TimelineSecond,
    summary::{Arm, Measures, PhaseSummary},
};

pub use curves::curves;
pub use plan::{MeasuresPlan, PlannedPhase};
pub use recovery::hold_against;

/// Fills in what follows from the arm's seconds: all of the arm, in order, and of no other.
pub fn fill_in(arm: &mut Arm, seconds: &[TimelineSecond], plan: &MeasuresPlan) {
    arm.conditions.sent_per_s_max = seconds.iter().map(|second| second.sent).max().unwrap_or(0) as f64;
    arm.conditions.generator_speed = speed::of(seconds, |cores| cores.generator);
    arm.conditions.service_speed = speed::of(seconds, |cores| cores.service);
    arm.wasted = wasted_in_all(arm);
    let roles = plan.roles();
    for phase in &mut arm.phases {
        let Some(number) = plan.phases.iter().position(|planned| planned.name == phase.name) else { continue };
        let planned = &plan.phases[number];
        let own: Vec<&TimelineSecond> = seconds.iter().filter(|second| second.phase == phase.name).collect();
        phase.measures = Measures {
            load: planned.load,
            role: roles[number],
            collapse: roles[number].filter(|role| role.is_stress()).and_then(|_| collapse::of(seconds, &phase.name)),
            wasted: wasted(&own),
            hysteresis: if phase.cut_off { None } else { plan.hysteresis(number, seconds) },
            class_fairness: class_fairness(phase),
            // Its last seconds may be those without arrivals.
            steadiness: planned.load.filter(|_| !phase.cut_off).and_then(|_| super::steady::judge(&own)).map(
                |mut found| {
                    found.declared = planned.steady;
                    found.transient = plan.is_transient(number);
                    found
                },
            ),
            ..std::mem::take(&mut phase.measures)
        };
    }
    for (name, recovery) in recovery::recoveries(seconds, plan) {
        let found = arm.phases.iter_mut().find(|phase| phase.name == name && !phase.cut_off);
        found.into_iter().for_each(|phase| phase.measures.recovery = Some(recovery.clone()));
    }
}

/// Answers that came late, and work whose client had gone, of all that was finished. What users call served in a whole phase
/// may be answered after it: this is about the seconds of the phase.
fn wasted(seconds: &[&TimelineSecond]) -> Option<f64> {
    let late: u64 = seconds.iter().map(|second| second.served_late).sum();
    let seen: Vec<_> = seconds.iter().filter_map(|second| second.target.as_ref()).collect();
    if seen.is_empty() {
        return None;
    }
    let gone: u64 = seen.iter().map(|target| target.client_gone).sum();
    let answered: u64 = seen.iter().map(|target| target.answered).sum();
    share(late + gone, answered + gone)
}

/// The same of the whole arm, its drain included, by both ledgers.
fn wasted_in_all(arm: &Arm) -> Option<f64> {
    let late: u64 = arm.phases.iter().map(|phase| phase.measured.served_late).sum();
    let server = arm.server.as_ref()?;
    share(late + server.client_gone, server.served + server.client_gone)
}

/// The two sides are read at different moments: a share is never over 1.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| (part as f64 / whole as f64).min(1.0))
}

/// Jain's index over what each class was given of what it wanted.
fn class_fairness(phase: &PhaseSummary) -> Option<f64> {
    let wanted = phase.by_class.values().filter(|class| class.offered_per_s > 0.0);
    let given: Vec<f64> = wanted.map(|class| (class.goodput_per_s / class.offered_per_s).min(1.0)).collect();
    if given.len() < 2 { None } else { measure::jain(&given) }
}
