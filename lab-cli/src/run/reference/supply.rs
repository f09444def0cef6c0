//! Supply of work by a service's servers from moment to moment, with the faults of the run.

use std::time::Duration;

use controllers::Timestamp;
use plant::Servers;
use spec::fault::{Fault, Hindrance, moments};

/// The work that a service can do over time.
#[derive(Debug, Clone)]
pub struct Supply {
    stretches: Vec<Stretch>,
    /// Requests in service at once, at most.
    pub(super) workers: f64,
}

/// A stretch of time in which nothing changes, up to the next one.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: Timestamp,
    /// Work a second, in seconds.
    speed: f64,
    /// The speed of the fastest server.
    fastest: f64,
    /// The time that each request takes beyond its work.
    wait: Duration,
    /// The share of requests that fail wherever they go.
    errors: f64,
    /// Work that can be done before, and by one server alone, in nanoseconds.
    before: f64,
    before_alone: f64,
}

impl Supply {
    /// The supply of these tasks. `faults`: those that hit each of them, by its number.
    pub fn of<'a, F: Iterator<Item = &'a Fault> + Clone>(tasks: &[Servers], faults: impl Fn(u32) -> F) -> Self {
        let with_faults: Vec<(&Servers, F)> = tasks.iter().zip((0..).map(faults)).collect();
        let mut begins = moments(with_faults.iter().flat_map(|(_, faults)| faults.clone()));
        begins.insert(0, Duration::ZERO);
        begins.dedup();
        let mut stretches: Vec<Stretch> = Vec::new();
        for at in begins {
            let hindered = with_faults.iter().map(|(of, faults)| (of, Hindrance::at(faults.clone(), at)));
            let last = stretches.last();
            let from = Timestamp::ZERO + at;
            let so_far = |speed: fn(&Stretch) -> f64, before: fn(&Stretch) -> f64| {
                last.map_or(0.0, |last| before(last) + speed(last) * nanos(from.since(last.from)))
            };
            stretches.push(Stretch {
                from,
                speed: hindered.clone().map(|(of, by)| of.speed * by.share()).sum(),
                fastest: hindered.clone().map(|(of, by)| of.fastest * by.share()).fold(0.0, f64::max),
                wait: hindered.clone().map(|(_, by)| by.wait).min().unwrap_or_default(),
                errors: hindered.map(|(_, by)| by.errors).fold(1.0, f64::min),
                before: so_far(|last| last.speed, |last| last.before),
                before_alone: so_far(|last| last.fastest, |last| last.before_alone),
            });
        }
        Self { stretches, workers: tasks.iter().map(|of| f64::from(of.workers)).sum() }
    }

    fn at(&self, moment: Timestamp) -> &Stretch {
        let next = self.stretches.partition_point(|stretch| stretch.from <= moment);
        &self.stretches[next.saturating_sub(1)]
    }

    /// Work that all servers can do until then, in nanoseconds.
    pub(super) fn until(&self, moment: Timestamp) -> f64 {
        let Stretch { from, speed, before, .. } = *self.at(moment);
        before + speed * nanos(moment.since(from))
    }

    /// Work that one server can do between two moments, in nanoseconds.
    pub(super) fn alone(&self, from: Timestamp, to: Timestamp) -> f64 {
        let until = |moment| {
            let Stretch { from, fastest, before_alone, .. } = *self.at(moment);
            before_alone + fastest * nanos(moment.since(from))
        };
        until(to) - until(from)
    }

    /// The latest time at which work must be done that is to be out by then.
    pub(super) fn latest(&self, due: Timestamp) -> Timestamp {
        let ends = self.stretches.iter().skip(1).map(|next| next.from).chain([Timestamp::MAX]);
        let within = self.stretches.iter().zip(ends).filter_map(|(stretch, end)| {
            let by_wait = Timestamp::from_nanos(due.as_nanos().checked_sub(stretch.wait.as_nanos() as u64)?);
            Some(by_wait.min(end)).filter(|latest| *latest >= stretch.from)
        });
        within.max().unwrap_or(Timestamp::ZERO)
    }

    /// The share of requests that fail, whenever they begin between two moments.
    pub(super) fn errors(&self, from: Timestamp, to: Timestamp) -> f64 {
        let first = self.stretches.partition_point(|stretch| stretch.from <= from).saturating_sub(1);
        let passed = self.stretches[first..].iter().take_while(|stretch| stretch.from <= to);
        passed.map(|stretch| stretch.errors).fold(1.0, f64::min)
    }

    /// True if a request may hold its worker without working.
    pub(super) fn has_waits(&self) -> bool {
        self.stretches.iter().any(|stretch| !stretch.wait.is_zero())
    }

