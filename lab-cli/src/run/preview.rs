//! Preview of an experiment while a person looks at its description: its arms in virtual time, one after another, told
//! second by second. Nothing is written, and no command of the experiment is started.

use std::sync::atomic::AtomicU64;

use analysis::live::{LiveEvent, TimelineSecond};
use experiment::{Experiment, plan::Hindsight, plan_digest::seed_of};
use workloads::StopFlag;

use super::{
    EventSink, RunFailure,
    simulated::{
        arm::{ArmHost, Task},
        setup::VirtualSetup,
    },
};

/// Arms of a preview, by their place in the experiment: those that run by themselves. A bound that is searched takes as
/// long as many runs, and one that is computed has no seconds.
pub fn previewed(experiment: &Experiment) -> Vec<usize> {
    let is_run = |hindsight: &Hindsight| hindsight.searched().is_none() && !experiment.computes(hindsight);
    let runs = |(_, arm): &(usize, &experiment::plan::ArmPlan)| arm.hindsight.as_ref().is_none_or(is_run);
    experiment.arms.iter().enumerate().filter(runs).map(|(number, _)| number).collect()
}

/// Runs them until `stop` is raised: `tell` hears which arm each second is of. One thread, the caller's.
///
/// # Errors
/// What makes a run in virtual time impossible.
pub fn preview(
    experiment: &Experiment,
    stop: &StopFlag,
    mut tell: impl FnMut(usize, &TimelineSecond),
) -> Result<(), RunFailure> {
    if let Some(why) = experiment.live_only() {
        return Err(RunFailure::LiveOnly { name: experiment.name.clone(), why });
    }
    let setup = VirtualSetup::of(experiment);
    let capacity = setup.capacity(experiment, stop)?;
    let (computed, seed) = (AtomicU64::new(0), seed_of(experiment, 1));
    for arm in previewed(experiment) {
        if stop.is_stopped() {
            break;
        }
        let events = Seconds { arm, tell: &mut tell };
        let host = ArmHost { events, watches: &[], stop, computed: &computed };
        setup.run(experiment, &experiment.arms, Task { arm, block: 1, seed }, capacity.as_ref(), host)?;
    }
    Ok(())
}

/// A sink for seconds: a preview needs no other events.
struct Seconds<'a, F> {
    arm: usize,
    tell: &'a mut F,
}

impl<F: FnMut(usize, &TimelineSecond)> EventSink for Seconds<'_, F> {
    fn event(&mut self, event: &LiveEvent) {
        if let LiveEvent::Second(second) = event {
            (self.tell)(self.arm, second);
        }
    }
}

/// Builds every arm and its users, as a run in virtual time does, and runs none of them: what a reader of the file cannot see
/// (a policy that does not fit its place, users that the service has no pages for) is found before anything is measured.
///
/// # Errors
/// The first arm that cannot start, and why.
pub fn rehearse(experiment: &Experiment) -> Result<(), RunFailure> {
    let setup = VirtualSetup::of(experiment);
    for arm in &experiment.arms {
        setup
            .can_start(experiment, arm)
            .map_err(|cause| RunFailure::CannotStart { arm: arm.label.clone(), cause: cause.to_string() })?;
    }
    Ok(())
}

/// Refuses users, or a part of them, that keep more connections than this machine has descriptors or ports for. In all arms they are the same.
///
/// # Errors
/// What is missing, and how many would be needed.
#[cfg(feature = "live")]
pub fn fits(experiment: &Experiment, shard: Option<measure::Shard>) -> Result<(), RunFailure> {
    use experiment::{plan::ArmPlan, plan_digest::nowhere, resolve::load_plan};
    use senders::{RunError, RunOptions};
    use workloads::plan::LoadPlan;

    let rate = experiment.nominal_capacity();
    let plan = load_plan(experiment, &ArmPlan::none(), &[], nowhere(), experiment.seed, rate);
    let plan = LoadPlan { shard, ..plan };
    let refused = |cause: RunError| RunFailure::CannotStart { arm: experiment.name.clone(), cause: cause.to_string() };
    senders::fits(&plan, &RunOptions::default()).map_err(refused)
}

#[cfg(test)]
mod tests {
    use experiment::{Changes, read};

    use super::*;

    const FILE: &str = "name: x\nabout: y\ntarget: {app: emulated, service: 10ms, workers: 2}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, path: /, phases: [{name: x, requests: 50/s, for: 5s}]}\narms: [none, {fixed-rate: {rate: 20/s}}, oracle, best-static]\n";

    fn experiment() -> Experiment {
        read(FILE, &Changes::default()).unwrap_or_else(|problems| panic!("{}", problems[0]))
    }

    #[test]
    fn arms_come_second_by_second_in_their_order() {
        let experiment = experiment();
        assert_eq!(previewed(&experiment), [0, 1], "bounds are left out");
        let mut seconds: Vec<(usize, u32, u64)> = Vec::new();
        let tell = |arm, second: &TimelineSecond| seconds.push((arm, second.second, second.served));
        preview(&experiment, &StopFlag::new(), tell).expect("it can be simulated");
        let of = |arm| seconds.iter().filter(move |(of, ..)| *of == arm);
        assert!(seconds.is_sorted_by_key(|(arm, second, _)| (*arm, *second)));
        assert!(of(0).count() >= 5 && of(1).count() >= 5, "{seconds:?}");
        let served = |arm| of(arm).map(|(_, _, served)| served).sum::<u64>();
        assert!(served(1) < served(0) / 2 + 20, "20 of 50 a second: {seconds:?}");
    }

    #[test]
    fn it_ends_in_the_middle_when_nobody_looks_any_more() {
        let (stop, mut seconds) = (StopFlag::new(), 0);
        let tell = |_, _: &TimelineSecond| {
            seconds += 1;
            stop.stop_now();
        };
        // The host looks for a stop once in some thousands of events.
        let long = ["users.phases.x.requests=90/s", "users.phases.x.for=100s"].map(str::to_owned).to_vec();
        let long =
            read(FILE, &Changes { set: long, ..Changes::default() }).unwrap_or_else(|found| panic!("{}", found[0]));
        preview(&long, &stop, tell).expect("it can be simulated");
        assert!((1..50).contains(&seconds), "{seconds} of 200");
    }
}
