//! Settings as written in files, and problems with them.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize};
use strsim::damerau_levenshtein;

/// Unchecked settings: a YAML or JSON mapping.
pub type Settings = BTreeMap<String, Setting>;

/// One unchecked value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// `true`, `false`.
    Flag(bool),
    /// `12`, `0.7`.
    Number(f64),
    /// `20ms`, `per-stage`.
    Text(String),
    /// `{list messages: 5s}`, `{0: 50ms}`.
    Map(#[serde(deserialize_with = "with_numbers_as_keys")] Settings),
}

/// YAML reads the key of `{0: 50ms}` as a number: it is the name of a class or a customer.
fn with_numbers_as_keys<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Settings, D::Error> {
    #[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    #[serde(untagged)]
    enum Key {
        Number(u64),
        Name(String),
    }
    let map = BTreeMap::<Key, Setting>::deserialize(deserializer)?;
    let name = |key| match key {
        Key::Number(number) => number.to_string(),
        Key::Name(name) => name,
    };
    Ok(map.into_iter().map(|(key, value)| (name(key), value)).collect())
}

impl Setting {
    /// The number, if the setting is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Flag(_) | Self::Text(_) | Self::Map(_) => None,
        }
    }
}

/// Formats the setting as messages quote it.
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

/// An error in a setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct Problem {
    /// The key, dotted: `targets.search`.
    pub key: String,
    /// The error and its correction.
    pub message: String,
}

impl Problem {
    /// A problem with the setting of this key.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

/// As few letters are no beginning of a name: everything begins with them.
const BEGINNING: usize = 3;

/// The shortest known word that begins with `word`, or else that with the smallest edit distance, if it is small enough for a typing
/// error: most letters are right.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let begins = |known: &&&str| word.len() >= BEGINNING && known.starts_with(word);
    let begun = known.iter().filter(begins).min_by_key(|known| known.len()).copied();
    let near = known.iter().map(|known| (damerau_levenshtein(word, known), *known));
    let slip = |(edits, known): &(usize, &str)| {
        let longest = known.len().max(word.len());
        let most_are_right = *edits * 2 < longest || (*edits == 1 && longest > 1);
        *edits <= 1 + known.len() / 4 && most_are_right
    };
    begun.or_else(|| near.filter(slip).min().map(|(_, known)| known))
}

/// Names that are shown where none is near enough for a slip.
const NEAREST: usize = 3;
/// A name that differs in this or more is not near: thousandths.
const HALF: usize = 500;

/// The way out where no policy or machine has the name `word`: the known name that was meant, or else the nearest ones, and where all
/// of them are listed.
#[must_use]
pub fn name_hint(word: &str, known: &[&str]) -> String {
    if let Some(near) = nearest(word, known.iter().copied()) {
        return format!("did you mean {near}?");
    }
    // The share of a name that differs, in thousandths; nothing differs of a name that is a part of the other.
    let differs = |name: &str| {
        let part = !word.is_empty() && (name.contains(word) || word.contains(name));
        if part { 0 } else { damerau_levenshtein(word, name) * 1000 / word.len().max(name.len()).max(1) }
    };
    let mut near: Vec<(usize, &str)> = known.iter().map(|name| (differs(name), *name)).collect();
    near.retain(|(differs, _)| *differs < HALF);
    near.sort_unstable();
    let near: Vec<&str> = near.into_iter().take(NEAREST).map(|(_, name)| name).collect();
    let all = format!("lab policies lists all {}", known.len());
    if near.is_empty() { all } else { format!("near it are {}; {all}", near.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::{name_hint, nearest};

    #[test]
    fn the_beginning_of_a_name_means_it_and_half_of_another_does_not() {
        let known = ["none", "concurrency", "codel", "gradient2"];
        for (word, wanted) in [
            ("conc", "did you mean concurrency?"),
            ("gradeint2", "did you mean gradient2?"),
            ("cone", "did you mean none?"),
            ("noen", "did you mean none?"),
            ("co", "near it are codel, concurrency; lab policies lists all 4"),
            ("zzzz", "lab policies lists all 4"),
        ] {
            assert_eq!(name_hint(word, &known), wanted, "{word}");
        }
        assert_eq!(name_hint("conc", &["none", "codel"]), "lab policies lists all 2");
    }

    #[test]
    fn the_shortest_name_that_begins_so_is_meant_and_short_words_have_their_slips() {
        let known = ["none", "concurrency", "concurrency-by-class", "codel"];
        assert_eq!(nearest("conc", known), Some("concurrency"));
        assert_eq!((nearest("co", known), nearest("cone", known)), (None, Some("none")));
        assert_eq!((nearest("fro", ["for"]), nearest("p89", ["p99"])), (Some("for"), Some("p99")));
        assert_eq!((nearest("kk", ["k"]), nearest("x", ["k"]), nearest("ta", ["at"])), (Some("k"), None, Some("at")));
    }
}
