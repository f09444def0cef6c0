use std::time::Duration;

use measure::ClockReport;

use crate::clock::ClockReadings;

/// Follows the machine's clocks over a run. Times are taken from the monotonic clock alone; this meter finds reasons to
/// doubt it, and reasons why logs with wall times do not fit.
#[derive(Debug)]
pub struct ClockMeter {
    first: ClockReadings,
    last: ClockReadings,
    step: Duration,
}

impl ClockMeter {
    /// A meter that compares with these first readings.
    #[must_use]
    pub fn new(first: ClockReadings) -> Self {
        Self { first, last: first, step: Duration::ZERO }
    }

    /// Takes further readings, a second or so later.
    pub fn look(&mut self, now: ClockReadings) {
        let step = apart((self.last.wall, now.wall), (self.last.monotonic, now.monotonic));
        self.step = self.step.max(step);
        self.last = now;
    }

    /// The deviations between the first readings and the last.
    #[must_use]
    pub fn report(&self) -> ClockReport {
        let Self { first, last, step } = *self;
        let monotonic = (first.monotonic, last.monotonic);
        let ran = last.monotonic.saturating_sub(first.monotonic).as_secs_f64();
        let suspended = apart((first.boot, last.boot), monotonic);
        // A wall clock that was set, or that went on while the machine slept, has not run faster: the step has a figure
        // of its own.
        let set = step.max(suspended) >= ClockReport::STEP;
        let wall = if set { Duration::ZERO } else { apart((first.wall, last.wall), monotonic) };
        let drift = wall.max(apart((first.raw, last.raw), monotonic));
        let drift_ppm = if ran > 0.0 { drift.as_secs_f64() / ran * 1e6 } else { 0.0 };
        ClockReport { drift_ppm, step, suspended }
    }
}

/// The difference between the movements of two clocks. A clock that never moves is missing, and differs by zero.
fn apart((a, a_now): (Duration, Duration), (b, b_now): (Duration, Duration)) -> Duration {
    if a == a_now {
        return Duration::ZERO;
    }
    // Each side has one term that went forward and one that may have gone back.
    (a_now + b).abs_diff(a + b_now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A minute of readings, with every clock as `change` makes it at that second.
    fn after_a_minute(change: impl Fn(u32, &mut ClockReadings)) -> ClockReport {
        let at = |second: u32| {
            let ran = SECOND * second;
            let mut clocks = ClockReadings {
                monotonic: SECOND * 100 + ran,
                raw: SECOND * 99 + ran,
                boot: SECOND * 500 + ran,
                wall: ran,
            };
            clocks.wall += SECOND * 1_700_000_000;
            change(second, &mut clocks);
            clocks
        };
        let mut meter = ClockMeter::new(at(0));
        (1..=60).for_each(|second| meter.look(at(second)));
        meter.report()
    }

    #[test]
    fn clocks_that_agree_show_nothing() {
        assert_eq!(after_a_minute(|_, _| ()), ClockReport::default());
        // A kernel without one of the clocks.
        assert_eq!(after_a_minute(|_, clocks| clocks.raw = Duration::ZERO), ClockReport::default());
    }

    #[test]
    fn a_wall_clock_that_is_set_is_a_step_and_no_drift_either_way() {
        for back in [false, true] {
            let found = after_a_minute(|second, clocks| {
                if second >= 30 {
                    clocks.wall = if back { clocks.wall - SECOND * 3600 } else { clocks.wall + SECOND * 3600 };
                }
            });
            assert_eq!(found, ClockReport { step: SECOND * 3600, ..ClockReport::default() });
        }
    }

    #[test]
    fn a_machine_that_slept_is_found_by_the_boot_clock() {
        let found = after_a_minute(|second, clocks| {
            if second >= 10 {
                clocks.boot += SECOND * 7;
                clocks.wall += SECOND * 7;
            }
        });
        assert_eq!((found.suspended, found.step, found.drift_ppm), (SECOND * 7, SECOND * 7, 0.0));
    }

    #[test]
    fn a_clock_that_is_slewed_drifts() {
        // One thousandth faster than the hardware.
        let found = after_a_minute(|second, clocks| clocks.raw -= Duration::from_millis(1) * second);
        assert!((found.drift_ppm - 1000.0).abs() < 1e-6, "{found:?}");
        assert_eq!((found.step, found.suspended), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn the_machines_own_clocks_agree_over_a_moment() {
        let mut meter = ClockMeter::new(ClockReadings::read());
        // The machine's own readings, without waits.
        (0..200).for_each(|_| meter.look(ClockReadings::read()));
        let found = meter.report();
        // Nobody sets the clock or suspends the machine during a test; on a crowded machine readings differ by some
        // milliseconds.
        assert!(found.step < Duration::from_millis(500) && found.suspended < Duration::from_millis(500), "{found:?}");
    }
}
