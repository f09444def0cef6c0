//! One timer task per site: it sleeps until the earliest wake-up that the site has requested.

use std::sync::{Arc, Weak};

use super::SharedSite;

/// Wakes the site in time for as long as it lives. The task keeps no site alive: it has the site for its turns alone.
pub async fn keep_time<S: SharedSite>(site: Weak<S>) {
    let Some((alarm, clock)) = site.upgrade().map(|site| (Arc::clone(&site.shared().alarm), site.shared().clock))
    else {
        return;
    };
    loop {
        // Listen before the check: an alarm between the two must not be missed.
        let alarm = alarm.notified();
        let Some(wake) = site.upgrade().map(|site| site.turn()) else { return };
        match wake {
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
    use controllers::Timestamp;

    use super::*;
    use crate::{
        clock::{ServiceClock, manual::ManualClock},
        stage::Shared,
    };

    /// Counts its turns, and requests another one at 5 ms.
    struct Turns(Shared<u32>);

    impl SharedSite for Turns {
        type Machine = u32;
        type Wants = ();

        fn shared(&self) -> &Shared<u32> {
            &self.0
        }

        fn poll(self: &Arc<Self>, turns: &mut u32, _: Timestamp) -> ((), Option<Timestamp>) {
            *turns += 1;
            assert!(*turns < 10, "no sleep between turns");
            ((), Some(Timestamp::from_millis(5)))
        }

        fn carry_out(self: &Arc<Self>, (): ()) {}
    }

    fn turns() -> Arc<Turns> {
        Arc::new(Turns(Shared::new(0, ServiceClock::manual(ManualClock::leaked()))))
    }

    #[tokio::test]
    async fn a_timer_that_knows_when_to_come_again_sleeps_until_then() {
        let turns = turns();
        let timer = tokio::spawn(keep_time(Arc::downgrade(&turns)));
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert_eq!(turns.0.peek(|turns| *turns), 1);
        timer.abort();
    }

    #[tokio::test]
    async fn a_site_that_is_dropped_is_freed_and_its_timer_ends() {
        let turns = turns();
        let left = Arc::downgrade(&turns);
        let timer = tokio::spawn(keep_time(left.clone()));
        tokio::task::yield_now().await;
        assert_eq!(turns.0.peek(|turns| *turns), 1, "the timer waits for a time that does not come");
        drop(turns);
        assert_eq!(left.strong_count(), 0);
        timer.await.expect("it ends by itself");
    }
}
