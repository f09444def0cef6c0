//! The cost of work on a request: CPU time, measured where it is spent.
//!
//! The work on a request is a span (as in `tracing`), charged with the CPU clock of each thread inside it: the handler,
//! poll by poll; and SQLite's threads, into which `sqlx` carries the caller's span, statement by statement.

mod accounts;

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{Context, Poll},
    time::Duration,
};

use tracing::{Dispatch, Level, Span, dispatcher::with_default, span};

use super::{Boxed, Handled};
use accounts::Accounts;

/// The cost of a request as its handler states it, attached to the answer: emulated work, which no clock measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatedCost(pub Duration);

struct Metered<'a> {
    work: Boxed<'a, Handled>,
    span: Span,
}

/// The accounts of all requests of this process.
struct Meter {
    accounts: Arc<Accounts>,
    /// The dispatcher by which spans reach the accounts. It is the default only during the polls of handlers.
    dispatch: Dispatch,
}

static METER: LazyLock<Meter> = LazyLock::new(|| {
    let accounts = Arc::<Accounts>::default();
    Meter { dispatch: Dispatch::new(Arc::clone(&accounts)), accounts }
});

/// Does a handler's work, and returns its result with the CPU time of all threads that did it. Waits are not included, nor
/// is work after the answer.
pub fn metered(work: Boxed<'_, Handled>) -> impl Future<Output = (Handled, Duration)> {
    // The level that is never switched off.
    Metered { work, span: with_default(&METER.dispatch, || span!(target: accounts::TARGET, Level::ERROR, "request")) }
}

impl Future for Metered<'_> {
    type Output = (Handled, Duration);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { work, span } = self.get_mut();
        let polled = with_default(&METER.dispatch, || span.in_scope(|| work.as_mut().poll(cx)));
        polled.map(|handled| (handled, METER.accounts.spent(span)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use nix::time::{ClockId, clock_gettime};

    use super::*;
    use crate::service::Bytes;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Keeps this thread's processor busy for this time.
    fn compute(time: Duration) {
        let own = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock"));
        let until = own() + time;
        while own() < until {
            std::hint::black_box(0);
        }
    }

    async fn metered(work: impl Future<Output = ()> + Send) -> Duration {
        let handler = async {
            work.await;
            Ok(http::Response::new(Bytes::new().into()))
        };
        let (_, spent) = super::metered(Box::pin(handler)).await;
        spent
    }

    /// Computes for `time`, then waits for `wait`, twice.
    async fn twice(time: Duration, wait: Duration) {
        for _ in 0..2 {
            compute(time);
            tokio::time::sleep(wait).await;
        }
    }

    #[tokio::test]
    async fn computing_counts_and_waiting_does_not_and_neither_does_a_neighbour() {
        let (one, other) = tokio::join!(metered(twice(ms(5), ms(20))), metered(twice(ms(10), ms(5))));
        assert!((ms(10)..ms(14)).contains(&one), "{one:?}, 2 times 5 ms");
        assert!((ms(20)..ms(26)).contains(&other), "{other:?}, 2 times 10 ms");
    }

    /// Makes work for another thread that is charged to the calling request, as `sqlx` does.
    fn carry<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
        let span = Span::current();
        move || span.in_scope(work)
    }

    async fn on_another_thread(carried: bool) {
        let work = || compute(ms(10));
        let task = if carried { tokio::task::spawn_blocking(carry(work)) } else { tokio::task::spawn_blocking(work) };
        task.await.expect("computes");
    }

    #[tokio::test]
    async fn other_threads_count_if_they_are_taken_along() {
        let with = metered(on_another_thread(true)).await;
        assert!((ms(10)..ms(14)).contains(&with), "{with:?}");
        let without = metered(on_another_thread(false)).await;
        assert!(without < ms(5), "{without:?}");
    }

    /// SQLite's thread sends the last row before it has left the span.
    #[tokio::test]
    async fn a_thread_that_has_answered_and_not_left_counts() {
        let (leave, stay) = mpsc::channel::<()>();
        let spent = metered(async move {
            let (answer, answered) = tokio::sync::oneshot::channel();
            std::thread::spawn(carry(move || {
                compute(ms(10));
                answer.send(()).expect("somebody waits");
                let _ = stay.recv(); // until the test ends
            }));
            answered.await.expect("it answers");
        });
        let spent = spent.await;
        assert!((ms(10)..ms(14)).contains(&spent), "{spent:?}");
        drop(leave);
    }

    #[tokio::test]
    async fn nothing_is_left_behind() {
        let name = metered(async { assert!(Span::current().id().is_some()) }).await;
        assert!(name < ms(5));
        assert!(Span::current().id().is_none(), "the span ends with the work");
    }
}
