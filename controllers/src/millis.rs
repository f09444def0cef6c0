//! Serialises durations as milliseconds, the unit of the lab's files and of the specifications that its processes
//! exchange.
//!
//! Use with `#[serde(with = "controllers::millis")]`; [`option`] and [`list`] serve `Option` and `Vec`. Exact to the
//! nanosecond up to 104 days.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

/// The longest accepted duration, milliseconds: a year. No part of a run lasts longer.
const LONGEST_MS: f64 = 366.0 * 24.0 * 3600e3;

/// Serialises as a number.
///
/// # Errors
/// Errors of the serialiser.
pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(of(*time))
}

/// Deserialises from a number.
///
/// # Errors
/// A value that is not a number, is negative, or exceeds a year.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    time(f64::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn of(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

fn time(millis: f64) -> Result<Duration, String> {
    if (0.0..=LONGEST_MS).contains(&millis) {
        return Ok(Duration::from_nanos((millis * 1e6).round() as u64));
    }
    Err(format!("{millis} ms is not a time from 0 to a year"))
}

/// The same for `Option<Duration>`.
pub mod option {
    use super::{Deserialize as _, Deserializer, Duration, Serializer, of, time};
    use serde::de::Error as _;

    /// Serialises as a number or null.
    ///
    /// # Errors
    /// Errors of the serialiser.
    pub fn serialize<S: Serializer>(given: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match given {
            Some(time) => serializer.serialize_some(&of(*time)),
            None => serializer.serialize_none(),
        }
    }

    /// Deserialises from a number or null.
    ///
    /// # Errors
    /// A value that is neither a number nor null, is negative, or exceeds a year.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(deserializer)?.map(time).transpose().map_err(D::Error::custom)
    }
}

/// The same for `Vec<Duration>`.
pub mod list {
    use super::{Deserialize as _, Deserializer, Duration, Serializer, of, time};
    use serde::de::Error as _;

    /// Serialises as a list of numbers.
    ///
    /// # Errors
    /// Errors of the serialiser.
    pub fn serialize<S: Serializer>(times: &[Duration], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(times.iter().map(|time| of(*time)))
    }

    /// Deserialises from a list of numbers.
    ///
    /// # Errors
    /// An element that is not a number, is negative, or exceeds a year.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Duration>, D::Error> {
        let all = Vec::<f64>::deserialize(deserializer)?;
        all.into_iter().map(|millis| time(millis).map_err(D::Error::custom)).collect()
    }
}
