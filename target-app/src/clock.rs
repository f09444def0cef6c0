//! The process's clocks. Everything else is told the time.

use std::time::Instant;

use controllers::{Timestamp, UnixSeconds};
use nix::time::{ClockId, clock_gettime};

/// Time since the process began to serve. Copies agree.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts at zero now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Now.
    #[must_use]
    pub fn now(self) -> Timestamp {
        Timestamp::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The wall clock, as the kernel had it at its last tick (some milliseconds ago): read without a system call, at a
    /// fraction of what the exact one costs. 0 where there is none.
    #[must_use]
    pub fn wall(self) -> UnixSeconds {
        let read = clock_gettime(ClockId::CLOCK_REALTIME_COARSE);
        UnixSeconds(read.ok().and_then(|time| u64::try_from(time.tv_sec()).ok()).unwrap_or_default())
    }

    /// When the clock shows that time, for a timer.
    #[must_use]
    pub fn instant(self, at: Timestamp) -> tokio::time::Instant {
        let day = Timestamp::from_nanos(self.now().as_nanos().saturating_add(86_400_000_000_000));
        tokio::time::Instant::from_std(self.0 + at.min(day).since(Timestamp::ZERO))
    }
}
