//! Faults at set times.

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

    /// What faults of these kinds do together.
    pub fn of(under_way: impl Iterator<Item = FaultKind>) -> Self {
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