    /// The least time that a worker is held for this work, if it ends between two moments.
    pub(super) fn held(&self, work: Duration, from: Timestamp, to: Timestamp) -> Duration {
        let first = self.stretches.partition_point(|stretch| stretch.from <= from).saturating_sub(1);
        let passed = self.stretches[first..].iter().take_while(|stretch| stretch.from <= to);
        let fastest = passed.clone().map(|stretch| stretch.fastest).fold(0.0, f64::max);
        let wait = passed.map(|stretch| stretch.wait).min().unwrap_or_default();
        if fastest > 0.0 { work.div_f64(fastest) + wait } else { work + wait }
    }
}

fn nanos(time: Duration) -> f64 {
    time.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use spec::fault::FaultKind;

    use super::*;

    const FOUR: Servers =
        Servers { speed: 4.0, fastest: 1.0, workers: 4, read: Duration::ZERO, refuse: Duration::ZERO };

    fn fault(at: u64, lasts: u64, kind: FaultKind) -> Fault {
        Fault { at: Duration::from_secs(at), lasts: Duration::from_secs(lasts), kind, service: None, task: None }
    }

    fn supply(faults: &[Fault]) -> Supply {
        Supply::of(&[FOUR], |_| faults.iter())
    }

    fn seconds(supply: &Supply, at: u64) -> f64 {
        supply.until(Timestamp::from_secs(at)) / 1e9
    }

    #[test]
    fn work_adds_up_over_faults() {
        let steady = supply(&[]);
        assert_eq!([0, 10, 30].map(|at| seconds(&steady, at)), [0.0, 40.0, 120.0]);
        // A brown-out of 10 s to 0.3, the last 4 s of which nothing works at all.
        let hindered = supply(&[fault(10, 10, FaultKind::Capacity(0.3)), fault(16, 4, FaultKind::Crash)]);
        assert_eq!([10, 16, 20, 30].map(|at| seconds(&hindered, at).round()), [40.0, 47.0, 47.0, 87.0]);
        let alone = hindered.alone(Timestamp::from_secs(15), Timestamp::from_secs(21)) / 1e9;
        assert!((alone - 1.3).abs() < 1e-9, "{alone}");
        // A warm-up from 10 s to 20 s does half of the work, and a quarter of that in its first half.
        let warm = supply(&[fault(10, 10, FaultKind::Ramp { from: 0.0, to: 1.0 })]);
        assert_eq!([15, 20, 30].map(|at| (seconds(&warm, at) * 1e6).round() / 1e6), [45.0, 60.0, 100.0]);
        // Of two tasks one is hit.
        let faults = [fault(10, 10, FaultKind::Capacity(0.0))];
        let two = Supply::of(&[FOUR, FOUR], |task| faults.iter().filter(move |_| task == 1));
        assert_eq!([10, 20, 30].map(|at| seconds(&two, at)), [80.0, 120.0, 200.0]);
    }

    #[test]
    fn errors_count_where_no_task_and_no_moment_is_without_them() {
        let faults = [fault(10, 10, FaultKind::Errors(0.3)), fault(12, 2, FaultKind::Errors(1.0))];
        let errors = |supply: &Supply, from, to| supply.errors(Timestamp::from_secs(from), Timestamp::from_secs(to));
        let one = supply(&faults);
        assert_eq!([errors(&one, 9, 11), errors(&one, 10, 11), errors(&one, 12, 13)], [0.0, 0.3, 1.0]);
        assert_eq!([11, 12, 14, 15].map(|at| seconds(&one, at)), [44.0, 48.0, 48.0, 52.0], "nothing is served by 1.0");
        let two = Supply::of(&[FOUR, FOUR], |task| faults.iter().filter(move |_| task == 1));
        assert_eq!(errors(&two, 12, 13), 0.0);
    }

    #[test]
    fn what_takes_longer_must_be_done_sooner_or_before_that_begins_or_after_it() {
        let late = supply(&[fault(10, 10, FaultKind::Latency(Duration::from_millis(100)))]);
        let latest = |at| late.latest(Timestamp::from_millis(at)).as_nanos() / 1_000_000;
        assert_eq!(
            [9_000, 10_050, 10_100, 15_000, 20_050, 21_000].map(latest),
            [9_000, 10_000, 10_000, 14_900, 20_050, 21_000]
        );
        let held = |from, to| {
            let (from, to) = (Timestamp::from_millis(from), Timestamp::from_millis(to));
            late.held(Duration::from_millis(20), from, to).as_millis()
        };
        assert_eq!([held(5000, 5200), held(12_000, 12_200), held(9_900, 10_100)], [20, 120, 20]);
        assert!(late.has_waits() && !supply(&[]).has_waits());
    }
}
