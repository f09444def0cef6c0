//! The gauges of a cluster: all nodes, by service and by task, and the ledgers of each.

use controllers::Timestamp;
use service_core::tree::{add, balancer_of, books_of, ended, gauges_of, requests_of};
use spec::wire::{CallBooks, Gauges, ReadRequests, StreamedEvent};
use workloads::measure::ServiceTotals;

use super::{Cluster, Node, Service, node::Life};

impl Cluster {
    /// The current gauges; see [`gauges_of`].
    #[must_use]
    pub fn gauges(&self, now: Timestamp) -> Gauges {
        let services: Vec<_> = self.services.iter().map(|service| (&*service.name, self.shown(service, now))).collect();
        let mut all = gauges_of(&services);
        all.at_ms = now.as_secs_f64() * 1e3;
        if let Some((_, entry)) = self.entries.first() {
            all.policy = self.nodes[self.services[*entry].first].plant.gauges(now).policy;
        }
        for (number, service) in self.services.iter().enumerate().filter(|(_, service)| service.capped) {
            add(&mut all.ledger, &service.balancer.read());
            // The first pools are those of the services' users.
            all.stages.push(balancer_of(&service.name, self.pools[number].pool.refused, &services));
        }
        all.stages.extend(self.beside.machines.gauges());
        all
    }

    /// The gauges of a service's tasks, each with the ledger of its calls.
    pub(super) fn shown(&self, service: &Service, now: Timestamp) -> Vec<Gauges> {
        let made = |caller: &usize| {
            let caller = &self.calls.callers[*caller];
            caller.machine.made(&self.pools[caller.pool].pool)
        };
        let shown = |node: &Node| {
            let calls = CallBooks { read: node.plant.calls(), made: node.callers.iter().map(made).collect() };
            match node.life {
                Life::Unborn => Gauges::default(),
                Life::Runs => Gauges { calls, ..node.plant.gauges(now) },
                Life::Ended(_) => ended(Gauges { calls, ..node.plant.gauges(now) }),
            }
        };
        self.nodes[service.first..service.first + service.tasks].iter().map(shown).collect()
    }

    /// The books of every service.
    #[must_use]
    pub fn books(&self) -> Vec<ServiceTotals> {
        let books = |service: &Service| {
            let mut books = books_of(&service.name, &self.shown(service, Timestamp::ZERO));
            books.users_requests_read += service.balancer.read().requests_read;
            books
        };
        self.services.iter().map(books).collect()
    }

    /// The numbers of users' requests that were read, with the users' ledger.
    #[must_use]
    pub fn requests(&self) -> ReadRequests {
        let at_balancers = self.services.iter().map(|service| service.balancer.requests());
        requests_of(self.nodes.iter().map(|node| node.plant.requests()).chain(at_balancers))
    }

    /// Policy events since the last call, each stage with its service's name (and its task's).
    pub fn events(&mut self) -> Vec<StreamedEvent> {
        let mut events = Vec::new();
        for node in &mut self.nodes {
            let service = &self.services[node.service];
            let task = if service.tasks > 1 { format!(".{}", node.task) } else { String::new() };
            for event in node.plant.events() {
                let stage = format!("{}{task}/{}", service.name, event.stage);
                events.push(StreamedEvent { stage, ..(*event).clone() });
            }
        }
        events.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
        events
    }
}
