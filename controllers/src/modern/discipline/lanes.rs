//! Held jobs in queues of their own, one for each kind, class or customer, each in order of arrival.

use std::{collections::BTreeMap, time::Duration};

use crate::{Ctx, Effect, Grant, JobId, Reason, Refusal, Timestamp, primitives::JobQueue};

/// The queues that are not empty.
#[derive(Debug)]
pub(crate) struct Lanes<K> {
    lanes: BTreeMap<K, JobQueue<Timestamp>>,
    /// The lane of each job.
    of: BTreeMap<JobId, K>,
}

impl<K> Default for Lanes<K> {
    fn default() -> Self {
        Self { lanes: BTreeMap::new(), of: BTreeMap::new() }
    }
}

impl<K: Ord + Copy> Lanes<K> {
    /// The number of jobs.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.of.len()).unwrap_or(u32::MAX)
    }

    /// Appends a job to its lane.
    pub(crate) fn push(&mut self, lane: K, id: JobId, now: Timestamp) {
        self.of.insert(id, lane);
        self.lanes.entry(lane).or_default().push(id, now);
    }

    /// Removes a job that has left.
    pub(crate) fn remove(&mut self, id: JobId) {
        let Some(lane) = self.of.get(&id).copied() else { return };
        self.take(lane, |queue| queue.remove(id).map(|_| id));
    }

    /// Lets the oldest job of a lane in.
    pub(crate) fn release_oldest(&mut self, lane: K, cx: &mut Ctx<'_>) {
        if let Some(id) = self.pop_oldest(lane) {
            cx.effects.push(Effect::Release(id, Grant::default()));
        }
    }

    /// Removes the oldest job of a lane.
    pub(crate) fn pop_oldest(&mut self, lane: K) -> Option<JobId> {
        self.take(lane, |queue| queue.pop_oldest().map(|(id, _)| id))
    }

    /// Removes the newest job of a lane.
    pub(crate) fn pop_newest(&mut self, lane: K) -> Option<JobId> {
        self.take(lane, |queue| queue.pop_newest().map(|(id, _)| id))
    }

    fn take(&mut self, lane: K, take: impl FnOnce(&mut JobQueue<Timestamp>) -> Option<JobId>) -> Option<JobId> {
        let queue = self.lanes.get_mut(&lane)?;
        let id = take(queue)?;
        if queue.is_empty() {
            self.lanes.remove(&lane);
        }
        self.of.remove(&id);
        Some(id)
    }

    /// The lanes, with the arrival of the oldest job of each.
    pub(crate) fn heads(&self) -> impl DoubleEndedIterator<Item = (K, Timestamp)> {
        self.lanes.iter().filter_map(|(lane, queue)| Some((*lane, *queue.iter().next()?)))
    }

    /// Number of jobs in a lane.
    pub(crate) fn len_of(&self, lane: K) -> u32 {
        self.lanes.get(&lane).map_or(0, JobQueue::len)
    }

    /// Lanes with the number of jobs in each.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = (K, u32)> {
        self.lanes.iter().map(|(lane, queue)| (*lane, queue.len()))
    }

    /// The time at which the oldest job of all has waited for so long.
    pub(crate) fn next_expiry(&self, timeout: Option<Duration>) -> Option<Timestamp> {
        Some(self.heads().map(|(_, arrived)| arrived).min()? + timeout?)
    }

    /// Refuses the jobs that have waited for so long.
    pub(crate) fn refuse_expired(&mut self, timeout: Option<Duration>, cx: &mut Ctx<'_>) {
        while self.next_expiry(timeout).is_some_and(|at| at <= cx.now) {
            let Some((lane, _)) = self.heads().min_by_key(|(_, arrived)| *arrived) else { return };
            let Some(id) = self.pop_oldest(lane) else { return };
            cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::Waited)));
        }
    }
}
