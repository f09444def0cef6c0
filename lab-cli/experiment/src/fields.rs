//! Takes typed values out of a table, and notes what is wrong with them.

use std::{ops::RangeInclusive, path::PathBuf, time::Duration};

use analysis::text::suggestion;
use controllers::catalogue::parse_time;

use super::{
    problem::{Place, Problems},
    raw::{Entry, Node, Value},
};

/// A table that is being read.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    node: &'a Node,
    path: String,
    problems: &'a Problems,
}

/// The path of the file that a value names: in a file from its folder, in a flag from the working directory. `None`: it is no text.
pub(crate) fn file_named(node: &Node, problems: &Problems) -> Option<PathBuf> {
    let Value::Text(path) = &node.value else { return None };
    Some(problems.from(&node.place).join(path))
}

impl<'a> Fields<'a> {
    /// Reads `node` as a table with these keys; unknown ones are noted with a suggestion. `None` if it is no table.
    pub fn of(node: &'a Node, path: &str, known: &[&str], problems: &'a Problems) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            let example = known.first().copied().unwrap_or("key");
            return problems.wrong(
                &node.place,
                path,
                format!("expected a table, got {}", node.value.shown()),
                format!("write {{{example}: …}}; keys: {}", known.join(", ")),
            );
        };
        for entry in entries {
            if !known.contains(&entry.key.as_str()) {
                let key = join(path, &entry.key);
                problems.add(&entry.place, &key, "there is no such key", key_hint(&entry.key, known));
            }
        }
        Some(Self { node, path: path.to_owned(), problems })
    }

    /// Reads `node` as a table whose keys the caller knows.
    pub fn unchecked(node: &'a Node, path: &str, problems: &'a Problems) -> Self {
        Self { node, path: path.to_owned(), problems }
    }

    /// The value of a key.
    pub fn node(&self, key: &str) -> Option<&'a Node> {
        self.node.get(key).filter(|node| node.value != Value::Null)
    }

    /// The path of the file that a key names. `None`: it is no text.
    pub fn file(&self, key: &str) -> Option<PathBuf> {
        file_named(self.node(key)?, self.problems)
    }

    /// The dotted path of a key.
    pub fn path(&self, key: &str) -> String {
        join(&self.path, key)
    }

    /// Notes a problem with a key (or with its absence).
    pub fn problem(&self, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let place = self.node.get(key).map_or(&self.node.place, |node| &node.place);
        self.problems.add(place, &self.path(key), message, hint);
    }

    /// Notes a problem with a key, which has no value then.
    pub fn wrong<T>(&self, key: &str, message: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.problem(key, message, hint);
        None
    }

    /// The value of a key that cannot be left out.
    pub fn wanted(&self, key: &str, example: &str) -> Option<&'a Node> {
        let node = self.node(key);
        if node.is_none() {
            self.missing(key, example);
        }
        node
    }

    /// Notes that a key is missing.
    pub fn missing(&self, key: &str, example: &str) {
        self.problem(key, "is missing", format!("for example {key}: {example}"));
    }

    /// A time with its unit.
    pub fn time(&self, key: &str, range: RangeInclusive<Duration>) -> Option<Duration> {
        let node = self.node(key)?;
        let time = time(node)
            .unwrap_or_else(|hint| self.wrong(key, format!("expected a duration, got {}", node.value.shown()), hint))?;
        if !range.contains(&time) {
            let (min, max) = (range.start(), range.end());
            return self.wrong(key, format!("{time:?} is out of range"), format!("{min:?} to {max:?}"));
        }
        Some(time)
    }

    /// A whole number; sizes may be written `10k`.
    pub fn count(&self, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let node = self.node(key)?;
        count_in(node, range).map_err(|(message, hint)| self.problem(key, message, hint)).ok()
    }

    /// A number.
    pub fn number(&self, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let node = self.node(key)?;
        let message = match node.value {
            Value::Number(number) if range.contains(&number) => return Some(number),
            Value::Number(number) => format!("{number} is out of range"),
            _ => format!("expected a number, got {}", node.value.shown()),
        };
        self.wrong(key, message, format!("{} to {}", range.start(), range.end()))
    }

    /// Yes or no.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let node = self.node(key)?;
        match node.value {
            Value::Flag(flag) => Some(flag),
            _ => self.wrong(key, format!("expected true or false, got {}", node.value.shown()), "without quotes"),
        }
    }

    /// A word or line. Numbers are taken as written by people who left out the quotes.
    pub fn text(&self, key: &str) -> Option<String> {
        let node = self.node(key)?;
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => self.wrong(key, format!("expected a word, got {}", node.value.shown()), ""),
        }
    }

    /// One of a few words.
    pub fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Option<T> {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.which(key, &known).map(|index| words[index].1)
    }

    /// Index of the written word among those known.
    fn which(&self, key: &str, known: &[&str]) -> Option<usize> {
        let node = self.node(key)?;
        let Value::Text(text) = &node.value else {
            let message = format!("expected a word, got {}", node.value.shown());
            return self.wrong(key, message, format!("one of: {}", known.join(", ")));
        };
        let found = known.iter().position(|word| word == text);
        if found.is_none() {
            self.problem(key, format!("{text:?} is not known here"), suggestion(text, known));
        }
        found
    }

    /// A list; one value counts as a list of one.
    pub fn list(&self, key: &str) -> &'a [Node] {
        match self.node(key) {
            None => &[],
            Some(Node { value: Value::List(nodes), .. }) => nodes,
            Some(node) => std::slice::from_ref(node),
        }
    }

    /// A table of its own.
    pub fn fields(&self, key: &str, known: &[&str]) -> Option<Self> {
        Self::of(self.node(key)?, &self.path(key), known, self.problems)
    }

    /// The table under a key, whose own keys are free.
    pub fn inside(&self, key: &str) -> Option<Self> {
        Some(Self::unchecked(self.node(key)?, &self.path(key), self.problems))
    }

    /// Entries of the table under a key; anything else there is a problem.
    pub fn entries(&self, key: &str, hint: &str) -> &'a [Entry] {
        match self.node(key).map(|node| &node.value) {
            None => &[],
            Some(Value::Table(entries)) => entries,
            Some(other) => {
                self.problem(key, format!("expected a table, got {}", other.shown()), hint);
                &[]
            }
        }
    }

    /// The same table with nothing written in it.
    pub fn emptied(&self) -> Self {
        static EMPTY: Node = Node { value: Value::Table(Vec::new()), place: Place::Flag(String::new()) };
        Self { node: &EMPTY, ..self.clone() }
    }

    /// The table itself.
    pub fn whole(&self) -> &'a Node {
        self.node
    }

    /// For readers of parts.
    pub fn problems(&self) -> &'a Problems {
        self.problems
    }
}

