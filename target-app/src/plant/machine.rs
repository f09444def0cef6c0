//! What work is done on: cores that all running work shares, and connections to a database that it waits for.

use std::{collections::VecDeque, time::Duration};

use controllers::{JobId, Timestamp};
use workloads::sim::Asked;

use super::listener::Refused;
use crate::synthetic::station::Sharing;

/// A part of the work on a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Which connections it needs one of; `None`: none.
    pub(super) pool: Option<usize>,
    /// Time on a core of its own.
    pub(super) demand: Duration,
}

/// What the cores work on.
#[derive(Debug)]
pub(super) enum Task {
    /// A step of a job.
    Job(JobId),
    /// Reading a request (and taking its connection, if it is the first).
    Read(Box<Asked>),
    /// Telling a client that its request is refused.
    Refusal(Box<Refused>),
}

/// Cores and pools.
#[derive(Debug)]
pub(super) struct Machine {
    cores: Sharing<Task>,
    pools: Vec<Pool>,
    /// CPU time used.
    used: Duration,
    /// How many plans for the next end have been made: an older one means nothing.
    pub(super) plans: u64,
}

#[derive(Debug)]
struct Pool {
    free: u32,
    waiting: VecDeque<(JobId, Duration)>,
}

impl Machine {
    /// So many cores, and pools of these sizes.
    pub(super) fn new(cores: u32, pools: &[u32]) -> Self {
        let pool = |&size: &u32| Pool { free: size.max(1), waiting: VecDeque::new() };
        Self { cores: Sharing::new(cores), pools: pools.iter().map(pool).collect(), used: Duration::ZERO, plans: 0 }
    }

    /// CPU time used by work that is done or under way.
    pub(super) fn used(&self) -> Duration {
        self.used
    }

    /// Starts a step of a job, as soon as there is a connection for it.
    pub(super) fn start(&mut self, now: Timestamp, job: JobId, step: Step) {
        if let Some(pool) = step.pool.and_then(|pool| self.pools.get_mut(pool)) {
            if pool.free == 0 {
                pool.waiting.push_back((job, step.demand));
                return;
            }
            pool.free -= 1;
        }
        self.run(now, Task::Job(job), step.demand);
    }

    /// A step of a job is over: its connection goes to the next who waits.
    pub(super) fn release(&mut self, now: Timestamp, step: Step) {
        let Some(pool) = step.pool.and_then(|pool| self.pools.get_mut(pool)) else { return };
        match pool.waiting.pop_front() {
            Some((job, demand)) => self.run(now, Task::Job(job), demand),
            None => pool.free += 1,
        }
    }

    /// Puts a task on the cores.
    pub(super) fn run(&mut self, now: Timestamp, task: Task, demand: Duration) {
        self.used += demand;
        self.cores.arrive(now, demand, task);
    }

    /// The next task that is done by now.
    pub(super) fn done(&mut self, now: Timestamp) -> Option<Task> {
        self.cores.leave(now)
    }

    /// When the next task will be done.
    pub(super) fn next_done(&self) -> Option<Timestamp> {
        self.cores.next_done()
    }

    /// From now on the cores work at this speed.
    pub(super) fn set_speed(&mut self, now: Timestamp, speed: f64) {
        self.cores.set_speed(now, speed);
    }
}
