//! The process's one clock. Everything else is told the time.

use std::time::Instant;

use controllers::Timestamp;

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

    /// When the clock shows that time, for a timer.
    #[must_use]
    pub fn instant(self, at: Timestamp) -> tokio::time::Instant {
        let day = Timestamp::from_nanos(self.now().as_nanos().saturating_add(86_400_000_000_000));
        tokio::time::Instant::from_std(self.0 + at.min(day).since(Timestamp::ZERO))
    }
}
