//! Jobs by their identities, which are mostly consecutive.

use std::collections::VecDeque;

use controllers::JobId;

/// A table of what a plant knows of each job.
///
/// A site numbers its jobs consecutively, so the distance from the oldest job is an index into a queue; an event of a request looks a
/// job up several times. The queue has eight bytes for each job from the oldest to the newest.
#[derive(Debug)]
pub(super) struct JobTable<T> {
    /// The identity at the first place.
    first: u64,
    places: VecDeque<Option<Box<T>>>,
    len: usize,
}

impl<T> Default for JobTable<T> {
    fn default() -> Self {
        Self { first: 0, places: VecDeque::new(), len: 0 }
    }
}

impl<T> JobTable<T> {
    pub(super) fn get(&self, id: JobId) -> Option<&T> {
        self.places.get(self.place(id)?)?.as_deref()
    }

    pub(super) fn get_mut(&mut self, id: JobId) -> Option<&mut T> {
        let place = self.place(id)?;
        self.places.get_mut(place)?.as_deref_mut()
    }

    /// Adds a job, whose identity is larger than those before it.
    pub(super) fn insert(&mut self, id: JobId, job: Box<T>) {
        if self.places.is_empty() {
            self.first = id.0;
        }
        let place = self.place(id).expect("identities grow");
        self.len += 1;
        if place >= self.places.len() {
            self.places.resize_with(place, || None);
            self.places.push_back(Some(job));
        } else {
            self.places[place] = Some(job);
        }
    }

    pub(super) fn remove(&mut self, id: JobId) -> Option<Box<T>> {
        let place = self.place(id)?;
        let job = self.places.get_mut(place)?.take();
        self.len -= usize::from(job.is_some());
        while let Some(None) = self.places.front() {
            self.places.pop_front();
            self.first += 1;
        }
        job
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Their identities, in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = JobId> {
        let places = (self.first..).zip(&self.places);
        places.filter(|(_, job)| job.is_some()).map(|(id, _)| JobId(id))
    }

    /// The jobs by identity.
    #[cfg(test)]
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten().map(|job| &**job)
    }

    fn place(&self, JobId(id): JobId) -> Option<usize> {
        usize::try_from(id.checked_sub(self.first)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_found_whatever_has_left_before_and_between_them() {
        let mut table = JobTable::default();
        for id in [5, 6, 9] {
            table.insert(JobId(id), Box::new(id));
        }
        assert_eq!((table.get(JobId(4)), table.get(JobId(7)), table.get(JobId(9))), (None, None, Some(&9)));
        assert_eq!((table.remove(JobId(6)), table.remove(JobId(6))), (Some(Box::new(6)), None));
        assert_eq!(table.remove(JobId(5)), Some(Box::new(5)));
        *table.get_mut(JobId(9)).unwrap() += 1;
        assert_eq!((table.values().collect::<Vec<_>>(), table.places.len()), (vec![&10], 1));
        assert_eq!((table.ids().collect::<Vec<_>>(), table.len()), (vec![JobId(9)], 1));
        assert_eq!(table.remove(JobId(9)), Some(Box::new(10)));
        table.insert(JobId(100), Box::new(100));
        assert_eq!((table.get(JobId(100)), table.places.len()), (Some(&100), 1));
        assert_eq!(table.get(JobId(u64::MAX)), None);
    }
}
