//! The clocks of a layer: tokio's monotonic clock, which a test can pause, and the wall clock.

use controllers::{Timestamp, UnixSeconds};
use tokio::time::Instant;

/// The time since a layer was built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Timestamp {
        Timestamp::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The instant at which the clock shows this time, at most a day from now.
    pub(crate) fn instant(self, at: Timestamp) -> Instant {
        const DAY: u64 = 86_400_000_000_000;
        let latest = Timestamp::from_nanos(self.now().as_nanos().saturating_add(DAY));
        self.0 + at.min(latest).since(Timestamp::ZERO)
    }

    /// The wall clock. In unit tests it follows the monotonic clock.
    pub(crate) fn wall(self) -> UnixSeconds {
        if cfg!(test) {
            return UnixSeconds::in_virtual_time(self.now());
        }
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        UnixSeconds(since.map_or(0, |since| since.as_secs()))
    }
}
