//! The workers of the upstream stage: each offers a job to its stage, and answers the client if the stage refuses the
//! job (USITS'03, section 2.3).

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{TurnedAway, gauges::count};
use crate::{JobId, Outcome, Refusal, RetryHint, Timestamp, policy::Reason, primitives::JobQueue};

/// The answer of a stage to a refusal by the next stage (USITS'03, section 2.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnRefuse {
    /// A 503 page with the reason and, if known, `Retry-After`.
    Reject,
    /// Block until the next stage accepts the job: back-pressure. The worker waits too, so jobs for other stages wait
    /// as well.
    Block,
    /// Redirect the client to another node.
    Redirect(String),
    /// Answer with a degraded reply of low cost (a shorter list, headers without the body).
    Degrade,
}

/// The time between offers of a blocked job while no job leaves the queue that it waits for.
pub const RETRY_BLOCKED: Duration = Duration::from_millis(5);

/// The next action of dispatch's host.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum DispatchStep<J> {
    /// Offer this job to its stage, and report the result: [`Dispatch::taken`] or [`Dispatch::refused`].
    Offer(J),
    /// Answer the client of this job, which no stage accepted.
    Answer(J, TurnedAway, RefusalAnswer),
    /// Call [`Dispatch::offer_blocked_again`] at this time or later.
    WakeAt(Timestamp),
    /// Nothing to do.
    Idle,
}

/// The answer to the client of a refused job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalAnswer {
    /// The refusal.
    Reject,
    /// The address of another node.
    Redirect(String),
    /// A degraded reply; the refusal, if the service has none.
    Degrade,
}

/// The dispatch stage: a pool of workers with a bounded queue. Back-pressure blocks workers.
///
/// A worker offers a job to its stage and is free at once, unless the stage refuses it and the answer is
/// [`OnRefuse::Block`]. The worker then waits with the job, in order of arrival, until a job leaves the stage's queue
/// or [`RETRY_BLOCKED`] has passed.
#[derive(Debug)]
pub struct Dispatch<J> {
    idle: u32,
    queue: JobQueue<J>,
    limit: u32,
    full: u64,
    /// By stage: refused jobs, each with its blocked worker.
    blocked: BTreeMap<usize, VecDeque<(JobId, J)>>,
    /// By stage: the blocked job that is being offered again.
    offered_again: BTreeMap<usize, JobId>,
    again_at: Option<Timestamp>,
    /// Answers, which come before offers.
    answers: VecDeque<(J, TurnedAway, RefusalAnswer)>,
    offers: VecDeque<J>,
}

impl<J> Dispatch<J> {
    /// A pool of `workers` (at least 1) with a queue of `queue` jobs.
    #[must_use]
    pub fn new(workers: u32, queue: u32) -> Self {
        Self {
            idle: workers.max(1),
            queue: JobQueue::default(),
            limit: queue,
            full: 0,
            blocked: BTreeMap::new(),
            offered_again: BTreeMap::new(),
            again_at: None,
            answers: VecDeque::new(),
            offers: VecDeque::new(),
        }
    }

    /// Adds a job that was admitted and needs a worker.
    pub fn offer(&mut self, id: JobId, job: J) {
        if self.idle > 0 {
            self.idle -= 1;
            self.offers.push_back(job);
        } else if self.queue.len() < self.limit {
            self.queue.push(id, job);
        } else {
            self.full += 1;
            self.answers.push_back((job, Refusal::new(Reason::QueueFull).into(), RefusalAnswer::Reject));
        }
    }

    /// The stage accepted the last job that was handed out.
    pub fn taken(&mut self, id: JobId, stage: usize) {
        self.worker_is_free();
        if self.was_offered_again(id, stage) {
            self.offer_first_again(stage);
        }
    }

    /// The stage refused the last job that was handed out.
    pub fn refused(&mut self, now: Timestamp, id: JobId, job: J, stage: usize, away: TurnedAway, on_refuse: &OnRefuse) {
        let again = self.was_offered_again(id, stage);
        // Blocking helps under load, not when the service shuts down.
        if *on_refuse == OnRefuse::Block && away.refusal.reason != Reason::Draining {
            let blocked = self.blocked.entry(stage).or_default();
            let place = if again { 0 } else { blocked.len() };
            blocked.insert(place, (id, job));
            self.again_at.get_or_insert(now + RETRY_BLOCKED);
            return;
        }
        let answer = match on_refuse {
            OnRefuse::Reject | OnRefuse::Block => RefusalAnswer::Reject,
            OnRefuse::Redirect(node) => RefusalAnswer::Redirect(node.clone()),
            OnRefuse::Degrade => RefusalAnswer::Degrade,
        };
        self.answers.push_back((job, away, answer));
        self.worker_is_free();
    }

