//! A rate as people write it: `100/s`, or the number alone.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum PerSecond {
    Number(f64),
    Text(String),
}

/// The greatest rate.
const MOST: f64 = 1e6;

impl PerSecond {
    /// As it is written again.
    pub(super) fn of(rate: f64) -> Self {
        Self::Text(format!("{rate}/s"))
    }

    /// The rate in events a second.
    ///
    /// # Errors
    /// What it is, and what is one.
    pub(super) fn read(&self) -> Result<f64, String> {
        let rate = match self {
            Self::Number(rate) => Some(*rate),
            Self::Text(text) => text.trim().strip_suffix("/s").and_then(|rate| rate.trim().parse().ok()),
        };
        let written = match self {
            Self::Number(rate) => rate.to_string(),
            Self::Text(text) => format!("{text:?}"),
        };
        rate.filter(|rate| *rate > 0.0 && *rate <= MOST)
            .ok_or_else(|| format!("capacity: {written} is not a rate over 0 and up to 1000000/s; 100/s is one"))
    }
}
