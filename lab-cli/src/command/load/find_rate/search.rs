//! The order of rates in a search: up or down by doubling until both ends are known, then halving the interval.

use std::time::Duration;

use super::trial::{Outcome, Trial};

/// The interval is narrow enough.
const NARROW: f64 = 1.05;
/// Lower rates are not tried: a trial would take minutes.
const LEAST: f64 = 1.0;
/// Higher ones neither.
const MOST: f64 = 10_000_000.0;
/// Trials at the most.
const TRIALS: usize = 40;

/// The next step of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Next {
    /// Try this rate.
    Try(f64),
    /// Confirm this one.
    Confirm(f64),
    /// There is nothing to find.
    End,
}

/// The bounds that trials have found so far.
#[derive(Debug, Default)]
pub(super) struct Search {
    first: f64,
    /// Rates that met the objective.
    met: Vec<f64>,
    /// The lowest rate that did not.
    missed: Option<f64>,
    undecided: Option<f64>,
    /// Times that the generator could not keep up, and the rate.
    generator: Option<(u32, f64)>,
    trials: usize,
}

impl Search {
    pub(super) fn from(first: f64) -> Self {
        Self { first: rounded(first), ..Self::default() }
    }

    fn low(&self) -> Option<f64> {
        let below = |rate: &&f64| self.missed.is_none_or(|missed| **rate < missed);
        self.met.iter().filter(below).copied().reduce(f64::max)
    }

    pub(super) fn next(&self) -> Next {
        let low = self.low();
        if let Some((times, rate)) = self.generator {
            // Another program may have been in its way.
            return if times < 2 { Next::Try(rate) } else { low.map_or(Next::End, Next::Confirm) };
        }
        let over = self.undecided.is_some() || !self.may_go_on();
        match (low, self.missed) {
            (Some(low), _) if over => Next::Confirm(low),
            (None, _) if over => Next::End,
            (None, None) => Next::Try(self.first),
            (Some(low), None) if low * 2.0 > MOST => Next::Confirm(low),
            (Some(low), None) => Next::Try(rounded(low * 2.0)),
            (None, Some(missed)) if missed / 2.0 < LEAST => Next::End,
            (None, Some(missed)) => Next::Try(rounded(missed / 2.0)),
            (Some(low), Some(missed)) => {
                let between = rounded((low * missed).sqrt());
                let narrow = missed / low <= NARROW || between <= low || between >= missed;
                if narrow { Next::Confirm(low) } else { Next::Try(between) }
            }
        }
    }

    pub(super) fn takes(&mut self, trial: &Trial) {
        let rate = trial.rate_per_s;
        self.trials += 1;
        match trial.outcome {
            Outcome::Met => self.met.push(rate),
            Outcome::Missed => self.missed = Some(self.missed.map_or(rate, |missed| missed.min(rate))),
            Outcome::Undecided => self.undecided = Some(rate),
            Outcome::Generator => self.generator = Some((self.generator.map_or(1, |(times, _)| times + 1), rate)),
        }
        if trial.outcome != Outcome::Generator {
            self.generator = None;
        }
    }

    pub(super) fn may_go_on(&self) -> bool {
        self.trials < TRIALS
    }

    pub(super) fn generator_failed(&self) -> bool {
        self.generator.is_some()
    }

    pub(super) fn interval(&self) -> [Option<f64>; 2] {
        [self.low(), self.missed]
    }

    /// The reason why the interval is not narrower.
    pub(super) fn why(&self, longest: Duration) -> Option<String> {
        let longest = longest.as_secs();
        match (self.generator, self.undecided) {
            (Some((_, rate)), _) => {
                Some(format!("the generator could not send {rate}/s in time: the service may be able to do more"))
            }
            (None, Some(rate)) => Some(format!(
                "{longest} s at {rate}/s did not decide it: longer trials may (--try-for 5s..{}s)",
                longest * 4
            )),
            (None, None) if !self.may_go_on() => Some(format!("it ended after {TRIALS} trials")),
            (None, None) => None,
        }
    }
}

/// Rounds to three digits: more would pretend a precision that no search has.
fn rounded(rate: f64) -> f64 {
    let scale = libm::pow(10.0, 2.0 - libm::floor(libm::log10(rate)));
    (rate * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::load::conditions::RateObjective;

    /// Searches a service that meets the objective up to this rate.
    fn searched(first: f64, capacity: f64) -> (Next, [Option<f64>; 2], usize) {
        let objective = RateObjective::parse("p99 < 1s").expect("good");
        let mut search = Search::from(first);
        while let Next::Try(rate) = search.next() {
            let mut trial = Trial::of(rate, &objective, Duration::from_secs(5));
            trial.outcome = if rate <= capacity { Outcome::Met } else { Outcome::Missed };
            search.takes(&trial);
        }
        (search.next(), search.interval(), search.trials)
    }

    #[test]
    fn the_end_is_found_from_above_and_from_below() {
        for (first, capacity) in [(100.0, 730.0), (10_000.0, 730.0), (3.0, 12_345.0), (100.0, 100.0)] {
            let (next, interval, trials) = searched(first, capacity);
            let [Some(low), Some(high)] = interval else { panic!("{interval:?}") };
            assert!(low <= capacity && capacity < high && high / low <= NARROW, "{low} {high}");
            assert_eq!(next, Next::Confirm(low));
            assert!(trials < 20, "{trials}");
        }
        assert_eq!(searched(100.0, 0.5).0, Next::End);
    }

    #[test]
    fn what_cannot_be_decided_ends_the_search_with_what_is_known() {
        let objective = RateObjective::parse("p99 < 1s").expect("good");
        let trial = |rate, outcome| {
            let mut trial = Trial::of(rate, &objective, Duration::from_secs(5));
            trial.outcome = outcome;
            trial
        };
        let mut search = Search::from(100.0);
        search.takes(&trial(100.0, Outcome::Met));
        search.takes(&trial(200.0, Outcome::Undecided));
        assert_eq!((search.next(), search.interval()), (Next::Confirm(100.0), [Some(100.0), None]));
        assert!(search.why(Duration::from_secs(60)).is_some_and(|why| why.contains("200/s")));
        let mut late = Search::from(100.0);
        late.takes(&trial(100.0, Outcome::Generator));
        assert_eq!(late.next(), Next::Try(100.0), "once more");
        late.takes(&trial(100.0, Outcome::Generator));
        assert!(late.next() == Next::End && late.generator_failed());
    }

    #[test]
    fn rates_have_three_digits() {
        for (rate, wanted) in [(1234.5, 1230.0), (0.123_45, 0.123), (99.96, 100.0), (7.0, 7.0)] {
            assert!((rounded(rate) - wanted).abs() < 1e-9, "{rate}");
        }
    }
}
