//! Declarations of keys, to their right in `table!`: how a value is read, and what is said of it.

use std::{
    fmt::{Debug, Display},
    marker::PhantomData,
};

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::{Row, Table};
use crate::fields::Fields;

/// Declaration of a key: the expression to its right in [`table!`].
pub trait Declaration {
    /// Type that is read.
    type Value;
    /// Adds what it declares to the table's rows.
    fn rows(self, key: &'static str, about: &'static str, rows: &mut Vec<Row>);
    fn read(&self, fields: &Fields<'_>, key: &str) -> Self::Value;
}

type Read<T> = Box<dyn Fn(&Fields<'_>, &str) -> T>;

/// A key whose value is read as `T`. `W`: its shape in the file.
///
/// What does not depend on these types is kept in the row, so that little is compiled for each of them.
pub struct KeyKind<T, W = String> {
    read: Read<T>,
    row: Row,
    written: PhantomData<W>,
}

impl<T: 'static, W: JsonSchema> KeyKind<T, W> {
    pub(super) fn new(values: String, read: impl Fn(&Fields<'_>, &str) -> T + 'static) -> Self {
        let row = Row::draft(values, SchemaGenerator::subschema_for::<Option<W>>);
        Self { read: Box::new(read), row, written: PhantomData }
    }

    /// The type in words, where the schema's is not what people call it.
    pub(super) fn kind(mut self, kind: &'static str) -> Self {
        self.row.kind = kind;
        self
    }

    /// Says more of the values in the schema.
    pub(super) fn keyword(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.row.keywords.insert(keyword.to_owned(), value.into());
        self
    }

    /// A value as written in a file, for the reference, where no experiment of the library has the key.
    pub fn example(mut self, example: &'static str) -> Self {
        self.row.example = example;
        self
    }

    /// A default that the table's reader applies: it is shown in hints, schema and docs.
    pub fn otherwise(mut self, default: impl Display) -> Self {
        self.row.default = default.to_string();
        self
    }

    /// The key in files, where the field has another name.
    pub fn key(mut self, key: &'static str) -> Self {
        self.row.key = key;
        self
    }

    /// The unit of the values.
    pub fn in_unit(mut self, unit: &str) -> Self {
        self.row.values = format!("{} {unit}", self.row.values);
        self
    }

    /// A key of `target` that is the same in all arms.
    pub fn shared(mut self) -> Self {
        self.row.shared = true;
        self
    }

    /// A key that another one replaces: its reader notes that it is missing, and the schema does not require it.
    pub fn unless(mut self, other: &str) -> Self {
        self.row.required = false;
        self.otherwise(format!("required without `{other}`"))
    }

    /// A key that cannot be left out. The problem is the reader's.
    pub fn required(mut self) -> Self {
        self.row.required = true;
        self
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

    /// The same, kept as another type.
    pub fn map<U: 'static>(self, as_kept: fn(T) -> U) -> KeyKind<Option<U>, W> {
        self.reading(|read| move |fields: &Fields<'_>, key: &str| read(fields, key).map(as_kept))
    }

    /// The type's default in place of a value that is missing or wrong: its reader notes that.
    pub fn filled(self) -> KeyKind<T, W>
    where
        T: Default,
    {
        self.reading(|read| move |fields: &Fields<'_>, key: &str| read(fields, key).unwrap_or_default())
    }

    /// A key that cannot be left out: a problem names the example.
    pub fn wanted(self, example: &'static str) -> Self {
        let wanted = self.reading(|read| {
            move |fields: &Fields<'_>, key: &str| {
                fields.wanted(key, example);
                read(fields, key)
            }
        });
        wanted.required().example(example)
    }

    /// The same key with another reader.
    pub fn reading<U: 'static, R>(self, reader: impl FnOnce(Read<Option<T>>) -> R) -> KeyKind<U, W>
    where
        R: Fn(&Fields<'_>, &str) -> U + 'static,
    {
        KeyKind { read: Box::new(reader(self.read)), row: self.row, written: PhantomData }
    }
}

impl<T, W: JsonSchema> Declaration for KeyKind<T, W> {
    type Value = T;

    fn rows(self, key: &'static str, about: &'static str, rows: &mut Vec<Row>) {
        rows.push(self.row.of_key(key, about, SchemaGenerator::subschema_for::<W>));
    }

    fn read(&self, fields: &Fields<'_>, key: &str) -> T {
        (self.read)(fields, if self.row.key.is_empty() { key } else { self.row.key })
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

    fn rows(self, _: &'static str, _: &'static str, rows: &mut Vec<Row>) {
        let included = |row: Row| Row {
            of: self.of,
            default: self.default.map_or(row.default, str::to_owned),
            // What a variant cannot do without is not wanted in the others.
            required: row.required && self.of.is_empty(),
            ..row
        };
        rows.extend(G::rows().into_iter().map(included));
    }

    fn read(&self, _: &Fields<'_>, _: &str) {}
}