/// Words that other tools have for keys of a phase, and how they are written here.
const OTHER_WORDS: [(&[&str], &str); 2] = [
    (
        &["rate", "rps", "qps", "arrival_rate"],
        "a phase says its load as requests: 100/s (open), 0.5x (times the capacity) or {from: 10/s, to: 100/s}; or as users: 100 (closed)",
    ),
    (&["duration", "lasts", "length"], "a phase says how long it is as for: 30s"),
];

/// The hint for an unknown key.
fn key_hint(key: &str, known: &[&str]) -> String {
    let other = OTHER_WORDS.iter().find(|(words, _)| words.contains(&key));
    other.map_or_else(|| suggestion(key, known), |(_, hint)| (*hint).to_owned())
}

/// `users` + `think` = `users.think`.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Hint of every problem with a time.
const TIME_HINT: &str = "write a number and its unit (us, ms, s, m, h): 20ms, 5s, 15m";

/// Reads a time; the error is the hint.
fn time(node: &Node) -> Result<Option<Duration>, &'static str> {
    match &node.value {
        Value::Text(text) => parse_time(text).map(Some).ok_or(TIME_HINT),
        Value::Number(number) if *number == 0.0 => Ok(Some(Duration::ZERO)),
        _ => Err(TIME_HINT),
    }
}

/// A whole number within a range, or what is wrong and what would be right.
pub(crate) fn count_in(node: &Node, range: RangeInclusive<u64>) -> Result<u64, (String, String)> {
    let hint = format!("{} to {}", range.start(), range.end());
    let count = match &node.value {
        Value::Number(number) if number.fract() == 0.0 && *number >= 0.0 => Some(*number as u64),
        Value::Text(text) => parse_size(text),
        _ => None,
    };
    match count {
        Some(count) if range.contains(&count) => Ok(count),
        Some(count) => Err((format!("{count} is out of range"), hint)),
        None => Err((format!("expected a whole number, got {}", node.value.shown()), hint)),
    }
}

/// Reads a size: digits, with `k`, `m` or `g` for thousands, millions, milliards.
pub fn parse_size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.trim().to_ascii_lowercase() {
        t if t.ends_with('k') => (t[..t.len() - 1].to_owned(), 1e3),
        t if t.ends_with('m') => (t[..t.len() - 1].to_owned(), 1e6),
        t if t.ends_with('g') => (t[..t.len() - 1].to_owned(), 1e9),
        t => (t, 1.0),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let size: f64 = digits.parse::<f64>().ok()? * factor;
    (size.fract() == 0.0 && size < 9e15).then_some(size as u64)
}
