//! The token bucket (USITS'03, section 3.2): admits at a rate, with bursts up to a depth.

use crate::Timestamp;

/// The resolution of the bucket's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenClock {
    /// Nanoseconds, any rate.
    Precise,
    /// Whole milliseconds, as in the SEDA code: one token takes at least 1 ms, so at most 1000 jobs pass per second at
    /// any rate.
    Milliseconds,
}

/// A token bucket, full at the start. Each admission takes one token.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    /// Tokens per second; infinite means unlimited.
    rate: f64,
    depth: f64,
    tokens: f64,
    filled_at: Timestamp,
    clock: TokenClock,
}

impl TokenBucket {
    /// Creates a full bucket. `rate`: tokens per second, over 0; `depth`: tokens, at least 1, or no job ever passes.
    pub fn new(rate: f64, depth: f64, clock: TokenClock) -> Self {
        Self { rate, depth, tokens: depth, filled_at: Timestamp::ZERO, clock }
    }

    /// Takes a token. False: there is none.
    pub fn pass(&mut self, now: Timestamp) -> bool {
        self.fill(now);
        // Rounding errors of many small fillings must not cost a whole token.
        if self.tokens < 1.0 - 1e-9 {
            return false;
        }
        self.tokens = (self.tokens - 1.0).max(0.0);
        true
    }

    /// Changes the rate; tokens are kept.
    pub fn set_rate(&mut self, now: Timestamp, rate: f64) {
        self.fill(now);
        self.rate = rate;
    }

    /// Removes all tokens.
    pub fn empty(&mut self, now: Timestamp) {
        self.fill(now);
        self.tokens = 0.0;
    }

    fn fill(&mut self, now: Timestamp) {
        if self.rate.is_infinite() {
            self.tokens = self.depth;
            self.filled_at = now;
            return;
        }
        let earned = match self.clock {
            TokenClock::Precise => now.since(self.filled_at).as_secs_f64() * self.rate,
            TokenClock::Milliseconds => {
                let elapsed = now.as_nanos() / 1_000_000
                    - (self.filled_at.as_nanos() / 1_000_000).min(now.as_nanos() / 1_000_000);
                elapsed as f64 / (1000.0 / self.rate).max(1.0)
            }
        };
        self.tokens = (self.tokens + earned).min(self.depth);
        self.filled_at = now;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Offers one job each `every` for a second, starting at 0, and counts those that pass.
    fn passed(mut bucket: TokenBucket, every: Duration) -> u32 {
        let mut now = Timestamp::ZERO;
        let mut passed = 0;
        while now < Timestamp::from_secs(1) {
            passed += u32::from(bucket.pass(now));
            now = now + every;
        }
        passed
    }

    #[test]
    fn depth_passes_at_once_and_then_the_rate() {
        // 10 at once from the full bucket, then 100 a second: 10 + 99 by 0.999 s (the 100th token is there at 1.000 s).
        let bucket = TokenBucket::new(100.0, 10.0, TokenClock::Precise);
        assert_eq!(passed(bucket, Duration::from_millis(1)), 109);
    }

    #[test]
    fn with_whole_milliseconds_a_thousand_a_second_is_the_ceiling() {
        // Rate 5000/s, but a token takes at least 1 ms. Offers every 0.1 ms see 1 token each ms: 1000, the first from
        // the full bucket.
        let coarse = TokenBucket::new(5000.0, 1.0, TokenClock::Milliseconds);
        assert_eq!(passed(coarse, Duration::from_micros(100)), 1000);
        // The same without that clock: offers every 0.1 ms find a token at every second one.
        let precise = TokenBucket::new(5000.0, 1.0, TokenClock::Precise);
        assert_eq!(passed(precise, Duration::from_micros(100)), 5000);
    }

    #[test]
    fn with_depth_one_two_arrivals_close_together_cost_a_refusal() {
        // 100/s: the next token is there after 10 ms, although only two jobs came in this second.
        let mut bucket = TokenBucket::new(100.0, 1.0, TokenClock::Milliseconds);
        assert!(bucket.pass(Timestamp::from_millis(500)));
        assert!(!bucket.pass(Timestamp::from_millis(505)));
        assert!(bucket.pass(Timestamp::from_millis(510)));
    }

    #[test]
    fn emptied_it_starts_from_nothing() {
        let mut bucket = TokenBucket::new(10.0, 10.0, TokenClock::Precise);
        bucket.empty(Timestamp::from_secs(5));
        assert!(!bucket.pass(Timestamp::from_millis(5099)));
        assert!(bucket.pass(Timestamp::from_millis(5100)));
    }

    #[test]
    fn a_changed_rate_counts_from_the_change() {
        let mut bucket = TokenBucket::new(1.0, 1.0, TokenClock::Precise);
        assert!(bucket.pass(Timestamp::ZERO));
        // Half a token by 0.5 s at 1/s, the other half takes 50 ms at 10/s.
        bucket.set_rate(Timestamp::from_millis(500), 10.0);
        assert!(!bucket.pass(Timestamp::from_millis(549)));
        assert!(bucket.pass(Timestamp::from_millis(551)));
    }

    #[test]
    fn an_infinite_rate_lets_everything_pass() {
        let mut bucket = TokenBucket::new(f64::INFINITY, 1.0, TokenClock::Precise);
        assert!((0..100).all(|_| bucket.pass(Timestamp::ZERO)));
        bucket.set_rate(Timestamp::ZERO, 1.0);
        assert!(bucket.pass(Timestamp::ZERO));
        assert!(!bucket.pass(Timestamp::ZERO));
    }
}
