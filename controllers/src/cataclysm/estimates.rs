//! What a sentry estimates of each class over a period: arrivals, service times, refusals (WWW'05, section 3.5).

use super::{
    buckets::ServiceRanges,
    delays::{ClassTraffic, PolicedSystem},
    threshold::{ClassLoad, ThresholdService},
};
use crate::{Timestamp, estimate::Ewma};

/// One class: counts of the period, and averages over periods.
#[derive(Debug)]
struct ClassEstimate {
    arrived: u64,
    /// Those of `arrived` up to the last observation of the sentry's load.
    arrived_before: u64,
    rate: Ewma,
    /// Ended requests by bucket, decayed from period to period: the distribution of service times.
    ended: Vec<f64>,
    /// Their inherent and actual service times, decayed likewise, seconds.
    service_s: f64,
    actual_s: f64,
}

/// Averages over periods, smoothed exponentially.
#[derive(Debug)]
pub(super) struct Estimates {
    old_weight: f64,
    classes: Vec<ClassEstimate>,
    /// Requests that a test decided in this period, and those that it refused.
    tested: u64,
    refused: u64,
    p_drop: Ewma,
    began: Timestamp,
    /// The last observation of the sentry's load, or the start of the period.
    observed: Timestamp,
}

impl Estimates {
    pub(super) fn new(now: Timestamp, old_weight: f64, classes: usize, buckets: usize) -> Self {
        let class = || ClassEstimate {
            arrived: 0,
            arrived_before: 0,
            rate: Ewma::from_first(old_weight),
            ended: vec![0.0; buckets],
            service_s: 0.0,
            actual_s: 0.0,
        };
        Self {
            old_weight,
            classes: std::iter::repeat_with(class).take(classes).collect(),
            tested: 0,
            refused: 0,
            p_drop: Ewma::from_first(old_weight),
            began: now,
            observed: now,
        }
    }

    /// Counts an arrival beyond the guaranteed rate.
    pub(super) fn arrived(&mut self, rank: usize) {
        self.classes[rank].arrived += 1;
    }

    /// Counts decisions of tests about requests.
    pub(super) fn tested(&mut self, refused: bool) {
        self.tested += 1;
        self.refused += u64::from(refused);
    }

    /// Counts an end with its inherent and its actual service time, seconds.
    pub(super) fn ended(&mut self, rank: usize, bucket: usize, service_s: f64, actual_s: f64) {
        self.classes[rank].ended[bucket] += 1.0;
        self.classes[rank].service_s += service_s;
        self.classes[rank].actual_s += actual_s;
    }

    /// The start of the period.
    pub(super) fn began(&self) -> Timestamp {
        self.began
    }

    /// The sentry's load is observed: recent arrivals are those from here on.
    pub(super) fn load_observed(&mut self, now: Timestamp) {
        self.observed = now;
        self.classes.iter_mut().for_each(|class| class.arrived_before = class.arrived);
    }

    /// Ends the period with the rates of recent arrivals, those since the sentry's load was last observed, in place of the
    /// averages. `false`: no time has passed since then.
    pub(super) fn close_with_recent(&mut self, now: Timestamp) -> bool {
        let seconds = now.since(self.observed).as_secs_f64();
        if seconds <= 0.0 {
            return false;
        }
        for class in &mut self.classes {
            let recent = class.arrived - class.arrived_before;
            class.rate = Ewma::from_first(self.old_weight);
            class.rate.add(recent as f64 / seconds);
            class.arrived = 0;
        }
        self.end_period(now);
        true
    }

    /// Ends the period.
    pub(super) fn close(&mut self, now: Timestamp) {
        let seconds = now.since(self.began).as_secs_f64();
        if seconds <= 0.0 {
            return;
        }
        for class in &mut self.classes {
            class.rate.add(std::mem::take(&mut class.arrived) as f64 / seconds);
        }
        self.end_period(now);
    }

    fn end_period(&mut self, now: Timestamp) {
        for class in &mut self.classes {
            class.arrived_before = 0;
            class.ended.iter_mut().for_each(|ended| *ended *= self.old_weight);
            class.service_s *= self.old_weight;
            class.actual_s *= self.old_weight;
        }
        let refused = std::mem::take(&mut self.refused) as f64;
        // A period without a test says nothing, except that there was nothing to refuse.
        self.p_drop.add(refused / (std::mem::take(&mut self.tested) as f64).max(1.0));
        self.began = now;
        self.observed = now;
    }

    /// Requests beyond the guaranteed rate of a class, per second.
    pub(super) fn rate_per_s(&self, rank: usize) -> f64 {
        self.classes[rank].rate.current()
    }

    /// The share of tested requests that were refused.
    pub(super) fn p_drop(&self) -> f64 {
        self.p_drop.current()
    }

    /// The mean service time of a class, seconds; `otherwise` before the first end.
    fn mean_s(&self, of: ThresholdService, rank: usize, otherwise: f64) -> f64 {
        let class = &self.classes[rank];
        let all = match of {
            ThresholdService::Inherent => class.service_s,
            ThresholdService::Actual => class.actual_s,
        };
        let ended: f64 = class.ended.iter().sum();
        if ended > 0.0 { all / ended } else { otherwise }
    }

    fn service_s(&self, rank: usize, otherwise: f64) -> f64 {
        self.mean_s(ThresholdService::Inherent, rank, otherwise)
    }

