//! A key of a table, described: for editors, and for the reference.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use controllers::catalogue::parse_time;

/// A key, described.
#[derive(Debug)]
pub struct Row {
    pub key: &'static str,
    /// The variants of the table that have it, `""` for all: `checksum, emulated`.
    pub of: &'static str,
    /// The type in words; empty: as the schema says.
    pub kind: &'static str,
    /// The allowed values, with their unit.
    pub values: String,
    /// The default, as written in a file or in words.
    pub default: String,
    /// A value as written in a file; empty: none is declared.
    pub example: &'static str,
    pub about: &'static str,
    pub required: bool,
    /// Keywords of the schema beside the type.
    pub(super) keywords: Map<String, Value>,
    /// No arm changes it: with another value it is another service, or it is done once for all arms.
    pub shared: bool,
    pub(super) schema: MakeSchema,
}

/// Makes the schema of a value, with its definitions in the generator.
pub(super) type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

impl Row {
    /// Drafts the row of a value before its key is known. `optional`: its shape, or nothing.
    pub(super) fn draft(values: String, optional: MakeSchema) -> Self {
        Self {
            key: "",
            of: "",
            kind: "",
            values,
            default: String::new(),
            example: "",
            about: "",
            required: false,
            keywords: Map::new(),
            shared: false,
            schema: optional,
        }
    }

    /// The row of `key`. `required`: the shape of a value that cannot be left out.
    pub(super) fn of_key(self, key: &'static str, about: &'static str, required: MakeSchema) -> Self {
        let schema = if self.required { required } else { self.schema };
        let key = if self.key.is_empty() { key } else { self.key };
        Self { key, about, schema, ..self }
    }

    /// `0 to 1; default 0`
    fn limits(&self) -> String {
        let default = if self.default.is_empty() { String::new() } else { format!("default {}", self.default) };
        [self.values.clone(), default].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// Type, allowed values, default and meaning, for editors.
    pub fn described_schema(&self, generator: &mut SchemaGenerator) -> Value {
        let of = if self.of.is_empty() { String::new() } else { format!("{}: ", self.of) };
        let limits = Some(self.limits())
            .filter(|limits| !limits.is_empty())
            .map(|limits| format!(" [{}]", without_links(&limits)));
        let mut schema = (self.schema)(generator);
        for (keyword, value) in &self.keywords {
            schema.insert(keyword.clone(), value.clone());
        }
        if let Some(default) = self.written_default() {
            schema.insert("default".to_owned(), default);
        }
        let about = without_links(self.about);
        schema.insert("description".to_owned(), format!("{of}{about}{}", limits.unwrap_or_default()).into());
        schema.to_value()
    }

    /// The default as a value of a file; `None` where there is none, or where only words describe it.
    fn written_default(&self) -> Option<Value> {
        let is_word =
            self.keywords.get("enum").is_some_and(|words| words.to_string().contains(&format!("{:?}", self.default)));
        match serde_json::from_str(&self.default) {
            Ok(value @ (Value::Bool(_) | Value::Number(_))) => Some(value),
            _ if is_word || self.kind == "duration" && parse_time(&self.default).is_some() => {
                Some(self.default.clone().into())
            }
            _ => None,
        }
    }
}

/// A text without the addresses of its links: `[WebQ](front-doors.md)` is `WebQ`.
pub(super) fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, from_words)) = rest.split_once('[') {
        let link = from_words.split_once("](").and_then(|(words, after)| Some((words, after.split_once(')')?.1)));
        match link.filter(|(words, _)| !words.contains(['[', '`', '{'])) {
            Some((words, after)) => {
                plain.extend([before, words]);
                rest = after;
            }
            None => {
                plain.extend([before, "["]);
                rest = from_words;
            }
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::without_links;

    #[test]
    fn a_link_is_its_words() {
        let text = "a list `[thread-pool]` ([WebQ](front-doors.md)), `[{a: 1}]`; see [Test plans](#test-plans)";
        assert_eq!(without_links(text), "a list `[thread-pool]` (WebQ), `[{a: 1}]`; see Test plans");
        assert_eq!(without_links("[1]"), "[1]");
    }
}
