//! Measurements at the door between two decisions of the law.

use super::constants::{LIMITED, WINDOW_ENDS, WINDOW_LEAST, WINDOW_MOST};
use crate::Timestamp;

/// What has been seen since the window began. Times in seconds.
#[derive(Debug, Default)]
pub(super) struct DoorWindow {
    begun: Timestamp,
    all: Times,
    /// Of ends that took no longer inside than the objective.
    quick: Times,
    in_time: u32,
    bound: f64,
    offered: u32,
    refused: u32,
}

/// Sums of times.
#[derive(Debug, Default)]
struct Times {
    count: u32,
    sum: f64,
    squares: f64,
}

/// Figures of a window. Times in seconds, paces in jobs a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DoorFigures {
    pub(super) took: f64,
    pub(super) ends: f64,
    /// Ends a second.
    pub(super) pace: f64,
    /// Answers in time a second.
    pub(super) in_time: f64,
    /// Mean time inside, W.
    pub(super) time: f64,
    /// Standard deviation of the time inside.
    pub(super) spread: f64,
    /// Mean and standard deviation of those ends alone that took no longer inside than the objective; `None`: all took longer.
    pub(super) quick: Option<[f64; 2]>,
    /// Share of ends that took longer inside than the objective.
    pub(super) late: f64,
    /// Mean number inside, by Little's law.
    pub(super) jobs: f64,
    /// Share of offers that were refused or left.
    pub(super) refused: f64,
    /// Jobs waited at the door for much of the window.
    pub(super) limited: bool,
}

impl DoorWindow {
    pub(super) fn new(begun: Timestamp) -> Self {
        Self { begun, ..Self::default() }
    }

    /// Counts an end after this time inside.
    pub(super) fn end(&mut self, inside: f64, in_time: bool, objective: f64) {
        self.all.add(inside);
        self.in_time += u32::from(in_time);
        if inside <= objective {
            self.quick.add(inside);
        }
    }

    /// Counts time during which the limit kept jobs at the door.
    pub(super) fn bind(&mut self, time: f64) {
        self.bound += time;
    }

    pub(super) fn offer(&mut self) {
        self.offered += 1;
    }

    pub(super) fn refuse(&mut self) {
        self.refused += 1;
    }

    /// Figures of the window once it is long enough, when the next one begins. `None`: it goes on.
    pub(super) fn close(&mut self, now: Timestamp, objective: f64) -> Option<DoorFigures> {
        let took = now.since(self.begun).as_secs_f64();
        let long = took >= WINDOW_MOST * objective || self.all.count >= WINDOW_ENDS && took >= WINDOW_LEAST * objective;
        let [time, spread] = self.all.mean_and_deviation().filter(|_| long)?;
        let window = std::mem::replace(self, Self::new(now));
        let ends = f64::from(window.all.count);
        Some(DoorFigures {
            took,
            ends,
            pace: ends / took,
            in_time: f64::from(window.in_time) / took,
            time,
            spread,
            quick: window.quick.mean_and_deviation(),
            late: 1.0 - f64::from(window.quick.count) / ends,
            jobs: window.all.sum / took,
            refused: f64::from(window.refused.min(window.offered)) / f64::from(window.offered.max(1)),
            limited: window.bound > LIMITED * took,
        })
    }
}

impl Times {
    fn add(&mut self, time: f64) {
        self.count += 1;
        self.sum += time;
        self.squares += time * time;
    }

    fn mean_and_deviation(&self) -> Option<[f64; 2]> {
        let count = f64::from(self.count);
        let mean = self.sum / count;
        (self.count > 0).then(|| [mean, (self.squares / count - mean * mean).max(0.0).sqrt()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_closes_with_its_figures_when_it_is_long_and_full() {
        let mut window = DoorWindow::new(Timestamp::from_millis(1000));
        (0..48).for_each(|_| window.end(0.1, true, 0.2));
        (0..15).for_each(|_| window.end(0.3, false, 0.2));
        (0..10).for_each(|_| window.offer());
        (0..4).for_each(|_| window.refuse());
        window.bind(0.4);
        assert_eq!(window.close(Timestamp::from_millis(1799), 0.2), None, "63 ends, and shorter than 4 objectives");
        window.end(0.3, false, 0.2);
        let figures = window.close(Timestamp::from_millis(1500), 0.2).unwrap();
        // 48 × 0.1 + 16 × 0.3 = 9.6 s in 0.5 s; mean 0.15, mean square (48 × 0.01 + 16 × 0.09) / 64 = 0.03.
        let close = |is: f64, wanted: f64| assert!((is - wanted).abs() < 1e-9, "{is} is not {wanted}");
        close(figures.pace, 128.0);
        close(figures.in_time, 96.0);
        close(figures.time, 0.15);
        close(figures.spread, 0.0075_f64.sqrt());
        let [quick, deviation] = figures.quick.unwrap();
        close(quick, 0.1);
        assert!(deviation < 1e-7, "{deviation}");
        close(figures.late, 0.25);
        close(figures.jobs, 19.2);
        close(figures.refused, 0.4);
        assert!(figures.limited, "0.4 s of 0.5 s");
    }

    #[test]
    fn a_thin_window_closes_after_four_objectives_and_an_empty_one_goes_on() {
        let mut window = DoorWindow::default();
        assert_eq!(window.close(Timestamp::from_secs(9), 0.2), None);
        window.end(0.01, true, 0.2);
        let figures = window.close(Timestamp::from_secs(10), 0.2).unwrap();
        assert_eq!((figures.ends, figures.limited), (1.0, false));
        window.end(0.01, true, 0.2);
        assert_eq!(window.close(Timestamp::from_secs(10) + std::time::Duration::from_millis(799), 0.2), None);
    }
}
