//! Rows of the database as values. Written by hand: sqlx's macros, which would derive this, build the database a second time, for the
//! compiler.

use sqlx::{
    Database, Decode, Encode, FromRow, Row as _, Sqlite, Type,
    encode::IsNull,
    error::BoxDynError,
    sqlite::{SqliteRow, SqliteTypeInfo, SqliteValueRef},
};

use super::{AttachmentName, EntryId, Folder, FolderId, Listed, Message, StoredAccount, UserId};

/// Columns of the same names.
macro_rules! from_row {
    ($value:ident { $($column:ident),+ } $($more:ident)?) => {
        impl FromRow<'_, SqliteRow> for $value {
            fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
                Ok(Self { $($column: row.try_get(stringify!($column))?,)+ $($more: Vec::new())? })
            }
        }
    };
}

from_row!(Folder { id, name, inbox, messages });
from_row!(Listed { entry, folder, date, author, subject, size, attachments });
from_row!(Message {
    date, subject, sender, recipients, headers, text, html, html_version, html_problem, size
} attachments);
from_row!(AttachmentName { part, name, kind, size });
from_row!(StoredAccount { id, password });

/// As the number in it.
macro_rules! as_number {
    ($id:ident) => {
        impl Type<Sqlite> for $id {
            fn type_info() -> SqliteTypeInfo {
                <i64 as Type<Sqlite>>::type_info()
            }

            fn compatible(of: &SqliteTypeInfo) -> bool {
                <i64 as Type<Sqlite>>::compatible(of)
            }
        }

        impl Encode<'_, Sqlite> for $id {
            fn encode_by_ref(&self, buffer: &mut <Sqlite as Database>::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
                <i64 as Encode<'_, Sqlite>>::encode_by_ref(&self.0, buffer)
            }
        }

        impl<'r> Decode<'r, Sqlite> for $id {
            fn decode(value: SqliteValueRef<'r>) -> Result<Self, BoxDynError> {
                <i64 as Decode<'r, Sqlite>>::decode(value).map(Self)
            }
        }
    };
}

as_number!(UserId);
as_number!(FolderId);
as_number!(EntryId);
