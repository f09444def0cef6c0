//! What sites are shown of their plant: its load, and the wall clock.

use std::time::Duration;

use controllers::{Timestamp, UnixSeconds};

use crate::signals::Probe;

/// The plant as load samples see it.
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

    /// Nothing but connections takes memory in a plant.
    fn memory_share(&self) -> f64 {
        self.memory
    }
}

/// Wall time begins with the run: nothing outside of it is to agree with.
pub(super) fn wall(now: Timestamp) -> UnixSeconds {
    UnixSeconds(now.as_nanos() / 1_000_000_000)
}
