//! What it costs a sentry to police a request, by its way of policing (WWW'05, figure 4). Live it costs what it costs.

use std::time::Duration;

use controllers::cataclysm::Policing;
use spec::plant::{PlantSpec, ms};
use workloads::sim::SimRequest;

use super::{context::PlantContext, cpu::Task, in_flight::is_check, world::Plant};

impl Plant {
    /// Takes a request that has been read: policing comes next, if it costs anything, and then the policy's decision.
    pub(super) fn police(&mut self, asked: Box<SimRequest>, cx: &mut dyn PlantContext) {
        let PlantSpec { police_batch_ms, police_threshold_ms, .. } = self.costs;
        if police_batch_ms + police_threshold_ms == 0.0 || is_check(&asked.call) {
            return self.read(asked, cx);
        }
        self.requests.policing.waiting.push_back(asked);
        self.police_next(cx);
    }

    /// Takes a request that has been policed.
    pub(super) fn policed(&mut self, asked: Box<SimRequest>, cx: &mut dyn PlantContext) {
        self.requests.policing.under_way -= 1;
        self.read(asked, cx);
        self.police_next(cx);
    }

    fn police_next(&mut self, cx: &mut dyn PlantContext) {
        while self.requests.policing.under_way < self.cpu.count() {
            let Some(asked) = self.requests.policing.waiting.pop_front() else { return };
            // As live: the request of a client that has gone is not read.
            if !self.listener.conns.contains_key(&asked.conn) {
                continue;
            }
            let cost = self.policing_cost();
            if cost.is_zero() {
                self.read(asked, cx);
            } else {
                self.requests.policing.under_way += 1;
                self.cpu.run(cx.now(), Task::Policing(asked), cost);
            }
        }
    }

    /// The cost of policing one request in the way that is in force. Policies that are no sentry have none.
    fn policing_cost(&self) -> Duration {
        match self.sites.dispatch.gauge(Policing::GAUGE).map(Policing::of_gauge) {
            Some(Policing::Batch) => ms(self.costs.police_batch_ms),
            Some(Policing::Threshold) => ms(self.costs.police_threshold_ms),
            None => Duration::ZERO,
        }
    }
}
