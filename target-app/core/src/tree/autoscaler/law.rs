//! The law of the Kubernetes horizontal pod autoscaler on CPU utilization (Kubernetes documentation, "Horizontal Pod
//! Autoscaling", algorithm details; `replica_calculator.go` and `horizontal.go` of the controller).
//!
//! Wanted are `ceil(tasks x utilization / target)`, unless the ratio is within a tolerance of 1. Tasks that are not ready
//! count as idle before more are wanted, and not at all before fewer are; tasks without a measurement count as idle, and as
//! at the target. The number then goes down no further than the highest that was wanted in the time before. Left out: the
//! limit on a step upwards (twice as many, or four more), which a utilization of at most 1 does not reach.

use std::{collections::VecDeque, time::Duration};

use controllers::Timestamp;
use spec::autoscale::AutoscaleSpec;

/// Tasks of a service at a look.
#[derive(Debug, Default)]
pub(super) struct TaskLoads {
    /// Mean CPU use since the last look of those that ran all the while.
    pub(super) measured: Vec<f64>,
    /// Tasks that run and have no measurement.
    pub(super) unmeasured: u32,
    /// Tasks that do not run yet.
    pub(super) starting: u32,
}

impl TaskLoads {
    pub(super) fn tasks(&self) -> u32 {
        self.measured.len() as u32 + self.unmeasured + self.starting
    }
}

/// The number of tasks that is wanted, over time.
#[derive(Debug)]
pub(super) struct Wanted {
    target: f64,
    tolerance: f64,
    least: u32,
    most: u32,
    window: Duration,
    /// What was wanted at each look within the window.
    recent: VecDeque<(Timestamp, u32)>,
    /// The mean utilization at the last look.
    pub(super) utilization: f64,
}

impl Wanted {
    pub(super) fn new(spec: &AutoscaleSpec, most: u32) -> Self {
        let AutoscaleSpec { min, first, utilization, tolerance, down, .. } = *spec;
        let recent = VecDeque::from([(Timestamp::ZERO, first)]);
        Self { target: utilization, tolerance, least: min, most, window: down, recent, utilization: 0.0 }
    }

    /// The number of tasks that is to be from now on.
    pub(super) fn at(&mut self, now: Timestamp, loads: &TaskLoads) -> u32 {
        let wanted = self.recommended(loads).clamp(self.least, self.most);
        self.recent.push_back((now, wanted));
        self.recent.retain(|(at, _)| now.since(*at) <= self.window);
        let highest = self.recent.iter().map(|(_, wanted)| *wanted).max().unwrap_or(wanted);
        let there = loads.tasks();
        if wanted >= there { wanted } else { highest.min(there) }
    }

    fn recommended(&mut self, loads: &TaskLoads) -> u32 {
        let (there, sum) = (loads.tasks(), loads.measured.iter().sum::<f64>());
        if loads.measured.is_empty() {
            return there;
        }
        self.utilization = sum / loads.measured.len() as f64;
        let ratio = self.utilization / self.target;
        let (filled, counted) = if ratio > 1.0 {
            (sum, there)
        } else {
            (sum + f64::from(loads.unmeasured) * self.target, there - loads.starting)
        };
        let corrected = filled / f64::from(counted) / self.target;
        let is_near = |ratio: f64| (ratio - 1.0).abs() <= self.tolerance + 1e-9;
        if is_near(ratio) || is_near(corrected) || (ratio > 1.0) != (corrected > 1.0) {
            return there;
        }
        // A product that is a whole number but for rounding is that number.
        let wanted = (corrected * f64::from(counted) - 1e-9).ceil() as u32;
        if ratio > 1.0 { wanted.max(there) } else { wanted.min(there) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Wanted {
        let secs = Duration::from_secs;
        let (utilization, tolerance, period, down, start) = (0.5, 0.1, secs(15), secs(300), secs(60));
        Wanted::new(&AutoscaleSpec { min: 2, first: 4, utilization, tolerance, period, down, start }, 20)
    }

    fn at(wanted: &mut Wanted, second: u64, measured: &[f64], unmeasured: u32, starting: u32) -> u32 {
        wanted.at(Timestamp::from_secs(second), &TaskLoads { measured: measured.to_vec(), unmeasured, starting })
    }

    #[test]
    fn the_number_follows_the_ratio_outside_of_the_tolerance() {
        // ceil(4 x 0.8 / 0.5) = 7; a ratio of 1.1 is within the tolerance, 1.11 is not: ceil(4.44).
        assert_eq!(at(&mut wanted(), 15, &[0.8; 4], 0, 0), 7);
        assert_eq!(at(&mut wanted(), 15, &[0.55; 4], 0, 0), 4);
        assert_eq!(at(&mut wanted(), 15, &[0.555; 4], 0, 0), 5);
        assert_eq!(at(&mut wanted(), 15, &[1.0; 15], 0, 0), 20, "the most");
        assert_eq!(at(&mut wanted(), 15, &[], 2, 1), 3, "nothing is known");
    }

    #[test]
    fn tasks_that_are_not_ready_count_as_idle_before_more_are_wanted() {
        // Four at 0.8 and three on their way: 3.2 / 7 / 0.5 = 0.91. With one of each kind 3.2 / 6 / 0.5 = 1.07. Both are within
        // the tolerance; 3.6 / 5 / 0.5 = 1.44 is not: ceil(7.2).
        assert_eq!(at(&mut wanted(), 15, &[0.8; 4], 0, 3), 7);
        assert_eq!(at(&mut wanted(), 15, &[0.8; 4], 1, 1), 6);
        assert_eq!(at(&mut wanted(), 15, &[0.9; 4], 0, 1), 8);
    }

    #[test]
    fn it_goes_down_to_the_highest_of_the_window() {
        let mut wanted = wanted();
        assert_eq!(at(&mut wanted, 15, &[0.8; 4], 0, 0), 7);
        // Seven at 0.1 make 0.7: two tasks. The seven of 15 s hold until 315 s.
        assert_eq!(at(&mut wanted, 30, &[0.1; 7], 0, 0), 7);
        assert_eq!(at(&mut wanted, 300, &[0.25; 7], 0, 0), 7);
        assert_eq!(at(&mut wanted, 315, &[0.1; 7], 0, 0), 7);
        assert_eq!(at(&mut wanted, 330, &[0.1; 7], 0, 0), 4, "ceil(7 x 0.25 / 0.5) at 300 s");
        assert_eq!(at(&mut wanted, 630, &[0.0; 4], 0, 0), 2, "the fewest");
    }
}
