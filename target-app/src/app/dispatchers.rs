//! The workers of the dispatch stage, live: a lock and a timer round the machine [`Dispatch`].
//!
//! Dispatch costs about a microsecond, so a hop to a task of its own would cost more than the work: whoever brings a job, or makes
//! room for one, lends itself as the worker.

use std::sync::{
    Arc, Mutex, MutexGuard, Weak,
    atomic::{AtomicU32, Ordering},
};

use controllers::{
    JobId, Timestamp,
    site::{Dispatch, DispatchStep},
};
use tokio::sync::Notify;

use super::Job;
use crate::{
    clock::Clock,
    stage::{RefusedJob, Stage, Timed, Work, lock, rearm},
};

/// The workers of the dispatch stage and the queue before them.
#[derive(Debug)]
pub struct Dispatchers {
    clock: Clock,
    stages: Vec<Arc<Stage<Job>>>,
    state: Mutex<State>,
    /// Jobs that wait for their stages. A copy, so that a stage that makes room looks here without the lock.
    blocked: AtomicU32,
    alarm: Notify,
}

#[derive(Debug)]
struct State {
    dispatch: Dispatch<Job>,
    armed: Option<Timestamp>,
}

impl Dispatchers {
    /// This many workers, and a queue of that length, for these stages.
    #[must_use]
    pub fn new(workers: u32, queue: u32, stages: Vec<Arc<Stage<Job>>>, clock: Clock) -> Arc<Self> {
        let state = Mutex::new(State { dispatch: Dispatch::new(workers, queue), armed: None });
        Arc::new(Self { clock, stages, state, blocked: AtomicU32::new(0), alarm: Notify::new() })
    }

    /// Jobs that wait for a worker.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.lock().dispatch.waiting()
    }

    /// Workers that are free.
    #[must_use]
    pub fn idle(&self) -> u32 {
        self.lock().dispatch.idle()
    }

    /// Jobs refused because the queue was full.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.lock().dispatch.full()
    }

    /// Waiting jobs, free workers, blocked jobs, and jobs refused because the queue was full.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> [u64; 4] {
        let blocked = self.lock().dispatch.blocked();
        [u64::from(self.waiting()), u64::from(self.idle()), u64::from(blocked), self.full()]
    }

    /// Takes a job to its stage, as soon as a worker is free. Whoever waits for its reply hears what came of it.
    pub(super) fn offer(&self, job: Job) {
        let id = job.offer().id;
        self.with(|dispatch, _| dispatch.offer(id, job));
    }

    /// A job that may wait here goes away.
    pub(super) fn leave(&self, id: JobId) {
        // Its end is told to other sites: outside the lock.
        let gone = self.lock().dispatch.leave(id);
        if gone.is_some() {
            drop(gone);
            self.with(|_, _| {});
        }
    }

    /// Something has left the queue of this stage.
    pub(crate) fn room(this: &Weak<Self>, stage: usize) {
        let Some(this) = this.upgrade() else { return };
        if this.blocked.load(Ordering::Relaxed) > 0 {
            this.with(|dispatch, _| dispatch.room(stage));
        }
    }

    /// Runs under the lock, then does what dispatch wants. The timer is told of an earlier wake-up.
    fn with(&self, act: impl FnOnce(&mut Dispatch<Job>, Timestamp)) {
        if self.carry_out(act) {
            self.alarm.notify_one();
        }
    }

    /// The same; true if the timer has to be told of an earlier wake-up.
    fn carry_out(&self, act: impl FnOnce(&mut Dispatch<Job>, Timestamp)) -> bool {
        let mut step = {
            let mut state = self.lock();
            let now = self.clock.now();
            act(&mut state.dispatch, now);
            self.next(&mut state)
        };
        loop {
            step = match step {
                DispatchStep::Offer(job) => self.offer_to_stage(job),
                DispatchStep::Answer(job, away, answer) => {
                    job.not_taken(away, answer);
                    self.next(&mut self.lock())
                }
                DispatchStep::WakeAt(at) => return rearm(&mut self.lock().armed, Some(at)),
                DispatchStep::Idle => return false,
            };
        }
    }

    fn next(&self, state: &mut State) -> DispatchStep<Job> {
        let step = state.dispatch.poll();
        self.blocked.store(state.dispatch.blocked(), Ordering::Relaxed);
        step
    }

    fn offer_to_stage(&self, job: Job) -> DispatchStep<Job> {
        let (id, branch) = (job.offer().id, job.branch());
        // Routes name branches of this service's own graph.
        let Some(stage) = self.stages.get(branch) else {
            drop(job);
            let mut state = self.lock();
            state.dispatch.taken(id, branch);
            return self.next(&mut state);
        };
        let result = stage.enqueue(job);
        let mut state = self.lock();
        match result {
            Ok(()) => state.dispatch.taken(id, branch),
            Err(RefusedJob { work, away }) => {
                let now = self.clock.now();
                state.dispatch.refused(now, id, work, branch, away, &stage.spec().on_refuse);
            }
        }
        self.next(&mut state)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Timed for Dispatchers {
    fn turn(self: &Arc<Self>) -> Option<Timestamp> {
        self.lock().armed = None;
        self.carry_out(Dispatch::retry); // the timer is awake: it need not be woken
        self.lock().armed
    }

    fn alarm(&self) -> &Notify {
        &self.alarm
    }

    fn clock(&self) -> Clock {
        self.clock
    }
}
