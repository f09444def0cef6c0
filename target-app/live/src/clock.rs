//! The process's clocks. All other code is passed the time.

use std::time::Instant;

use controllers::{Timestamp, UnixSeconds};
use health::clock::wall;

/// Time since the process began to serve. Copies show the same time.
#[derive(Debug, Clone, Copy)]
pub struct ServiceClock(Source);

#[derive(Debug, Clone, Copy)]
enum Source {
    System(Instant),
    /// Time that a test advances.
    #[cfg(test)]
    Manual(&'static manual::ManualClock),
}

#[cfg(test)]
pub(crate) mod manual;

impl ServiceClock {
    /// A clock that starts at zero now.
    #[must_use]
    pub fn start() -> Self {
        Self(Source::System(Instant::now()))
    }

    /// A clock that shows the time of `manual`.
    #[cfg(test)]
    pub(crate) fn manual(clock: &'static manual::ManualClock) -> Self {
        Self(Source::Manual(clock))
    }

    /// The current time.
    #[must_use]
    pub fn now(self) -> Timestamp {
        match self.0 {
            Source::System(start) => {
                Timestamp::from_nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
            }
            #[cfg(test)]
            Source::Manual(clock) => clock.now(),
        }
    }

    /// The wall clock, to some milliseconds.
    #[must_use]
    pub fn wall(self) -> UnixSeconds {
        #[cfg(test)]
        if let Source::Manual(clock) = self.0 {
            return UnixSeconds::in_virtual_time(clock.now());
        }
        wall()
    }

    /// The instant at which the clock shows this time, for a limit that may be a millisecond or two late.
    #[must_use]
    pub fn instant(self, at: Timestamp) -> tokio::time::Instant {
        tokio::time::Instant::from_std(self.std_instant(at))
    }

    /// Waits until the clock shows this time, to about a tenth of a millisecond. Tokio's own timers count in whole
    /// milliseconds, rounded up twice: they are 1.2 ms late on average.
    pub async fn sleep_until(self, at: Timestamp) {
        match self.0 {
            Source::System(_) => _ = async_io::Timer::at(self.std_instant(at)).await,
            #[cfg(test)]
            Source::Manual(clock) => clock.sleep_until(at).await,
        }
    }

    #[cfg(not(test))]
    fn zero(self) -> Instant {
        let Source::System(start) = self.0;
        start
    }

    #[cfg(test)]
    fn zero(self) -> Instant {
        match self.0 {
            Source::System(start) => start,
            Source::Manual(_) => Instant::now(),
        }
    }

    /// At most a day from now: larger sums may overflow.
    fn std_instant(self, at: Timestamp) -> Instant {
        let day = Timestamp::from_nanos(self.now().as_nanos().saturating_add(86_400_000_000_000));
        self.zero() + at.min(day).since(Timestamp::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_sleeper_is_woken_in_time_and_never_early() {
        let clock = ServiceClock::start();
        let mut quarters = Vec::new();
        // On a crowded machine it is woken late for a while.
        while quarters.len() < 20 && quarters.last().is_none_or(|late| *late >= Duration::from_micros(500)) {
            let mut late = Vec::new();
            for n in 0..40 {
                // Ends at various times between two milliseconds.
                let end = clock.now() + Duration::from_micros(1000 + 137 * (n % 8));
                clock.sleep_until(end).await;
                let now = clock.now();
                assert!(now >= end);
                late.push(now.since(end));
            }
            late.sort_unstable();
            // The quarter with the least disturbance by the machine: a timer of whole milliseconds is late by 0.9 ms there.
            quarters.push(late[10]);
        }
        assert!(quarters.last().is_some_and(|late| *late < Duration::from_micros(500)), "{quarters:?}");
    }
}
