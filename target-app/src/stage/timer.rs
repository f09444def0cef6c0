//! One timer task per site: it sleeps until the earliest wake-up that the site has requested.

use std::sync::{Arc, Weak};

use controllers::Timestamp;
use tokio::sync::Notify;

use crate::clock::ServiceClock;

/// A site with a timer.
pub(crate) trait Timed: Send + Sync + 'static {
    /// Performs the work that is due, and returns the next wake-up. A late call performs it once.
    fn turn(self: &Arc<Self>) -> Option<Timestamp>;

    /// The notifier that rings when the next wake-up has become earlier, and the clock of the wake-ups.
    fn timer(&self) -> (&Notify, ServiceClock);
}

/// Wakes the site in time for as long as it lives.
pub(crate) async fn keep_time<T: Timed>(site: Weak<T>) {
    while let Some(site) = site.upgrade() {
        // Listen before the check: an alarm between the two must not be missed.
        let (alarm, clock) = site.timer();
        let alarm = alarm.notified();
        match site.turn() {
            Some(at) => {
                tokio::select! {
                    biased;
                    () = alarm => {}
                    () = clock.sleep_until(at) => {}
                }
            }
            None => alarm.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::manual::ManualClock, stage::Shared};

    /// Counts its turns, and requests another one at 5 ms.
    struct Turns(Shared<u32>);

    impl Timed for Turns {
        fn turn(self: &Arc<Self>) -> Option<Timestamp> {
            let turn = self.0.on_timer(|turns, _| {
                *turns += 1;
                assert!(*turns < 10, "no sleep between turns");
                ((), Some(Timestamp::from_millis(5)))
            });
            turn.1
        }

        fn timer(&self) -> (&Notify, ServiceClock) {
            self.0.timer()
        }
    }

    #[tokio::test]
    async fn a_timer_that_knows_when_to_come_again_sleeps_until_then() {
        let turns = Arc::new(Turns(Shared::new(0, ServiceClock::manual(ManualClock::leaked()))));
        let timer = tokio::spawn(keep_time(Arc::downgrade(&turns)));
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert_eq!(turns.0.peek(|turns| *turns), 1);
        timer.abort();
    }
}
