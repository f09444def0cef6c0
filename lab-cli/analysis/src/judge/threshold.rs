//! Thresholds: what an experiment file claims about its result, in one line each.
//!
//! ```text
//! seda.spike.response_time.p90 < 2s                    arm . phase . metric . statistic
//! seda.spike[50%..].response_time.p90 <= 2s            the last half of the phase, by intended start
//! seda.at-1024."list messages".response_time.p90 <= 10s  one request type (quoted if it has a space)
//! classes.both.class-1.reject_fraction < 0.5           one class of users
//! degrade.after.gauge.checksum.quality.last > 0.5      a stage's gauge: min, max, mean, first, last, sum
//! seda.spike.gauge.login.admission_rate_per_s.falls >= 4   the most steps down (or up: rises) in a row
//! share(seda.spike.gauge.login.p90_ms <= 1s) >= 70%    the share of its seconds for which that holds
//! share(both.spike.gauge.checksum.refused > 0 and both.spike.gauge.checksum.quality > 0.02) == 0   both in one second
//! share(seda.spike[10%..].response_time.p90 <= 1s) >= 70%   the same of other metrics: of the twentieths of the phase
//! seda.spike.gauge.work.refused.mean > 100             its counts of each second: offered, admitted, refused, completed
//! none.load.gauge.generator.memory_mb.max < 300        of the process that sends: cpu, threads, memory_mb, open_files
//! seda.spike.gauge.target.cpu.mean < 0.9               of the target's process: cpu, memory_mb, connections
//! seda.spike.gauge.users.p90_ms.max <= 4000   of the requests that ended in each five seconds: count, p50_ms, p90_ms, p99_ms
//! seda.spike.gauge."users/login".p90_ms.mean <= 4000   of one type, or of one class: users/class-1
//! seda.spike.reject_fraction between 0.5 and 0.95      both ends allowed
//! seda.spike.goodput > none.spike.goodput              arms against each other
//! none.spike.response_time.p90 / seda.spike.response_time.p90 >= 3     holds only where seda answers as many, within 10 points
//! seda.spike.response_time_all.p90 <= 2s               of all requests: 90 % of them were answered so soon
//! none.spike.response_time_answered.p90 / seda.spike.response_time_answered.p90 >= 3   whatever shares they answer
//! seda.after.recovery < 5s                             until it was well again after the phase before: goodput, and the objective
//! seda.after.metastable == 0                           it did get well; hysteresis, wasted, user_fairness, worst_tenth, class_fairness,
//! seda.spike.wasted < 5%                               growth, warm_up; and amplification, of groups too
//! max(a.x.sent, b.x.sent) - min(a.x.sent, b.x.sent) <= 10   also + * and abs(); a minus needs spaces around it
//! ```
//!
//! In a share, seconds and twentieths that have no value (too few samples) are left out.
//!
//! A value that is missing (too few samples) fails. What the run was stopped in, or before, is not judged. One that is only known to be *at least*
//! something, because requests without an answer hide it, is used as that range: a threshold holds only if it holds for every value that
//! the range allows. With several blocks it must hold in each.

use std::ops::Range;

use crate::{live::GeneratorSecond, series::value::Value, summary::ThresholdResult};

mod check;
mod claim;
mod error;
mod evaluate;
mod evidence;
mod lex;
mod metric;
mod parse;
mod phase_measure;
mod range;
pub mod reference;
mod survivors;
#[cfg(test)]
mod tests;
mod unit;
mod watch;

pub use check::KnownNames;
pub use error::ThresholdError;
pub use evidence::{Evidence, Parts};
pub(crate) use metric::number;
pub use metric::of_response_times;
pub use phase_measure::{OfPhase, PhaseMeasure};
pub use watch::{Abort, AbortRule, Watch, abort_at, first_abort, watches};

use claim::{Claim, Comparator, Condition};
use metric::Metric;
use unit::Unit;

/// One threshold, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    text: String,
    claim: Claim,
}

impl Threshold {
    /// Reads a threshold.
    ///
    /// # Errors
    /// The first place where it makes no sense, and what would.
    pub fn parse(text: &str) -> Result<Self, ThresholdError> {
        let claim = parse::claim(text)?;
        Ok(Self { text: text.to_owned(), claim })
    }

