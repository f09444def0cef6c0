//! The one place that reads a clock for users. Hosts read it, and pass the time on.

mod start;

use std::time::{Duration, Instant};

use controllers::{Timestamp, UnixSeconds};
use nix::time::{ClockId, clock_gettime};

pub use start::{Start, boot, wall_error};

/// The time of a run: monotonic, zero at its start.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    began: Instant,
}

impl RunClock {
    /// The clock of a run that begins at that moment: waits for it. `given_up` ends the wait.
    #[must_use]
    pub fn starting_at(start: Option<Start>, given_up: impl Fn() -> bool) -> Self {
        let start = start.unwrap_or_else(Start::now);
        start.wait(given_up);
        Self { began: start.instant() }
    }

    /// Time since the start of the run.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        // A run of 584 years overflows.
        Timestamp::from_nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The wall clock, as the kernel had it at its last tick (some milliseconds ago): read without a system call, at a
/// fraction of what the exact one costs. 0 where there is none.
#[must_use]
pub fn wall() -> UnixSeconds {
    let read = clock_gettime(ClockId::CLOCK_REALTIME_COARSE);
    UnixSeconds(read.ok().and_then(|time| u64::try_from(time.tv_sec()).ok()).unwrap_or_default())
}

/// Readings of the machine's clocks at one moment, each since an epoch of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockReadings {
    /// The clock that times runs: it never goes back, is slewed with the wall clock, and stands still while the machine
    /// sleeps.
    pub monotonic: Duration,
    /// The raw hardware counter, which is not slewed.
    pub raw: Duration,
    /// The monotonic clock plus the time that the machine slept.
    pub boot: Duration,
    /// The wall clock, which may be set at any time.
    pub wall: Duration,
}

impl ClockReadings {
    /// Four clocks cannot be read at once: a reading that took longer than this is repeated.
    const TIGHT: Duration = Duration::from_micros(20);
    /// The number of tries. On a crowded machine each may be interrupted; then the shortest reading is taken.
    const TRIES: usize = 5;

    /// Reads the clocks. A clock that the kernel does not have always reads as zero, and so never moves against the
    /// others.
    #[must_use]
    pub fn read() -> Self {
        let mut tightest = Self::once();
        for _ in 1..Self::TRIES {
            if tightest.0 <= Self::TIGHT {
                break;
            }
            let next = Self::once();
            if next.0 < tightest.0 {
                tightest = next;
            }
        }
        tightest.1
    }

    /// A reading, and the time that it took.
    fn once() -> (Duration, Self) {
        let at = |clock| clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
        let before = at(ClockId::CLOCK_MONOTONIC);
        let raw = at(ClockId::CLOCK_MONOTONIC_RAW);
        let boot = at(ClockId::CLOCK_BOOTTIME);
        let wall = at(ClockId::CLOCK_REALTIME);
        let took = at(ClockId::CLOCK_MONOTONIC).saturating_sub(before);
        (took, Self { monotonic: before + took / 2, raw, boot, wall })
    }
}

/// The kernel's clock source: `tsc`, `kvm-clock`; empty if the kernel does not tell.
#[must_use]
pub fn clock_source() -> String {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}
