//! The workers of the dispatch stage, live: a lock and a timer round the machine [`Dispatch`].
//!
//! Dispatch costs about a microsecond, so a hop to a task of its own would cost more than the work: the task that brings a job, or
//! makes room for one, acts as the worker.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU32, Ordering},
};

use crate::{
    clock::ServiceClock,
    stage::{LiveStage, RefusedJob, Shared, SharedSite, StageWork},
};
use controllers::{
    JobId, Timestamp,
    site::{Dispatch, DispatchStep, RefusalAnswer, TurnedAway},
};

/// A job that dispatch takes to its stage.
pub trait Dispatched: StageWork {
    /// The index of its stage among the branches.
    fn branch(&self) -> usize;

    /// Ends it: no stage takes it.
    fn not_taken(self, away: TurnedAway, answer: RefusalAnswer);
}

/// The workers of the dispatch stage and the queue before them.
#[derive(Debug)]
pub struct Dispatchers<J: Dispatched> {
    stages: Vec<Arc<LiveStage<J>>>,
    shared: Shared<Dispatch<J>>,
    /// The number of jobs that wait for their stages. A copy, so that a stage that makes room can check it without the
    /// lock.
    blocked: AtomicU32,
}

impl<J: Dispatched> Dispatchers<J> {
    /// Dispatch with this number of workers and this length of its queue, for these stages.
    #[must_use]
    pub fn new(workers: u32, queue: u32, stages: Vec<Arc<LiveStage<J>>>, clock: ServiceClock) -> Arc<Self> {
        let shared = Shared::new(Dispatch::new(workers, queue), clock);
        Arc::new(Self { stages, shared, blocked: AtomicU32::new(0) })
    }

    /// The number of jobs that wait for a worker.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.shared.peek(|dispatch| dispatch.waiting())
    }

    /// The number of free workers.
    #[must_use]
    pub fn idle(&self) -> u32 {
        self.shared.peek(|dispatch| dispatch.idle())
    }

    /// Waiting jobs, free workers, blocked jobs, and jobs refused because the queue was full.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> [u64; 4] {
        self.shared.peek(|dispatch| {
            let [waiting, idle, blocked] = [dispatch.waiting(), dispatch.idle(), dispatch.blocked()].map(u64::from);
            [waiting, idle, blocked, dispatch.full()]
        })
    }

    /// Takes a job to its stage as soon as a worker is free. The result goes to the job's reply channel.
    pub(super) fn offer(self: &Arc<Self>, job: J) {
        let id = job.offer().id;
        self.with(|dispatch, _| dispatch.offer(id, job));
    }

    /// Removes a job whose client has gone, if it waits here.
    pub(super) fn leave(self: &Arc<Self>, id: JobId) {
        // Its end is reported to other sites: outside the lock.
        let gone = self.shared.peek(|dispatch| dispatch.leave(id));
        if gone.is_some() {
            drop(gone);
            self.with(|_, _| {});
        }
    }

    /// Tells dispatch that a job has left the queue of this stage.
    pub(crate) fn room(this: &Weak<Self>, stage: usize) {
        let Some(this) = this.upgrade() else { return };
        if this.blocked.load(Ordering::Relaxed) > 0 {
            this.with(|dispatch, _| dispatch.room(stage));
        }
    }

    /// Runs under the lock; returns the next request of dispatch.
    fn step(self: &Arc<Self>, act: impl FnOnce(&mut Dispatch<J>, Timestamp)) -> DispatchStep<J> {
        self.shared.with(|dispatch, now| {
            act(dispatch, now);
            self.poll(dispatch, now)
        })
    }

    fn offer_to_stage(self: &Arc<Self>, job: J) -> DispatchStep<J> {
        let (id, branch) = (job.offer().id, job.branch());
        // Routes name branches of this service's own graph.
        let Some(stage) = self.stages.get(branch) else {
            drop(job);
            return self.step(|dispatch, _| dispatch.taken(id, branch));
        };
        let result = stage.enqueue(job);
        self.step(|dispatch, now| match result {
            Ok(()) => dispatch.taken(id, branch),
            Err(RefusedJob { work, away }) => {
                dispatch.refused(now, id, work, branch, away, &stage.spec().on_refuse);
            }
        })
    }
}

impl<J: Dispatched> SharedSite for Dispatchers<J> {
    type Machine = Dispatch<J>;
    type Wants = DispatchStep<J>;

    fn shared(&self) -> &Shared<Self::Machine> {
        &self.shared
    }

    fn due(dispatch: &mut Self::Machine, now: Timestamp) {
        dispatch.offer_blocked_again(now);
    }

    fn poll(self: &Arc<Self>, dispatch: &mut Self::Machine, _: Timestamp) -> (Self::Wants, Option<Timestamp>) {
        let step = dispatch.poll();
        self.blocked.store(dispatch.blocked(), Ordering::Relaxed);
        let wake = if let DispatchStep::WakeAt(at) = step { Some(at) } else { None };
        (step, wake)
    }

    /// Goes on until dispatch wants nothing more now.
    fn carry_out(self: &Arc<Self>, mut step: Self::Wants) {
        loop {
            step = match step {
                DispatchStep::Offer(job) => self.offer_to_stage(job),
                DispatchStep::Answer(job, away, answer) => {
                    job.not_taken(away, answer);
                    self.step(|_, _| {})
                }
                DispatchStep::WakeAt(_) | DispatchStep::Idle => return,
            };
        }
    }
}
