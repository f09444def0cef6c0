//! What a sentry reports to the control plane: arrivals, refusals, and moments of service and interarrival times.

use super::queueing::WorkloadModel;
use crate::{Moments, Timestamp};

/// What a sentry saw since its last report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkloadReport {
    /// Offered requests by class, the most important first.
    pub arrivals: Vec<u64>,
    /// Refused requests.
    pub refused: u64,
    /// Inherent service times of ended requests.
    pub service: Moments,
    /// Times between offers.
    pub interarrival: Moments,
}

impl WorkloadReport {
    /// The model of equation 14. `None`: too little was seen.
    #[must_use]
    pub fn model(&self) -> Option<WorkloadModel> {
        let (service_s, service_variance) = self.service.mean_and_variance()?;
        let (between_s, between_variance) = self.interarrival.mean_and_variance()?;
        (service_s > 0.0 && between_s > 0.0).then(|| WorkloadModel {
            service_s,
            service_variance,
            arrivals_scv: between_variance / (between_s * between_s),
        })
    }
}

/// Collects the report.
#[derive(Debug)]
pub(super) struct WorkloadMeter {
    report: WorkloadReport,
    last_arrival: Option<Timestamp>,
}

impl WorkloadMeter {
    pub(super) fn new(classes: usize) -> Self {
        let report = WorkloadReport { arrivals: vec![0; classes], ..WorkloadReport::default() };
        Self { report, last_arrival: None }
    }

    pub(super) fn arrived(&mut self, now: Timestamp, rank: usize) {
        self.report.arrivals[rank] += 1;
        if let Some(last) = self.last_arrival.replace(now) {
            self.report.interarrival.add(now.since(last).as_secs_f64());
        }
    }

    pub(super) fn refused(&mut self) {
        self.report.refused += 1;
    }

    pub(super) fn ended(&mut self, service_s: f64) {
        self.report.service.add(service_s);
    }

    pub(super) fn take(&mut self) -> WorkloadReport {
        let classes = self.report.arrivals.len();
        std::mem::replace(&mut self.report, Self::new(classes).report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_by_hand() {
        let mut meter = WorkloadMeter::new(2);
        // Intervals of 1, 3 and 2 s: mean 2, variance (1 + 9 + 4)/3 − 4 = 2/3, so c² = 1/6.
        for (secs, rank) in [(1, 0), (2, 1), (5, 1), (7, 1)] {
            meter.arrived(Timestamp::from_secs(secs), rank);
        }
        meter.refused();
        // 0.1 and 0.3 s: mean 0.2, variance 0.05 − 0.04.
        meter.ended(0.1);
        meter.ended(0.3);
        let report = meter.take();
        assert_eq!((report.arrivals.clone(), report.refused), (vec![1, 3], 1));
        let model = report.model().expect("enough");
        assert!((model.service_s - 0.2).abs() < 1e-12 && (model.service_variance - 0.01).abs() < 1e-12);
        assert!((model.arrivals_scv - 1.0 / 6.0).abs() < 1e-12);
        // The next report begins anew; the interval across the border counts.
        meter.arrived(Timestamp::from_secs(9), 0);
        let next = meter.take();
        assert_eq!((next.arrivals.clone(), next.interarrival.count, next.model()), (vec![1, 0], 1, None));
    }
}
