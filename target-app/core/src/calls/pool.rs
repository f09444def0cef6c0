//! The choice of a task and a connection for each request to a service.

use std::collections::VecDeque;

use workloads::balance::{Balancer, LoadReport, Per, Picker};

/// One sender's connections to the tasks of a service. `C` is a connection, `W` a request that waits for one.
#[derive(Debug)]
pub struct Pool<C, W> {
    per: Per,
    picker: Picker,
    /// Kept connections without a request, by task.
    idle: Vec<Vec<C>>,
    /// The number of connections, and its limit; 0: no limit.
    open: u32,
    most: u32,
    /// The number of requests refused because every task was at its limit.
    pub refused: u64,
    /// Requests that wait for a connection.
    pub waiting: VecDeque<W>,
    /// The number of written requests.
    pub written: u64,
}

/// How a request gets to a task of the called service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallRoute<C> {
    /// On this connection, to this task.
    Kept(usize, C),
    /// On a new connection to this task.
    New(usize),
    /// The request waits for a connection.
    Wait,
}

impl<C, W> Pool<C, W> {
    pub fn new(tasks: usize, by: Balancer, per: Per, most: u32, seed: u64) -> Self {
        Self {
            per,
            picker: Picker::new(by, tasks, seed),
            idle: (0..tasks.max(1)).map(|_| Vec::new()).collect(),
            open: 0,
            most,
            refused: 0,
            waiting: VecDeque::new(),
            written: 0,
        }
    }

    /// Limits the number of requests under way at a task; 0: no limit.
    pub fn capped(self, cap: u32) -> Self {
        Self { picker: self.picker.capped(cap), ..self }
    }

    /// Leaves it these tasks alone; none: all.
    pub fn reaching(self, tasks: &[usize]) -> Self {
        Self { picker: self.picker.reaching(tasks), ..self }
    }

    /// True if every task is at its limit: then the next request is refused, and counted.
    pub fn refuses(&mut self) -> bool {
        let full = self.picker.is_full();
        self.refused += u64::from(full);
        full
    }

    /// The way of the next request, which counts as under way from now on unless it waits.
    pub fn route(&mut self) -> CallRoute<C> {
        // A request gets a task even if all are at their limit: refusing it is the part of `refuses`.
        let with_room = self.picker.pick_with_room();
        let task = with_room.unwrap_or_else(|| self.picker.pick());
        let kept = match self.per {
            Per::Request => self.idle[task].pop().map(|conn| (task, conn)),
            Per::Connection => self.any_idle(),
        };
        if let Some((task, conn)) = kept {
            self.picker.took(task);
            return CallRoute::Kept(task, conn);
        }
        if self.most == 0 || self.open < self.most {
            self.open += 1;
            self.picker.took(task);
            return CallRoute::New(task);
        }
        // No room for another connection: any idle one will do.
        match self.any_idle() {
            Some((task, conn)) => {
                self.picker.took(task);
                CallRoute::Kept(task, conn)
            }
            None => CallRoute::Wait,
        }
    }

    /// Chooses a task for a user's own connection, whose requests do not go through a pool.
    pub fn pick(&mut self) -> usize {
        let task = self.picker.pick();
        self.picker.took(task);
        task
    }

    /// The number of requests under way at this task.
    pub fn under_way(&self, task: usize) -> u32 {
        self.picker.under_way(task)
    }

    /// True if the choice goes by what tasks report on their answers.
    pub fn hears_reports(&self) -> bool {
        self.picker.hears_reports()
    }

    /// Takes in what a task has reported on an answer.
    pub fn reported(&mut self, task: usize, report: &LoadReport) {
        self.picker.reported(task, report);
    }

    /// Notes that a request to this task has ended.
    pub fn left(&mut self, task: usize) {
        self.picker.left(task);
    }

