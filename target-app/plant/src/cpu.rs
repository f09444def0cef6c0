//! The resources of a plant: cores that all running work shares, and connections to a database that work waits for.

use std::{collections::VecDeque, time::Duration};

use controllers::{JobId, Timestamp};
use service_core::synthetic::server_model::ProcessorSharing;
use workloads::sim::SimRequest;

use super::listener::PendingRefusal;

/// A part of the work on a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The pool of which the step needs a connection; `None`: none.
    pub pool: Option<usize>,
    /// The time on a core of its own.
    pub demand: Duration,
}

/// A task of the cores.
#[derive(Debug)]
pub(super) enum Task {
    /// A step of a job.
    Job(JobId),
    /// A step of all jobs whose tokens are generated together.
    Batch,
    /// Reading a request (and accepting its connection, if it is the first).
    Read(Box<SimRequest>),
    /// Policing a request that has been read.
    Policing(Box<SimRequest>),
    /// Refusing a request.
    Refusal(Box<PendingRefusal>),
    /// The upkeep of connections.
    Upkeep,
}

/// Cores and pools.
#[derive(Debug)]
pub(super) struct CpuModel {
    cores: ProcessorSharing<Task>,
    count: u32,
    pools: Vec<Pool>,
    /// The factor by which work takes longer with one connection of the first pool in use, two, …; the last holds for
    /// more.
    slowdown: Vec<f64>,
    /// The speed of the cores without faults; the usual speed is 1.
    usual_speed: f64,
    /// The current speed of the cores, without the slowdown.
    speed: f64,
    /// CPU time used.
    used: Duration,
    /// The time for which the next end of work is scheduled.
    planned: Option<Timestamp>,
    /// The number of schedulings of the next end: an older one is void.
    plans: u64,
}

#[derive(Debug)]
struct Pool {
    size: u32,
    free: u32,
    waiting: VecDeque<(JobId, Duration)>,
}

impl CpuModel {
    /// Cores of this number and speed, and pools of these sizes; `slowdown`: by the number of the first pool's
    /// connections in use; empty: none.
    pub(super) fn new(count: u32, speed: f64, pools: &[u32], slowdown: &[f64]) -> Self {
        let pool = |&size: &u32| Pool { size: size.max(1), free: size.max(1), waiting: VecDeque::new() };
        let mut model = Self {
            cores: ProcessorSharing::new(count),
            count,
            pools: pools.iter().map(pool).collect(),
            slowdown: slowdown.to_vec(),
            usual_speed: speed,
            speed,
            used: Duration::ZERO,
            planned: None,
            plans: 0,
        };
        model.adapt(Timestamp::ZERO);
        model
    }

    /// The number of cores.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Speed of the cores without faults.
    pub(super) fn usual_speed(&self) -> f64 {
        self.usual_speed
    }

    /// The time that work takes alone on a core without faults.
    pub(super) fn time(&self, work: Duration) -> Duration {
        work.div_f64(self.usual_speed)
    }

    /// The next end of work and the number of its scheduling, unless it is scheduled already.
    pub(super) fn plan(&mut self) -> Option<(Timestamp, u64)> {
        let at = self.cores.next_done().filter(|at| self.planned.is_none_or(|planned| *at < planned))?;
        self.planned = Some(at);
        self.plans += 1;
        Some((at, self.plans))
    }

    /// Notes that the scheduled time with this number has come.
    pub(super) fn plan_is_due(&mut self, plan: u64) {
        if plan == self.plans {
            self.planned = None;
        }
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
        self.adapt(now);
        self.run(now, Task::Job(job), step.demand);
    }

    /// Ends a step of a job: its connection goes to the next job that waits.
    pub(super) fn release(&mut self, now: Timestamp, step: Step) {
        let Some(pool) = step.pool.and_then(|pool| self.pools.get_mut(pool)) else { return };
        match pool.waiting.pop_front() {
            Some((job, demand)) => self.run(now, Task::Job(job), demand),
            None => {
                pool.free += 1;
                self.adapt(now);
            }
        }
    }

    /// Puts a task on the cores.
    pub(super) fn run(&mut self, now: Timestamp, task: Task, demand: Duration) {
        self.used += demand.mul_f64(self.factor());
        self.cores.arrive(now, demand, task);
    }

    /// Takes all work away.
    pub(super) fn clear(&mut self, now: Timestamp) -> Vec<Task> {
        let all = self.cores.clear(now);
        self.planned = None;
        for pool in &mut self.pools {
            pool.free = pool.size;
            pool.waiting.clear();
        }
        self.adapt(now);
        all
    }

    /// Removes the next task that has ended by now.
    pub(super) fn done(&mut self, now: Timestamp) -> Option<Task> {
        self.cores.leave(now)
    }

    /// Sets the share of the usual speed that faults leave.
    pub(super) fn set_share(&mut self, now: Timestamp, share: f64) {
        self.speed = self.usual_speed * share;
        self.planned = None;
        self.adapt(now);
    }

    /// The factor by which work takes longer now.
    fn factor(&self) -> f64 {
        let in_use = self.pools.first().map_or(0, |pool| pool.size - pool.free);
        let at = usize::try_from(in_use.max(1)).unwrap_or(usize::MAX) - 1;
        self.slowdown.get(at).or(self.slowdown.last()).copied().unwrap_or(1.0)
    }

    /// Adapts the speed to the connections in use.
    fn adapt(&mut self, now: Timestamp) {
        self.cores.set_speed(now, self.speed / self.factor());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORK: Step = Step { pool: Some(0), demand: Duration::from_millis(10) };

    #[test]
    fn work_alone_takes_longer_by_the_factor_and_together_it_does_not() {
        let mut cpu = CpuModel::new(1, 1.0, &[4], &[1.5, 1.0]);
        cpu.start(Timestamp::ZERO, JobId(1), WORK);
        assert_eq!(cpu.cores.next_done(), Some(Timestamp::from_millis(15)));
        // After 3 ms, 2 ms of its work are done. Two share the core from then on: 8 ms more take 16 ms.
        cpu.start(Timestamp::from_millis(3), JobId(2), WORK);
        assert_eq!(cpu.cores.next_done(), Some(Timestamp::from_millis(19)));
        assert!(matches!(cpu.done(Timestamp::from_millis(19)), Some(Task::Job(JobId(1)))));
        cpu.release(Timestamp::from_millis(19), WORK);
        // The second has 2 ms left, and is alone: 3 ms.
        assert_eq!(cpu.cores.next_done(), Some(Timestamp::from_millis(22)));
        assert_eq!(cpu.used(), Duration::from_millis(25), "booked at the factor of its beginning");
    }

    #[test]
    fn a_fault_and_the_slowdown_multiply() {
        let mut cpu = CpuModel::new(1, 1.0, &[4], &[1.5, 1.0]);
        cpu.set_share(Timestamp::ZERO, 0.5);
        cpu.start(Timestamp::ZERO, JobId(1), WORK);
        assert_eq!(cpu.cores.next_done(), Some(Timestamp::from_millis(30)));
    }
}
