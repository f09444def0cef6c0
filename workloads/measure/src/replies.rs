//! Answers by status, and errors by text.

use std::{collections::BTreeMap, ops::AddAssign};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of answers by HTTP status, and of requests without an answer by error. They stand beside the ledger and are
/// no part of its sums: a redirect that was followed is an answer, too, and a time-out is in the ledger alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Replies {
    /// Answers by status.
    #[serde(with = "by_status", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without an answer by the text of the error, and answers that were not as expected by what they had not; at most 16 different texts, the rest are under `other errors`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Bytes of the bodies of answers.
    #[serde(skip_serializing_if = "super::health::is_zero")]
    pub body_bytes: u64,
}

/// The largest number of different texts: a service must not fill the generator's memory, or a reader's screen.
const MOST_TEXTS: usize = 16;
/// The text under which further errors are counted.
const OTHER: &str = "other errors";
/// The longest text, in characters.
const LONGEST: usize = 160;
/// A status has three digits.
const STATUSES: std::ops::Range<u16> = 0..1000;

impl Replies {
    /// True if there was no answer and no error.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.statuses.is_empty() && self.errors.is_empty()
    }

    pub(super) fn answered(&mut self, status: u16, bytes: u64) {
        *self.statuses.entry(status).or_default() += 1;
        self.body_bytes = self.body_bytes.saturating_add(bytes);
    }

    pub(super) fn went_wrong(&mut self, error: &str) {
        if let Some(count) = self.errors.get_mut(error) {
            *count += 1;
            return;
        }
        self.add_error(readable(error), 1);
    }

    fn add_error(&mut self, text: String, count: u64) {
        let known = self.errors.contains_key(&text) || self.errors.len() < MOST_TEXTS;
        *self.errors.entry(if known { text } else { OTHER.to_owned() }).or_default() += count;
    }

    /// True if the counts are possible, and can be added up: a file may have been changed.
    pub(super) fn is_believable(&self, most: u64) -> bool {
        let counts = self.statuses.values().chain(self.errors.values());
        self.errors.len() <= MOST_TEXTS + 1
            && self.statuses.keys().all(|status| STATUSES.contains(status))
            && self.errors.keys().all(|text| *text == readable(text))
            && counts.copied().all(|count| count <= most)
    }
}

impl AddAssign<&Self> for Replies {
    fn add_assign(&mut self, other: &Self) {
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for (text, count) in &other.errors {
            self.add_error(text.clone(), *count);
        }
        self.body_bytes = self.body_bytes.saturating_add(other.body_bytes);
    }
}

/// The text in one line of bounded length: it may have come from the service (a name in its certificate, say).
fn readable(error: &str) -> String {
    error.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Keys of JSON objects are texts, and serde does not turn them back into numbers within a flattened structure.
mod by_status {
    use std::collections::BTreeMap;

    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(statuses: &BTreeMap<u16, u64>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(statuses.iter().map(|(status, count)| (status.to_string(), count)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u16, u64>, D::Error> {
        let texts = BTreeMap::<String, u64>::deserialize(from)?;
        let read = |(text, count): (String, u64)| {
            let status = text.parse().map_err(|_| D::Error::custom(format!("`{text}` is no HTTP status")))?;
            Ok((status, count))
        };
        texts.into_iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_in_number_and_length_and_act_on_no_terminal() {
        let mut replies = Replies::default();
        for n in 0..100 {
            replies.went_wrong(&format!("error {n}"));
            replies.went_wrong("error 3");
        }
        assert_eq!(replies.errors.len(), MOST_TEXTS + 1);
        assert_eq!((replies.errors["error 3"], replies.errors[OTHER]), (101, 84));
        assert_eq!(replies.errors.values().sum::<u64>(), 200, "none is lost");
        let mut replies = Replies::default();
        replies.went_wrong(&format!("a\u{1b}[2J\r\n{}", "é".repeat(500)));
        let (text, _) = replies.errors.first_key_value().expect("one");
        assert_eq!(text.chars().count(), LONGEST);
        assert!(text.starts_with("a [2J  é"), "{text}");
    }

    #[test]
    fn counts_of_two_phases_are_added_up_and_stay_bounded() {
        let of = |from: u32| {
            let mut replies = Replies::default();
            replies.answered(200, 5);
            (from..from + 12).for_each(|n| replies.went_wrong(&format!("error {n}")));
            replies
        };
        let mut sum = of(0);
        sum += &of(10);
        assert_eq!((sum.statuses[&200], sum.body_bytes), (2, 10));
        assert_eq!((sum.errors.len(), sum.errors["error 11"], sum.errors[OTHER]), (MOST_TEXTS + 1, 2, 6));
        assert!(sum.is_believable(2 + 6) && !sum.is_believable(5));
    }
}
