//! A queue in order of arrival that supports removal by job.

use std::collections::BTreeMap;

use crate::JobId;

/// Waiting jobs in order of arrival, each with a value of its owner.
#[derive(Debug)]
pub struct JobQueue<T> {
    next: u64,
    by_order: BTreeMap<u64, (JobId, T)>,
    by_id: BTreeMap<JobId, u64>,
}

impl<T> Default for JobQueue<T> {
    fn default() -> Self {
        Self { next: 0, by_order: BTreeMap::new(), by_id: BTreeMap::new() }
    }
}

impl<T> JobQueue<T> {
    /// Appends a job. It must not be in the queue already.
    pub fn push(&mut self, id: JobId, what: T) {
        let doubled = self.by_id.insert(id, self.next);
        debug_assert!(doubled.is_none(), "{id:?} is in the queue already");
        self.by_order.insert(self.next, (id, what));
        self.next += 1;
    }

    /// Removes a job at any position.
    pub fn remove(&mut self, id: JobId) -> Option<T> {
        let (_, what) = self.by_order.remove(&self.by_id.remove(&id)?)?;
        Some(what)
    }

    /// Removes the job that arrived first.
    pub fn pop_oldest(&mut self) -> Option<(JobId, T)> {
        let (_, (id, what)) = self.by_order.pop_first()?;
        self.by_id.remove(&id);
        Some((id, what))
    }

    /// Removes the job that arrived last.
    pub fn pop_newest(&mut self) -> Option<(JobId, T)> {
        let (_, (id, what)) = self.by_order.pop_last()?;
        self.by_id.remove(&id);
        Some((id, what))
    }

    /// All jobs, oldest first.
    pub(crate) fn into_jobs(self) -> impl Iterator<Item = T> {
        self.by_order.into_values().map(|(_, what)| what)
    }

    /// True if the job is in the queue.
    pub fn contains(&self, id: JobId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// True if no job waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_order.is_empty()
    }

    /// The number of jobs.
    pub fn len(&self) -> u32 {
        u32::try_from(self.by_order.len()).unwrap_or(u32::MAX)
    }

    /// All jobs, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.by_order.values().map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_and_the_middle() {
        let mut queue = JobQueue::default();
        for id in [7, 3, 9, 5] {
            queue.push(JobId(id), id * 10);
        }
        assert_eq!(queue.remove(JobId(3)), Some(30));
        assert_eq!(queue.remove(JobId(3)), None, "gone");
        assert_eq!(queue.iter().copied().collect::<Vec<_>>(), [70, 90, 50]);
        assert_eq!(queue.pop_newest(), Some((JobId(5), 50)));
        assert_eq!(queue.pop_oldest(), Some((JobId(7), 70)));
        // A job that is pushed again goes to the end.
        queue.push(JobId(3), 1);
        assert_eq!(queue.pop_newest(), Some((JobId(3), 1)));
        assert_eq!((queue.len(), queue.pop_oldest(), queue.pop_oldest()), (1, Some((JobId(9), 90)), None));
        assert_eq!(queue.remove(JobId(9)), None, "popped ones are forgotten by name too");
    }
}
