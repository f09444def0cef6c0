//! Statements of a change. Each tells the writer of its error, before the connection goes back.

use sqlx::{
    Decode, Sqlite, Type,
    query::{Query, QueryScalar},
    sqlite::SqliteArguments,
};

use super::{Change, StoreError};

/// A statement that changes rows.
pub(super) trait Statement {
    /// Carries it out: the number of rows that it changed.
    async fn run(self, change: &mut Change<'_>) -> Result<u64, StoreError>;
}

impl Statement for Query<'_, Sqlite, SqliteArguments> {
    async fn run(self, change: &mut Change<'_>) -> Result<u64, StoreError> {
        let done = self.execute(&mut *change.transaction).await;
        done.map(|done| done.rows_affected()).map_err(|error| change.writer.failed(error))
    }
}

/// A statement that gives one value.
pub(super) trait Question {
    /// The value.
    type Value;

    /// The value of the row that is there.
    async fn value(self, change: &mut Change<'_>) -> Result<Self::Value, StoreError>;

    /// The value, if there is a row.
    async fn found(self, change: &mut Change<'_>) -> Result<Option<Self::Value>, StoreError>;
}

impl<T: Type<Sqlite> + for<'r> Decode<'r, Sqlite> + Send + Unpin> Question
    for QueryScalar<'_, Sqlite, T, SqliteArguments>
{
    type Value = T;

    async fn value(self, change: &mut Change<'_>) -> Result<T, StoreError> {
        self.fetch_one(&mut *change.transaction).await.map_err(|error| change.writer.failed(error))
    }

    async fn found(self, change: &mut Change<'_>) -> Result<Option<T>, StoreError> {
        self.fetch_optional(&mut *change.transaction).await.map_err(|error| change.writer.failed(error))
    }
}