    /// The loads of the classes, for the threshold.
    pub(super) fn loads(&self, of: ThresholdService, guaranteed_per_s: &[f64], otherwise_s: f64) -> Vec<ClassLoad> {
        let load = |(rank, guaranteed): (usize, &f64)| ClassLoad {
            rate_per_s: self.rate_per_s(rank),
            service_s: self.mean_s(of, rank, otherwise_s),
            guaranteed_per_s: *guaranteed,
        };
        guaranteed_per_s.iter().enumerate().map(load).collect()
    }

    /// The system that the delays are computed for. `N` is the number of requests of mean service time that a server can
    /// have in service within the response time, at least 1.
    pub(super) fn system(&self, ranges: &ServiceRanges, response_s: f64, otherwise_s: f64) -> PolicedSystem {
        let all: f64 = self.classes.iter().map(|class| class.rate.current()).sum();
        let work: f64 =
            (0..self.classes.len()).map(|rank| self.rate_per_s(rank) * self.service_s(rank, otherwise_s)).sum();
        let mean_s = if all > 0.0 { work / all } else { otherwise_s };
        let classes = (0..self.classes.len()).map(|rank| self.traffic(rank, ranges, otherwise_s)).collect();
        let in_service = libm::floor(response_s / mean_s.max(1e-9)).max(1.0);
        PolicedSystem { in_service, p_drop: self.p_drop(), classes }
    }

    fn traffic(&self, rank: usize, ranges: &ServiceRanges, otherwise_s: f64) -> ClassTraffic {
        let class = &self.classes[rank];
        let ended: f64 = class.ended.iter().sum();
        let mean_s = self.service_s(rank, otherwise_s);
        let service = if ended > 0.0 {
            let shares = class.ended.iter().enumerate().filter(|(_, ended)| **ended > 0.0);
            shares.map(|(bucket, count)| (ranges.represented_by(bucket, mean_s), count / ended)).collect()
        } else {
            vec![(otherwise_s, 1.0)]
        };
        ClassTraffic { rate_per_s: class.rate.current(), service }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn periods_are_smoothed() {
        let ranges = ServiceRanges::new(vec![0.010, 0.030]).expect("ascending");
        let mut estimates = Estimates::new(Timestamp::ZERO, 0.25, 2, ranges.buckets());
        (0..300).for_each(|_| estimates.arrived(0));
        (0..30).for_each(|_| estimates.arrived(1));
        (0..40).for_each(|n| estimates.tested(n < 10));
        // 3 of 8 ms and one of 20 ms: 44 / 4 = 11 ms.
        (0..3).for_each(|_| estimates.ended(0, 0, 0.008, 0.1));
        estimates.ended(0, 1, 0.020, 0.5);
        estimates.close(Timestamp::from_secs(15));
        close(estimates.rate_per_s(0), 20.0);
        close(estimates.p_drop(), 0.25);
        let loads = estimates.loads(ThresholdService::Inherent, &[1.0, 2.0], 0.05);
        close(loads[0].service_s, 0.011);
        close(loads[1].service_s, 0.05);
        close(loads[1].guaranteed_per_s, 2.0);
        // Three of 100 ms and one of 500: 800 / 4 = 200 ms.
        close(estimates.loads(ThresholdService::Actual, &[0.0, 0.0], 0.05)[0].service_s, 0.2);
        // The next period has nothing: 0.25 of the old.
        estimates.close(Timestamp::from_secs(30));
        close(estimates.rate_per_s(0), 5.0);
        close(estimates.p_drop(), 0.0625);
        close(estimates.loads(ThresholdService::Inherent, &[0.0, 0.0], 0.05)[0].service_s, 0.011);
    }

    #[test]
    fn recent_arrivals_are_those_since_the_load_was_observed() {
        let mut estimates = Estimates::new(Timestamp::ZERO, 0.25, 1, 1);
        (0..30).for_each(|_| estimates.arrived(0));
        estimates.close(Timestamp::from_secs(15));
        close(estimates.rate_per_s(0), 2.0);
        (0..10).for_each(|_| estimates.arrived(0));
        estimates.load_observed(Timestamp::from_secs(20));
        assert!(!estimates.close_with_recent(Timestamp::from_secs(20)));
        (0..600).for_each(|_| estimates.arrived(0));
        // 600 in 2 s; neither the 10 of the same period nor the average before count.
        assert!(estimates.close_with_recent(Timestamp::from_secs(22)));
        close(estimates.rate_per_s(0), 300.0);
        assert_eq!(estimates.began(), Timestamp::from_secs(22));
        (0..1500).for_each(|_| estimates.arrived(0));
        estimates.close(Timestamp::from_secs(37));
        close(estimates.rate_per_s(0), 0.25 * 300.0 + 0.75 * 100.0);
    }

    #[test]
    fn the_system_for_the_delays() {
        let ranges = ServiceRanges::new(vec![0.010, 0.030]).expect("ascending");
        let mut estimates = Estimates::new(Timestamp::ZERO, 0.25, 2, ranges.buckets());
        (0..20).for_each(|_| estimates.arrived(0));
        (0..20).for_each(|_| estimates.arrived(1));
        (0..3).for_each(|_| estimates.ended(0, 0, 0.008, 0.1));
        estimates.ended(0, 1, 0.016, 0.016);
        estimates.close(Timestamp::from_secs(1));
        // 10 and 50 ms on average, equally often: 30 ms, ⌊1 / 0.03⌋ = 33.
        let system = estimates.system(&ranges, 1.0, 0.05);
        close(system.in_service, 33.0);
        assert_eq!(system.classes[0].service, [(0.005, 0.75), (0.020, 0.25)]);
        assert_eq!(system.classes[1].service, [(0.05, 1.0)]);
    }
}