    /// A job left the queue of this stage: a blocked job is offered to it again.
    pub fn room(&mut self, stage: usize) {
        if !self.offered_again.contains_key(&stage) {
            self.offer_first_again(stage);
        }
    }

    /// Offers blocked jobs again, if that is due.
    pub fn offer_blocked_again(&mut self, now: Timestamp) {
        if self.again_at.is_none_or(|at| now < at) {
            return;
        }
        self.again_at = None;
        let stages: Vec<usize> = self.blocked.keys().copied().collect();
        stages.into_iter().for_each(|stage| self.room(stage));
    }

    /// Removes a waiting job that left. `None`: it does not wait here.
    pub fn leave(&mut self, id: JobId) -> Option<J> {
        if let Some(job) = self.queue.remove(id) {
            return Some(job);
        }
        let job = self.blocked.values_mut().find_map(|blocked| {
            let place = blocked.iter().position(|(of, _)| *of == id)?;
            blocked.remove(place)
        })?;
        self.blocked.retain(|_, blocked| !blocked.is_empty());
        self.worker_is_free();
        Some(job.1)
    }

    /// The host's next action. Call after every other call until it returns [`DispatchStep::WakeAt`] or
    /// [`DispatchStep::Idle`].
    pub fn poll(&mut self) -> DispatchStep<J> {
        if let Some((job, away, answer)) = self.answers.pop_front() {
            return DispatchStep::Answer(job, away, answer);
        }
        let due = if self.blocked.is_empty() { None } else { self.again_at };
        self.offers
            .pop_front()
            .map_or_else(|| due.map_or(DispatchStep::Idle, DispatchStep::WakeAt), DispatchStep::Offer)
    }

    /// The next answer only: for a host with other work before the next offer.
    pub fn poll_answer(&mut self) -> Option<(J, TurnedAway, RefusalAnswer)> {
        self.answers.pop_front()
    }

    /// Jobs that wait for a worker.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.queue.len()
    }

    /// Blocked jobs, each with its worker.
    #[must_use]
    pub fn blocked(&self) -> u32 {
        count(self.blocked.values().map(VecDeque::len).sum())
    }

    /// Idle workers.
    #[must_use]
    pub fn idle(&self) -> u32 {
        self.idle
    }

    /// Jobs refused because the queue was full.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.full
    }

    fn was_offered_again(&mut self, id: JobId, stage: usize) -> bool {
        let is = self.offered_again.get(&stage) == Some(&id);
        if is {
            self.offered_again.remove(&stage);
        }
        is
    }

    fn offer_first_again(&mut self, stage: usize) {
        let Some(blocked) = self.blocked.get_mut(&stage) else { return };
        let first = blocked.pop_front();
        if blocked.is_empty() {
            self.blocked.remove(&stage);
        }
        if let Some((id, job)) = first {
            self.offered_again.insert(stage, id);
            self.offers.push_back(job);
        }
    }

    fn worker_is_free(&mut self) {
        match self.queue.pop_oldest() {
            Some((_, job)) => self.offers.push_back(job),
            None => self.idle += 1,
        }
    }
}

