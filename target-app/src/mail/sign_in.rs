//! Checking passwords, without letting that become the way to bring the service down or to guess them.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::sync::Semaphore;

use super::{
    password::{self, Cost},
    store::{Store, StoreError, UserId},
};
use crate::service::carry;

/// Most expensive checks that may wait for their turn.
const MAX_WAITING: usize = 32;
/// Longest name and password that are looked at, in bytes.
const MAX_NAME: usize = 200;
const MAX_PASSWORD: usize = 1024;

/// Checks names and passwords.
#[derive(Debug)]
pub struct SignIn {
    /// One permit a processor: an expensive hash keeps one busy for some ten milliseconds.
    permits: Semaphore,
    waiting: AtomicUsize,
    failures: Failures,
    /// Takes as long as the hash of an account of a person.
    decoy: String,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Name and password belong together.
    Welcome(UserId),
    /// They do not, or there is no such name: which of the two is not said.
    Wrong,
    /// Too many failures with this name: not before this long.
    Wait(Duration),
    /// Too many checks at once.
    Busy,
}

impl SignIn {
    /// One for a service.
    #[must_use]
    pub fn new() -> Self {
        let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            permits: Semaphore::new(processors),
            waiting: AtomicUsize::new(0),
            failures: Failures::new(),
            decoy: password::decoy(Cost::Recommended),
        }
    }

    /// Checks a name and a password.
    ///
    /// # Errors
    /// Whatever the store reports.
    pub async fn check(&self, store: &Store, name: &str, password: &str, now: Instant) -> Result<Outcome, StoreError> {
        if name.is_empty() || name.len() > MAX_NAME || password.len() > MAX_PASSWORD {
            return Ok(Outcome::Wrong);
        }
        let account = store.account(name).await?;
        // Generated users have passwords that follow from the seed: nothing to protect, and their sign-ins are the load.
        if let Some(account) = account.as_ref().filter(|account| !password::is_expensive(&account.password)) {
            let fits = password::verify(password, &account.password);
            return Ok(if fits { Outcome::Welcome(account.id) } else { Outcome::Wrong });
        }
        if let Some(wait) = self.failures.wait(name, now) {
            return Ok(Outcome::Wait(wait));
        }
        let hash = account.as_ref().map_or(&self.decoy, |account| &account.password);
        let Some(fits) = self.verify(password, hash).await else { return Ok(Outcome::Busy) };
        match account {
            Some(account) if fits => {
                self.failures.forgive(name);
                Ok(Outcome::Welcome(account.id))
            }
            _ => {
                // Counted from here: while many passwords wait to be checked, a wait from `now` would be over already.
                self.failures.count(name, Instant::now());
                Ok(Outcome::Wrong)
            }
        }
    }

    /// `None`: too many wait already.
    async fn verify(&self, password: &str, hash: &str) -> Option<bool> {
        let place = Place::take(&self.waiting)?;
        let _permit = self.permits.acquire().await.ok()?;
        drop(place);
        let (password, hash) = (password.to_owned(), hash.to_owned());
        // A failed task is a wrong password: closed, not open.
        let verify = carry(move || password::verify(&password, &hash));
        Some(tokio::task::spawn_blocking(verify).await.unwrap_or(false))
    }
}

impl Default for SignIn {
    fn default() -> Self {
        Self::new()
    }
}

/// A place in the bounded line, given back when dropped: also when the client goes away.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize) -> Option<Self> {
        if waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            waiting.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Self(waiting))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Failures by name, in a fixed number of slots that names share by a keyed hash: whoever makes up names can neither
/// make it grow nor choose whose slot to fill.
#[derive(Debug)]
struct Failures {
    slots: Mutex<Box<[Slot]>>,
    hasher: RandomState,
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    count: u32,
    until: Option<Instant>,
}

/// Slots.
const SLOTS: usize = 4096;
/// Failures that have no consequence.
const FREE: u32 = 5;
/// Longest wait: long enough against guessing, short enough that nobody can lock another out for good.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Failures {
    fn new() -> Self {
        Self { slots: Mutex::new(vec![Slot::default(); SLOTS].into_boxed_slice()), hasher: RandomState::new() }
    }

    fn with<T>(&self, name: &str, change: impl FnOnce(&mut Slot) -> T) -> T {
        let at = self.hasher.hash_one(name) as usize % SLOTS;
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut slots[at])
    }

    fn wait(&self, name: &str, now: Instant) -> Option<Duration> {
        let until = self.with(name, |slot| slot.until)?;
        let wait = until.saturating_duration_since(now);
        (!wait.is_zero()).then_some(wait)
    }

    /// One more. After the free ones each doubles the wait, from one second on.
    fn count(&self, name: &str, now: Instant) {
        self.with(name, |slot| {
            slot.count = slot.count.saturating_add(1);
            if slot.count >= FREE {
                let seconds = 1_u64 << (slot.count - FREE).min(10);
                slot.until = Some(now + Duration::from_secs(seconds).min(LONGEST_WAIT));
            }
        });
    }

    fn forgive(&self, name: &str) {
        self.with(name, |slot| *slot = Slot::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_after_the_free_ones_doubles_the_wait() {
        let failures = Failures::new();
        let now = Instant::now();
        let waits: Vec<u64> = (0..14)
            .map(|_| {
                failures.count("ann", now);
                failures.wait("ann", now).map_or(0, |wait| wait.as_secs())
            })
            .collect();
        assert_eq!(waits, [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(failures.wait("ann", now + LONGEST_WAIT), None);
        failures.forgive("ann");
        assert_eq!(failures.wait("ann", now), None);
    }

    #[test]
    fn the_line_is_bounded_and_places_come_back() {
        let waiting = AtomicUsize::new(0);
        let places: Vec<_> = (0..MAX_WAITING).map(|_| Place::take(&waiting).expect("there is room")).collect();
        assert!(Place::take(&waiting).is_none());
        drop(places);
        assert!(Place::take(&waiting).is_some());
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }
}