    /// Text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Every arm that it names.
    pub fn arms(&self) -> Vec<&str> {
        self.claim.metrics().into_iter().map(|(_, metric)| metric.arm.as_str()).collect()
    }

    /// True if it asks what the generator used, which only a live run can say.
    pub fn asks_generator(&self) -> bool {
        let of_generator = |metric: &Metric| match &metric.quantity {
            metric::Quantity::Gauge { stage, .. } | metric::Quantity::Series { stage, .. } => {
                stage == GeneratorSecond::STAGE
            }
            _ => false,
        };
        self.claim.metrics().into_iter().any(|(_, metric)| of_generator(metric))
    }

    /// True if it limits the rate of errors: lost requests are counted, also where no time can be believed.
    pub fn is_of_errors(&self) -> bool {
        let metrics = self.claim.metrics();
        let is_error_rate =
            |metric: &Metric| matches!(&metric.quantity, metric::Quantity::Number(number) if number.is_error_rate());
        !metrics.is_empty() && metrics.into_iter().all(|(_, metric)| is_error_rate(metric))
    }

    /// The parts of phases that it asks of an arm, as shares of their lengths. `seconds` gives the length of a phase.
    pub fn parts(&self, arm: &str, seconds: impl Fn(&str) -> Option<f64>) -> Vec<(String, Range<f64>)> {
        let of = |metric: &Metric| {
            if metric.arm != arm || metric.quantity.is_gauge() {
                return None;
            }
            metric.part.as_ref().map_or(Some(0.0..1.0), |part| check::share(part, seconds(&metric.phase)?).ok())
        };
        let mut wanted = Vec::new();
        for (_, metric) in self.claim.metrics() {
            let part = of(metric).filter(|_| metric.part.is_some());
            wanted.extend(part.map(|part| (metric.phase.clone(), part)));
        }
        // A share looks at each twentieth.
        for Condition { metric, .. } in self.claim.conditions() {
            let pieces = of(metric).map(|part| check::twentieths(&part)).into_iter().flatten();
            wanted.extend(pieces.map(|piece| (metric.phase.clone(), piece)));
        }
        wanted
    }

    /// True if it asks for a gauge of an arm: then the arm's seconds are wanted.
    pub fn reads_gauges(&self, arm: &str) -> bool {
        self.claim.metrics().into_iter().any(|(_, metric)| metric.arm == arm && metric.quantity.is_gauge())
    }

    /// True if it asks for requests of a part of a phase: then parts are wanted.
    pub fn reads_parts(&self) -> bool {
        let asks = |metric: &Metric| metric.part.is_some() && !metric.quantity.is_gauge();
        self.claim.metrics().into_iter().any(|(_, metric)| asks(metric)) || !self.claim.conditions().is_empty()
    }

    /// Checks that every arm, phase, request type and part that it names exists.
    ///
    /// # Errors
    /// Every name that does not, with a suggestion.
    pub fn check(&self, names: &KnownNames<'_>) -> Result<(), Vec<ThresholdError>> {
        check::claim(&self.claim, names)
    }

    /// True if its sides are times, in milliseconds.
    pub fn is_of_time(&self) -> bool {
        let (Claim::Compare { left: side, .. } | Claim::Between { value: side, .. }) = &self.claim;
        side.unit() == Unit::Time
    }

    /// True if it is `measured == number`.
    pub fn is_equation(&self) -> bool {
        matches!(&self.claim, Claim::Compare { op: Comparator::Equal, right, .. } if evaluate::constant(right))
    }

    /// Measured value, and the number of an equation. `None`: it is none.
    pub fn equated(&self, block: u32, evidence: &Evidence<'_>) -> Option<(Option<Value>, f64)> {
        let Claim::Compare { left, right, .. } = &self.claim else { return None };
        let number = self.is_equation().then(|| evaluate::evaluate(right, block, evidence).ok())??;
        Some((evaluate::evaluate(left, block, evidence).ok().and_then(range::Range::shown), number.low))
    }

    /// Judges it.
    pub fn judge(&self, evidence: &Evidence<'_>) -> ThresholdResult {
        evaluate::judge(&self.text, &self.claim, evidence)
    }
}
