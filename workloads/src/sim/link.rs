use std::time::Duration;

use controllers::{Random, Seeded};
use serde::{Deserialize, Serialize};

/// The network between users and service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSpec {
    /// The delay of one direction.
    pub delay: Duration,
    /// The largest additional delay of a message, uniformly distributed from 0.
    pub jitter: Duration,
    /// Share of messages that are lost and sent again, 0 to 1 (below 1).
    pub loss: f64,
    /// The wait before the first repetition of a SYN; it then doubles.
    pub syn_retry: Duration,
}

/// Loopback: no jitter and no loss, only the delay of the kernel.
impl Default for LinkSpec {
    fn default() -> Self {
        Self { delay: Duration::from_micros(30), jitter: Duration::ZERO, loss: 0.0, syn_retry: SYN_RETRY }
    }
}

/// RFC 6298, section 2; Linux: `TCP_TIMEOUT_INIT`. Until 2011 it was 3 s (RFC 1122, section 4.2.3.1; Linux 2.4).
const SYN_RETRY: Duration = Duration::from_secs(1);
/// Repetitions of a SYN before the kernel gives up (Linux: `tcp_syn_retries`).
pub(super) const SYN_RETRIES: u32 = 6;
/// The wait before lost data is first sent again (Linux: `TCP_RTO_MIN`); it doubles each time.
const DATA_AGAIN: Duration = Duration::from_millis(200);
/// The largest number of losses of one message in a row: by then the connection has been idle for minutes.
const MOST_LOSSES: u32 = 10;

impl LinkSpec {
    /// The kernel's wait before it repeats a SYN, by the number of repetitions so far.
    pub(super) fn syn_again(&self, sent_before: u32) -> Duration {
        self.syn_retry.saturating_mul(1 << sent_before.min(16))
    }

    /// The time that a message takes.
    pub(super) fn takes(&self, random: &mut Seeded) -> Duration {
        let mut takes = self.delay;
        if !self.jitter.is_zero() {
            takes += self.jitter.mul_f64(random.uniform());
        }
        if self.loss > 0.0 {
            let mut again = DATA_AGAIN;
            for _ in 0..MOST_LOSSES {
                if random.uniform() >= self.loss {
                    break;
                }
                takes += again;
                again *= 2;
            }
        }
        takes
    }

    /// The time that a SYN takes; `None` if it is lost.
    pub(super) fn syn_takes(&self, random: &mut Seeded) -> Option<Duration> {
        let lost = self.loss > 0.0 && random.uniform() < self.loss;
        let jitter = if self.jitter.is_zero() { Duration::ZERO } else { self.jitter.mul_f64(random.uniform()) };
        (!lost).then_some(self.delay + jitter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_comes_later() {
        let link =
            LinkSpec { delay: Duration::from_millis(1), jitter: Duration::ZERO, loss: 0.5, ..LinkSpec::default() };
        let mut random = Seeded::new(3);
        let takes: Vec<u128> = (0..1000).map(|_| link.takes(&mut random).as_millis()).collect();
        // Half take 1 ms, a quarter 201, an eighth 601 (200 + 400), …
        let share = |ms| takes.iter().filter(|&&t| t == ms).count();
        assert!((450..550).contains(&share(1)) && (200..300).contains(&share(201)), "{} {}", share(1), share(201));
        assert!(share(601) > 80);
    }

    #[test]
    fn a_syn_is_sent_again_after_one_three_and_seven_seconds() {
        let at: Vec<u64> = (0..3)
            .scan(0, |sum, n| {
                Some({
                    *sum += LinkSpec::default().syn_again(n).as_secs();
                    *sum
                })
            })
            .collect();
        assert_eq!(at, [1, 3, 7]);
    }
}
