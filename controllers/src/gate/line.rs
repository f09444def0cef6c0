//! A queue by name: jobs in order of arrival, from which one in the middle may go away.

use std::collections::BTreeMap;

use crate::JobId;

/// Jobs that wait, in order of arrival, each with what its keeper wants to know of it.
#[derive(Debug)]
pub(crate) struct Line<T> {
    next: u64,
    by_order: BTreeMap<u64, (JobId, T)>,
    by_id: BTreeMap<JobId, u64>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { next: 0, by_order: BTreeMap::new(), by_id: BTreeMap::new() }
    }
}

impl<T> Line<T> {
    /// Adds one at the end. Ids are those of jobs alive, so none is in the line already.
    pub(crate) fn push(&mut self, id: JobId, what: T) {
        let doubled = self.by_id.insert(id, self.next);
        debug_assert!(doubled.is_none(), "{id:?} is in the line already");
        self.by_order.insert(self.next, (id, what));
        self.next += 1;
    }

    /// Takes one out, wherever it is.
    pub(crate) fn remove(&mut self, id: JobId) -> Option<T> {
        let (_, what) = self.by_order.remove(&self.by_id.remove(&id)?)?;
        Some(what)
    }

    /// Takes out the one that has waited longest.
    pub(crate) fn pop_oldest(&mut self) -> Option<(JobId, T)> {
        let (_, (id, what)) = self.by_order.pop_first()?;
        self.by_id.remove(&id);
        Some((id, what))
    }

    /// Takes out the one that came last.
    pub(crate) fn pop_newest(&mut self) -> Option<(JobId, T)> {
        let (_, (id, what)) = self.by_order.pop_last()?;
        self.by_id.remove(&id);
        Some((id, what))
    }

    /// True if it is among them.
    pub(crate) fn contains(&self, id: JobId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.by_order.len()).unwrap_or(u32::MAX)
    }

    /// From the oldest to the newest.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.by_order.values().map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_and_the_middle() {
        let mut line = Line::default();
        for id in [7, 3, 9, 5] {
            line.push(JobId(id), id * 10);
        }
        assert_eq!(line.remove(JobId(3)), Some(30));
        assert_eq!(line.remove(JobId(3)), None, "gone");
        assert_eq!(line.iter().copied().collect::<Vec<_>>(), [70, 90, 50]);
        assert_eq!(line.pop_newest(), Some((JobId(5), 50)));
        assert_eq!(line.pop_oldest(), Some((JobId(7), 70)));
        // Who comes again comes last.
        line.push(JobId(3), 1);
        assert_eq!(line.pop_newest(), Some((JobId(3), 1)));
        assert_eq!((line.len(), line.pop_oldest(), line.pop_oldest()), (1, Some((JobId(9), 90)), None));
        assert_eq!(line.remove(JobId(9)), None, "popped ones are forgotten by name too");
    }
}
