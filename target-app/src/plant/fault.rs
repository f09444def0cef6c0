//! Faults at set times, and the state of a task that crashes, at a set time or by its memory.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A fault for a limited time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Its start, from the start of the run.
    pub at: Duration,
    /// Its duration.
    pub lasts: Duration,
    /// Its kind.
    pub kind: FaultKind,
    /// The only service of a tree that it affects; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The only task of that service that it affects; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
}

impl Fault {
    /// True if it affects this service of a tree, or some of its tasks.
    #[must_use]
    pub fn hits(&self, service: &str) -> bool {
        self.service.as_deref().is_none_or(|only| only == service)
    }

    /// True if it affects this task of a service.
    #[must_use]
    pub fn hits_task(&self, service: &str, task: u32) -> bool {
        self.hits(service) && self.task.is_none_or(|only| only == task)
    }
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The cores work at this share of their speed, 0 to 1: 0 is a pause.
    Capacity(f64),
    /// Every request takes this much longer in its stage, without any work.
    Latency(Duration),
    /// The process dies with all that it has; another one takes its place when the fault is over.
    Crash,
}

/// What faults do to a task at one moment, all together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hindrance {
    /// The share of their speed that its cores have.
    pub speed: f64,
    /// The additional time of every request.
    pub wait: Duration,
    /// True if there is no process.
    pub down: bool,
}

impl Hindrance {
    /// No fault.
    pub const NONE: Self = Self { speed: 1.0, wait: Duration::ZERO, down: false };

    /// What these faults do at a moment.
    pub fn at<'a>(faults: impl Iterator<Item = &'a Fault>, moment: Duration) -> Self {
        Self::of(faults.filter(|fault| (fault.at..fault.at + fault.lasts).contains(&moment)).map(|fault| fault.kind))
    }

    fn of(under_way: impl Iterator<Item = FaultKind>) -> Self {
        under_way.fold(Self::NONE, |so_far, kind| match kind {
            FaultKind::Capacity(share) => Self { speed: so_far.speed * share, ..so_far },
            FaultKind::Latency(wait) => Self { wait: so_far.wait + wait, ..so_far },
            FaultKind::Crash => Self { down: true, ..so_far },
        })
    }

    /// The share of the speed that is left; 0 without a process.
    #[must_use]
    pub fn share(self) -> f64 {
        if self.down { 0.0 } else { self.speed }
    }
}

/// The moments at which faults begin or are over, in order.
pub fn moments<'a>(faults: impl Iterator<Item = &'a Fault>) -> Vec<Duration> {
    let mut moments: Vec<Duration> = faults.flat_map(|fault| [fault.at, fault.at + fault.lasts]).collect();
    moments.sort_unstable();
    moments.dedup();
    moments
}

/// The crashes of a plant.
#[derive(Debug, Default)]
pub(super) struct Crashes {
    /// How many there were.
    pub(super) many: u64,
    /// What keeps the process down: it is back when nothing does any more.
    pub(super) causes: u32,
    /// Requests of the process that died for which a site has yet to note the end: they take no memory.
    pub(super) lost: usize,
}

impl Crashes {
    /// True from a crash to the restart: connections are refused.
    pub(super) fn is_down(&self) -> bool {
        self.causes > 0
    }
}

/// The faults of a run, and their states.
#[derive(Debug, Default)]
pub(super) struct Faults {
    all: Vec<Fault>,
    under_way: Vec<usize>,
    /// Crashes, at set times and by memory.
    pub(super) crashes: Crashes,
}

impl Faults {
    pub(super) fn new(all: &[Fault]) -> Self {
        Self { all: all.to_vec(), under_way: Vec::new(), crashes: Crashes::default() }
    }

    /// The start (true) and the end of each fault.
    pub(super) fn times(&self) -> impl Iterator<Item = (Duration, usize, bool)> + '_ {
        let both =
            |(number, fault): (usize, &Fault)| [(fault.at, number, true), (fault.at + fault.lasts, number, false)];
        self.all.iter().enumerate().flat_map(both)
    }

    /// The kind of a fault.
    pub(super) fn kind(&self, number: usize) -> FaultKind {
        self.all[number].kind
    }

    /// True if the process may crash at a set time.
    pub(super) fn has_crashes(&self) -> bool {
        self.all.iter().any(|fault| fault.kind == FaultKind::Crash)
    }

    pub(super) fn set(&mut self, number: usize, on: bool) {
        self.under_way.retain(|&other| other != number);
        if on {
            self.under_way.push(number);
        }
    }

    /// What they do now.
    pub(super) fn now(&self) -> Hindrance {
        Hindrance::of(self.under_way.iter().map(|&number| self.all[number].kind))
    }
}
