//! Held jobs by the time at which their answers are late, and those that cannot be answered before it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    Ctx, Effect, Gauge, Grant, JobId, Offer, Outcome, Reason, Refusal, Timestamp,
    estimate::{Ewma, needed},
};

/// Weight of the past in the mean time inside: 64 ends, as in a window of `headway`.
const OLD_TIMES: f64 = 1.0 - 1.0 / 64.0;

/// Jobs by their due times, and the time that jobs have taken from their release to their end. Grants carry the time of the release.
#[derive(Debug)]
pub(crate) struct DueTimes {
    objective: Duration,
    by_due: BTreeSet<(Timestamp, JobId)>,
    due_of: BTreeMap<JobId, Timestamp>,
    /// Seconds.
    mean: Ewma,
    /// Seconds squared.
    mean_square: Ewma,
}

impl DueTimes {
    pub(crate) fn new(objective: Duration) -> Self {
        let (mean, mean_square) = (Ewma::from_first(OLD_TIMES), Ewma::from_first(OLD_TIMES));
        Self { objective, by_due: BTreeSet::new(), due_of: BTreeMap::new(), mean, mean_square }
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.due_of.len()).unwrap_or(u32::MAX)
    }

    /// True if this job would be answered too late, were it let in now.
    pub(crate) fn is_hopeless(&self, job: &Offer, now: Timestamp) -> bool {
        job.due(self.objective) <= now + self.need()
    }

    pub(crate) fn push(&mut self, job: &Offer) {
        let due = job.due(self.objective);
        self.by_due.insert((due, job.id));
        self.due_of.insert(job.id, due);
    }

    pub(crate) fn remove(&mut self, id: JobId) {
        if let Some(due) = self.due_of.remove(&id) {
            self.by_due.remove(&(due, id));
        }
    }

    /// Job whose answer is due first.
    pub(crate) fn first(&self) -> Option<JobId> {
        self.by_due.first().map(|(_, id)| *id)
    }

    /// Refuses the jobs that would be answered too late, and hands each to its queue.
    pub(crate) fn refuse_hopeless(&mut self, cx: &mut Ctx<'_>, mut gone: impl FnMut(JobId)) {
        let by = cx.now + self.need();
        while let Some((_, id)) = self.by_due.first().copied().filter(|(due, _)| *due <= by) {
            self.remove(id);
            gone(id);
            cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::Waited)));
        }
    }

    /// Time of the next refusal.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        self.by_due.first().map(|(due, _)| *due - self.need())
    }

    /// Releases a job.
    pub(crate) fn release(&mut self, id: JobId, cx: &mut Ctx<'_>) {
        self.remove(id);
        cx.effects.push(Effect::Release(id, Grant::new(cx.now.as_nanos())));
    }

    /// Learns from an end. Those that say nothing of the work do not count.
    pub(crate) fn ended(&mut self, grant: Grant, outcome: Outcome, now: Timestamp) {
        if matches!(outcome, Outcome::Served | Outcome::TimedOut | Outcome::Abandoned) {
            let inside = now.since(Timestamp::from_nanos(grant.cookie)).as_secs_f64();
            self.mean.add(inside);
            self.mean_square.add(inside * inside);
        }
    }

    /// Time that must be left when a job goes in; none until a job has ended.
    fn need(&self) -> Duration {
        let mean = self.mean.current();
        let deviation = (self.mean_square.current() - mean * mean).max(0.0).sqrt();
        Duration::from_secs_f64(needed(Some([mean, deviation]), self.objective.as_secs_f64()))
    }

    pub(crate) fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("held"), f64::from(self.len()));
        visit(Gauge::of("need_ms"), self.need().as_secs_f64() * 1e3);
    }
}
