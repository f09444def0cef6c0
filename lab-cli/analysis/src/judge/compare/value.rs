//! Figures of single turns, and what two of them differ by.

use super::Metric;
use crate::summary::PhaseSummary;

/// Fewer requests than these in a phase are nearly nothing: by chance alone twice as many or half may come next, so that no
/// number says how many times as much another arm had.
const NEARLY_NOTHING: f64 = 5.0;

/// Factor by which what is never answered counts as longer than the answer that it is compared with, where it is not
/// known to be longer: its time has no logarithm.
const NEVER: f64 = 2.0;

/// A figure of one arm in one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    Known(f64),
    /// Hidden by time-outs; of all requests, among those without an answer.
    AtLeast(f64),
    /// Nearly nothing. `counted`: what stands for it where a logarithm is wanted.
    Scant {
        found: f64,
        counted: f64,
    },
}

impl Value {
    /// Number of which differences are made.
    pub fn number(self) -> f64 {
        match self {
            Self::Known(number) | Self::AtLeast(number) => number,
            Self::Scant { counted, .. } => counted,
        }
    }

    /// Value as it was measured.
    pub fn found(self) -> f64 {
        match self {
            Self::Scant { found, .. } => found,
            other => other.number(),
        }
    }
}

impl Metric {
    pub(super) fn read(self, phase: &PhaseSummary) -> Option<Value> {
        let measured = &phase.measured;
        let times = if self.is_of_all() { &measured.response_time_all_ms } else { &measured.response_time_ms };
        let time = |percentile: &str| {
            let (known, bound) = times.percentile(percentile);
            known.map(Value::Known).or(bound.map(Value::AtLeast))
        };
        match self {
            Self::Goodput => {
                let (found, seconds) = (measured.goodput_per_s, phase.seconds.max(1.0));
                // Nothing at all counts as half a request in the phase: it has no logarithm.
                let scant = Value::Scant { found, counted: found.max(0.5 / seconds) };
                Some(if found * seconds < NEARLY_NOTHING { scant } else { Value::Known(found) })
            }
            Self::RejectFraction => (measured.sent > 0).then_some(Value::Known(measured.reject_fraction)),
            Self::P90All | Self::P90 => time("p90"),
            Self::P99All | Self::P99 => time("p99"),
        }
    }
}

/// A pair's difference, on the metric's scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    pub by: f64,
    /// It is at least as far from nothing: one side is only a bound.
    pub bound: bool,
}

/// `None` if nothing can be said of which is larger.
pub(super) fn difference(ours: Value, theirs: Value, metric: Metric) -> Option<Difference> {
    let [mut a, mut b] = [ours.number(), theirs.number()];
    if metric.is_of_all() {
        // What is never answered takes longer than any answer, also than one to the fifth attempt.
        match (ours, theirs) {
            (Value::AtLeast(_), Value::Known(known)) => a = a.max(known * NEVER),
            (Value::Known(known), Value::AtLeast(_)) => b = b.max(known * NEVER),
            _ => {}
        }
    }
    let by = if metric.is_ratio() { libm::log(a / b) } else { a - b };
    let larger = a > b;
    match (ours, theirs) {
        (Value::AtLeast(_), Value::AtLeast(_)) => None,
        (Value::AtLeast(_), _) => larger.then_some(Difference { by, bound: true }),
        (_, Value::AtLeast(_)) => (a < b).then_some(Difference { by, bound: true }),
        _ => Some(Difference { by, bound: false }),
    }
}

/// One side of a comparison: the turn in the middle, of two in the middle the lower one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Middle {
    pub value: f64,
    pub scant: bool,
}

impl Middle {
    pub fn of(values: &[Value]) -> Option<Self> {
        let mut values = values.to_vec();
        values.sort_by(|a, b| a.found().total_cmp(&b.found()));
        let value = values.get(values.len().checked_sub(1)? / 2)?;
        Some(Self { value: value.found(), scant: matches!(value, Value::Scant { .. }) })
    }
}
