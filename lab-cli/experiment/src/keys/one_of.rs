//! Tables that have exactly one of several keys, `{uniform: …}`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Map;

use super::row::MakeSchema;
use crate::fields::Fields;

/// One of the keys of which a table has exactly one, `{uniform: …}`: its name, the reader of its value, the value's shape.
pub struct Case<T> {
    name: &'static str,
    about: &'static str,
    read: fn(&Fields<'_>, &str) -> Option<T>,
    schema: MakeSchema,
}

impl<T> Case<T> {
    pub const fn new<W: JsonSchema>(
        name: &'static str,
        about: &'static str,
        read: fn(&Fields<'_>, &str) -> Option<T>,
    ) -> Self {
        Self { name, about, read, schema: SchemaGenerator::subschema_for::<W> }
    }
}

/// The JSON Schema of a table with exactly one of these keys.
pub fn one_of<T>(cases: &[Case<T>], generator: &mut SchemaGenerator) -> Schema {
    let mut properties = Map::new();
    for case in cases {
        let mut schema = (case.schema)(generator);
        schema.insert("description".to_owned(), case.about.into());
        properties.insert(case.name.to_owned(), schema.to_value());
    }
    json_schema!({
        "type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
    })
}

/// Reads a table with exactly one of these keys. `Err`: it is no such table, or has another key.
pub fn read_one_of<T>(cases: &[Case<T>], fields: &Fields<'_>, key: &str) -> Result<Option<T>, ()> {
    let node = fields.node(key).ok_or(())?;
    let crate::raw::Value::Table(entries) = &node.value else { return Err(()) };
    let [entry] = entries.as_slice() else { return Err(()) };
    let case = cases.iter().find(|case| case.name == entry.key).ok_or(())?;
    let inside = Fields::unchecked(node, &fields.path(key), fields.problems());
    Ok((case.read)(&inside, case.name))
}
