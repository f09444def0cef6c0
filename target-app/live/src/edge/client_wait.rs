//! How long the service has waited for a client, and how many bytes the client moved meanwhile.

use std::time::Duration;

use spec::EdgeSpec;

/// The wait for a client in one exchange: from the first byte of a request, or from the beginning of the connection, until the
/// client is between requests. Pipelined requests belong to one exchange, so that a client does not get new time with
/// each of them.
#[derive(Debug)]
pub(super) struct ClientWait {
    /// The time waited for the client, without the current phase.
    time: Duration,
    /// Bytes in either direction.
    moved: u64,
    /// Time and bytes at the last progress of the answer.
    progress: Option<(Duration, u64)>,
    /// The number of bytes that count as progress.
    step: u64,
    /// The number of bytes that a connection gets as credit: bytes that fit into the kernel's buffer say nothing of the
    /// client.
    credit: f64,
}

impl ClientWait {
    pub(super) fn new(limits: &EdgeSpec) -> Self {
        let step = f64::from(limits.write_rate) * limits.write_timeout.as_secs_f64();
        let credit = f64::from(limits.send_buffer.max(LEAST_CREDIT));
        Self { time: Duration::ZERO, moved: 0, progress: None, step: (step as u64).max(1), credit }
    }

    /// The time waited, without the current phase.
    pub(super) fn time(&self) -> Duration {
        self.time
    }

    /// Adds time waited for the client.
    pub(super) fn waited(&mut self, time: Duration) {
        self.time += time;
    }

    /// Adds bytes in either direction; `waited`: the time waited by then, which is asked for at a step only.
    pub(super) fn moved(&mut self, bytes: usize, waited: impl FnOnce(&Self) -> Duration) {
        self.moved += bytes as u64;
        if self.progress.is_some_and(|(_, before)| self.moved - before >= self.step) {
            self.progress = Some((waited(self), self.moved));
        }
    }

    /// Notes that the client must take an answer from now on.
    pub(super) fn begins_to_take(&mut self) {
        self.progress.get_or_insert((self.time, self.moved));
    }

    /// Closes the account.
    pub(super) fn settle(&mut self) {
        (self.time, self.moved, self.progress) = (Duration::ZERO, 0, None);
    }

    /// True if the answer has not moved by a step for longer than `limit`.
    pub(super) fn is_stuck(&self, waited: Duration, limit: Duration) -> bool {
        self.progress.is_some_and(|(at, _)| waited.saturating_sub(at) > limit)
    }

    /// The time waited, reduced for clients that move many bytes in it: one that moves its credit again and again
    /// scores low.
    pub(super) fn eviction_score(&self, waited: Duration) -> f64 {
        waited.as_secs_f64() * self.credit / (self.credit + self.moved as f64)
    }
}

/// The credit where the kernel sets the send buffer.
const LEAST_CREDIT: u32 = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(15);

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn taking_answer() -> ClientWait {
        let limits = EdgeSpec { write_timeout: LIMIT, write_rate: 1000, send_buffer: 64 * 1024, ..EdgeSpec::default() };
        let mut wait = ClientWait::new(&limits);
        wait.begins_to_take();
        wait
    }

    #[test]
    fn an_answer_that_moves_is_never_stuck() {
        let mut wait = taking_answer();
        for second in 1..1000 {
            wait.moved(1100, |_| secs(second));
            assert!(!wait.is_stuck(secs(second), LIMIT), "{second}");
        }
        assert!(wait.is_stuck(secs(1015), LIMIT));
    }

    #[test]
    fn drops_and_a_burst_long_ago_do_not_count() {
        let mut drip = taking_answer();
        (1..=16).for_each(|second| drip.moved(900, |_| secs(second)));
        assert!(drip.is_stuck(secs(16), LIMIT));
        let mut burst = taking_answer();
        burst.moved(100_000_000, |_| secs(1));
        assert!(!burst.is_stuck(secs(16), LIMIT) && burst.is_stuck(secs(17), LIMIT));
    }

    #[test]
    fn a_new_answer_in_the_same_exchange_gives_no_new_time() {
        let mut wait = taking_answer();
        wait.waited(secs(14));
        wait.begins_to_take();
        assert!(wait.is_stuck(secs(16), LIMIT));
        wait.settle();
        wait.begins_to_take();
        assert!(!wait.is_stuck(secs(15), LIMIT));
    }

    #[test]
    fn the_slowest_scores_highest() {
        let score = |moved, waited| {
            let mut wait = taking_answer();
            wait.moved(moved, |_| waited);
            wait.eviction_score(waited)
        };
        let ms = Duration::from_millis;
        let order =
            [score(20, ms(2700)), score(3000, ms(2700)), score(300_000, secs(10)), score(0, ms(100)), score(0, ms(1))];
        assert!(order.is_sorted_by(|one, next| one > next), "{order:?}");
    }
}
