//! What a task reports of its load on its answers, for balancers that choose by utilization. Both worlds share it.

use std::time::Duration;

use controllers::{Timestamp, site::Probe};
use workloads::balance::LoadReport;

/// The least time that a report is about. The lab's choice: the period after which gRFC A58 recalculates weights, which is its default.
const PERIOD: Duration = Duration::from_secs(1);

/// Counts the answers of a task, and compares them with its CPU time.
#[derive(Debug, Clone)]
pub struct LoadMeter {
    since: Timestamp,
    /// CPU time at that moment; `None` before the first answer.
    used: Option<Duration>,
    answers: u64,
    errors: u64,
    last: Option<LoadReport>,
}

impl LoadMeter {
    /// Nothing was answered before this moment.
    pub fn new(now: Timestamp) -> Self {
        Self { since: now, used: None, answers: 0, errors: 0, last: None }
    }

    /// Counts an answer with this status. Returns the report that it carries: of the last period that is over, if one is. A period without
    /// answers lasts until the next one.
    pub fn answered(&mut self, now: Timestamp, status: u16, probe: &dyn Probe) -> Option<LoadReport> {
        let used = *self.used.get_or_insert_with(|| {
            self.since = now;
            probe.cpu_time()
        });
        self.answers += 1;
        self.errors += u64::from(status >= 500);
        let lasted = now.since(self.since);
        if lasted >= PERIOD {
            let (seconds, until_now) = (lasted.as_secs_f64(), probe.cpu_time());
            let could = seconds * probe.cpus();
            let did = until_now.saturating_sub(used).as_secs_f64();
            self.last = Some(LoadReport {
                utilization: if could > 0.0 { (did / could).min(1.0) } else { 0.0 },
                answers_per_s: self.answers as f64 / seconds,
                errors_per_s: self.errors as f64 / seconds,
            });
            *self = Self { since: now, used: Some(until_now), answers: 0, errors: 0, last: self.last };
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use controllers::site::LoadReading;

    use super::*;

    #[test]
    fn a_period_by_hand() {
        let mut meter = LoadMeter::new(Timestamp::ZERO);
        let mut at = |ms: u64, status, used: u64| {
            let probe = LoadReading { used: Duration::from_millis(used), cpus: 2.0, memory: 0.0 };
            meter.answered(Timestamp::from_millis(ms), status, &probe)
        };
        // From the first answer on, at 500 ms with 100 ms used.
        assert_eq!(at(500, 200, 100), None);
        assert_eq!(at(1400, 503, 600), None);
        // 1 s: three answers, one of which is a refusal, for 1 s of two processors.
        let first = Some(LoadReport { utilization: 0.5, answers_per_s: 3.0, errors_per_s: 1.0 });
        assert_eq!(at(1500, 404, 1100), first);
        assert_eq!(at(2000, 200, 1200), first, "until the next period is over");
        // Idle: 4 s with two answers, 0.4 s of 8.
        let next = Some(LoadReport { utilization: 0.05, answers_per_s: 0.5, errors_per_s: 0.0 });
        assert_eq!(at(5500, 200, 1500), next);
    }

    #[test]
    fn a_utilization_is_at_most_the_whole() {
        let mut meter = LoadMeter::new(Timestamp::ZERO);
        let of = |used| LoadReading { used: Duration::from_secs(used), cpus: 1.0, memory: 0.0 };
        meter.answered(Timestamp::ZERO, 200, &of(0));
        // Work counts as begun, and this goes on for another second.
        let report = meter.answered(Timestamp::from_millis(1000), 200, &of(2)).expect("a period");
        assert_eq!(report.utilization, 1.0);
        let none = meter.answered(Timestamp::from_millis(2000), 200, &LoadReading::default()).expect("a period");
        assert_eq!(none.utilization, 0.0);
    }
}
