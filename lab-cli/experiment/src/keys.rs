//! Keys of the tables of an experiment file: a row of [`table!`] declares a key with its kind, default and description. The
//! row yields the reader with its problems, the hints for unknown keys, the JSON Schema and a line of `docs/reference/keys.md`.

mod declaration;
mod kinds;
mod one_of;
mod row;
mod tables;

pub use declaration::{Declaration, KeyKind, keys_of, of_type};
pub use kinds::{
    DurationText, Either, by, choice, count, first_of, flag, free, number, size, table_of, table_or_default, text, time,
};
pub use one_of::{Case, one_of, read_one_of};
pub use row::Row;
pub(crate) use tables::Table;
pub use tables::{names, schema};

/// Declares tables with their names in the JSON Schema, one row for each key:
///
/// - `queue: u32 = count(1..=1024).or(1), "description";` is read and kept;
/// - `stages = free::<Stages>(), "description";` is not kept: the table's reader does what is to be done;
/// - `pool = keys_of::<PoolKeys>("");` includes the keys of another table.
///
/// What is kept is a struct of the table's own, or one that is there: `struct SlowKeys as "Slow" for Slow`. Fields of that without a
/// row have the values of a last line `..Slow::default()`.
macro_rules! table {
    () => {};
    ($(#[doc = $about:literal])+ $vis:vis struct $name:ident as $title:literal for $of:path { $($rows:tt)* } $($rest:tt)*) => {
        $(#[doc = $about])+
        $vis enum $name {}
        $crate::keys::table!(@keys $name as $title for $of, concat!($($about),+), $($rows)*);
        $crate::keys::table!($($rest)*);
    };
    (
        $(#[doc = $about:literal])+ $(#[derive($($derive:path),+)])? $vis:vis struct $name:ident as $title:literal {
            $($key:ident $(: $(#[$meta:meta])* $type:ty)? = $kind:expr $(, $text:literal)?;)*
        }
        $($rest:tt)*
    ) => {
        $(#[doc = $about])+
        #[derive(Debug $($(, $derive)+)?)]
        $vis struct $name { $($($(#[$meta])* $vis $key: $type,)?)* }
        $crate::keys::table!(@keys $name as $title for $name, concat!($($about),+), $($key $(: $type)? = $kind $(, $text)?;)*);
        $crate::keys::table!($($rest)*);
    };
    (
        @keys $name:ident as $title:literal for $of:path, $about:expr,
        $($key:ident $(: $type:ty)? = $kind:expr $(, $text:literal)?;)* $(..$base:expr)?
    ) => {
        impl $crate::keys::Table for $name {
            type Value = $of;
            const ABOUT: &'static str = $about;

            fn rows() -> Vec<$crate::keys::Row> {
                use $crate::keys::{Declaration, of_type};
                let mut rows = Vec::new();
                $(of_type$(::<$type, _>)?($kind).rows(stringify!($key), concat!($($text)?), &mut rows);)*
                rows
            }

            fn read(fields: &$crate::fields::Fields<'_>) -> $of {
                use $crate::keys::{Declaration, of_type};
                $(let $key = of_type$(::<$type, _>)?($kind).read(fields, stringify!($key)); let _ = &$key;)*
                $of { $($($key: std::convert::identity::<$type>($key),)?)* $(..$base)? }
            }
        }

        $crate::keys::shapes!(@of $name as $title = |generator| $crate::keys::schema(&<Self as $crate::keys::Table>::rows(), <Self as $crate::keys::Table>::ABOUT, generator));
    };
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
