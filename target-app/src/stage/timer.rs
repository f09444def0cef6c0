//! One timer task a site: sleeps until the earliest wake-up that anybody there asked for.

use std::sync::{Arc, Weak};

use controllers::Timestamp;
use tokio::sync::Notify;

use crate::clock::Clock;

/// A site that wants to be woken.
pub(crate) trait Timed: Send + Sync + 'static {
    /// Does what is due, and says when to come again. Called late, it does it once.
    fn turn(self: &Arc<Self>) -> Option<Timestamp>;

    /// Rings when the next wake-up has moved forward.
    fn alarm(&self) -> &Notify;

    /// The clock that wake-ups are meant on.
    fn clock(&self) -> Clock;
}

/// Wakes the site in time for as long as it lives.
pub(crate) async fn keep_time<T: Timed>(site: Weak<T>) {
    while let Some(site) = site.upgrade() {
        // Listen before looking: an alarm between the two must not be missed.
        let alarm = site.alarm().notified();
        match site.turn() {
            Some(at) => {
                tokio::select! {
                    biased;
                    () = alarm => {}
                    () = site.clock().sleep_until(at) => {}
                }
            }
            None => alarm.await,
        }
    }
}

/// Notes a wake-up that was asked for; true if the timer has to be told, as it would sleep too long.
pub(crate) fn rearm(armed: &mut Option<Timestamp>, wake: Option<Timestamp>) -> bool {
    match wake {
        Some(at) if armed.is_none_or(|armed| at < armed) => {
            *armed = Some(at);
            true
        }
        _ => false,
    }
}
