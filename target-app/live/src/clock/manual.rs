//! A clock that a test advances from one sleeper's end to the next.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use controllers::Timestamp;

/// The clock. Sleepers wake in order of their ends; those with the same end, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct ManualClock(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    now: Timestamp,
    next: u64,
    sleepers: BTreeMap<(Timestamp, u64), Waker>,
}

impl ManualClock {
    /// A clock at zero, which lives as long as the test.
    pub(crate) fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.lock().now
    }

    /// Advances to `until` at most, and wakes the first sleeper whose end has come. False if none has.
    pub(crate) fn advance(&self, until: Timestamp) -> bool {
        let mut state = self.lock();
        let first = state.sleepers.first_entry().filter(|first| first.key().0 <= until);
        let Some(first) = first else {
            state.now = state.now.max(until);
            return false;
        };
        let ((at, _), waker) = first.remove_entry();
        state.now = state.now.max(at);
        drop(state);
        waker.wake();
        true
    }

    pub(super) async fn sleep_until(&self, at: Timestamp) {
        let mut place = None;
        std::future::poll_fn(|cx| {
            let mut state = self.lock();
            if at <= state.now {
                return Poll::Ready(());
            }
            let place = *place.get_or_insert_with(|| {
                state.next += 1;
                state.next
            });
            state.sleepers.insert((at, place), cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
