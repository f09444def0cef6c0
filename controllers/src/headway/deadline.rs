//! The test of deadlines at the door: how much of the objective a job needs once it goes in, and how many can have it.

use std::time::Duration;

use super::window::DoorFigures;
use crate::estimate::needed;

/// Weight of an unlimited window in the pace: it shows what came, not what could be done.
const PACE_GAIN: f64 = 0.1;

/// What can be expected of the service.
#[derive(Debug)]
pub(super) struct DoorOutlook {
    objective: f64,
    /// Time that must be left, seconds.
    need: f64,
    /// Jobs a second; 0: not known.
    pace: f64,
}

impl DoorOutlook {
    pub(super) fn new(objective: Duration) -> Self {
        Self { objective: objective.as_secs_f64(), need: 0.0, pace: 0.0 }
    }

    pub(super) fn window(&mut self, seen: &DoorFigures) {
        self.need = needed(seen.quick, self.objective);
        let known = seen.limited || seen.pace > self.pace;
        self.pace += if known { 1.0 } else { PACE_GAIN } * (seen.pace - self.pace);
    }

    /// Time that must be left of the objective when a job goes in.
    pub(super) fn need(&self) -> Duration {
        Duration::from_secs_f64(self.need)
    }

    /// Jobs that can go in before the last of them has too little time left; all while the pace is not known.
    pub(super) fn most_waiting(&self) -> usize {
        if self.pace == 0.0 { usize::MAX } else { ((self.pace * (self.objective - self.need)) as usize).max(1) }
    }

    /// Jobs a second.
    pub(super) fn pace(&self) -> f64 {
        self.pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(pace: f64, time: f64, spread: f64, limited: bool) -> DoorFigures {
        let (ends, quick) = (pace, Some([time, spread]));
        DoorFigures {
            took: 1.0,
            ends,
            pace,
            in_time: pace,
            time,
            spread,
            quick,
            late: 0.0,
            jobs: 0.0,
            refused: 0.0,
            limited,
        }
    }

    #[test]
    fn a_job_needs_the_mean_and_two_deviations_and_at_most_three_quarters() {
        let mut outlook = DoorOutlook::new(Duration::from_millis(200));
        assert_eq!((outlook.need(), outlook.most_waiting()), (Duration::ZERO, usize::MAX));
        outlook.window(&window(200.0, 0.03, 0.025, true));
        // 30 + 2 × 25 ms; 200/s for the other 120 ms.
        assert!((outlook.need - 0.08).abs() < 1e-12);
        assert_eq!(outlook.most_waiting(), 24);
        for all_late in [false, true] {
            let slow = window(200.0, 0.1, 0.1, true);
            outlook.window(&DoorFigures { quick: slow.quick.filter(|_| !all_late), ..slow });
            assert!((outlook.need - 0.15).abs() < 1e-12);
        }
    }

    #[test]
    fn the_pace_is_that_of_limited_windows_and_of_faster_ones() {
        let mut outlook = DoorOutlook::new(Duration::from_millis(200));
        for (pace, limited, wanted) in
            [(100.0, false, 100.0), (150.0, false, 150.0), (50.0, false, 140.0), (60.0, true, 60.0)]
        {
            outlook.window(&window(pace, 0.02, 0.0, limited));
            assert!((outlook.pace() - wanted).abs() < 1e-9, "{}", outlook.pace());
        }
    }
}
