//! The one place in this crate that reads a clock. Hosts do; users are told.

use std::time::Instant;

use controllers::Timestamp;

/// The time of a run: monotonic, zero at its start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Instant,
}

impl Clock {
    /// The run begins now.
    #[must_use]
    pub fn start() -> Self {
        Self { began: Instant::now() }
    }

    /// How far into the run it is.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        // A run of 584 years overflows.
        Timestamp::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
