//! Keys of the tables of an experiment file: a row of [`table!`] declares a key with its kind, default and description. The
//! row yields the reader with its problems, the hints for unknown keys, the JSON Schema and a line of `docs/reference/keys.md`.

mod declaration;
mod kinds;
mod one_of;
mod row;

pub use declaration::{Declaration, KeyKind, keys_of, of_type};
pub use kinds::{
    DurationText, Either, by, choice, count, first_of, flag, free, number, size, table_of, table_or_default, text, time,
};
pub use one_of::{Case, one_of, read_one_of};
pub use row::Row;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Map;

use super::{fields::Fields, problem::Problems, raw::Node};

/// A table of an experiment file. [`table!`] implements this trait.
pub(crate) trait Table: Sized {
    /// Its keys, in the order in which hints name them.
    fn rows() -> Vec<Row>;
    /// Reads each key that is kept.
    fn read(fields: &Fields<'_>) -> Self;
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
        "description": about.trim(), "type": "object", "properties": properties, "additionalProperties": false,
    });
    let required: Vec<_> = rows.iter().filter(|row| row.required).map(|row| row.key).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema
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
                let mut rows = Vec::new();
                $(of_type$(::<$type, _>)?($kind).rows(stringify!($key), concat!($($text)?), &mut rows);)*
                rows
            }

            fn read(fields: &$crate::fields::Fields<'_>) -> Self {
                use $crate::keys::{Declaration, of_type};
                $(let $key = of_type$(::<$type, _>)?($kind).read(fields, stringify!($key)); let _ = &$key;)*
                Self { $($($key: std::convert::identity::<$type>($key),)?)* }
            }
        }

        $crate::keys::shapes!(@of $name as $title = |generator| $crate::keys::schema(&<Self as $crate::keys::Table>::rows(), concat!($($about),+), generator));
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
