//! An experiment file as it was written: a tree of values, each with its place.
//!
//! The tree is read first and its meaning after, so that every problem is found in one go; a deserializer would stop at
//! the first.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_yaml::{DuplicateKeyPolicy, NonFiniteFloatPolicy, Spanned, budget};

use super::problem::{FileProblem, Place};

/// Longest file that is read, bytes. Experiments are a page long; this keeps a mistaken path from filling memory.
pub const MAX_BYTES: u64 = 1 << 20;
const MAX_DEPTH: usize = 32;

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Value with its kind.
    pub value: Value,
    /// Place of the value.
    pub place: Place,
}

/// A value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// Nothing (`key:` with nothing after it, `null`, `~`).
    Null,
    /// `true`, `false`.
    Flag(bool),
    /// `12`, `0.7`.
    Number(f64),
    /// Anything else that is one word or line.
    Text(String),
    /// `[a, b]` or dashes.
    List(Vec<Node>),
    /// `{key: value}` or lines of keys.
    Table(Vec<Entry>),
}

/// One line of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// Text of the key.
    pub key: String,
    /// Place of the key.
    pub place: Place,
    /// Node of the value.
    pub node: Node,
}

impl Node {
    /// The value of that key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The list of that key, if this is a table that has one.
    pub fn list_mut(&mut self, key: &str) -> Option<&mut Vec<Node>> {
        let Value::Table(entries) = &mut self.value else { return None };
        match &mut entries.iter_mut().find(|entry| entry.key == key)?.node.value {
            Value::List(nodes) => Some(nodes),
            _ => None,
        }
    }
}

impl Value {
    /// For messages: what stands there.
    pub fn unexpected(&self) -> String {
        format!("unexpected {}", self.shown())
    }

    /// The same without a word before it.
    pub fn shown(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Flag(flag) => flag.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => format!("{text:?}"),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

/// Reads YAML (of which JSON is a part): one document, no aliases, at most [`MAX_BYTES`] and 32 levels.
///
/// # Errors
/// The first place where it is not such a document.
pub(crate) fn parse(text: &str) -> Result<Node, FileProblem> {
    if text.len() as u64 > MAX_BYTES {
        return Err(whole_file(
            format!("the file is over {MAX_BYTES} bytes"),
            "an experiment is a page long; is the path right?",
        ));
    }
    let budget = budget! {
        max_depth: MAX_DEPTH,
        flow_nesting_limit: MAX_DEPTH,
        max_aliases: 0,
        max_anchors: 0,
        max_documents: 1,
        max_merge_keys: 0,
        max_nodes: 50_000,
        max_events: 200_000,
        max_inclusion_depth: 0,
    };
    let options = serde_yaml::options! {
        budget: budget,
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
    };
    match serde_yaml::from_str_with_options::<Spanned<Value>>(text, options) {
        Ok(spanned) => Ok(node(spanned)),
        Err(error) => {
            let place = error.location().map_or(Place::File { line: 1, column: 1 }, |at| place_of(&at));
            let (message, hint) = in_our_words(&error.without_snippet().to_string());
            Err(FileProblem { place, key: String::new(), message, hint })
        }
    }
}

/// The parser's messages name its own options; these name what a person can do.
fn in_our_words(message: &str) -> (String, Option<String>) {
    // The place is printed before the message already.
    let message = match message.strip_prefix("line ").and_then(|rest| rest.split_once(": ")) {
        Some((_, rest)) => rest,
        None => message,
    };
    let message = message.split(" at line ").next().unwrap_or(message);
    let rules: [(&str, &str, &str); 5] = [
        ("Documents", "there are several documents", "keep one: --- begins another"),
        ("Anchors", "anchors and aliases (& and *) are not read", "write the value out"),
        ("Aliases", "anchors and aliases (& and *) are not read", "write the value out"),
        ("Depth", "it is nested deeper than 32 levels", "an experiment needs fewer than 10"),
        ("budget breached", "it is larger than an experiment can be", "is the path right?"),
    ];
    if message.starts_with("tabs disallowed") || message.ends_with("found a tab") {
        return ("there is a tab, and YAML takes none".to_owned(), Some("indent with spaces".to_owned()));
    }
    if let Some(key) = message.strip_prefix("duplicate mapping key: ") {
        let key = key.split(',').next().unwrap_or(key);
        return (format!("the key {key} is there twice"), Some("keep one of them".to_owned()));
    }
    if message.starts_with("budget breached")
        && let Some((_, ours, hint)) = rules.iter().find(|(theirs, _, _)| message.contains(theirs))
    {
        return ((*ours).to_owned(), Some((*hint).to_owned()));
    }
    (message.to_owned(), None)
}

fn whole_file(message: String, hint: &str) -> FileProblem {
    FileProblem { place: Place::File { line: 1, column: 1 }, key: String::new(), message, hint: Some(hint.to_owned()) }
}

fn node(spanned: Spanned<Value>) -> Node {
    Node { place: place_of(&spanned.referenced), value: spanned.value }
}

fn place_of(location: &serde_yaml::Location) -> Place {
    Place::File { line: location.line(), column: location.column() }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(element) = list.next_element::<Spanned<Value>>()? {
            nodes.push(node(element));
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let value = map.next_value::<Spanned<Value>>()?;
            entries.push(Entry { key: key.value, place: place_of(&key.referenced), node: node(value) });
        }
        Ok(Value::Table(entries))
    }
}
