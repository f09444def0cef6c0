//! Errors of the store.

use std::path::PathBuf;

/// The error of a store. The operation had no effect.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such file.
    #[error("{0} does not exist: generate or import mail first")]
    Missing(PathBuf),
    /// Every connection, or the write lock, was in use for the whole patience.
    #[error("the mail store is busy")]
    Busy,
    /// No room on the disk.
    #[error("the disk that holds the mail store is full")]
    DiskFull,
    /// A search exceeded its time limit.
    #[error("the search took too long")]
    TooLong,
    /// A file cannot be opened as a mail store.
    #[error("{path}: {}", said(source))]
    Unopened {
        /// Which.
        path: PathBuf,
        /// Why.
        source: sqlx::Error,
    },
    /// Anything else that the database reports.
    #[error("mail store: {}", said(.0))]
    Database(#[source] sqlx::Error),
    /// An invalid setting of the work knob.
    #[error("work: {0}")]
    Work(String),
    /// The schema could not be brought up to date.
    #[error("mail store: {0}; was the file made by a newer version?")]
    Schema(#[from] sqlx::migrate::MigrateError),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match primary_code(&error) {
            Some(SQLITE_BUSY | SQLITE_LOCKED) => Self::Busy,
            Some(SQLITE_FULL) => Self::DiskFull,
            Some(SQLITE_INTERRUPT) => Self::TooLong,
            _ if matches!(error, sqlx::Error::PoolTimedOut) => Self::Busy,
            _ => Self::Database(error),
        }
    }
}

// Primary result codes, <https://www.sqlite.org/rescode.html>.
const SQLITE_BUSY: u32 = 5;
const SQLITE_LOCKED: u32 = 6;
const SQLITE_INTERRUPT: u32 = 9;
pub(super) const SQLITE_IOERR: u32 = 10;
const SQLITE_FULL: u32 = 13;

/// What the database says, without what the library that asks it says around that.
fn said(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}

/// The low byte of SQLite's extended result code.
pub(super) fn primary_code(error: &sqlx::Error) -> Option<u32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<u32>().ok().map(|c| c & 0xFF)
}
