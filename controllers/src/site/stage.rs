//! A bounded queue with a policy at its entry, and a pool of workers that take jobs in batches (USITS'03, figure 2).

use std::{collections::VecDeque, time::Duration};

use super::{
    Action, InstalledPolicy, PolicySite, Probe, SiteMachine, StageGauges, TurnedAway,
    gauges::{count, counts_beside},
    policy_site::Want,
    pool::Pool,
};
use crate::{
    Grant, LoadSample, Note, Offer, Outcome, Refusal, Resize, Seen, SiteId, Timestamp, Timing, UnixSeconds,
    policy::Reason,
    seat::{Decision, HeldJob},
};

/// The size of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageLimits {
    /// The largest number of queued and held jobs.
    pub queue: u32,
    /// The initial number of workers, at least 1.
    pub workers: u32,
    /// The largest batch of a worker, at least 1 job.
    pub batch: u32,
    /// No work begins on a job whose sender no longer waits (`Tags::deadline`).
    pub drop_expired: bool,
}

/// An admitted job in the queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueuedJob<J> {
    /// The host's payload.
    pub job: J,
    /// The offer.
    pub offer: Offer,
    /// The grant of its admission.
    pub grant: Grant,
    /// The time of its offer.
    pub offered: Timestamp,
}

/// The next step of a worker.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum WorkerStep<J> {
    /// Process these jobs in order.
    Batch(VecDeque<QueuedJob<J>>),
    /// Wait for work.
    Wait,
    /// Stop: the pool has shrunk, or no more work will come.
    Leave,
}

/// The queue, the policy and the pool of one stage.
#[derive(Debug)]
pub struct Stage<J> {
    name: String,
    site: PolicySite<J>,
    queue: VecDeque<QueuedJob<J>>,
    limits: StageLimits,
    pool: Pool,
    batch: u32,
    closed: bool,
    full: u64,
    completed: u64,
    busy: Duration,
}

impl<J> Stage<J> {
    /// Creates a stage of this size with a policy. Its workers are idle.
    #[must_use]
    pub fn new(name: &str, site: PolicySite<J>, limits: StageLimits) -> Self {
        Self {
            name: name.to_owned(),
            site,
            queue: VecDeque::new(),
            limits,
            pool: Pool::new(limits.workers),
            batch: limits.batch.max(1),
            closed: false,
            full: 0,
            completed: 0,
            busy: Duration::ZERO,
        }
    }

