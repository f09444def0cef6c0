//! What the control plane knows of one application: slots of observations, and what they say.

use std::{collections::VecDeque, time::Duration};

use super::plan::{HostedApplication, ProvisionPlan, SLOTS_OF_WINDOW};
use crate::cataclysm::{
    partition::RevenueModel, prediction::TrendPredictor, queueing::WorkloadModel, workload::WorkloadReport,
};

/// One slot of observations.
#[derive(Debug)]
struct Slot {
    rates_per_s: Vec<f64>,
    offered: u64,
    refused: u64,
}

/// The observations of an application.
#[derive(Debug)]
pub(super) struct Application {
    pub(super) hosted: HostedApplication,
    /// `R_sla` in force.
    pub(super) target: Duration,
    predictor: TrendPredictor,
    /// The slot in progress.
    current: WorkloadReport,
    /// Ended slots, the oldest first: at most those of a period.
    slots: VecDeque<Slot>,
    /// Slots since the last change of its servers or its target.
    unchanged: u32,
    /// From the last slot that said enough.
    model: Option<WorkloadModel>,
}

impl Application {
    pub(super) fn new(hosted: HostedApplication, plan: &ProvisionPlan) -> Self {
        let predictor =
            TrendPredictor { period: plan.slots_of_period(), recent: SLOTS_OF_WINDOW, limit: plan.trend_limit };
        let current = empty(&hosted);
        let target = hosted.sla.response(0.0);
        Self { hosted, target, predictor, current, slots: VecDeque::new(), unchanged: 0, model: None }
    }

    /// Adds the report of a sentry. Classes beyond those of the application count as the last one.
    pub(super) fn hear(&mut self, report: &WorkloadReport) {
        let last = self.current.arrivals.len() - 1;
        for (rank, arrivals) in report.arrivals.iter().enumerate() {
            self.current.arrivals[rank.min(last)] += arrivals;
        }
        self.current.refused += report.refused;
        self.current.service.merge(&report.service);
        self.current.interarrival.merge(&report.interarrival);
    }

    /// Ends the slot in progress.
    pub(super) fn close_slot(&mut self, lasted: Duration) {
        let report = std::mem::replace(&mut self.current, empty(&self.hosted));
        self.model = report.model().or(self.model);
        let seconds = lasted.as_secs_f64().max(1e-9);
        self.slots.push_back(Slot {
            rates_per_s: report.arrivals.iter().map(|arrivals| *arrivals as f64 / seconds).collect(),
            offered: report.arrivals.iter().sum(),
            refused: report.refused,
        });
        if self.slots.len() > self.predictor.period.max(SLOTS_OF_WINDOW) as usize {
            self.slots.pop_front();
        }
        self.unchanged = self.unchanged.saturating_add(1);
    }

    /// Servers or target have changed: what was refused before says nothing of now.
    pub(super) fn changed(&mut self) {
        self.unchanged = 0;
    }

    /// The share of requests that were refused in the last window. `None`: something changed within it.
    pub(super) fn refused_share(&self) -> Option<f64> {
        (self.unchanged >= SLOTS_OF_WINDOW).then(|| {
            let window = self.slots.iter().rev().take(SLOTS_OF_WINDOW as usize);
            let (offered, refused) = window.fold((0, 0), |(o, r), slot| (o + slot.offered, r + slot.refused));
            refused as f64 / offered.max(1) as f64
        })
    }

    /// True once there is something to predict from.
    pub(super) fn is_known(&self) -> bool {
        !self.slots.is_empty() && self.model.is_some()
    }

    /// Arrivals by class in the window that ends now, per second.
    pub(super) fn present_rates(&self) -> Vec<f64> {
        let window = || self.slots.iter().rev().take(SLOTS_OF_WINDOW as usize);
        let slots = window().count().max(1) as f64;
        let rate = |rank: usize| window().map(|slot| slot.rates_per_s[rank]).sum::<f64>() / slots;
        (0..self.hosted.revenue.len()).map(rate).collect()
    }

    /// Arrivals by class in the next period, per second.
    pub(super) fn predicted_rates(&self) -> Vec<f64> {
        let of = |rank: usize| self.slots.iter().map(|slot| slot.rates_per_s[rank]).collect::<Vec<_>>();
        (0..self.hosted.revenue.len()).map(|rank| self.predictor.predict(&of(rank))).collect()
    }

    /// The revenue at these rates, with the target that is contracted at their sum.
    pub(super) fn revenue_model(&self, rates: &[f64], minimum: u32) -> RevenueModel {
        let response_s = self.hosted.sla.response(rates.iter().sum()).as_secs_f64();
        let rate_of_server = self.model.map_or(0.0, |model| model.rate_of_a_server(response_s));
        let classes = rates.iter().copied().zip(self.hosted.revenue.iter().copied()).collect();
        RevenueModel { rate_of_server, classes, minimum }
    }

    /// The servers that the present rates need within the target in force. `None`: unknown, or no number is enough.
    pub(super) fn needed(&self) -> Option<u32> {
        let rate: f64 = self.present_rates().iter().sum();
        self.model.filter(|_| !self.slots.is_empty())?.servers_for(rate, self.target.as_secs_f64())
    }
}

fn empty(hosted: &HostedApplication) -> WorkloadReport {
    WorkloadReport { arrivals: vec![0; hosted.revenue.len()], ..WorkloadReport::default() }
}
