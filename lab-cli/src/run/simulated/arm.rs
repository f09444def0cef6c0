//! One arm in virtual time: the plan and the target of the live arm, a plant in place of the target's process. Arms run in
//! parallel and report in their order: until its turn an arm's events wait in a file.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, BufWriter, Seek, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use analysis::{arm_metrics, judge::threshold::Watch, live::LiveEvent, summary};
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
            for event in recorder.on_second((&window, None), Some(plant.shown(now)), None, happened) {
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
    fn services(&self) -> Vec<summary::ServiceTotals> {
        Vec::new()
    }
    /// Times until this one in which tasks on demand were not there, each as a crash of that task.
    fn absences(&self, _until: Timestamp) -> Vec<Fault> {
        Vec::new()
    }
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

/// Events of one arm.
#[derive(Debug)]
pub struct EventBuffer {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<io::Error>,
}

/// Files of one process have different names, as long as they have any.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl EventBuffer {
    /// An empty one in the results folder: on the disk where the results will need room, too.
    pub fn create(folder: &Path) -> Result<Self, RunFailure> {
        let path = folder.join(format!(".waiting-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        let open = || {
            let file = File::options().read(true).write(true).create_new(true).open(&path)?;
            fs::remove_file(&path)?;
            Ok(file)
        };
        let file = open().map_err(RunFailure::at(&path))?;
        Ok(Self { path, file: BufWriter::new(file), failed: None })
    }

    /// All events, in order.
    pub fn read(self) -> Result<impl Iterator<Item = Result<LiveEvent, RunFailure>>, RunFailure> {
        let Self { path, file, failed } = self;
        if let Some(error) = failed {
            return Err(RunFailure::at(path)(error));
        }
        let rewound = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|mut file| {
            file.rewind()?;
            Ok(file)
        });
        let file = rewound.map_err(RunFailure::at(&path))?;
        Ok(BufReader::new(file).lines().map(move |line| {
            let line = line.map_err(RunFailure::at(&path))?;
            Ok(serde_json::from_str(&line)?)
        }))
    }
}

impl EventSink for EventBuffer {
    /// Adds an event. [`EventBuffer::read`] returns a failure: the arm runs on to its end, which costs less than a way out of it.
    fn event(&mut self, event: &LiveEvent) {
        if self.failed.is_none() {
            let line = serde_json::to_writer(&mut self.file, event).map_err(io::Error::from);
            self.failed = line.and_then(|()| self.file.write_all(b"\n")).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use analysis::live::TimelineSecond;

    use super::*;

    #[test]
    fn what_went_in_comes_out_to_the_last_bit_and_leaves_no_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut spool = EventBuffer::create(folder.path()).expect("made");
        // Neighbours of a number that a quick reader of decimals takes for another.
        let hard = [0.1 + 0.2, 5e-324, 1.797_693_134_862_315_7e308, 123.456_789_012_345_67, 2.0_f64.powi(-40) * 3.0];
        let events: Vec<LiveEvent> = (0..1000_u32)
            .map(|n| {
                let p50_ms = Some(hard[n as usize % hard.len()] / f64::from(1 + n % 7));
                LiveEvent::Second(Box::new(TimelineSecond { second: n, p50_ms, ..TimelineSecond::default() }))
            })
            .collect();
        events.iter().for_each(|event| spool.event(event));
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 0);
        let read: Vec<LiveEvent> = spool.read().expect("rewound").map(|event| event.expect("whole")).collect();
        assert!(read == events);
    }
}
