//! The kinds of values: times, counts, numbers, words, tables.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the bare method takes fields of one lifetime, a key of any"
)]

use std::{borrow::Cow, fmt::Display, marker::PhantomData, ops::RangeInclusive, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use controllers::catalogue::shown_time;

use super::{KeyKind, Table};
use crate::fields::Fields;

/// A time with its unit.
pub fn time(range: RangeInclusive<Duration>) -> KeyKind<Option<Duration>, DurationText> {
    let values = format!("{} to {}", shown(*range.start()), shown(*range.end()));
    KeyKind::new(values, move |fields, key| fields.time(key, range.clone())).kind("duration")
}

/// A time as written in a file.
fn shown(time: Duration) -> String {
    if time.is_zero() { "0s".to_owned() } else { shown_time(time) }
}

/// The shape of a time in a file.
pub struct DurationText;

impl JsonSchema for DurationText {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": r"^\s*[0-9.]+\s*(us|µs|ms|s|m|min|h)\s*$"})
    }
}

/// A whole number.
pub fn count<N>(range: RangeInclusive<N>) -> KeyKind<Option<N>, N>
where
    N: Copy + Display + Into<u64> + TryFrom<u64> + JsonSchema + 'static,
{
    let (min, max) = (*range.start(), *range.end());
    let read = move |fields: &Fields<'_>, key: &str| fields.count(key, min.into()..=max.into())?.try_into().ok();
    let (least, most): (u64, u64) = (min.into(), max.into());
    KeyKind::new(format!("{min} to {max}"), read).kind("integer").keyword("minimum", least).keyword("maximum", most)
}

/// A number of bytes, which may be written `40k`.
pub fn size(range: RangeInclusive<u64>) -> KeyKind<Option<u64>, Value> {
    let values = format!("{} to {} bytes", range.start(), range.end());
    KeyKind::new(values, move |fields, key| fields.count(key, range.clone())).kind("size")
}

/// A number.
pub fn number(range: RangeInclusive<f64>) -> KeyKind<Option<f64>, f64> {
    let (min, max) = (*range.start(), *range.end());
    let bounded = KeyKind::new(format!("{min} to {max}"), move |fields, key| fields.number(key, range.clone()));
    bounded.kind("number").keyword("minimum", min).keyword("maximum", max)
}

/// Yes or no.
pub fn flag() -> KeyKind<Option<bool>, bool> {
    KeyKind::new(String::new(), |fields, key| fields.flag(key)).kind("boolean")
}

/// A word or line.
pub fn text() -> KeyKind<Option<String>> {
    KeyKind::new(String::new(), |fields, key| fields.text(key)).kind("string")
}

/// One of a few words.
pub fn choice<T: Copy + 'static, W: JsonSchema>(words: &'static [(&'static str, T)]) -> KeyKind<Option<T>, W> {
    let values: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
    let known: Vec<Value> = words.iter().map(|(word, _)| (*word).into()).chain([Value::Null]).collect();
    KeyKind::new(values.join(", "), move |fields, key| fields.choice(key, words)).kind("word").keyword("enum", known)
}

/// One of a few words; the first is the default.
pub fn first_of<T: Copy + 'static>(words: &'static [(&'static str, T)]) -> KeyKind<T> {
    choice(words)
        .reading(|read| move |fields: &Fields<'_>, key: &str| read(fields, key).unwrap_or(words[0].1))
        .otherwise(words[0].0)
}

/// A table of its own.
pub fn table_of<G: Table<Value: 'static> + JsonSchema>() -> KeyKind<Option<G::Value>, G> {
    KeyKind::new(String::new(), |fields, key| fields.table::<G>(key))
}

/// A table of its own; what is not written has its defaults.
pub fn table_or_default<G: Table<Value: 'static> + JsonSchema>() -> KeyKind<G::Value, G> {
    KeyKind::new(String::new(), |fields, key| fields.table::<G>(key).unwrap_or_else(|| G::read(&fields.emptied())))
}

/// A value with a reader of its own. `W`: its shape in the file.
pub fn by<W: JsonSchema, T: 'static>(read: fn(&Fields<'_>, &str) -> T) -> KeyKind<T, W> {
    KeyKind::new(String::new(), read)
}

/// A value that the table's reader reads. `W`: its shape in the file.
pub fn free<W: JsonSchema>() -> KeyKind<(), W> {
    KeyKind::new(String::new(), |_, _| ())
}

/// A value of one shape or another.
pub struct Either<A, B>(PhantomData<(A, B)>);

impl<A: JsonSchema, B: JsonSchema> JsonSchema for Either<A, B> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", A::schema_name(), B::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [generator.subschema_for::<A>(), generator.subschema_for::<B>()]})
    }
}
