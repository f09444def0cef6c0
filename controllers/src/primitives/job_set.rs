//! A set of jobs whose identities are mostly consecutive.

use std::collections::{BTreeSet, VecDeque};

use crate::JobId;

/// A set of jobs.
///
/// Hosts number their jobs consecutively, so the jobs of a set are close together: one bit each, in a window that
/// moves on with the newest job. Jobs that fall out of the window, which are long-lived, and jobs before it are in a
/// tree. A policy's decision looks here twice, so the common case must cost a few nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct JobSet {
    /// The number of the window's first word.
    first: u64,
    window: VecDeque<u64>,
    outside: BTreeSet<JobId>,
    len: u32,
}

/// The largest window in words of 64 jobs: 65 536 jobs in 8 KiB.
const MAX_WORDS: u64 = 1024;

impl JobSet {
    /// Adds a job. False: it was in the set already.
    pub(crate) fn insert(&mut self, id: JobId) -> bool {
        let (word, bit) = position(id);
        if self.window.is_empty() {
            self.first = word;
        }
        let added = match word.checked_sub(self.first) {
            Some(_) if !self.outside.is_empty() && self.outside.contains(&id) => false,
            Some(at) => {
                let at = if at < MAX_WORDS { at } else { self.move_on(word) } as usize;
                if at >= self.window.len() {
                    self.window.resize(at + 1, 0);
                }
                let before = self.window[at];
                self.window[at] |= bit;
                before & bit == 0
            }
            None => self.outside.insert(id),
        };
        self.len += u32::from(added);
        added
    }

    /// Removes a job. False: it was not in the set.
    pub(crate) fn remove(&mut self, id: JobId) -> bool {
        let (word, bit) = position(id);
        let removed = match self.word(word) {
            Some(at) if self.window[at] & bit != 0 => {
                self.window[at] ^= bit;
                while self.window.len() > 1 && self.window[0] == 0 {
                    self.window.pop_front();
                    self.first += 1;
                }
                true
            }
            _ => !self.outside.is_empty() && self.outside.remove(&id),
        };
        self.len -= u32::from(removed);
        removed
    }

    /// True if the job is in the set.
    pub(crate) fn contains(&self, id: JobId) -> bool {
        let (word, bit) = position(id);
        self.word(word).is_some_and(|at| self.window[at] & bit != 0) || self.outside.contains(&id)
    }

    /// The number of jobs.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The place in the window of the word with this number.
    fn word(&self, number: u64) -> Option<usize> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (at < self.window.len()).then_some(at)
    }

    /// Moves the window on until this word is its last one, and returns the word's place.
    fn move_on(&mut self, word: u64) -> u64 {
        let first = word - (MAX_WORDS - 1);
        while self.first < first
            && let Some(bits) = self.window.pop_front()
        {
            let jobs = (0..64).filter(|bit| bits & (1 << bit) != 0).map(|bit| JobId(self.first * 64 + bit));
            self.outside.extend(jobs);
            self.first += 1;
        }
        self.first = first;
        MAX_WORDS - 1
    }
}

/// The number of a job's word, and its bit.
fn position(JobId(id): JobId) -> (u64, u64) {
    (id / 64, 1 << (id % 64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_job_is_in_the_set_once() {
        let mut set = JobSet::default();
        assert!(set.insert(JobId(70)) && set.insert(JobId(3)) && set.insert(JobId(u64::MAX)));
        assert!(!set.insert(JobId(70)) && !set.insert(JobId(3)) && !set.insert(JobId(u64::MAX)));
        assert_eq!(set.len(), 3);
        assert!(set.remove(JobId(70)) && !set.remove(JobId(70)));
        assert!(set.contains(JobId(3)) && !set.contains(JobId(4)) && !set.contains(JobId(70)));
        assert_eq!(set.len(), 2);
    }

    #[test]
    fn a_job_that_outlives_the_window_stays_in_the_set() {
        let mut set = JobSet::default();
        assert!(set.insert(JobId(5)));
        for id in 6..200_000 {
            assert!(set.insert(JobId(id)) && set.remove(JobId(id)));
        }
        assert!(set.contains(JobId(5)) && !set.insert(JobId(5)));
        assert!(set.window.len() <= MAX_WORDS as usize);
        assert!(set.remove(JobId(5)) && !set.contains(JobId(5)));
        assert_eq!(set.len(), 0);
    }

    proptest! {
        #[test]
        fn it_is_a_set(jobs in prop::collection::vec((any::<bool>(), prop_oneof![
            0..300_u64, 60_000..70_000_u64, any::<u64>(), (u64::MAX - 200)..u64::MAX,
        ]), 0..400)) {
            let (mut set, mut expected) = (JobSet::default(), BTreeSet::new());
            for (insert, id) in jobs {
                let id = JobId(id);
                if insert {
                    prop_assert_eq!(set.insert(id), expected.insert(id));
                } else {
                    prop_assert_eq!(set.remove(id), expected.remove(&id));
                }
                prop_assert_eq!(set.contains(id), expected.contains(&id));
                prop_assert_eq!(set.len() as usize, expected.len());
            }
        }
    }
}
