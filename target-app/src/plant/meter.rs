//! The measures that a plant shows to its sites: its load, and the wall clock.

use std::time::Duration;

use controllers::{Timestamp, UnixSeconds};

use crate::signals::Probe;

/// The source of load samples of a plant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meter {
    pub(super) used: Duration,
    pub(super) cpus: f64,
    pub(super) memory: f64,
}

impl Probe for Meter {
    fn cpu_time(&self) -> Duration {
        self.used
    }

    fn cpus(&self) -> f64 {
        self.cpus
    }

    /// In a plant, only connections take memory.
    fn memory_share(&self) -> f64 {
        self.memory
    }
}

/// The wall clock begins with the run: it need not agree with any other.
pub(super) fn wall(now: Timestamp) -> UnixSeconds {
    UnixSeconds(now.as_nanos() / 1_000_000_000)
}
