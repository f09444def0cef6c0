//! Rates: `100/s`, `0.5x`.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{
    fields::Fields,
    raw::{Node, Value},
};

/// A rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// So many a second: `100/s`.
    PerSecond(f64),
    /// Times the capacity: `0.5x`.
    OfCapacity(f64),
}

impl Rate {
    /// Requests a second.
    pub fn per_second(self, capacity: Option<f64>) -> f64 {
        match self {
            Self::PerSecond(rate) => rate,
            Self::OfCapacity(times) => times * capacity.unwrap_or(0.0),
        }
    }
}

/// `100/s`, `10k/s`, `100rps`, `60/m`, `0.5x`.
pub(super) fn rate(node: &Node) -> Option<Rate> {
    let Value::Text(text) = &node.value else { return None };
    let number = |digits: &str, factor: f64| {
        let (digits, factor) = match digits.strip_suffix('k') {
            Some(digits) => (digits, factor * 1e3),
            None => (digits, factor),
        };
        let rate = digits.trim().parse::<f64>().ok()? * factor;
        (rate.is_finite() && rate >= 0.0).then_some(rate)
    };
    if let Some(times) = text.strip_suffix('x') {
        return number(times, 1.0).map(Rate::OfCapacity);
    }
    let (digits, unit) = text.split_once('/').or_else(|| Some((text.strip_suffix("rps")?, "s")))?;
    let factor = match unit.trim() {
        "s" => 1.0,
        "m" | "min" => 1.0 / 60.0,
        _ => return None,
    };
    number(digits, factor).map(Rate::PerSecond)
}

/// The rate of a key.
pub(super) fn rate_of(fields: &Fields<'_>, key: &str) -> Option<Rate> {
    rate(fields.node(key)?)
}

/// The rate of a key that is no share of the capacity, requests a second within a range.
pub(super) fn per_second(fields: &Fields<'_>, key: &str, range: RangeInclusive<f64>, hint: &str) -> Option<f64> {
    let node = fields.node(key)?;
    match rate(node) {
        Some(Rate::PerSecond(rate)) if range.contains(&rate) => Some(rate),
        _ => fields.wrong(key, node.value.unexpected(), hint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Place;

    #[test]
    fn rates_are_written_in_several_ways() {
        let of = |text: &str| rate(&Node { value: Value::Text(text.to_owned()), place: Place::Flag(String::new()) });
        for text in ["120/s", "120rps", "120 rps", "0.12k/s", "7200/m"] {
            assert_eq!(of(text), Some(Rate::PerSecond(120.0)), "{text}");
        }
        assert_eq!(of("0.5x"), Some(Rate::OfCapacity(0.5)));
        assert!(["rps", "120", "-1rps", "120/h", "xrps"].iter().all(|text| of(text).is_none()));
    }
}
