//! The share of each user's requests that was answered in time.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest number of users of a phase that are counted separately: 32 MiB where there are so many.
const MOST: usize = 1 << 22;
/// Users are numbered in order of arrival, so the users of a phase begin near the first that it sees. The table begins
/// at a multiple of this.
const BLOCK: u64 = 1024;

/// The largest number of requests that a user of a record can have wanted.
const MOST_WANTED: u64 = u32::MAX as u64;
/// The largest number of users of a record with the same share: one of several parts has more than one process counts.
const MOST_ALIKE: u64 = 1 << 40;

/// Counts for each user of one phase: the requests that it wanted, and those of them that were answered within the
/// objective.
#[derive(Debug, Clone, Default)]
pub(super) struct Shares {
    /// The number of the first user in the table.
    first: u64,
    users: Vec<Share>,
    too_many: bool,
    /// Users of a record, whose numbers are unknown.
    tallied: BTreeMap<Share, u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Share {
    wanted: u32,
    met: u32,
}

/// The evenness of service to users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fairness {
    /// The number of users that wanted a request.
    pub users: u64,
    /// Jain's index of each user's share of requests that were answered within the objective: 1 if all users got the
    /// same share, 1/n if one user got everything (Jain, Chiu and Hawe, DEC-TR-301, 1984).
    pub jain: f64,
    /// The mean of that share over the tenth of the users with the smallest shares (at least one user).
    pub worst_tenth: f64,
}

impl Shares {
    /// Counts a new request of a user.
    pub(super) fn wants(&mut self, user: u64) {
        if let Some(share) = self.of(user) {
            share.wanted = share.wanted.saturating_add(1);
        }
    }

    /// Counts a request that was answered in time. One that the user wanted in the previous phase does not count here.
    pub(super) fn gets(&mut self, user: u64) {
        if let Some(share) = self.of(user) {
            share.met = share.met.saturating_add(1).min(share.wanted);
        }
    }

    fn of(&mut self, user: u64) -> Option<&mut Share> {
        if self.users.is_empty() {
            self.first = user / BLOCK * BLOCK;
        }
        if user < self.first {
            // A user with a smaller number than those seen first.
            let first = user / BLOCK * BLOCK;
            let more = usize::try_from(self.first - first).unwrap_or(usize::MAX);
            if more > MOST || self.users.len() + more > MOST {
                self.too_many = true;
                return None;
            }
            self.users.splice(0..0, std::iter::repeat_n(Share::default(), more));
            self.first = first;
        }
        let place = usize::try_from(user - self.first).unwrap_or(usize::MAX);
        if place >= MOST {
            self.too_many = true;
            return None;
        }
        if self.users.len() <= place {
            self.users.resize(place + 1, Share::default());
        }
        self.users.get_mut(place)
    }

    /// Counts of users by the number of requests that they wanted and the number answered in time: wanted, given,
    /// users. Fairness is a function of these alone. Empty if there were too many users to count separately.
    pub(super) fn tally(&self) -> Vec<[u64; 3]> {
        self.tallied().into_iter().map(|(share, users)| [share.wanted.into(), share.met.into(), users]).collect()
    }

    /// The shares of such a list; `None` if a user was given more than it wanted, or wanted nothing.
    pub(super) fn of_tally(tally: &[[u64; 3]]) -> Option<Self> {
        let mut tallied = BTreeMap::new();
        for &[wanted, met, users] in tally {
            let sound = (1..=MOST_WANTED).contains(&wanted) && met <= wanted && (1..=MOST_ALIKE).contains(&users);
            let share = Share { wanted: u32::try_from(wanted).ok()?, met: u32::try_from(met).ok()? };
            if !sound || tallied.insert(share, users).is_some() {
                return None;
            }
        }
        Some(Self { tallied, ..Self::default() })
    }

    /// Adds the users of another part of the plan.
    pub(super) fn add(&mut self, other: &Self) {
        self.too_many |= other.too_many;
        for (share, users) in other.tallied() {
            *self.tallied.entry(share).or_default() += users;
        }
    }

    /// From now on nothing is known of users: some were not counted.
    pub(super) fn forget(&mut self) {
        self.too_many = true;
    }

    fn tallied(&self) -> BTreeMap<Share, u64> {
        if self.too_many {
            return BTreeMap::new();
        }
        let mut tallied = self.tallied.clone();
        for share in self.users.iter().filter(|share| share.wanted > 0) {
            *tallied.entry(*share).or_default() += 1;
        }
        tallied
    }

