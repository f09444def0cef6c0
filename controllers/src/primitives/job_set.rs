//! A set of jobs whose identities are mostly consecutive.

use std::collections::BTreeSet;

use crate::JobId;

/// A set of jobs.
///
/// Hosts number their jobs consecutively, so the jobs of a set are close together: one bit each, in a ring of words that
/// moves on with the newest job. Jobs that fall out of the ring, which are long-lived, and jobs before it are in a tree.
/// Each job is looked up here twice, so the common case is one word of the ring.
#[derive(Debug, Default)]
pub(crate) struct JobSet {
    /// The number of the oldest word that the ring has room for.
    first: u64,
    /// Words by their numbers modulo the length, a power of two.
    ring: Vec<u64>,
    outside: BTreeSet<JobId>,
    len: u32,
}

/// The first and the largest ring in words of 64 jobs: 1024 jobs in 128 bytes, 65 536 jobs in 8 KiB.
const LEAST_WORDS: usize = 16;
const MAX_WORDS: usize = 1024;

impl JobSet {
    /// Adds a job. False: it was in the set already.
    #[inline]
    pub(crate) fn insert(&mut self, id: JobId) -> bool {
        let (word, bit) = position(id);
        if !self.has_word(word) || !self.outside.is_empty() {
            return self.insert_slowly(id);
        }
        self.insert_into_ring(word, bit)
    }

    /// Removes a job. False: it was not in the set.
    #[inline]
    pub(crate) fn remove(&mut self, id: JobId) -> bool {
        let (word, bit) = position(id);
        if self.has_word(word) && self.ring[self.place(word)] & bit != 0 {
            let at = self.place(word);
            self.ring[at] ^= bit;
            self.len -= 1;
            return true;
        }
        self.remove_outside(id)
    }

    /// True if the job is in the set.
    #[inline]
    pub(crate) fn contains(&self, id: JobId) -> bool {
        let (word, bit) = position(id);
        self.has_word(word) && self.ring[self.place(word)] & bit != 0 || self.is_outside(id)
    }

    /// The number of jobs.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// True if the ring has room for the word with this number.
    fn has_word(&self, word: u64) -> bool {
        word.wrapping_sub(self.first) < self.ring.len() as u64
    }

    /// The place in the ring of the word with this number.
    fn place(&self, word: u64) -> usize {
        word as usize & (self.ring.len() - 1)
    }

    #[inline]
    fn insert_into_ring(&mut self, word: u64, bit: u64) -> bool {
        let at = self.place(word);
        let added = self.ring[at] & bit == 0;
        self.ring[at] |= bit;
        self.len += u32::from(added);
        added
    }

    /// Adds a job beyond the ring or before it, or while jobs are outside. A function of its own, as the next two: inlined
    /// into every decision, the tree would cost it registers.
    #[cold]
    #[inline(never)]
    fn insert_slowly(&mut self, id: JobId) -> bool {
        if self.outside.contains(&id) {
            return false;
        }
        let (word, bit) = position(id);
        if word < self.first {
            self.len += 1;
            return self.outside.insert(id);
        }
        if !self.has_word(word) {
            self.make_room(word);
        }
        self.insert_into_ring(word, bit)
    }

    #[cold]
    #[inline(never)]
    fn remove_outside(&mut self, id: JobId) -> bool {
        let removed = self.outside.remove(&id);
        self.len -= u32::from(removed);
        removed
    }

    #[cold]
    #[inline(never)]
    fn is_outside(&self, id: JobId) -> bool {
        self.outside.contains(&id)
    }

    /// Makes room for a word beyond the ring: by leaving out words without jobs, then with a longer ring, at last by
    /// moving old jobs to the tree.
    fn make_room(&mut self, word: u64) {
        if self.ring.is_empty() {
            self.ring = vec![0; LEAST_WORDS];
        }
        if self.len as usize == self.outside.len() {
            self.first = word; // the ring has no jobs
        }
        while !self.has_word(word) {
            let oldest = self.place(self.first);
            if self.ring[oldest] == 0 {
                self.first += 1;
            } else if self.ring.len() < MAX_WORDS {
                self.lengthen();
            } else {
                let bits = std::mem::take(&mut self.ring[oldest]);
                let jobs = (0..64).filter(|bit| bits & (1 << bit) != 0).map(|bit| JobId(self.first * 64 + bit));
                self.outside.extend(jobs);
                self.first += 1;
                if self.len as usize == self.outside.len() {
                    self.first = word;
                }
            }
        }
    }

    fn lengthen(&mut self) {
        let words = self.ring.len() as u64;
        let shorter = std::mem::replace(&mut self.ring, vec![0; 2 * words as usize]);
        for word in self.first..self.first + words {
            let at = self.place(word);
            self.ring[at] = shorter[word as usize & (shorter.len() - 1)];
        }
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
        assert!(set.ring.len() <= MAX_WORDS);
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
