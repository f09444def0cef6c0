//! The cost of a request at each service, with all its calls: knowledge for an offline bound alone.

use service_core::calls::{key_of_attempt, key_of_call};
use spec::services::{CallSpec, WhenRefused};
use workloads::persona::Call;

use super::Cluster;
use crate::{Foreseen, Servers};

impl Cluster {
    /// The least work at each service for an answer to this request. A call with several attempts counts with its
    /// cheapest attempt, and a call that the answer does not need does not count.
    pub fn foresee(&mut self, call: &Call, user: u64, key: u64) -> Vec<Foreseen> {
        let mut work = vec![Foreseen::default(); self.services.len()];
        if let Some(entry) = self.entry(call.class) {
            self.foresee_at(entry, (call, user), key, &mut work);
        }
        work
    }

    /// The servers of each service, by task.
    #[must_use]
    pub fn servers(&self) -> Vec<Vec<Servers>> {
        let of = |service: &super::Service| {
            let tasks = &self.nodes[service.first..service.first + service.tasks];
            tasks.iter().map(|node| node.plant.servers()).collect()
        };
        self.services.iter().map(of).collect()
    }

    fn foresee_at(&mut self, service: usize, asked: (&Call, u64), key: u64, work: &mut [Foreseen]) {
        let first = self.services[service].first;
        // All tasks of a service draw the same.
        work[service].add(self.nodes[first].plant.foresee(asked.0, asked.1, key));
        for place in 0..self.services[service].calls.len() {
            let caller = &self.calls.callers[self.nodes[first].callers[place]];
            let CallSpec { attempts, when_refused, redraw, .. } = caller.machine.spec;
            let draws = if redraw { attempts.max(1) } else { 1 };
            let called = self.pools[caller.pool].service;
            if when_refused == WhenRefused::Degrade {
                continue;
            }
            for number in self.services[service].calls[place].of_request(key, place) {
                let of_call = key_of_call(key, place, number);
                let cheapest = (0..draws).map(|attempt| {
                    let mut by_service = vec![Foreseen::default(); work.len()];
                    self.foresee_at(called, asked, key_of_attempt(of_call, attempt), &mut by_service);
                    by_service
                });
                let Some(cheapest) = cheapest.reduce(each_the_least) else { continue };
                work.iter_mut().zip(cheapest).for_each(|(work, more)| work.add(more));
            }
        }
    }
}

fn each_the_least(one: Vec<Foreseen>, other: Vec<Foreseen>) -> Vec<Foreseen> {
    let least = |(one, other): (Foreseen, Foreseen)| Foreseen {
        kind: one.kind,
        total: one.total.min(other.total),
        longest: one.longest.min(other.longest),
    };
    one.into_iter().zip(other).map(least).collect()
}