    /// `None` for fewer than two users, if no request was answered in time (then no user was preferred), and if there
    /// were too many users to count separately.
    pub(super) fn fairness(&self) -> Option<Fairness> {
        // From the tally, so that the same users in another order give the same figure to the last bit.
        let mut given: Vec<(f64, u64)> = self
            .tallied()
            .into_iter()
            .map(|(share, users)| (f64::from(share.met) / f64::from(share.wanted), users))
            .collect();
        given.sort_by(|a, b| a.0.total_cmp(&b.0));
        let users: u64 = given.iter().map(|(_, users)| users).sum();
        if users < 2 {
            return None;
        }
        let sum = |of: fn(f64) -> f64| given.iter().map(|&(share, users)| of(share) * users as f64).sum::<f64>();
        let (all, squares) = (sum(|share| share), sum(|share| share * share));
        if squares <= 0.0 {
            return None;
        }
        let tenth = (users / 10).max(1);
        let mut left = tenth;
        let least = given.iter().map(|&(share, users)| {
            let taken = users.min(left);
            left -= taken;
            share * taken as f64
        });
        let worst_tenth = least.sum::<f64>() / tenth as f64;
        Some(Fairness { users, jain: all * all / (users as f64 * squares), worst_tenth })
    }
}

/// Jain's index: the square of the sum over n times the sum of the squares. `None` where there is nothing to share.
#[must_use]
pub fn jain(given: &[f64]) -> Option<f64> {
    let sum: f64 = given.iter().sum();
    let squares: f64 = given.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (given.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Users from this number on, each with its wanted and its answered requests.
    fn shares(from: u64, users: &[(u32, u32)]) -> Shares {
        let mut shares = Shares::default();
        for (user, &(wanted, met)) in (from..).zip(users) {
            (0..wanted).for_each(|_| shares.wants(user));
            (0..met).for_each(|_| shares.gets(user));
        }
        shares
    }

    #[test]
    fn nine_of_ten_served_are_nine_tenths_fair() {
        let mut users = [(4, 4); 10];
        users[3] = (4, 0);
        let found = shares(0, &users).fairness().expect("ten users");
        assert!((found.jain - 0.9).abs() < 1e-12, "{found:?}");
        assert_eq!((found.users, found.worst_tenth), (10, 0.0));
    }

    #[test]
    fn who_wants_more_is_not_given_more_by_getting_more() {
        let found = shares(0, &[(100, 50), (2, 1)]).fairness().expect("two users");
        assert_eq!((found.jain, found.worst_tenth), (1.0, 0.5));
    }

    #[test]
    fn users_may_come_in_any_order_and_from_any_number() {
        let mut shares = shares(5_000_000_000, &[(1, 1), (1, 1)]);
        shares.wants(4_999_999_000);
        let found = shares.fairness().expect("three users");
        assert_eq!(found.users, 3);
        assert!((found.jain - 2.0 / 3.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn nothing_is_said_of_one_user_of_nobody_served_or_of_too_many() {
        assert_eq!(shares(0, &[(3, 3)]).fairness(), None);
        assert_eq!(shares(0, &[(3, 0), (3, 0)]).fairness(), None);
        let mut many = shares(0, &[(1, 1), (1, 1)]);
        many.wants(MOST as u64 + 10);
        assert_eq!(many.fairness(), None);
        let mut before = shares(u64::from(u32::MAX), &[(1, 1), (1, 1)]);
        before.wants(0);
        assert_eq!(before.fairness(), None);
    }

    #[test]
    fn a_tally_makes_the_same_number_again() {
        let seen = shares(7, &[(3, 1), (100, 99), (3, 1), (2, 0), (1, 1), (7, 3)]);
        let again = Shares::of_tally(&seen.tally()).expect("sound");
        assert_eq!(seen.tally()[2], [3, 1, 2]);
        assert_eq!((again.fairness(), again.tally()), (seen.fairness(), seen.tally()));
        for wrong in [[1, 2, 1], [0, 0, 1], [1, 1, 0], [1 << 40, 0, 1]] {
            assert!(Shares::of_tally(&[wrong]).is_none(), "{wrong:?}");
        }
        assert!(Shares::of_tally(&[[2, 1, 1], [2, 1, 3]]).is_none(), "the same twice");
    }

    #[test]
    fn what_was_wanted_in_the_phase_before_does_not_make_more_than_all() {
        let found = shares(0, &[(1, 3), (1, 1)]).fairness().expect("two users");
        assert_eq!((found.jain, found.worst_tenth), (1.0, 1.0));
    }
}
