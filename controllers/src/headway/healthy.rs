//! The baseline: what a job takes inside where nothing queues, W0.

use super::{
    constants::{BASELINE_GAIN, FASTER, WINDOW_ENDS},
    experiment::PairFigures,
    window::DoorFigures,
};

/// Time and lateness of health. Learnt while the limit does not bind; while it does, time alone never raises it.
#[derive(Debug, Default)]
pub(super) struct HealthyTime {
    /// Seconds; 0: not known.
    time: f64,
    /// Share of ends later than the objective without any queue: services with wide laws have some.
    late: f64,
    confirmed: bool,
    /// Ends that it was learnt from.
    ends: f64,
}

impl HealthyTime {
    /// True if no queue can be in it: it is of an unlimited window, or a witness has confirmed it.
    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// Seconds; 0 before the first window.
    pub(super) fn time(&self) -> f64 {
        self.time
    }

    pub(super) fn late(&self) -> f64 {
        self.late
    }

    /// An unlimited window: as many ends as there are count, and a memory of ten full windows.
    pub(super) fn unlimited(&mut self, seen: &DoorFigures) {
        if !self.confirmed {
            (self.time, self.late, self.ends, self.confirmed) = (0.0, 0.0, 0.0, true);
        }
        self.ends += seen.ends;
        let full = (seen.ends / f64::from(WINDOW_ENDS)).min(1.0);
        self.approach(seen, (BASELINE_GAIN * full).max(seen.ends / self.ends));
    }

    /// A limited window counts only if it is faster by more than chance.
    pub(super) fn limited(&mut self, seen: &DoorFigures) {
        if self.time == 0.0 {
            (self.time, self.late) = (seen.time, seen.late);
        } else if seen.time + FASTER * seen.spread / seen.ends.sqrt() < self.time {
            self.approach(seen, BASELINE_GAIN);
        }
    }

    fn approach(&mut self, seen: &DoorFigures, gain: f64) {
        self.time += gain * (seen.time - self.time);
        self.late += gain * (seen.late - self.late);
    }

    /// The time of this pair is that of the service, by the trend.
    pub(super) fn confirm(&mut self, pair: &PairFigures) {
        (self.time, self.late, self.confirmed) = (pair.time, pair.late, true);
    }

    /// The start found no queue at this time, seconds.
    pub(super) fn confirm_start(&mut self, time: f64) {
        if !self.confirmed {
            (self.time, self.confirmed) = (time, true);
        }
    }

    /// Nothing is known: what is seen has to do.
    pub(super) fn suppose(&mut self, pair: &PairFigures) {
        (self.time, self.late) = (pair.time, pair.late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(ends: f64, time: f64, spread: f64, late: f64) -> DoorFigures {
        DoorFigures {
            took: 1.0,
            ends,
            pace: ends,
            in_time: ends,
            time,
            spread,
            quick: None,
            late,
            jobs: ends * time,
            refused: 0.0,
            limited: false,
        }
    }

    #[test]
    fn unlimited_windows_count_by_their_ends() {
        let mut healthy = HealthyTime::default();
        healthy.limited(&window(64.0, 0.9, 0.1, 0.5));
        assert_eq!((healthy.time(), healthy.is_confirmed()), (0.9, false));
        healthy.unlimited(&window(64.0, 0.02, 0.02, 0.0));
        assert_eq!((healthy.time(), healthy.is_confirmed()), (0.02, true), "a queue may be in what was there");
        healthy.unlimited(&window(64.0, 0.04, 0.02, 0.2));
        assert_eq!((healthy.time(), healthy.late()), (0.03, 0.1), "the mean of both");
        healthy.ends = 6400.0;
        healthy.unlimited(&window(32.0, 0.13, 0.02, 0.1));
        assert!((healthy.time() - 0.035).abs() < 1e-12, "half a window weighs a twentieth");
    }

    #[test]
    fn under_a_limit_it_falls_when_that_is_no_chance_and_never_rises() {
        let mut healthy = HealthyTime::default();
        healthy.unlimited(&window(64.0, 0.03, 0.03, 0.0));
        healthy.limited(&window(64.0, 0.3, 0.03, 0.0));
        // 0.021 + 2.5 × 0.032 / 8 = 0.031: chance. With a spread of 0.016 it is 0.026.
        healthy.limited(&window(64.0, 0.021, 0.032, 0.0));
        assert_eq!(healthy.time(), 0.03);
        healthy.limited(&window(64.0, 0.021, 0.016, 0.0));
        assert!((healthy.time() - 0.0291).abs() < 1e-12);
    }
}
