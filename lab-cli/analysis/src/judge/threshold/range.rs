//! Values that are known exactly, or only to lie in a range: interval arithmetic.

use super::claim::{Comparator, Function, Operator};
use crate::series::value::Value;

/// Range from `low` to `high`, both possible. An exact value has `low == high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    pub fn exactly(value: f64) -> Self {
        Self { low: value, high: value }
    }

    pub fn at_least(value: f64) -> Self {
        Self { low: value, high: f64::INFINITY }
    }

    /// Value for figures: one that ends above its beginning is a bound. `None` if nothing bounds it from below.
    pub fn shown(self) -> Option<Value> {
        self.low.is_finite().then_some(Value { at: self.low, at_least: self.low != self.high })
    }

    /// `None` if the result is no number (division by a range that holds zero, infinity minus infinity).
    pub fn combine(op: Operator, a: Self, b: Self) -> Option<Self> {
        let (low, high) = match op {
            Operator::Add => (a.low + b.low, a.high + b.high),
            Operator::Subtract => (a.low - b.high, a.high - b.low),
            Operator::Multiply => corners(a, b, |x, y| x * y),
            Operator::Divide if b.low <= 0.0 && b.high >= 0.0 => return None,
            Operator::Divide => corners(a, b, |x, y| x / y),
        };
        (!low.is_nan() && !high.is_nan()).then_some(Self { low, high })
    }

    /// `values` is not empty.
    pub fn apply(function: Function, values: &[Self]) -> Self {
        let fold = |pick: fn(f64, f64) -> f64| {
            values[1..].iter().fold(values[0], |a, b| Self { low: pick(a.low, b.low), high: pick(a.high, b.high) })
        };
        match function {
            Function::Max => fold(f64::max),
            Function::Min => fold(f64::min),
            Function::Abs => {
                let Self { low, high } = values[0];
                let crosses = low < 0.0 && high > 0.0;
                Self { low: if crosses { 0.0 } else { low.abs().min(high.abs()) }, high: low.abs().max(high.abs()) }
            }
        }
    }

    /// True if it holds for some value of both ranges.
    pub fn may_hold(self, op: Comparator, other: Self) -> bool {
        match op {
            Comparator::Less => self.low < other.high,
            Comparator::LessOrEqual => self.low <= other.high,
            Comparator::Greater => self.high > other.low,
            Comparator::GreaterOrEqual => self.high >= other.low,
            Comparator::Equal => self.low <= other.high && other.low <= self.high,
        }
    }

    /// True if it holds for every value of both ranges.
    pub fn holds(self, op: Comparator, other: Self) -> bool {
        match op {
            Comparator::Less => self.high < other.low,
            Comparator::LessOrEqual => self.high <= other.low,
            Comparator::Greater => self.low > other.high,
            Comparator::GreaterOrEqual => self.low >= other.high,
            Comparator::Equal => self.low == other.high && self.high == other.low,
        }
    }
}

/// Products and quotients of ranges lie between those of their ends. Zero times infinity is zero here: the factor zero is
/// exact, and the other some finite value that is not known.
fn corners(a: Range, b: Range, f: fn(f64, f64) -> f64) -> (f64, f64) {
    let mut low = f64::INFINITY;
    let mut high = f64::NEG_INFINITY;
    for x in [a.low, a.high] {
        for y in [b.low, b.high] {
            let value = f(x, y);
            let value = if value.is_nan() { 0.0 } else { value };
            low = low.min(value);
            high = high.max(value);
        }
    }
    (low, high)
}