/// The outcome of a job that a later site refused, for the policy that admitted it: overload, unless the answer was not
/// a refusal.
#[must_use]
pub fn outcome_of_refusal(refusal: Refusal, answered: bool) -> Outcome {
    if answered { Outcome::Ignored } else { Outcome::Overloaded { retry: refusal.retry != RetryHint::Never } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: TurnedAway = TurnedAway { refusal: Refusal::new(Reason::QueueFull), note: None };

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn dispatch(workers: u32, queue: u32, jobs: u64) -> Dispatch<u64> {
        let mut dispatch = Dispatch::new(workers, queue);
        (0..jobs).for_each(|job| dispatch.offer(JobId(job), job));
        dispatch
    }

    #[test]
    fn workers_take_jobs_and_the_queue_before_them_is_bounded() {
        let mut dispatch = dispatch(1, 1, 3);
        assert_eq!(dispatch.poll(), DispatchStep::Answer(2, FULL, RefusalAnswer::Reject));
        assert_eq!(dispatch.poll(), DispatchStep::Offer(0));
        assert_eq!((dispatch.poll(), dispatch.waiting(), dispatch.full()), (DispatchStep::Idle, 1, 1));
        dispatch.taken(JobId(0), 0);
        assert_eq!(dispatch.poll(), DispatchStep::Offer(1));
        dispatch.taken(JobId(1), 0);
        assert_eq!((dispatch.poll(), dispatch.idle()), (DispatchStep::Idle, 1));
    }

    #[test]
    fn back_pressure_holds_the_worker_and_what_is_for_other_stages_waits_behind() {
        let mut dispatch = dispatch(1, 9, 2);
        assert_eq!(dispatch.poll(), DispatchStep::Offer(0));
        dispatch.refused(at(0), JobId(0), 0, 7, FULL, &OnRefuse::Block);
        assert_eq!(dispatch.poll(), DispatchStep::WakeAt(at(5)), "job 1 is for a stage that has room, and waits");
        dispatch.offer_blocked_again(at(4));
        assert_eq!(dispatch.poll(), DispatchStep::WakeAt(at(5)));
        dispatch.room(8);
        assert_eq!(dispatch.poll(), DispatchStep::WakeAt(at(5)), "room in another stage");
        dispatch.room(7);
        assert_eq!(dispatch.poll(), DispatchStep::Offer(0));
        dispatch.taken(JobId(0), 7);
        assert_eq!(dispatch.poll(), DispatchStep::Offer(1));
    }

    #[test]
    fn blocked_jobs_are_tried_again_in_order_until_one_does_not_fit() {
        let mut dispatch = dispatch(3, 9, 3);
        for job in 0..3 {
            assert_eq!(dispatch.poll(), DispatchStep::Offer(job));
            dispatch.refused(at(0), JobId(job), job, 0, FULL, &OnRefuse::Block);
        }
        dispatch.offer_blocked_again(at(5));
        assert_eq!(dispatch.poll(), DispatchStep::Offer(0));
        dispatch.taken(JobId(0), 0);
        assert_eq!(dispatch.poll(), DispatchStep::Offer(1));
        dispatch.refused(at(5), JobId(1), 1, 0, FULL, &OnRefuse::Block);
        assert_eq!((dispatch.poll(), dispatch.blocked()), (DispatchStep::WakeAt(at(10)), 2));
        dispatch.offer_blocked_again(at(10));
        assert_eq!(dispatch.poll(), DispatchStep::Offer(1), "it kept its place");
    }

    #[test]
    fn a_waiting_job_may_leave_and_frees_the_worker() {
        let mut dispatch = dispatch(1, 9, 3);
        assert_eq!(dispatch.poll(), DispatchStep::Offer(0));
        dispatch.refused(at(0), JobId(0), 0, 0, FULL, &OnRefuse::Block);
        assert_eq!(dispatch.leave(JobId(1)), Some(1));
        assert_eq!(dispatch.leave(JobId(0)), Some(0));
        assert_eq!(dispatch.poll(), DispatchStep::Offer(2));
        assert_eq!((dispatch.leave(JobId(9)), dispatch.blocked()), (None, 0));
    }

    #[test]
    fn each_answer_to_a_refusal_frees_the_worker() {
        let node = OnRefuse::Redirect("http://b".to_owned());
        let draining = TurnedAway::from(Refusal::new(Reason::Draining));
        let answers = [
            (OnRefuse::Reject, FULL, RefusalAnswer::Reject),
            (node, FULL, RefusalAnswer::Redirect("http://b".to_owned())),
            (OnRefuse::Degrade, FULL, RefusalAnswer::Degrade),
            (OnRefuse::Block, draining, RefusalAnswer::Reject),
        ];
        for (on_refuse, away, expected) in answers {
            let mut dispatch = dispatch(1, 9, 1);
            assert_eq!(dispatch.poll(), DispatchStep::Offer(0));
            dispatch.refused(at(0), JobId(0), 0, 0, away, &on_refuse);
            assert_eq!(dispatch.poll(), DispatchStep::Answer(0, away, expected));
            assert_eq!((dispatch.poll(), dispatch.idle()), (DispatchStep::Idle, 1));
        }
    }

    #[test]
    fn the_policy_hears_of_overload_unless_the_job_was_answered() {
        let never = Refusal { reason: Reason::Rate, retry: RetryHint::Never };
        assert_eq!(outcome_of_refusal(never, false), Outcome::Overloaded { retry: false });
        assert_eq!(outcome_of_refusal(FULL.refusal, false), Outcome::Overloaded { retry: true });
        assert_eq!(outcome_of_refusal(FULL.refusal, true), Outcome::Ignored);
    }
}