    /// Takes a task in, or leaves it out: requests under way there go on, and the idle connections to it are returned, to
    /// be closed. All tasks are in at first.
    #[must_use]
    pub fn set_member(&mut self, task: usize, is_member: bool) -> Vec<C> {
        self.picker.set_member(task, is_member);
        let closed = if is_member { Vec::new() } else { std::mem::take(&mut self.idle[task]) };
        closed.iter().for_each(|_| self.gone());
        closed
    }

    /// Takes back a connection without a request. `Some`: its task was left out meanwhile, and the connection, which is
    /// not counted any more, is to be closed.
    #[must_use]
    pub fn keep(&mut self, task: usize, conn: C) -> Option<C> {
        if !self.picker.is_member(task) {
            self.gone();
            return Some(conn);
        }
        self.idle[task].push(conn);
        None
    }

    /// Notes that a connection that was not idle is gone.
    pub fn gone(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    fn any_idle(&mut self) -> Option<(usize, C)> {
        let task = self.idle.iter().position(|idle| !idle.is_empty())?;
        self.idle[task].pop().map(|conn| (task, conn))
    }
}

impl<C: PartialEq, W> Pool<C, W> {
    /// Notes that a connection is gone, idle or not.
    pub fn remove(&mut self, task: usize, conn: &C) {
        self.gone();
        self.idle[task].retain(|idle| idle != conn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(pool: &mut Pool<u32, ()>, many: usize) -> Vec<usize> {
        let task = |route| if let CallRoute::New(task) = route { task } else { panic!("{route:?}") };
        (0..many).map(|_| task(pool.route())).collect()
    }

    #[test]
    fn with_all_connections_in_use_requests_wait() {
        let mut pool = Pool::new(3, Balancer::RoundRobin, Per::Request, 2, 1);
        assert_eq!(news(&mut pool, 2), [0, 1]);
        assert_eq!(pool.route(), CallRoute::Wait);
        pool.left(0);
        assert_eq!(pool.keep(0, 7), None);
        // By turn the other task would be next, but there is no connection to it.
        assert_eq!(pool.route(), CallRoute::Kept(0, 7));
        assert_eq!(pool.route(), CallRoute::Wait);
        pool.remove(1, &8);
        assert!(matches!(pool.route(), CallRoute::New(_)));
    }

    #[test]
    fn a_connection_that_was_kept_goes_to_its_own_task() {
        let mut pool: Pool<u32, ()> = Pool::new(2, Balancer::RoundRobin, Per::Request, 0, 1);
        assert_eq!(news(&mut pool, 2), [0, 1]);
        assert_eq!(pool.keep(1, 7), None);
        assert_eq!(pool.route(), CallRoute::New(0), "its turn, and nothing is kept to it");
        assert_eq!(pool.route(), CallRoute::Kept(1, 7));
        let mut pool: Pool<u32, ()> = Pool::new(2, Balancer::RoundRobin, Per::Connection, 0, 1);
        assert_eq!(news(&mut pool, 2), [0, 1]);
        assert_eq!(pool.keep(1, 7), None);
        assert_eq!(pool.route(), CallRoute::Kept(1, 7), "whichever is free: connections are balanced");
    }

    #[test]
    fn a_task_that_is_left_out_finishes_what_it_has_and_keeps_no_connections() {
        let mut pool: Pool<u32, ()> = Pool::new(2, Balancer::RoundRobin, Per::Request, 2, 1);
        assert_eq!(news(&mut pool, 2), [0, 1]);
        pool.left(0);
        assert_eq!(pool.keep(0, 7), None);
        assert_eq!((pool.set_member(0, false), pool.set_member(1, false)), (vec![7], vec![]));
        pool.left(1);
        assert_eq!(pool.keep(1, 8), Some(8), "its answer came after it was left out");
        assert_eq!(pool.set_member(1, true), Vec::<u32>::new());
        assert_eq!(news(&mut pool, 2), [1, 1], "there is room for two connections again");
    }
}
