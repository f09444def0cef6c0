//! What work on a request costs: CPU time, measured where it is spent.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use nix::time::{ClockId, clock_gettime};

use super::{Boxed, Handled};

/// The cost of a request as its handler states it, put on the answer: emulated work, which no clock sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost(pub Duration);

/// A handler's work with the CPU time of the thread that does it, poll by poll. What it waits for, and what other threads do
/// for it meanwhile, is not in it.
pub(crate) struct Metered<'a> {
    work: Boxed<'a, Handled>,
    spent: Duration,
}

impl<'a> Metered<'a> {
    pub(crate) fn new(work: Boxed<'a, Handled>) -> Self {
        Self { work, spent: Duration::ZERO }
    }
}

impl Future for Metered<'_> {
    type Output = (Handled, Duration);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let before = thread_time();
        let polled = self.work.as_mut().poll(cx);
        self.spent += thread_time().saturating_sub(before);
        polled.map(|handled| (handled, self.spent))
    }
}

/// CPU time of this thread.
fn thread_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Bytes;

    /// Computes for so long, then waits for so long, twice.
    async fn work(compute: Duration, wait: Duration) -> Handled {
        for _ in 0..2 {
            let until = thread_time() + compute;
            while thread_time() < until {
                std::hint::black_box(0);
            }
            tokio::time::sleep(wait).await;
        }
        Ok(http::Response::new(Bytes::new()))
    }

    #[tokio::test]
    async fn computing_counts_and_waiting_does_not_and_neither_does_a_neighbour() {
        let ms = Duration::from_millis;
        let one = Metered::new(Box::pin(work(ms(5), ms(20))));
        let other = Metered::new(Box::pin(work(ms(10), ms(5))));
        let ((_, one), (_, other)) = tokio::join!(one, other);
        assert!((ms(10)..ms(14)).contains(&one), "{one:?}, 2 times 5 ms");
        assert!((ms(20)..ms(26)).contains(&other), "{other:?}, 2 times 10 ms");
    }
}
