//! Faults at set times.

use std::time::Duration;

use controllers::{
    Random as _, Seeded,
    random::{mix, seed_for},
};
use serde::{Deserialize, Serialize};

/// A fault for a limited time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// Its start, from the start of the run.
    pub at: Duration,
    /// Its duration.
    pub lasts: Duration,
    /// Its kind.
    pub kind: FaultKind,
    /// The only service of a tree that it affects; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The only task of that service that it affects; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
}

impl Fault {
    /// True if it affects this service of a tree, or some of its tasks.
    #[must_use]
    pub fn hits(&self, service: &str) -> bool {
        self.service.as_deref().is_none_or(|only| only == service)
    }

    /// True if it affects this task of a service.
    #[must_use]
    pub fn hits_task(&self, service: &str, task: u32) -> bool {
        self.hits(service) && self.task.is_none_or(|only| only == task)
    }

    /// Moments at which it begins and, for a ramp, takes its next step.
    pub fn steps(&self) -> impl Iterator<Item = Duration> + use<> {
        let steps = if matches!(self.kind, FaultKind::Ramp { .. }) { RAMP_STEPS } else { 1 };
        let (at, nanos) = (self.at, self.lasts.as_nanos());
        // Rounded up, so that each moment is within its step.
        (0..steps).map(move |step| at + nanos_of((nanos * u128::from(step)).div_ceil(u128::from(steps))))
    }

    /// Its kind at a moment within it: each step of a ramp has the line's value at the middle of the step.
    fn kind_at(&self, moment: Duration) -> FaultKind {
        let FaultKind::Ramp { from, to } = self.kind else { return self.kind };
        let gone = moment.saturating_sub(self.at).as_nanos() * u128::from(RAMP_STEPS) / self.lasts.as_nanos().max(1);
        let share = (gone.min(u128::from(RAMP_STEPS) - 1) as f64 + 0.5) / f64::from(RAMP_STEPS);
        FaultKind::Capacity(from + (to - from) * share)
    }
}

/// Draw of an attempt, uniform in [0, 1): it fails where the share of errors is higher.
#[must_use]
pub fn luck(key: u64, attempt: u8) -> f64 {
    Seeded::new(seed_for(mix(key).wrapping_add(u64::from(attempt)), "errors")).uniform()
}

/// Equal steps of a ramp, over which speed stays the same.
const RAMP_STEPS: u32 = 100;

fn nanos_of(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The kinds of faults.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The cores work at this share of their speed, 0 to 1: 0 is a pause.
    Capacity(f64),
    /// This share changes along a line over the duration.
    Ramp {
        /// At the start.
        from: f64,
        /// At the end.
        to: f64,
    },
    /// Every request takes this much longer in its stage, without any work.
    Latency(Duration),
    /// This share of requests fails as soon as work on them begins, without any.
    Errors(f64),
    /// The process dies with all that it has; another one takes its place when the fault is over.
    Crash,
}

/// What faults do to a task at one moment, all together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hindrance {
    /// The share of their speed that its cores have.
    pub speed: f64,
    /// The additional time of every request.
    pub wait: Duration,
    /// The share of requests that fail.
    pub errors: f64,
    /// True if there is no process.
    pub down: bool,
}

impl Hindrance {
    /// No fault.
    pub const NONE: Self = Self { speed: 1.0, wait: Duration::ZERO, errors: 0.0, down: false };

    /// What these faults do at a moment.
    pub fn at<'a>(faults: impl Iterator<Item = &'a Fault>, moment: Duration) -> Self {
        Self::of(faults.filter(|fault| (fault.at..fault.at + fault.lasts).contains(&moment)), moment)
    }

    /// What faults that are under way at a moment do together.
    pub fn of<'a>(under_way: impl Iterator<Item = &'a Fault>, moment: Duration) -> Self {
        under_way.fold(Self::NONE, |so_far, fault| match fault.kind_at(moment) {
            FaultKind::Capacity(share) => Self { speed: so_far.speed * share, ..so_far },
            FaultKind::Ramp { .. } => so_far,
            FaultKind::Latency(wait) => Self { wait: so_far.wait + wait, ..so_far },
            FaultKind::Errors(share) => Self { errors: so_far.errors + (1.0 - so_far.errors) * share, ..so_far },
            FaultKind::Crash => Self { down: true, ..so_far },
        })
    }

    /// The share of the speed that is left; 0 without a process, or where nothing is served.
    #[must_use]
    pub fn share(self) -> f64 {
        if self.down || self.errors >= 1.0 { 0.0 } else { self.speed }
    }

    /// True if a request with these draws fails. Its attempts fail independently.
    #[must_use]
    pub fn fails(self, key: u64, attempt: u8) -> bool {
        self.errors > 0.0 && luck(key, attempt) < self.errors
    }
}

/// The moments at which faults begin, take a step or are over, in order.
pub fn moments<'a>(faults: impl Iterator<Item = &'a Fault>) -> Vec<Duration> {
    let of_one = |fault: &Fault| fault.steps().chain([fault.at + fault.lasts]);
    let mut moments: Vec<Duration> = faults.flat_map(of_one).collect();
    moments.sort_unstable();
    moments.dedup();
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_takes_equal_steps_at_the_middle_of_its_line() {
        let (at, lasts) = (Duration::from_secs(10), Duration::from_secs(20));
        let kind = FaultKind::Ramp { from: 0.3, to: 1.0 };
        let ramp = Fault { at, lasts, kind, service: None, task: None };
        let speed = |ms| Hindrance::at([&ramp].into_iter(), Duration::from_millis(ms)).speed;
        // Steps of 0.2 s, each 0.007 higher: the first at 0.3035, the one at 20 s at 0.6535, the last at 0.9965.
        let found = [9_999, 10_000, 10_199, 10_200, 20_000, 29_999, 30_000].map(|ms| (speed(ms) * 1e4).round() / 1e4);
        assert_eq!(found, [1.0, 0.3035, 0.3035, 0.3105, 0.6535, 0.9965, 1.0]);
        let all = moments([&ramp].into_iter());
        assert_eq!((all.len(), all[1], all[100]), (101, Duration::from_millis(10_200), Duration::from_secs(30)));
        let area: f64 = all.windows(2).map(|of| speed(of[0].as_millis() as u64) * (of[1] - of[0]).as_secs_f64()).sum();
        assert!((area - 13.0).abs() < 1e-9, "20 s at 0.65 in the mean: {area}");
    }

    #[test]
    fn errors_of_several_faults_are_those_of_either() {
        let fault = |share| {
            let (at, lasts, kind) = (Duration::ZERO, Duration::from_secs(1), FaultKind::Errors(share));
            Fault { at, lasts, kind, service: None, task: None }
        };
        let both = Hindrance::at([fault(0.5), fault(0.4)].iter(), Duration::ZERO);
        assert!((both.errors - 0.7).abs() < 1e-12 && both.share() == 1.0);
        let failed = (0..10_000).filter(|key| both.fails(*key, 0)).count();
        assert!((6_860..7_140).contains(&failed), "three standard deviations of 46: {failed}");
        let twice = (0..10_000).filter(|key| both.fails(*key, 0) && both.fails(*key, 1)).count();
        assert!((4_750..5_050).contains(&twice), "0.49 of them in both attempts: {twice}");
        assert_eq!(Hindrance::at([fault(1.0)].iter(), Duration::ZERO).share(), 0.0);
        assert!(!Hindrance::NONE.fails(1, 0));
    }
}
