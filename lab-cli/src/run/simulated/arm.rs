//! One arm in virtual time: the plan and the target of the live arm, a plant in place of the target's process.

use std::sync::atomic::{AtomicU64, Ordering};

use analysis::{arm_metrics, judge::threshold::Watch, summary};
use controllers::Timestamp;
use experiment::{Experiment, plan::ArmPlan, plan_digest::digest_of};
use plant::{Cluster, Plant, Simulate};
use spec::{
    fault::Fault,
    wire::{Gauges, ReadRequests, StreamedEvent},
};
use workloads::{StopFlag, plan::LoadPlan};

use crate::run::{
    EventSink, RunFailure,
    arm_recorder::{ArmRecorder, Ended},
    arm_summary, policy_events,
    seconds::Seconds,
    unread_requests::join,
};

/// One arm to run.
#[derive(Debug, Clone, Copy)]
pub struct Task {
    /// The index of the arm.
    pub arm: usize,
    /// The number of the repetition.
    pub block: u32,
    pub seed: u64,
}

/// The surroundings of an arm: who hears its events, and who may end it.
#[derive(Debug)]
pub struct ArmHost<'a, E> {
    /// The listener.
    pub events: E,
    /// Thresholds that end the run.
    pub watches: &'a [(usize, Watch)],
    /// Ends all arms.
    pub stop: &'a StopFlag,
    /// Seconds that have been computed, over all arms.
    pub computed: &'a AtomicU64,
}

/// An arm that was run.
#[derive(Debug)]
pub struct Simulated<E> {
    pub ended: Ended,
    /// The listener, which has heard all events in order.
    pub events: E,
    /// The digest of its plan.
    pub digest: String,
    /// Times in which tasks on demand were not there.
    pub absences: Vec<Fault>,
}

/// Runs it.
pub fn run_on<W: SimulatedService, E: EventSink>(
    mut plant: W,
    plan: &LoadPlan,
    experiment: &Experiment,
    (arm, task): (&ArmPlan, Task),
    ArmHost { mut events, watches, stop, computed }: ArmHost<'_, E>,
) -> Result<Simulated<E>, RunFailure> {
    // Of this arm alone: others run beside it.
    let end = StopFlag::new();
    if stop.is_stopped() {
        end.stop();
    }
    let seconds = Seconds::in_virtual_time(&arm.label, task.block, plan);
    let mut recorder = ArmRecorder::new(arm, task.block, plan, seconds, watches);
    events.event(&ArmRecorder::started(arm, task.block));
    let finished = plant.simulate(
        plan,
        arm.link(experiment),
        &mut |window, plant: &mut W, now| {
            computed.fetch_add(1, Ordering::Relaxed);
            let happened = policy_events::lines(plant.drain_events().into_iter(), 0);
            for event in recorder.on_second(&window, Some(plant.shown(now)), None, happened) {
                events.event(&event);
            }
            if recorder.is_aborted() || stop.is_stopped() {
                end.stop();
            }
        },
        &end,
    )?;
    let report = finished.report;
    let read = plant.read();
    let joined = report.numbers.as_ref().and_then(|numbers| join(numbers, &read));
    let last = plant.shown(finished.ended);
    let known = summary::Arm {
        conditions: arm_metrics::conditions(&report),
        server: Some(summary::Server {
            services: plant.services(),
            ..arm_summary::server(None, &last, &read.ledger, joined.as_ref())
        }),
        requests: joined,
        ..summary::Arm::default()
    };
    let absences = plant.absences(finished.ended);
    Ok(Simulated { ended: recorder.finish(report, known), events, digest: digest_of(plan)?, absences })
}

/// A target in virtual time: a plant, or several services.
pub trait SimulatedService: Simulate {
    fn shown(&self, now: Timestamp) -> Gauges;
    fn read(&self) -> ReadRequests;
    fn drain_events(&mut self) -> Vec<StreamedEvent>;
    fn services(&self) -> Vec<summary::ServiceTotals>;
    /// Times until this one in which tasks on demand were not there, each as a crash of that task.
    fn absences(&self, until: Timestamp) -> Vec<Fault>;
}

impl SimulatedService for Plant {
    fn shown(&self, now: Timestamp) -> Gauges {
        self.gauges(now)
    }

    fn read(&self) -> ReadRequests {
        self.requests()
    }

    fn drain_events(&mut self) -> Vec<StreamedEvent> {
        self.events().iter().map(|event| (**event).clone()).collect()
    }

    fn services(&self) -> Vec<summary::ServiceTotals> {
        Vec::new()
    }

    fn absences(&self, _: Timestamp) -> Vec<Fault> {
        Vec::new()
    }
}

impl SimulatedService for Cluster {
    fn shown(&self, now: Timestamp) -> Gauges {
        self.gauges(now)
    }

    fn read(&self) -> ReadRequests {
        self.requests()
    }

    fn drain_events(&mut self) -> Vec<StreamedEvent> {
        self.events()
    }

    fn services(&self) -> Vec<summary::ServiceTotals> {
        self.books()
    }

    fn absences(&self, until: Timestamp) -> Vec<Fault> {
        self.absences(until)
    }
}
