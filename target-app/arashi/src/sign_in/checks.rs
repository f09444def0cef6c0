//! Expensive checks: few at once, each with reused memory, and a short queue.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::password::{DECOY, Memory};

/// The number of checks at once. Each occupies a processor for some ten milliseconds, and keeps 19 MiB once it was
/// needed.
const AT_ONCE: usize = 2;
/// The number of these for unknown names: the check of an existing account never waits for one of them alone.
const DECOYS_AT_ONCE: usize = 1;
/// The largest number of checks that wait.
const MAX_WAITING: usize = 32;
/// The duration of a check until one was measured.
const AT_FIRST: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Checks {
    turns: Arc<Semaphore>,
    decoys: Arc<Semaphore>,
    memory: Arc<Mutex<Vec<Memory>>>,
    waiting: AtomicUsize,
    /// The mean duration of a check, nanoseconds, with more weight on newer ones.
    takes: Arc<AtomicU64>,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            decoys: Arc::new(Semaphore::new(DECOYS_AT_ONCE)),
            memory: Arc::default(),
            waiting: AtomicUsize::new(0),
            takes: Arc::new(AtomicU64::new(nanoseconds(AT_FIRST))),
        }
    }
}

impl Checks {
    /// True if the password belongs to the hash, if it may still be checked at its turn. `None`: too many wait already.
    pub(super) async fn verify(&self, password: String, hash: String, still_may: impl Fn() -> bool) -> Option<bool> {
        let place = Place::take(&self.waiting)?;
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        drop(place);
        if !still_may() {
            return Some(false);
        }
        Some(self.compute(turn, None, password, hash).await)
    }

    /// Behaves like [`Checks::verify`] for an unknown name, as far as its sender can tell. False: too many wait
    /// already.
    pub(super) async fn pretend(&self, password: String) -> bool {
        if self.waiting.load(Ordering::Relaxed) >= MAX_WAITING {
            return false;
        }
        if let Ok(decoy) = Arc::clone(&self.decoys).try_acquire_owned()
            && let Ok(turn) = Arc::clone(&self.turns).try_acquire_owned()
        {
            self.compute(turn, Some(decoy), password, DECOY.to_owned()).await;
            return true;
        }
        // The check of an existing account would have a free turn, and take as long as others now.
        let takes = Duration::from_nanos(self.takes.load(Ordering::Relaxed));
        let mut random = [0];
        let varied = getrandom::fill(&mut random).map_or(0.5, |()| f64::from(random[0]) / 256.0);
        tokio::time::sleep(takes.mul_f64(0.75 + varied / 2.0)).await;
        true
    }

    /// The turn is returned when the check is done, also if nobody waits for it any more.
    async fn compute(
        &self,
        turn: OwnedSemaphorePermit,
        decoy: Option<OwnedSemaphorePermit>,
        password: String,
        hash: String,
    ) -> bool {
        let (memories, takes) = (Arc::clone(&self.memory), Arc::clone(&self.takes));
        let began = Instant::now();
        let check = move || {
            let lock = || memories.lock().unwrap_or_else(PoisonError::into_inner);
            let mut memory = lock().pop().unwrap_or_default();
            let fits = memory.verify(&password, &hash);
            lock().push(memory);
            let took = nanoseconds(began.elapsed());
            takes.store((takes.load(Ordering::Relaxed) / 4) * 3 + took / 4, Ordering::Relaxed);
            drop((turn, decoy));
            fits
        };
        // A failed task counts as a wrong password.
        tokio::task::spawn_blocking(check).await.unwrap_or(false)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A place in the bounded queue, returned when dropped: also when the client goes away.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_bounded_and_places_come_back() {
        let waiting = AtomicUsize::new(0);
        let places: Vec<_> = (0..MAX_WAITING).map(|_| Place::take(&waiting).expect("there is room")).collect();
        assert!(Place::take(&waiting).is_none());
        drop(places);
        assert!(Place::take(&waiting).is_some());
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_check_does_not_wait_for_names_that_nobody_has() {
        let checks = Checks::default();
        let _decoys = Arc::clone(&checks.decoys).acquire_many_owned(DECOYS_AT_ONCE as u32).await.expect("open");
        let _busy = Arc::clone(&checks.turns).acquire_many_owned(DECOYS_AT_ONCE as u32).await.expect("open");
        for _ in 0..20 {
            assert!(checks.pretend("guess".to_owned()).await);
        }
        assert_eq!(checks.turns.available_permits(), AT_ONCE - DECOYS_AT_ONCE, "one is left");
        assert!(checks.memory.lock().expect("sound").is_empty(), "nothing was computed for them");
        assert_eq!(checks.verify("x".to_owned(), DECOY.to_owned(), || true).await, Some(false));
        assert_eq!(checks.memory.lock().expect("sound").len(), 1);
        assert_eq!(checks.verify("x".to_owned(), DECOY.to_owned(), || false).await, Some(false));
    }
}
