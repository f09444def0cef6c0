//! Which task of a service a request goes to, and on which connection.

use std::collections::VecDeque;

use controllers::{Random as _, Seeded};
use workloads::sim::{Asked, ConnId};

use super::pipes::Owner;
use crate::tree::{Balancer, Per};

/// One sender's connections to the tasks of a service.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) service: usize,
    per: Per,
    picker: Picker,
    /// Kept connections without a request, by task.
    idle: Vec<Vec<ConnId>>,
    /// Connections that are there, and the most that may be; 0: any number.
    open: u32,
    most: u32,
    /// Requests for which there is no connection yet.
    pub(super) waiting: VecDeque<(Owner, Asked)>,
    /// Requests that were written.
    pub(super) written: u64,
}

/// How a request gets to its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// On this connection.
    Kept(ConnId),
    /// On a new one to this task.
    New(usize),
    /// As soon as there is one.
    Wait,
}

impl Pool {
    pub(super) fn new(service: usize, tasks: u32, by: Balancer, per: Per, most: u32, seed: u64) -> Self {
        let tasks = usize::try_from(tasks).unwrap_or(1);
        Self {
            service,
            per,
            picker: Picker { by, next: 0, random: Seeded::new(seed), busy: vec![0; tasks] },
            idle: vec![Vec::new(); tasks],
            open: 0,
            most,
            waiting: VecDeque::new(),
            written: 0,
        }
    }

    /// The way of a request, which counts as under way from now on unless it waits.
    pub(super) fn way(&mut self) -> Way {
        let task = self.picker.pick();
        let kept = match self.per {
            Per::Request => self.idle[task].pop().map(|conn| (task, conn)),
            Per::Connection => self.any_idle(),
        };
        if let Some((task, conn)) = kept {
            self.picker.busy[task] += 1;
            return Way::Kept(conn);
        }
        if self.most == 0 || self.open < self.most {
            self.open += 1;
            self.picker.busy[task] += 1;
            return Way::New(task);
        }
        // No room for another connection: any that is there will do.
        match self.any_idle() {
            Some((task, conn)) => {
                self.picker.busy[task] += 1;
                Way::Kept(conn)
            }
            None => Way::Wait,
        }
    }

    /// A task for a connection of a user, who keeps it: the request does not go through a pool.
    pub(super) fn pick(&mut self) -> usize {
        let task = self.picker.pick();
        self.picker.busy[task] += 1;
        task
    }

    /// A request to that task is over.
    pub(super) fn left(&mut self, task: usize) {
        self.picker.busy[task] = self.picker.busy[task].saturating_sub(1);
    }

    /// A connection has no request any more.
    pub(super) fn keep(&mut self, task: usize, conn: ConnId) {
        self.idle[task].push(conn);
    }

    /// A connection is gone.
    pub(super) fn gone(&mut self, task: usize, conn: ConnId) {
        self.open = self.open.saturating_sub(1);
        self.idle[task].retain(|idle| *idle != conn);
    }

    fn any_idle(&mut self) -> Option<(usize, ConnId)> {
        let task = self.idle.iter().position(|idle| !idle.is_empty())?;
        self.idle[task].pop().map(|conn| (task, conn))
    }
}

#[derive(Debug)]
struct Picker {
    by: Balancer,
    next: usize,
    random: Seeded,
    /// Requests under way, by task.
    busy: Vec<u32>,
}

impl Picker {
    fn pick(&mut self) -> usize {
        let tasks = self.busy.len();
        match self.by {
            Balancer::RoundRobin => {
                self.next = (self.next + 1) % tasks;
                (self.next + tasks - 1) % tasks
            }
            Balancer::Random => ((self.random.uniform() * tasks as f64) as usize).min(tasks - 1),
            // Of equal ones the next in turn, so that the first is not always asked.
            Balancer::LeastLoaded => {
                let turn = self.next;
                self.next = (self.next + 1) % tasks;
                (0..tasks).map(|n| (n + turn) % tasks).min_by_key(|task| self.busy[*task]).unwrap_or(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(by: Balancer, most: u32) -> Pool {
        Pool::new(0, 3, by, Per::Request, most, 1)
    }

    fn news(pool: &mut Pool, many: usize) -> Vec<usize> {
        let task = |way| if let Way::New(task) = way { task } else { panic!("{way:?}") };
        (0..many).map(|_| task(pool.way())).collect()
    }

    #[test]
    fn tasks_come_in_turn_or_by_their_load() {
        assert_eq!(news(&mut pool(Balancer::RoundRobin, 0), 4), [0, 1, 2, 0]);
        let mut least = pool(Balancer::LeastLoaded, 0);
        assert_eq!(news(&mut least, 3), [0, 1, 2]);
        least.left(1);
        assert_eq!(news(&mut least, 1), [1], "the only one without a request");
        let mut counts = [0; 3];
        news(&mut pool(Balancer::Random, 0), 3000).into_iter().for_each(|task| counts[task] += 1);
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn with_all_connections_in_use_requests_wait() {
        let mut pool = pool(Balancer::RoundRobin, 2);
        assert_eq!(news(&mut pool, 2), [0, 1]);
        assert_eq!(pool.way(), Way::Wait);
        let conn = ConnId { place: 7, generation: 0 };
        pool.left(0);
        pool.keep(0, conn);
        // It would be another task's turn, to which there is no connection.
        assert_eq!(pool.way(), Way::Kept(conn));
        assert_eq!(pool.way(), Way::Wait);
        pool.gone(1, ConnId { place: 8, generation: 0 });
        assert!(matches!(pool.way(), Way::New(_)));
    }
}
