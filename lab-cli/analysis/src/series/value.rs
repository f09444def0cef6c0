//! Value at a place of a picture: a number, or a bound.

use serde::{Deserialize, Serialize};

/// A value that may be known only to be at least something, because time-outs hide it: drawn at its bound, with arrows.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Value {
    /// Number at which it is drawn.
    pub at: f64,
    /// It is a bound.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

impl Value {
    /// A value that is known.
    pub const fn known(at: f64) -> Self {
        Self { at, at_least: false }
    }

    /// A percentile, or else its bound.
    pub fn of(known: Option<f64>, at_least: Option<f64>) -> Option<Self> {
        known.map(Self::known).or(at_least.map(|at| Self { at, at_least: true }))
    }

    /// The same on another scale.
    pub fn map(self, to: impl Fn(f64) -> f64) -> Self {
        Self { at: to(self.at), ..self }
    }

    /// Value in words.
    pub fn shown(self, number: impl Fn(f64) -> String) -> String {
        let bound = if self.at_least { ">= " } else { "" };
        format!("{bound}{}", number(self.at))
    }

    /// The worst of some: one of them that is a bound may be worse than all.
    pub fn worst(values: &[Self]) -> Option<Self> {
        let at = values.iter().map(|value| value.at).reduce(f64::max)?;
        Some(Self { at, at_least: values.iter().any(|value| value.at_least) })
    }

    /// The one in the middle, of two the higher one; a bound at or below it may in truth lie above it.
    pub fn median(values: &[Self]) -> Option<Self> {
        let mut values = values.to_vec();
        values.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.at_least.cmp(&b.at_least)));
        let middle = values.len() / 2;
        let at = values.get(middle)?.at;
        Some(Self { at, at_least: values[..=middle].iter().any(|value| value.at_least) })
    }
}

/// Places of arrows along a line: at its bounds, at least this far from each other.
pub fn arrows(points: &[(f64, Option<Value>)], apart: f64) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    for (x, value) in points {
        let room = found.last().is_none_or(|(last, _)| x - last >= apart);
        if let Some(bound) = value.filter(|value| room && value.at_least) {
            found.push((*x, bound.at));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: &[(f64, bool)]) -> Vec<Value> {
        of.iter().map(|&(at, at_least)| Value { at, at_least }).collect()
    }

    #[test]
    fn a_bound_among_others_makes_bounds_of_what_it_may_reach() {
        let found = values(&[(3.0, false), (1.0, true), (2.0, false)]);
        assert_eq!(Value::worst(&found), Some(Value { at: 3.0, at_least: true }));
        assert_eq!(Value::median(&found), Some(Value { at: 2.0, at_least: true }));
        let above = values(&[(3.0, true), (1.0, false), (2.0, false)]);
        assert_eq!(Value::median(&above), Some(Value::known(2.0)), "it lies above the middle anyway");
        assert_eq!((Value::worst(&[]), Value::median(&[])), (None, None));
        assert_eq!(
            Value::of(None, Some(60.0)).map(|value| value.shown(|at| format!("{at} s"))).as_deref(),
            Some(">= 60 s")
        );
    }

    #[test]
    fn arrows_stand_at_bounds_and_apart() {
        let point = |n| (f64::from(n), (n != 5).then_some(Value { at: 7.0, at_least: n >= 10 }));
        let points: Vec<_> = (0..100).map(point).collect();
        assert_eq!(arrows(&points, 30.0), [(10.0, 7.0), (40.0, 7.0), (70.0, 7.0)]);
    }
}
