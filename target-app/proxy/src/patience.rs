//! A time limit that nearly every request keeps. Its timer runs on from request to request, and is set anew only when it fires
//! before the limit of the request that it finds: a timer for each request would be started and stopped for nothing.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Mutex,
    task::{Context, Poll, ready},
    time::Duration,
};

use live_service::stage::lock;
use tokio::{
    task::coop::unconstrained,
    time::{Instant, Sleep, sleep_until},
};

/// A limit of a request under way.
#[derive(Debug)]
pub(super) struct Patience {
    until: Instant,
    timer: Option<Timer>,
}

type Timer = Pin<Box<Sleep>>;

/// The timer that the requests of a connection pass on.
#[derive(Debug, Default)]
pub(super) struct Baton(Mutex<Option<Timer>>);

/// A stand-in for a limit beyond what an instant can hold.
const FOR_EVER: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

impl Baton {
    /// A limit from now on.
    pub(super) fn limit(&self, limit: Duration) -> Patience {
        Patience { until: after(limit), timer: lock(&self.0).take() }
    }

    /// Takes the timer of a limit that is not needed any more.
    pub(super) fn take_back(&self, patience: Patience) {
        *lock(&self.0) = patience.timer;
    }
}

impl Patience {
    /// Begins the limit anew.
    pub(super) fn renew(&mut self, limit: Duration) {
        self.until = after(limit);
    }

    /// Ready once the limit is over.
    pub(super) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(self.until)));
        if timer.deadline() > self.until {
            timer.as_mut().reset(self.until);
        }
        loop {
            // Unconstrained: a task that has had its turn, as of a backend that never stops to send, would else not see the time.
            ready!(pin!(unconstrained(timer.as_mut())).poll(cx));
            if timer.deadline() >= self.until {
                return Poll::Ready(());
            }
            timer.as_mut().reset(self.until);
        }
    }
}

fn after(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or_else(|| now + FOR_EVER)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    #[tokio::test]
    async fn a_limit_ends_at_its_time_whatever_the_one_before_it_was() {
        let baton = Baton::default();
        for millis in [100, 10, 200, 20] {
            let (begun, limit) = (Instant::now(), Duration::from_millis(millis));
            let mut patience = baton.limit(limit);
            poll_fn(|cx| patience.poll_over(cx)).await;
            assert!(begun.elapsed() >= limit, "{millis} ms: {:?}", begun.elapsed());
            assert!(begun.elapsed() < limit + Duration::from_secs(10));
            baton.take_back(patience);
        }
    }

    #[tokio::test]
    async fn a_timer_of_before_neither_ends_a_limit_nor_delays_it() {
        let baton = Baton::default();
        let mut kept = baton.limit(Duration::from_millis(30));
        assert!(poll_fn(|cx| Poll::Ready(kept.poll_over(cx))).await.is_pending());
        baton.take_back(kept);
        let mut longer = baton.limit(Duration::from_secs(3600));
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert!(
            poll_fn(|cx| Poll::Ready(longer.poll_over(cx))).await.is_pending(),
            "the timer has fired for the first"
        );
        baton.take_back(longer);
        let mut shorter = baton.limit(Duration::from_millis(10));
        let ended = tokio::time::timeout(Duration::from_secs(10), poll_fn(|cx| shorter.poll_over(cx))).await;
        assert!(ended.is_ok(), "an hour is not waited for");
    }

    #[tokio::test]
    async fn a_limit_ends_although_its_task_has_used_its_turn_up() {
        let baton = Baton::default();
        let mut patience = baton.limit(Duration::from_millis(1));
        let over = poll_fn(|cx| {
            std::thread::sleep(Duration::from_millis(1));
            while tokio::task::coop::has_budget_remaining() {
                let turn = pin!(tokio::task::coop::consume_budget());
                let _ = turn.poll(cx);
            }
            patience.poll_over(cx)
        });
        assert!(tokio::time::timeout(Duration::from_secs(10), over).await.is_ok());
    }
}
