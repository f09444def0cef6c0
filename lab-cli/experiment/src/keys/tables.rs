//! Tables of an experiment file: the names of their keys, their readers and their JSON Schema.
//!
//! Generic functions are thin shells round ones that take rows: what is generic is compiled once for each table.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Map;

use super::row::{Row, without_links};
use crate::{fields::Fields, problem::Problems, raw::Node};

/// A table of an experiment file. [`table!`](super::table) implements this trait.
pub(crate) trait Table: Sized {
    /// What is read.
    type Value;
    /// What it is for; links as in [`Row`].
    const ABOUT: &'static str;
    /// Rows of its keys, in the order in which hints name them.
    fn rows() -> Vec<Row>;
    /// Reads each key that is kept.
    fn read(fields: &Fields<'_>) -> Self::Value;
}

/// The names of a table's keys.
pub fn names<T: Table>() -> Vec<&'static str> {
    names_of(&T::rows())
}

fn names_of(rows: &[Row]) -> Vec<&'static str> {
    rows.iter().map(|row| row.key).collect()
}

/// The JSON Schema of a table with these rows.
pub fn schema(rows: &[Row], about: &str, generator: &mut SchemaGenerator) -> Schema {
    let properties: Map<_, _> = rows.iter().map(|row| (row.key.to_owned(), row.described_schema(generator))).collect();
    let mut schema = json_schema!({
        "description": without_links(about.trim()), "type": "object", "properties": properties, "additionalProperties": false,
    });
    let required: Vec<_> = rows.iter().filter(|row| row.required).map(|row| row.key).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

impl<'a> Fields<'a> {
    /// A table of its own, with declared keys.
    pub fn table<T: Table>(&self, key: &str) -> Option<T::Value> {
        Some(T::read(&Fields::of_table::<T>(self.node(key)?, &self.path(key), self.problems())?))
    }

    /// Reads `node` as a table with declared keys.
    pub fn of_table<T: Table>(node: &'a Node, path: &str, problems: &'a Problems) -> Option<Self> {
        Self::of(node, path, &names::<T>(), problems)
    }
}
