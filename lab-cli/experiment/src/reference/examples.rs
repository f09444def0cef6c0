//! Examples of keys: values from the experiments of the library, found by walking each file along the JSON Schema.

use std::collections::BTreeMap;

use controllers::catalogue::parse_time;
use serde_json::{Map, Value};

use super::sections::Section;
use crate::{Library, keys::Row, schema};

/// The longest example.
const LONGEST: usize = 60;

/// Values by the table and key where they are written.
type Found = BTreeMap<(String, String), Vec<String>>;

/// An example for each row of each section; empty where the library has none, and the row declares none.
pub(super) fn of(sections: &[Section]) -> Vec<Vec<String>> {
    let schema = schema::experiment().to_value();
    let mut found = Found::new();
    for experiment in Library::all() {
        if let Ok(file) = serde_yaml::from_str::<Value>(experiment.text) {
            walk(&schema, &schema, "Experiment", &file, &mut found);
        }
    }
    let of_row = |section: &Section, row: &Row| {
        let written = |table: &str| found.get(&(table.to_owned(), row.key.to_owned()));
        // The same key may be in several tables.
        let elsewhere = || {
            let same = |other: &&Section| other.rows.iter().any(|of| of.key == row.key && of.about == row.about);
            sections.iter().filter(same).find_map(|other| written(&other.table))
        };
        if !row.example.is_empty() {
            return row.example.to_owned();
        }
        let of_library = written(&section.table).or_else(elsewhere).and_then(|values| best(values, &row.default));
        of_library.unwrap_or_else(|| of_kind(row))
    };
    sections.iter().map(|section| section.rows.iter().map(|row| of_row(section, row)).collect()).collect()
}

/// An example that follows from the type: the other one of two, the last of several words, the default of a number.
fn of_kind(row: &Row) -> String {
    match row.kind {
        "boolean" => (row.default != "true").to_string(),
        "word" => row.values.rsplit('`').nth(1).unwrap_or_default().to_owned(),
        "integer" | "number" if row.default.parse::<f64>().is_ok() => row.default.clone(),
        "duration" if parse_time(&row.default).is_some() => row.default.clone(),
        _ => String::new(),
    }
}

/// The shortest value that is not the default; of equals the first in the alphabet.
fn best(values: &[String], default: &str) -> Option<String> {
    let ranked = values.iter().map(|value| (value == default, value.chars().count(), value));
    ranked.filter(|(_, length, _)| *length <= LONGEST).min().map(|(_, _, value)| value.clone())
}

/// Notes what a value of this shape has under each key. `table`: the name of the table that the shape is.
fn walk(root: &Value, shape: &Value, table: &str, value: &Value, found: &mut Found) {
    if let Some(name) = shape["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return walk(root, &root["$defs"][name], name, value, found);
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        for one in shape[several].as_array().into_iter().flatten() {
            walk(root, one, table, value, found);
        }
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let Some(inner) = shape["properties"].get(key) {
                    found.entry((table.to_owned(), key.clone())).or_default().push(flow(value));
                    walk(root, inner, "", value, found);
                } else if shape["additionalProperties"].is_object() {
                    walk(root, &shape["additionalProperties"], "", value, found);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(root, &shape["items"], "", item, found);
            }
        }
        _ => {}
    }
}

/// A value as YAML in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => word(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => flow_table(fields),
        other => other.to_string(),
    }
}

fn flow_table(fields: &Map<String, Value>) -> String {
    let entry = |(key, value): (&String, &Value)| match value {
        Value::Null => format!("{}: ", word(key)),
        value => format!("{}: {}", word(key), flow(value)),
    };
    format!("{{{}}}", fields.iter().map(entry).collect::<Vec<_>>().join(", "))
}

/// A text, in quotes where YAML needs them.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./ %<=>$".contains(c);
    let plain = text.starts_with(|c: char| c.is_alphanumeric() || "/._".contains(c)) && text.chars().all(is_plain);
    if plain { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_back_as_they_were() {
        for text in ["{users: {from: 3, to: 1000}, name: 'a: b'}", "[none, {seda: {scope: per-stage}}]", "'it''s'"] {
            let value: Value = serde_yaml::from_str(text).expect("YAML");
            assert_eq!(serde_yaml::from_str::<Value>(&flow(&value)).expect("YAML"), value, "{text}");
        }
    }
}
