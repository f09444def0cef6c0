//! Keys of the tables of an experiment file: a row of [`table!`] declares a key with its kind, default and description. The
//! row yields the reader with its problems, the hints for unknown keys, the JSON Schema and a line of `docs/experiments.md`.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the bare method takes fields of one lifetime, a key of any"
)]

use std::{
    borrow::Cow,
    fmt::{Debug, Display},
    marker::PhantomData,
    ops::RangeInclusive,
    time::Duration,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::{fields::Fields, problem::Problems, raw::Node};

/// A key, described.
#[derive(Debug)]
pub struct Row {
    pub key: &'static str,
    /// The variants of the table that have it, `""` for all: `checksum, emulated`.
    pub of: &'static str,
    /// The allowed values, with their unit.
    pub values: String,
    pub default: String,
    pub about: &'static str,
    required: bool,
    /// No arm changes it: with another value it is another service, or it is done once for all arms.
    pub shared: bool,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Row {
    /// `0 to 1; default 0`
    fn limits(&self) -> String {
        let default = if self.default.is_empty() { String::new() } else { format!("default {}", self.default) };
        [self.values.clone(), default].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    fn described_schema(&self, generator: &mut SchemaGenerator) -> Value {
        let of = if self.of.is_empty() { String::new() } else { format!("{}: ", self.of) };
        let limits = Some(self.limits()).filter(|limits| !limits.is_empty()).map(|limits| format!(" [{limits}]"));
        let mut schema = (self.schema)(generator);
        schema.insert("description".to_owned(), format!("{of}{}{}", self.about, limits.unwrap_or_default()).into());
        schema.to_value()
    }
}

/// A table of an experiment file. [`table!`] implements this trait.
pub(crate) trait Table: Sized {
    /// Its keys, in the order in which hints name them.
    fn rows() -> Vec<Row>;
    /// Reads each key that is kept.
    fn read(fields: &Fields<'_>) -> Self;
}

/// The names of a table's keys.
pub fn names<T: Table>() -> Vec<&'static str> {
    T::rows().iter().map(|row| row.key).collect()
}

/// The JSON Schema of a table.
pub fn schema<T: Table>(about: &str, generator: &mut SchemaGenerator) -> Schema {
    let rows = T::rows();
    let properties: Map<_, _> = rows.iter().map(|row| (row.key.to_owned(), row.described_schema(generator))).collect();
    let mut schema = json_schema!({
        "description": about.trim(), "type": "object", "properties": properties, "additionalProperties": false,
    });
    let required: Vec<_> = rows.iter().filter(|row| row.required).map(|row| row.key).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
}

/// What stands to the right of a key in [`table!`].
pub trait Declaration {
    /// What is read.
    type Value;
    fn rows(self, key: &'static str, about: &'static str) -> Vec<Row>;
    fn read(&self, fields: &Fields<'_>, key: &str) -> Self::Value;
}

type Read<T> = Box<dyn Fn(&Fields<'_>, &str) -> T>;

/// A key whose value is read as `T`. `W`: its shape in the file.
pub struct KeyKind<T, W = String> {
    read: Read<T>,
    values: String,
    default: String,
    required: bool,
    shared: bool,
    written: PhantomData<W>,
}

impl<T: 'static, W: JsonSchema> KeyKind<T, W> {
    fn new(values: String, read: impl Fn(&Fields<'_>, &str) -> T + 'static) -> Self {
        let (default, required, shared) = (String::new(), false, false);
        Self { read: Box::new(read), values, default, required, shared, written: PhantomData }
    }

    /// A default that the table's reader applies: it is shown in hints, schema and docs.
    pub fn otherwise(self, default: impl Display) -> Self {
        Self { default: default.to_string(), ..self }
    }

    /// The unit of the values.
    pub fn in_unit(self, unit: &str) -> Self {
        Self { values: format!("{} {unit}", self.values), ..self }
    }

    /// A key of `target` that is the same in all arms.
    pub fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// A key that cannot be left out. The problem is the reader's.
    pub fn required(self) -> Self {
        Self { required: true, ..self }
    }
}

impl<T: 'static, W: JsonSchema> KeyKind<Option<T>, W> {
    /// The value of a key that is not written.
    pub fn or(self, default: T) -> KeyKind<T, W>
    where
        T: Copy + Debug,
    {
        let (read, shown) = (self.read, format!("{default:?}"));
        let read = move |fields: &Fields<'_>, key: &str| read(fields, key).unwrap_or(default);
        KeyKind::new(self.values, read).otherwise(shown.trim_end_matches(".0"))
    }

    /// A key that cannot be left out: a problem names the example.
    pub fn wanted(self, example: &'static str) -> Self {
        let read = self.read;
        let read = move |fields: &Fields<'_>, key: &str| {
            if fields.node(key).is_none() {
                fields.missing(key, example);
            }
            read(fields, key)
        };
        Self::new(self.values, read).required()
    }
}

impl<T, W: JsonSchema> Declaration for KeyKind<T, W> {
    type Value = T;

    fn rows(self, key: &'static str, about: &'static str) -> Vec<Row> {
        let schema: fn(&mut SchemaGenerator) -> Schema = if self.required {
            SchemaGenerator::subschema_for::<W>
        } else {
            SchemaGenerator::subschema_for::<Option<W>>
        };
        let Self { values, default, required, shared, .. } = self;
        // `for` is a word of Rust: its row is written `r#for`.
        vec![Row { key: key.trim_start_matches("r#"), of: "", values, default, about, required, shared, schema }]
    }

    fn read(&self, fields: &Fields<'_>, key: &str) -> T {
        (self.read)(fields, key.trim_start_matches("r#"))
    }
}

/// Type hint for the macro: the type of a row's values.
pub fn of_type<T, D: Declaration<Value = T>>(declaration: D) -> D {
    declaration
}

/// The keys of another table.
pub struct KeysOf<G> {
    of: &'static str,
    default: Option<&'static str>,
    included: PhantomData<G>,
}

/// The keys of another table stand in this one; its reader reads them from the same fields. `of`: as in [`Row`].
pub fn keys_of<G: Table>(of: &'static str) -> KeysOf<G> {
    KeysOf { of, default: None, included: PhantomData }
}

impl<G> KeysOf<G> {
    /// Another default of all these keys.
    pub fn otherwise(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }
}

impl<G: Table> Declaration for KeysOf<G> {
    type Value = ();

    fn rows(self, _: &'static str, _: &'static str) -> Vec<Row> {
        let included = |row: Row| Row {
            of: self.of,
            default: self.default.map_or(row.default, str::to_owned),
            // What a variant cannot do without is not wanted in the others.
            required: row.required && self.of.is_empty(),
            ..row
        };
        G::rows().into_iter().map(included).collect()
    }

    fn read(&self, _: &Fields<'_>, _: &str) {}
}

/// A time with its unit.
pub fn time(range: RangeInclusive<Duration>) -> KeyKind<Option<Duration>> {
    let values = format!("{:?} to {:?}", range.start(), range.end());
    KeyKind::new(values, move |fields, key| fields.time(key, range.clone()))
}

/// A whole number.
pub fn count<N>(range: RangeInclusive<N>) -> KeyKind<Option<N>, N>
where
    N: Copy + Display + Into<u64> + TryFrom<u64> + JsonSchema + 'static,
{
    let (min, max) = (*range.start(), *range.end());
    let read = move |fields: &Fields<'_>, key: &str| fields.count(key, min.into()..=max.into())?.try_into().ok();
    KeyKind::new(format!("{min} to {max}"), read)
}

/// A number of bytes, which may be written `40k`.
pub fn size(range: RangeInclusive<u64>) -> KeyKind<Option<u64>, Value> {
    let values = format!("{} to {} bytes", range.start(), range.end());
    KeyKind::new(values, move |fields, key| fields.count(key, range.clone()))
}

/// A number.
pub fn number(range: RangeInclusive<f64>) -> KeyKind<Option<f64>, f64> {
    KeyKind::new(format!("{} to {}", range.start(), range.end()), move |fields, key| fields.number(key, range.clone()))
}

/// Yes or no.
pub fn flag() -> KeyKind<Option<bool>, bool> {
    KeyKind::new(String::new(), |fields, key| fields.flag(key))
}

/// A word or line.
pub fn text() -> KeyKind<Option<String>> {
    KeyKind::new(String::new(), |fields, key| fields.text(key))
}

/// One of a few words.
pub fn choice<T: Copy + 'static, W: JsonSchema>(words: &'static [(&'static str, T)]) -> KeyKind<Option<T>, W> {
    let values: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
    KeyKind::new(values.join(", "), move |fields, key| fields.choice(key, words))
}

/// One of a few words; the first is the default.
pub fn first_of<T: Copy + 'static>(words: &'static [(&'static str, T)]) -> KeyKind<T> {
    let read = move |fields: &Fields<'_>, key: &str| fields.choice(key, words).unwrap_or(words[0].1);
    KeyKind { values: choice::<T, String>(words).values, ..KeyKind::new(String::new(), read) }.otherwise(words[0].0)
}

/// A table of its own.
pub fn table_of<G: Table + JsonSchema + 'static>() -> KeyKind<Option<G>, G> {
    KeyKind::new(String::new(), |fields, key| fields.table(key))
}

/// A table of its own; what is not written has its defaults.
pub fn table_or_default<G: Table + JsonSchema + 'static>() -> KeyKind<G, G> {
    KeyKind::new(String::new(), |fields, key| fields.table(key).unwrap_or_else(|| G::read(&fields.emptied())))
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

/// One of the keys of which a table has exactly one, `{uniform: …}`: its name, the reader of its value, the value's shape.
pub struct Case<T> {
    name: &'static str,
    read: fn(&Fields<'_>, &str) -> Option<T>,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl<T> Case<T> {
    pub const fn new<W: JsonSchema>(name: &'static str, read: fn(&Fields<'_>, &str) -> Option<T>) -> Self {
        Self { name, read, schema: SchemaGenerator::subschema_for::<W> }
    }
}

/// The JSON Schema of a table with exactly one of these keys.
pub fn one_of<T>(cases: &[Case<T>], generator: &mut SchemaGenerator) -> Schema {
    let properties: Map<_, _> =
        cases.iter().map(|case| (case.name.to_owned(), (case.schema)(generator).to_value())).collect();
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

/// Declares tables with their names in the JSON Schema, one row for each key:
///
/// - `queue: u32 = count(1..=1024).or(1), "description";` is read and kept;
/// - `stages = free::<Stages>(), "description";` is not kept: the table's reader does what is to be done;
/// - `pool = keys_of::<PoolKeys>("");` includes the keys of another table.
macro_rules! table {
    ($($(#[doc = $about:literal])+ $vis:vis struct $name:ident as $title:literal {
        $($key:ident $(: $type:ty)? = $kind:expr $(, $text:literal)?;)*
    })+) => { $(
        $(#[doc = $about])+
        #[derive(Debug)]
        $vis struct $name { $($($key: $type,)?)* }

        impl $crate::keys::Table for $name {
            fn rows() -> Vec<$crate::keys::Row> {
                use $crate::keys::{Declaration, of_type};
                let rows = [$(of_type$(::<$type, _>)?($kind).rows(stringify!($key), concat!($($text)?))),*];
                rows.into_iter().flatten().collect()
            }

            fn read(fields: &$crate::fields::Fields<'_>) -> Self {
                use $crate::keys::{Declaration, of_type};
                $(let $key = of_type$(::<$type, _>)?($kind).read(fields, stringify!($key)); let _ = &$key;)*
                Self { $($($key: std::convert::identity::<$type>($key),)?)* }
            }
        }

        $crate::keys::shapes!(@of $name as $title = |generator| $crate::keys::schema::<Self>(concat!($($about),+), generator));
    )+ };
}
pub(crate) use table;

/// Declares a value that is written in more than one shape, with its name in the JSON Schema.
macro_rules! shapes {
    ($($name:ident as $title:literal = |$generator:ident| $schema:expr;)+) => { $(
        pub(super) enum $name {}
        $crate::keys::shapes!(@of $name as $title = |$generator| $schema);
    )+ };
    (@of $name:ident as $title:literal = |$generator:ident| $schema:expr) => {
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $title.into()
            }

            fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}
pub(crate) use shapes;

impl<'a> Fields<'a> {
    /// A table of its own, with declared keys.
    pub fn table<T: Table>(&self, key: &str) -> Option<T> {
        Self::read_table(self.node(key)?, &self.path(key), self.problems())
    }

    /// Reads `node` as a table with declared keys.
    pub fn read_table<T: Table>(node: &Node, path: &str, problems: &Problems) -> Option<T> {
        Some(T::read(&Fields::of_table::<T>(node, path, problems)?))
    }

    /// Reads `node` as a table with declared keys.
    pub fn of_table<T: Table>(node: &'a Node, path: &str, problems: &'a Problems) -> Option<Self> {
        Self::of(node, path, &names::<T>(), problems)
    }
}

#[cfg(test)]
mod tests;
