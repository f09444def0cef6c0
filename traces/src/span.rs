//! Durations as people write them: `20ms`, `5s`, `1.5m`.
//!
//! For serde: `#[serde(with = "traces::span")]`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

/// Units by name, with their length in nanoseconds; among units with the same end, the longest comes first.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a duration.
///
/// # Errors
/// If the text is no number with a unit, is negative, or exceeds the range; the error is a sentence.
pub fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit = unit.trim();
    let nanos = UNITS.iter().find(|(name, _)| *name == unit).map(|&(_, nanos)| nanos);
    let (Some(nanos), Ok(number)) = (nanos, number.parse::<f64>()) else {
        return Err(format!("`{text}` is not a duration; write a number and a unit, such as 20ms, 5s or 15m"));
    };
    Duration::try_from_secs_f64(number * nanos as f64 / 1e9).map_err(|_| format!("`{text}` is too long"))
}

/// Formats a duration exactly, in the largest unit that makes it a whole number.
#[must_use]
pub fn format(span: Duration) -> String {
    let nanos = span.as_nanos();
    match nanos {
        0 => "0s".into(),
        _ if nanos.is_multiple_of(1_000_000_000) => format!("{}s", nanos / 1_000_000_000),
        _ if nanos.is_multiple_of(1_000_000) => format!("{}ms", nanos / 1_000_000),
        _ if nanos.is_multiple_of(1_000) => format!("{}us", nanos / 1_000),
        _ => format!("{nanos}ns"),
    }
}

/// Serialises as text.
///
/// # Errors
/// If the serialiser does.
pub fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*span))
}

/// Deserialises from text.
///
/// # Errors
/// If the text is no duration.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// The same for lists.
pub mod list {
    use super::{Deserialize, Deserializer, Duration, Serializer, format, parse};
    use serde::de::Error as _;

    /// Serialises as a list of texts.
    ///
    /// # Errors
    /// If the serialiser does.
    pub fn serialize<S: Serializer>(spans: &[Duration], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(spans.iter().map(|span| format(*span)))
    }

    /// Deserialises from a list of texts.
    ///
    /// # Errors
    /// If one of them is no duration.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Duration>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| parse(text).map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
        for (text, nanos, written) in [
            ("20ms", 20_000_000, "20ms"),
            ("1.5m", 90_000_000_000, "90s"),
            ("2 h", 7_200_000_000_000, "7200s"),
            ("0", 0, "0s"),
            ("7us", 7_000, "7us"),
            ("3min", 180_000_000_000, "180s"),
            ("1ns", 1, "1ns"),
        ] {
            let span = parse(text).expect(text);
            assert_eq!((span.as_nanos(), format(span).as_str()), (nanos, written));
        }
    }

    #[test]
    fn what_is_none_is_said_so() {
        for text in ["", "5", "s", "-5s", "1e9s", "5 parsecs", "1.2.3s", "99999999999999999999h"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
