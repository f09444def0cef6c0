//! A set of users.

use super::Shard;

/// A set of user numbers, a bit each.
#[derive(Debug, Clone, Default)]
pub(super) struct UserSet(Vec<u64>);

impl UserSet {
    /// Adds a user; true if it was not in the set.
    pub(super) fn insert(&mut self, user: u64) -> bool {
        let Ok(word) = usize::try_from(user / 64) else { return false };
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let new = !self.contains(user);
        self.0[word] |= 1 << (user % 64);
        new
    }

    pub(super) fn contains(&self, user: u64) -> bool {
        let word = usize::try_from(user / 64).ok().and_then(|word| self.0.get(word));
        word.is_some_and(|word| word >> (user % 64) & 1 == 1)
    }

    pub(super) fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine |= theirs;
        }
    }

    /// Users of a part of a plan as the whole numbers them; `None`: one is over this number.
    pub(super) fn in_whole(&self, shard: Shard, most: u64) -> Option<Self> {
        let mut whole = Self::default();
        for user in self.users() {
            whole.insert(shard.whole(user).filter(|user| *user <= most)?);
        }
        Some(whole)
    }

    fn users(&self) -> impl Iterator<Item = u64> {
        self.0
            .iter()
            .zip(0_u64..)
            .flat_map(|(word, at)| (0..64_u64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit))
    }

    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The runs of the set: first and last number of each.
    pub(super) fn runs(&self) -> Vec<[u64; 2]> {
        let mut runs: Vec<[u64; 2]> = Vec::new();
        for user in self.users() {
            match runs.last_mut() {
                Some([_, last]) if *last + 1 == user => *last = user,
                _ => runs.push([user, user]),
            }
        }
        runs
    }

    /// The set of these runs, which must be in order, with no user above `most`; else `None`.
    pub(super) fn of_runs(runs: &[[u64; 2]], most: u64) -> Option<Self> {
        let mut set = Self::default();
        let mut next = 0;
        for &[first, last] in runs {
            if first < next || last < first || last > most {
                return None;
            }
            (first..=last).for_each(|user| {
                set.insert(user);
            });
            next = last + 1;
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_make_the_same_set_again() {
        let mut set = UserSet::default();
        for user in [0, 1, 2, 63, 64, 65, 200] {
            assert!(set.insert(user) && !set.insert(user) && set.contains(user));
        }
        assert_eq!(set.runs(), [[0, 2], [63, 65], [200, 200]]);
        let again = UserSet::of_runs(&set.runs(), 1000).expect("in order");
        assert_eq!((again.runs(), again.len()), (set.runs(), 7));
        for wrong in [[[5, 4], [9, 9]], [[5, 6], [6, 7]], [[0, 1], [900, 1001]]] {
            assert!(UserSet::of_runs(&wrong, 1000).is_none(), "{wrong:?}");
        }
    }
}
