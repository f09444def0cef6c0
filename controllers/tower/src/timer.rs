//! One timer task for each gate: it sleeps until the earliest wake-up that the gate has requested.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Weak},
    task::Poll,
};

use controllers::Timestamp;
use tokio::sync::Notify;

use crate::clock::Clock;

/// What a timer wakes.
pub(crate) trait Timed: Send + Sync + 'static {
    /// Rings when the timer waits for too late a time, and when nobody has the gate any more.
    fn alarm(&self) -> (Arc<Notify>, Clock);

    /// Does what is due, and says when to come again. Called late, it does it once.
    fn turn(self: &Arc<Self>) -> Option<Timestamp>;

    /// The timer has ended, with its runtime.
    fn untimed(&self);
}

/// Starts the timer on the current runtime. False: there is none, and what is due is done late, by the next request.
pub(crate) fn start<G: Timed>(gate: &Arc<G>) -> bool {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return false };
    let gate = Arc::downgrade(gate);
    let ends = Ends(Weak::clone(&gate));
    drop(runtime.spawn(async move {
        keep_time(gate).await;
        drop(ends);
    }));
    true
}

/// Says that the timer is gone, with its runtime or by itself.
struct Ends<G: Timed>(Weak<G>);

impl<G: Timed> Drop for Ends<G> {
    fn drop(&mut self) {
        self.0.upgrade().into_iter().for_each(|gate| gate.untimed());
    }
}

/// Wakes the gate in time for as long as it lives. The task keeps no gate alive: it has the gate for its turns alone.
async fn keep_time<G: Timed>(gate: Weak<G>) {
    let Some((alarm, clock)) = gate.upgrade().map(|gate| gate.alarm()) else { return };
    loop {
        // Listen before the check: an alarm between the two must not be missed.
        let alarm = alarm.notified();
        let Some(wake) = gate.upgrade().map(|gate| gate.turn()) else { return };
        let Some(at) = wake else {
            alarm.await;
            continue;
        };
        let (mut alarm, mut sleep) = (pin!(alarm), pin!(tokio::time::sleep_until(clock.instant(at))));
        poll_fn(|cx| if alarm.as_mut().poll(cx).is_ready() { Poll::Ready(()) } else { sleep.as_mut().poll(cx) }).await;
    }
}
