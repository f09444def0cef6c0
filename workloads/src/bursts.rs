//! Bursts of arrivals: a rate that switches between two multiples of its mean.
//!
//! A Markov-modulated Poisson process with two states (Fischer and Meier-Hellstern, "The Markov-modulated Poisson process
//! cookbook", Performance Evaluation 18, 1993), whose sojourns are exponential with the means `on` and `off`. It is on for a
//! share p = on / (on + off) of the time, there with `peak` times the mean rate, elsewhere with (1 - p peak) / (1 - p)
//! times, so that the mean rate is kept. Each phase begins in a state drawn with these shares.

use std::time::Duration;

use controllers::{Random, Seeded};

use crate::rate_path::RatePath;

/// States of one phase, made one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Bursts {
    /// Multiples of the mean rate, and mean sojourns in seconds: off, on.
    factors: [f64; 2],
    sojourns: [f64; 2],
    is_on: bool,
    /// Stretch of the present state, seconds.
    from: f64,
    until: f64,
    /// Arrivals expected before it.
    before: f64,
    random: Seeded,
}

impl Bursts {
    pub(crate) fn new(peak: f64, on: Duration, off: Duration, seed: u64) -> Self {
        let (on, off) = (on.as_secs_f64(), off.as_secs_f64());
        let share = on / (on + off);
        let factors = [((1.0 - share * peak) / (1.0 - share)).max(0.0), peak];
        let mut random = Seeded::new(seed);
        let is_on = random.uniform() < share;
        let sojourns = [off, on];
        let until = random.exponential(sojourns[usize::from(is_on)]);
        Self { factors, sojourns, is_on, from: 0.0, until, before: 0.0, random }
    }

    /// The time until which so many arrivals are expected, if it is before `end`. `expected` never falls from call to call.
    pub(crate) fn when(&mut self, expected: f64, rate: &RatePath, end: f64) -> Option<f64> {
        while self.from < end {
            let state = usize::from(self.is_on);
            let begun = rate.expected(self.from);
            let after = self.before + self.factors[state] * (rate.expected(self.until.min(end)) - begun);
            if expected < after {
                return rate.when(begun + (expected - self.before) / self.factors[state]);
            }
            (self.from, self.before, self.is_on) = (self.until, after, !self.is_on);
            self.until += self.random.exponential(self.sojourns[1 - state]);
        }
        None
    }
}
