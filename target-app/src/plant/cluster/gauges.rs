//! What can be seen of a cluster: gauges of all nodes, by service and by task, and the books of each.

use std::collections::BTreeMap;

use controllers::Timestamp;

use super::{CallCounts, Cluster, Service};
use crate::control::wire::{Gauges, ReadRequests, ServerLedger, StageGauges, StreamedEvent};

/// The books of one service.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServiceBooks {
    /// Its name.
    pub name: String,
    /// Of users' requests, all tasks together.
    pub users: ServerLedger,
    /// Of other services' calls.
    pub calls: ServerLedger,
    /// Requests of both kinds that each task has read.
    pub read_by_task: Vec<u64>,
    /// What became of its own calls, by the service called.
    pub made: BTreeMap<String, CallCounts>,
    /// Calls that its tasks wrote to a connection, by the service called.
    pub written: BTreeMap<String, u64>,
}

impl Cluster {
    /// Everything that can be seen now. Stages are named `service/stage`, those of single tasks `service.task/stage`; the
    /// row `service/calls other` has a service's own calls: wanted, sent, refused by its own policy, and ended.
    #[must_use]
    pub fn gauges(&self, now: Timestamp) -> Gauges {
        let mut all = Gauges { at_ms: now.as_secs_f64() * 1e3, ..Gauges::default() };
        for service in &self.services {
            self.service(service, now, &mut all);
        }
        if let Some((_, entry)) = self.entries.first() {
            all.policy = self.nodes[self.services[*entry].first].plant.gauges(now).policy;
        }
        let mut beside = StageGauges { name: "beside".to_owned(), ..StageGauges::default() };
        self.machines.iter().for_each(|machine| machine.gauges(&mut beside.policy));
        if !beside.policy.is_empty() {
            all.stages.push(beside);
        }
        all
    }

    fn service(&self, service: &Service, now: Timestamp, all: &mut Gauges) {
        let tasks: Vec<Gauges> = self.tasks(service).map(|node| node.plant.gauges(now)).collect();
        for task in &tasks {
            add(&mut all.ledger, &task.ledger);
            all.cpu_s += task.cpu_s;
        }
        let Some(first) = tasks.first() else { return };
        for (place, stage) in first.stages.iter().enumerate() {
            let stages: Vec<&StageGauges> = tasks.iter().filter_map(|task| task.stages.get(place)).collect();
            all.stages.push(together(format!("{}/{}", service.name, stage.name), &stages));
            if tasks.len() > 1 && stage.workers > 0 {
                for (task, stage) in stages.into_iter().enumerate() {
                    all.stages
                        .push(StageGauges { name: format!("{}.{task}/{}", service.name, stage.name), ..stage.clone() });
                }
            }
        }
        for (place, to) in self.called(service).into_iter().enumerate() {
            let callers = self.tasks(service).filter_map(|node| node.callers.get(place));
            let (mut counts, mut sent) = (CallCounts::default(), 0);
            for caller in callers.map(|caller| &self.callers[*caller]) {
                sum(&mut counts, &caller.counts);
                sent += self.pools[caller.pool].written;
            }
            all.stages.push(StageGauges {
                name: format!("{}/calls {to}", service.name),
                offered: counts.attempts,
                admitted: sent,
                refused: counts.refused_locally,
                completed: counts.answered + counts.refused + counts.failed,
                counts: [
                    ("retries".to_owned(), counts.retries),
                    ("refused_by_callee".to_owned(), counts.refused),
                    ("answered".to_owned(), counts.answered),
                    ("failed".to_owned(), counts.failed),
                ]
                .into(),
                ..StageGauges::default()
            });
        }
    }

    /// The books of every service.
    #[must_use]
    pub fn books(&self) -> Vec<ServiceBooks> {
        self.services.iter().map(|service| self.books_of(service)).collect()
    }

