//! The workers of the stage upstream: each takes a job to its stage, and answers if the stage refuses it (USITS'03, section 2.3).

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{TurnedAway, gauges::count};
use crate::{JobId, Outcome, Refusal, RetryHint, Timestamp, gate::Line, policy::Reason};

/// What a stage does with a refusal from the next one (USITS'03, section 2.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnRefuse {
    /// A 503 page with the reason and, if known, `Retry-After`.
    Reject,
    /// Waits until the next stage takes it: back-pressure. The worker waits too, so jobs for other stages wait behind it.
    Block,
    /// Sends the client to another node.
    Redirect(String),
    /// Answers with what can be had cheaply (a shorter list, headers without the body).
    Degrade,
}

/// How soon a blocked job is tried again if nothing leaves the queue that it waits for.
pub const RETRY_BLOCKED: Duration = Duration::from_millis(5);

/// What the host of dispatch has to do next.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum DispatchStep<J> {
    /// Offer this job to its stage, and say what came of it: [`Dispatch::taken`] or [`Dispatch::refused`].
    Offer(J),
    /// No stage takes this job.
    Answer(J, TurnedAway, RefusalAnswer),
    /// Nothing until then: [`Dispatch::retry`] at that time or later.
    WakeAt(Timestamp),
    /// Nothing.
    Idle,
}

/// What the client of a refused job gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusalAnswer {
    /// The refusal.
    Reject,
    /// The address of another node.
    Redirect(String),
    /// What can be had cheaply; the refusal, if nothing can.
    Degrade,
}

/// The dispatch stage: so many workers, and a bounded queue before them. Back-pressure holds workers.
///
/// A worker takes a job to its stage and is free at once, unless the stage refuses it and the answer is [`OnRefuse::Block`]. Then it
/// waits with the job, in order of arrival, until something leaves the stage's queue or [`RETRY_BLOCKED`] has passed.
#[derive(Debug)]
pub struct Dispatch<J> {
    idle: u32,
    queue: Line<J>,
    limit: u32,
    full: u64,
    /// By stage: jobs that it refused, each with a worker that waits.
    blocked: BTreeMap<usize, VecDeque<(JobId, J)>>,
    /// By stage: the blocked job that is being tried again.
    retried: BTreeMap<usize, JobId>,
    retry_at: Option<Timestamp>,
    /// Answers come before offers: what became of one job, before what is done about the next.
    answers: VecDeque<(J, TurnedAway, RefusalAnswer)>,
    offers: VecDeque<J>,
}

impl<J> Dispatch<J> {
    /// So many workers (at least 1), and a queue of that length before them.
    #[must_use]
    pub fn new(workers: u32, queue: u32) -> Self {
        Self {
            idle: workers.max(1),
            queue: Line::default(),
            limit: queue,
            full: 0,
            blocked: BTreeMap::new(),
            retried: BTreeMap::new(),
            retry_at: None,
            answers: VecDeque::new(),
            offers: VecDeque::new(),
        }
    }

    /// A job was let in, and needs a worker.
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

    /// This stage took the job that was handed out last.
    pub fn taken(&mut self, id: JobId, stage: usize) {
        self.worker_is_free();
        if self.is_retried(id, stage) {
            self.retry_first(stage);
        }
    }

    /// This stage refused the job that was handed out last.
    pub fn refused(&mut self, now: Timestamp, id: JobId, job: J, stage: usize, away: TurnedAway, on_refuse: &OnRefuse) {
        let again = self.is_retried(id, stage);
        // Waiting helps against load, not against the end of the service.
        if *on_refuse == OnRefuse::Block && away.refusal.reason != Reason::Draining {
            let blocked = self.blocked.entry(stage).or_default();
            let place = if again { 0 } else { blocked.len() };
            blocked.insert(place, (id, job));
            self.retry_at.get_or_insert(now + RETRY_BLOCKED);
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

    /// Something left the queue of this stage: a job that waits for it is tried again.
    pub fn room(&mut self, stage: usize) {
        if !self.retried.contains_key(&stage) {
            self.retry_first(stage);
        }
    }

    /// Tries blocked jobs again, if that is due.
    pub fn retry(&mut self, now: Timestamp) {
        if self.retry_at.is_none_or(|at| now < at) {
            return;
        }
        self.retry_at = None;
        let stages: Vec<usize> = self.blocked.keys().copied().collect();
        stages.into_iter().for_each(|stage| self.room(stage));
    }

    /// A job that waits here goes away. `None` if it does not wait here.
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

    /// What the host has to do. To be called after every other call until it says [`DispatchStep::WakeAt`] or [`DispatchStep::Idle`].
    pub fn poll(&mut self) -> DispatchStep<J> {
        if let Some((job, away, answer)) = self.answers.pop_front() {
            return DispatchStep::Answer(job, away, answer);
        }
        let due = if self.blocked.is_empty() { None } else { self.retry_at };
        self.offers
            .pop_front()
            .map_or_else(|| due.map_or(DispatchStep::Idle, DispatchStep::WakeAt), DispatchStep::Offer)
    }

    /// The next answer alone: for a host that has other work to do before the next offer.
    pub fn poll_answer(&mut self) -> Option<(J, TurnedAway, RefusalAnswer)> {
        self.answers.pop_front()
    }

    /// Jobs that wait for a worker.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.queue.len()
    }

    /// Jobs whose workers wait with them.
    #[must_use]
    pub fn blocked(&self) -> u32 {
        count(self.blocked.values().map(VecDeque::len).sum())
    }

    /// Workers that are free.
    #[must_use]
    pub fn idle(&self) -> u32 {
        self.idle
    }

    /// Jobs refused because the queue was full.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.full
    }

    fn is_retried(&mut self, id: JobId, stage: usize) -> bool {
        let is = self.retried.get(&stage) == Some(&id);
        if is {
            self.retried.remove(&stage);
        }
        is
    }

    fn retry_first(&mut self, stage: usize) {
        let Some(blocked) = self.blocked.get_mut(&stage) else { return };
        let first = blocked.pop_front();
        if blocked.is_empty() {
            self.blocked.remove(&stage);
        }
        if let Some((id, job)) = first {
            self.retried.insert(stage, id);
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

/// How a job ended for the policy that let it in, when a later site refused it: overload, unless it was answered in another way.
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
        dispatch.retry(at(4));
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
        dispatch.retry(at(5));
        assert_eq!(dispatch.poll(), DispatchStep::Offer(0));
        dispatch.taken(JobId(0), 0);
        assert_eq!(dispatch.poll(), DispatchStep::Offer(1));
        dispatch.refused(at(5), JobId(1), 1, 0, FULL, &OnRefuse::Block);
        assert_eq!((dispatch.poll(), dispatch.blocked()), (DispatchStep::WakeAt(at(10)), 2));
        dispatch.retry(at(10));
        assert_eq!(dispatch.poll(), DispatchStep::Offer(1), "it kept its place");
    }

    #[test]
    fn who_waits_may_leave_and_frees_the_worker() {
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
