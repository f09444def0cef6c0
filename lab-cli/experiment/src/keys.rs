//! Keys of the tables of an experiment file: a row of [`table!`] declares a key with its kind, default and description. The
//! row yields the reader with its problems, the hints for unknown keys, the JSON Schema and a line of `docs/reference/keys.md`.

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

use controllers::catalogue::{parse_time, shown_time};

use super::{fields::Fields, problem::Problems, raw::Node};

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
    /// What the schema says of the values beside their type.
    keywords: Map<String, Value>,
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
fn without_links(text: &str) -> String {
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
    kind: &'static str,
    values: String,
    default: String,
    example: &'static str,
    required: bool,
    shared: bool,
    keywords: Map<String, Value>,
    written: PhantomData<W>,
}

impl<T: 'static, W: JsonSchema> KeyKind<T, W> {
    fn new(values: String, read: impl Fn(&Fields<'_>, &str) -> T + 'static) -> Self {
        Self {
            read: Box::new(read),
            kind: "",
            values,
            default: String::new(),
            example: "",
            required: false,
            shared: false,
            keywords: Map::new(),
            written: PhantomData,
        }
    }

    /// The type in words, where the schema's is not what people call it.
    fn kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// Says more of the values in the schema.
    fn keyword(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.keywords.insert(keyword.to_owned(), value.into());
        self
    }

    /// A value as written in a file, for the reference, where no experiment of the library has the key.
    pub fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
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

    /// A key that another one replaces: its reader notes that it is missing, and the schema does not require it.
    pub fn unless(self, other: &str) -> Self {
        Self { required: false, ..self }.otherwise(format!("required without `{other}`"))
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
        let shown = format!("{default:?}");
        // No time is zero nanoseconds in a file.
        let shown = if shown == "0ns" { "0s" } else { shown.trim_end_matches(".0") };
        self.reading(|read| move |fields: &Fields<'_>, key: &str| read(fields, key).unwrap_or(default)).otherwise(shown)
    }

    /// A key that cannot be left out: a problem names the example.
    pub fn wanted(self, example: &'static str) -> Self {
        let wanted = self.reading(|read| {
            move |fields: &Fields<'_>, key: &str| {
                if fields.node(key).is_none() {
                    fields.missing(key, example);
                }
                read(fields, key)
            }
        });
        wanted.required().example(example)
    }

    /// The same key with another reader.
    fn reading<U: 'static, R>(self, reader: impl FnOnce(Read<Option<T>>) -> R) -> KeyKind<U, W>
    where
        R: Fn(&Fields<'_>, &str) -> U + 'static,
    {
        let Self { read, kind, values, default, example, required, shared, keywords, written } = self;
        KeyKind { read: Box::new(reader(read)), kind, values, default, example, required, shared, keywords, written }
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
        let Self { kind, values, default, example, required, shared, keywords, .. } = self;
        // `for` is a word of Rust: its row is written `r#for`.
        let key = key.trim_start_matches("r#");
        vec![Row { key, of: "", kind, values, default, example, about, required, shared, keywords, schema }]
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
    about: &'static str,
    read: fn(&Fields<'_>, &str) -> Option<T>,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl<T> Case<T> {
    pub const fn new<W: JsonSchema>(
        name: &'static str,
        about: &'static str,
        read: fn(&Fields<'_>, &str) -> Option<T>,
    ) -> Self {
        Self { name, about, read, schema: SchemaGenerator::subschema_for::<W> }
    }

    fn described_schema(&self, generator: &mut SchemaGenerator) -> Value {
        let mut schema = (self.schema)(generator);
        schema.insert("description".to_owned(), self.about.into());
        schema.to_value()
    }
}

/// The JSON Schema of a table with exactly one of these keys.
pub fn one_of<T>(cases: &[Case<T>], generator: &mut SchemaGenerator) -> Schema {
    let properties: Map<_, _> =
        cases.iter().map(|case| (case.name.to_owned(), case.described_schema(generator))).collect();
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
mod tests {
    use super::without_links;

    #[test]
    fn a_link_is_its_words() {
        let text = "a list `[thread-pool]` ([WebQ](front-doors.md)), `[{a: 1}]`; see [Test plans](#test-plans)";
        assert_eq!(without_links(text), "a list `[thread-pool]` (WebQ), `[{a: 1}]`; see Test plans");
        assert_eq!(without_links("[1]"), "[1]");
    }
}
