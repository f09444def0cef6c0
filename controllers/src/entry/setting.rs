//! Settings as a person wrote them, and what a person is told about a wrong one.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// Settings before they are checked: the shape of a YAML or JSON mapping.
pub type Settings = BTreeMap<String, Setting>;

/// One value as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// `true`, `false`.
    Flag(bool),
    /// `12`, `0.7`.
    Number(f64),
    /// `20ms`, `per-stage`.
    Text(String),
    /// `{list messages: 5s}`.
    Map(Settings),
}

impl Setting {
    /// The number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Flag(_) | Self::Text(_) | Self::Map(_) => None,
        }
    }
}

/// The setting as messages quote it.
impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Map(_) => f.write_str("a table"),
        }
    }
}

impl From<bool> for Setting {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<f64> for Setting {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Setting {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for Setting {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// What is wrong with a setting, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct Problem {
    /// The setting, dotted: `targets.search`.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

/// The known word that differs from `word` in the fewest letters, if in few enough to be a typing error.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known.iter().map(|k| (edits(word, k), *k)).filter(|(d, k)| *d <= 1 + k.len() / 4).min().map(|(_, k)| k)
}

/// The Levenshtein distance, in bytes.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let best = (corner + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = row[j + 1];
            row[j + 1] = best;
        }
    }
    row[b.len()]
}