    /// Sets the wall clock that policy and machines see. Hosts call this before each other call.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.site.set_wall(wall);
    }

    /// Puts a job into the queue, or holds it, if the policy agrees and the queue has room.
    ///
    /// # Errors
    /// The job, with the refusal.
    pub fn offer(&mut self, now: Timestamp, offer: Offer, job: J) -> Result<(), (J, TurnedAway)> {
        if self.closed {
            return Err((job, Refusal::new(Reason::Draining).into()));
        }
        if count(self.waiting()) >= self.limits.queue {
            self.full += 1;
            return Err((job, Refusal::new(Reason::QueueFull).into()));
        }
        match self.site.decide(now, &offer, job) {
            Decision::Admit(job, grant) => {
                self.queue.push_back(QueuedJob { job, offer, grant, offered: now });
                Ok(())
            }
            Decision::Hold => {
                self.tell_room(now);
                Ok(())
            }
            Decision::Refuse(job, refusal) => Err((job, TurnedAway { refusal, note: self.site.note(offer.id) })),
            Decision::ComeBack(job, wait) => Err((job, TurnedAway::until(wait))),
        }
    }

    /// The next step of an idle worker. After a batch, call [`Stage::batch_done`] first.
    pub fn take(&mut self) -> WorkerStep<J> {
        if !self.queue.is_empty() && self.pool.begin() {
            let jobs = batch_of(self.queue.len(), self.pool.idle(), self.batch);
            return WorkerStep::Batch(self.queue.drain(..jobs).collect());
        }
        if self.pool.leave() {
            return WorkerStep::Leave;
        }
        if self.is_drained() {
            self.pool.close_one();
            return WorkerStep::Leave;
        }
        WorkerStep::Wait
    }

    /// Reports that a job of a batch has its turn. A refusal says that its sender no longer waits: the job ends with it, without work.
    #[must_use]
    pub fn started(&mut self, now: Timestamp, queued: &QueuedJob<impl Sized>) -> Option<Refusal> {
        self.site.observe(now, &Seen::Started { id: queued.offer.id, waited: now.since(queued.offered) });
        self.refuse_if_expired(now, &queued.offer)
    }

    /// The refusal of a job whose deadline has passed, if this stage drops such jobs.
    fn refuse_if_expired(&self, now: Timestamp, offer: &Offer) -> Option<Refusal> {
        let expired = self.limits.drop_expired && offer.tags.deadline.is_some_and(|deadline| deadline <= now);
        expired.then_some(Refusal::new(Reason::Waited))
    }

    /// Reports the end of a job of a batch, and returns the note for its reply. `cost`: its CPU time, where known;
    /// `told`: the note of the last reply to its calls.
    pub fn ended(
        &mut self,
        now: Timestamp,
        queued: &QueuedJob<impl Sized>,
        started: Timestamp,
        outcome: Outcome,
        cost: Option<Duration>,
        told: Option<Note>,
    ) -> Option<Note> {
        self.completed += 1;
        let QueuedJob { offer: Offer { id, tags, entered, .. }, grant, offered, .. } = *queued;
        let timing = Timing { entered, offered, started, ended: now };
        self.site.observe(now, &Seen::Ended { id, grant, tags, outcome, timing, cost, note: told });
        self.site.note(id)
    }

    /// Reports the end of a batch of `jobs`, started at `began`; the worker can [`Stage::take`] the next one.
    pub fn batch_done(&mut self, now: Timestamp, jobs: u32, began: Timestamp) {
        let busy = now.since(began);
        self.busy += busy;
        self.site.observe(now, &Seen::Batch { jobs, busy });
        self.pool.done();
        self.tell_room(now);
    }

    /// One job more (or less) of this stage waits for other services and is not runnable.
    pub fn waits_downstream(&mut self, more: i32) {
        self.site.set_downstream(self.site.downstream().saturating_add_signed(more));
    }

    /// Passes a fact from another site to policy and machines.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.site.observe(now, seen);
    }

    /// Switches the policy; held jobs are offered to the new one.
    pub fn replace(&mut self, now: Timestamp, installed: InstalledPolicy) {
        self.site.replace(now, installed);
        self.tell_room(now);
    }

    /// Puts these machines in place of those that there are. Workers and batch are as at the start again.
    pub fn replace_machines(&mut self, machines: Vec<SiteMachine>) {
        self.site.replace_machines(machines);
        self.batch = self.limits.batch.max(1);
        resized(&mut self.pool, self.limits.workers).for_each(|action| self.site.act(action));
    }

    /// The names of the machines' entries.
    #[must_use]
    pub fn machines(&self) -> Vec<&'static str> {
        self.site.machine_names()
    }

    /// Closes the stage: it accepts no more jobs, and workers stop when the queue is empty.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// True once the stage is closed and empty.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.closed && self.waiting() == 0
    }

    /// The host's next action. Call after every other call until it returns [`Action::WakeAt`] or [`Action::Idle`].
    pub fn poll(&mut self, now: Timestamp, probe: &dyn Probe) -> Action<J> {
        loop {
            match self.site.next_action() {
                Some(action) => return action,
                None => self.turn(now, probe),
            }
        }
    }

    /// The quality of service that the policy sets, 0 to 1.
    #[must_use]
    pub fn quality(&self) -> f64 {
        self.site.quality()
    }

    /// The policy's estimate of the 90th percentile of response times, if it has one.
    #[must_use]
    pub fn reported_p90(&self) -> Option<Duration> {
        self.site.reported_p90()
    }

    /// Workers in the pool.
    #[must_use]
    pub fn workers(&self) -> u32 {
        self.pool.workers()
    }

    /// The site.
    #[must_use]
    pub fn id(&self) -> SiteId {
        self.site.id()
    }

    /// The stage's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The gauges of the stage.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        let counts = self.site.seat().counts();
        StageGauges {
            name: self.name.clone(),
            queue: count(self.waiting()),
            workers: self.pool.workers(),
            idle: self.pool.idle(),
            batch: self.batch,
            offered: counts.offered + self.full,
            admitted: counts.admitted,
            refused: counts.refused + counts.sent_back + self.full,
            completed: self.completed,
            busy_ms: self.busy.as_secs_f64() * 1e3,
            policy: self.site.gauges(),
            counts: counts_beside(counts),
            policy_name: self.site.policy_name().to_owned(),
        }
    }

    /// Queued and held jobs.
    fn waiting(&self) -> usize {
        self.queue.len() + usize::try_from(self.site.seat().held()).unwrap_or(usize::MAX)
    }

    /// Reports free workers, for which queue disciplines release jobs.
    fn tell_room(&mut self, now: Timestamp) {
        let free = self.pool.idle().saturating_sub(count(self.queue.len()));
        self.site.tell_room(now, free);
    }

    /// Collects the effects of policy and machines.
    fn turn(&mut self, now: Timestamp, probe: &dyn Probe) {
        let sample = LoadSample::Stage {
            queue: count(self.waiting()),
            workers: self.pool.workers(),
            idle: self.pool.idle(),
            completed: self.completed,
        };
        let Self { site, queue, pool, batch, .. } = self;
        let wake = site.turn(now, sample, probe, |want, actions| match want {
            Want::Release(HeldJob { job, offer, offered }, grant) => {
                queue.push_back(QueuedJob { job, offer, grant, offered });
            }
            Want::Shed(to, level) => actions.push_back(Action::Shed(to, level)),
            Want::Resize(Resize::Workers(wanted)) => actions.extend(resized(pool, wanted)),
            Want::Resize(Resize::Batch(wanted)) => *batch = wanted.max(1),
        });
        let start = self.pool.idle().min(count(self.queue.len()));
        self.site.end_turn(wake, (start > 0).then_some(Action::Start(start)));
    }
}

/// Gives a pool that many workers. Returns what the host is to do.
fn resized<J>(pool: &mut Pool, wanted: u32) -> impl Iterator<Item = Action<J>> {
    let (hire, dismiss) = pool.resize(wanted);
    let both = [(hire > 0).then_some(Action::Hire(hire)), (dismiss > 0).then_some(Action::Dismiss(dismiss))];
    both.into_iter().flatten()
}

/// The number of jobs that a worker takes from a queue: a batch that leaves idle workers their share (in SEDA a worker
/// takes up to a batch and leaves other workers idle).
fn batch_of(queue: usize, idle: u32, batch: u32) -> usize {
    let share = count(queue).div_ceil(idle + 1);
    usize::try_from(share.min(batch)).unwrap_or(usize::MAX)
}
