//! Failed sign-ins, and the waits that they cause.
//!
//! Failures of accounts are stored by account. Unknown names are stored too, so that they behave alike, in a table of
//! fixed size in which a new name replaces an old one: invented names can neither make it grow nor lock any user out.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::store::UserId;

/// The number of places for unknown names.
const PLACES: usize = 16_384;
/// The number of failures without a consequence.
const FREE: u32 = 5;
/// The largest number of attempts with a name that are under way at once.
const AT_ONCE: u32 = 4;
/// The wait of an attempt beyond them.
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait: long enough against guessing, short enough that nobody can lock another user out for good.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The owner of failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureOwner {
    Account(UserId),
    /// An unknown name, by a keyed hash.
    Nobody(u64),
}

#[derive(Debug)]
pub(super) struct Failures {
    table: Mutex<Table>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Table {
    accounts: HashMap<UserId, Record>,
    nobodies: Box<[(u64, Record)]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    count: u32,
    under_way: u32,
    until: Option<Instant>,
}

impl Default for Failures {
    fn default() -> Self {
        let nobodies = vec![(0, Record::default()); PLACES].into_boxed_slice();
        Self { table: Mutex::new(Table { accounts: HashMap::new(), nobodies }), hasher: RandomState::new() }
    }
}

impl Failures {
    pub(super) fn nobody(&self, name: &str) -> FailureOwner {
        FailureOwner::Nobody(self.hasher.hash_one(name))
    }

    /// Begins an attempt, or returns the wait before the next.
    pub(super) fn try_begin(&self, who: FailureOwner, now: Instant) -> Result<(), Duration> {
        let mut table = self.lock();
        let record = table.record(who);
        if let Some(wait) = record.wait(now) {
            return Err(wait);
        }
        if record.under_way >= AT_ONCE {
            return Err(SHORTEST_WAIT);
        }
        record.under_way += 1;
        Ok(())
    }

    /// Ends an attempt.
    pub(super) fn end(&self, who: FailureOwner) {
        let mut table = self.lock();
        let record = table.record(who);
        record.under_way = record.under_way.saturating_sub(1);
    }

    pub(super) fn wait(&self, who: FailureOwner, now: Instant) -> Option<Duration> {
        self.lock().record(who).wait(now)
    }

    /// Counts a failure. After the free ones each doubles the wait, from one second on.
    pub(super) fn count(&self, who: FailureOwner, now: Instant) {
        let mut table = self.lock();
        let record = table.record(who);
        record.count = record.count.saturating_add(1);
        if record.count >= FREE {
            let seconds = 1_u64 << (record.count - FREE).min(10);
            record.until = Some(now + Duration::from_secs(seconds).min(LONGEST_WAIT));
        }
    }

    pub(super) fn forgive(&self, who: FailureOwner) {
        let mut table = self.lock();
        let record = table.record(who);
        *record = Record { under_way: record.under_way, ..Record::default() };
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn record(&mut self, who: FailureOwner) -> &mut Record {
        match who {
            FailureOwner::Account(user) => self.accounts.entry(user).or_default(),
            FailureOwner::Nobody(name) => {
                let place = &mut self.nobodies[name as usize % PLACES];
                if place.0 != name {
                    *place = (name, Record::default());
                }
                &mut place.1
            }
        }
    }
}

impl Record {
    fn wait(&self, now: Instant) -> Option<Duration> {
        let wait = self.until?.saturating_duration_since(now);
        (!wait.is_zero()).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_after_the_free_ones_doubles_the_wait() {
        let failures = Failures::default();
        let now = Instant::now();
        for who in [FailureOwner::Account(UserId(1)), failures.nobody("ann")] {
            let waits: Vec<u64> = (0..14)
                .map(|_| {
                    failures.count(who, now);
                    failures.wait(who, now).map_or(0, |wait| wait.as_secs())
                })
                .collect();
            assert_eq!(waits, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
            assert!(failures.try_begin(who, now).is_err());
            assert_eq!(failures.wait(who, now + LONGEST_WAIT), None);
            failures.forgive(who);
            assert_eq!(failures.wait(who, now), None);
        }
    }

    #[test]
    fn few_attempts_with_a_name_are_under_way_at_once() {
        let failures = Failures::default();
        let now = Instant::now();
        for who in [FailureOwner::Account(UserId(1)), failures.nobody("ann")] {
            for _ in 0..AT_ONCE {
                assert_eq!(failures.try_begin(who, now), Ok(()));
            }
            assert_eq!(failures.try_begin(who, now), Err(SHORTEST_WAIT));
            failures.end(who);
            assert_eq!(failures.try_begin(who, now), Ok(()));
        }
    }

    #[test]
    fn made_up_names_lock_nobody_out() {
        let failures = Failures::default();
        let now = Instant::now();
        for name in 0..5 * PLACES {
            for _ in 0..2 * FREE {
                failures.count(failures.nobody(&name.to_string()), now);
            }
        }
        assert_eq!(failures.wait(FailureOwner::Account(UserId(1)), now), None);
        assert_eq!(failures.wait(failures.nobody("ann"), now), None);
        assert_eq!(failures.lock().accounts.len(), 1, "and take no room");
    }
}