    fn books_of(&self, service: &Service) -> ServiceBooks {
        let mut books = ServiceBooks { name: service.name.clone(), ..ServiceBooks::default() };
        for node in self.tasks(service) {
            let (users, calls) = (node.plant.requests().ledger, node.plant.calls());
            books.read_by_task.push(users.requests_read + calls.requests_read);
            add(&mut books.users, &users);
            add(&mut books.calls, &calls);
            for caller in node.callers.iter().map(|caller| &self.callers[*caller]) {
                let to = &caller.spec.to;
                sum(books.made.entry(to.clone()).or_default(), &caller.counts);
                *books.written.entry(to.clone()).or_default() += self.pools[caller.pool].written;
            }
        }
        books
    }

    /// Which of the users' requests were read, by number, and the users' books.
    #[must_use]
    pub fn requests(&self) -> ReadRequests {
        let mut all = ReadRequests::default();
        for node in &self.nodes {
            let of = node.plant.requests();
            add(&mut all.ledger, &of.ledger);
            all.read.extend(of.read);
            all.again += of.again;
            all.unnumbered += of.unnumbered;
        }
        all.read.sort_unstable();
        all.again += overlaps(&all.read);
        all.read = joined(&all.read);
        all
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

    fn tasks(&self, service: &Service) -> impl Iterator<Item = &super::Node> {
        self.nodes[service.first..service.first + service.tasks].iter()
    }

    fn called(&self, service: &Service) -> Vec<String> {
        let first = &self.nodes[service.first];
        first.callers.iter().map(|caller| self.callers[*caller].spec.to.clone()).collect()
    }
}

/// Equal stages of several tasks as one: counts are added, gauges averaged.
fn together(name: String, stages: &[&StageGauges]) -> StageGauges {
    let mut all = StageGauges { name, ..StageGauges::default() };
    for stage in stages {
        all.queue += stage.queue;
        all.workers += stage.workers;
        all.idle += stage.idle;
        all.batch = all.batch.max(stage.batch);
        all.offered += stage.offered;
        all.admitted += stage.admitted;
        all.refused += stage.refused;
        all.completed += stage.completed;
        all.busy_ms += stage.busy_ms;
        all.policy_name.clone_from(&stage.policy_name);
        for (gauge, value) in &stage.policy {
            *all.policy.entry(gauge.clone()).or_default() += value / stages.len() as f64;
        }
        for (counter, count) in &stage.counts {
            *all.counts.entry(counter.clone()).or_default() += count;
        }
    }
    all
}

fn add(all: &mut ServerLedger, one: &ServerLedger) {
    all.connections_accepted += one.connections_accepted;
    all.connections_refused += one.connections_refused;
    all.connections_open += one.connections_open;
    all.accept_errors += one.accept_errors;
    all.requests_read += one.requests_read;
    all.malformed += one.malformed;
    all.served += one.served;
    all.errors += one.errors;
    all.client_gone += one.client_gone;
    all.in_flight += one.in_flight;
    for (reason, count) in &one.refused {
        *all.refused.entry(reason.clone()).or_default() += count;
    }
}

fn sum(all: &mut CallCounts, one: &CallCounts) {
    all.attempts += one.attempts;
    all.retries += one.retries;
    all.refused_locally += one.refused_locally;
    all.refused += one.refused;
    all.answered += one.answered;
    all.failed += one.failed;
    all.open += one.open;
}

/// Numbers that are in two runs.
fn overlaps(runs: &[[u64; 2]]) -> u64 {
    let mut end = None::<u64>;
    let mut twice = 0;
    for &[first, last] in runs {
        if let Some(end) = end.filter(|end| *end >= first) {
            twice += end.min(last) - first + 1;
        }
        end = Some(end.map_or(last, |end| end.max(last)));
    }
    twice
}

/// Runs in order, next to each other made one.
fn joined(runs: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut all: Vec<[u64; 2]> = Vec::new();
    for &[first, last] in runs {
        match all.last_mut() {
            Some([_, end]) if first <= end.saturating_add(1) => *end = (*end).max(last),
            _ => all.push([first, last]),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_several_tasks_become_one_list() {
        let runs = [[0, 0], [1, 3], [3, 5], [7, 7]];
        assert_eq!(joined(&runs), [[0, 5], [7, 7]]);
        assert_eq!(overlaps(&runs), 1);
    }
}
