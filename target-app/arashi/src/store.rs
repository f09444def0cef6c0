//! Mail in SQLite: the only module that uses SQL.
//!
//! Readers use a pool of connections; writes go one after another through a single connection, since SQLite has one
//! writer at a time anyway, and a wait in our queue is bounded and visible, while a wait in its busy loop is neither.
//!
//! The failures that an acknowledged change survives depend on [`Durability`]. `kill -9` of the process: always. Loss
//! of power or a crash of the system: only [`Durability::Full`]; with [`Durability::Normal`] the newest changes may be
//! lost, but the database stays consistent.

mod account;
mod change;
mod entities;
mod error;
mod fill;
mod log;
mod pieces;
mod read;
mod rows;
pub(crate) mod schema;
mod search;
mod statement;
mod work;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use service_core::mail::WorkKnob;
use spec::{Durability, private};
use sqlx::{
    Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use log::Log;

pub use account::StoredAccount;
pub use change::{MAX_FOLDERS, NewFolder};
pub use entities::{
    AttachmentName, Direction, EntryId, Folder, FolderId, ListOrder, Listed, Message, NewAttachment, NewMessage,
    PAGE_ROWS, Scope, Sort, UserId,
};
pub use error::StoreError;
use error::{SQLITE_IOERR, primary_code};
pub use fill::{Fill, Filled};
pub use pieces::{AttachmentPieces, StoredAttachment};
pub use search::{Hits, Part};

/// The options of a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The number of connections for reading, at least 1.
    pub readers: u32,
    /// The failures that an acknowledged change survives.
    pub durability: Durability,
    /// The longest wait for a connection, or for another process that holds the write lock.
    pub patience: Duration,
    /// The time limit of one search; a longer one is [`StoreError::TooLong`].
    pub search_time: Duration,
    /// Search by the full-text index instead of by substring.
    pub full_text: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            readers: 4,
            durability: Durability::Normal,
            patience: Duration::from_secs(30),
            search_time: Duration::from_secs(5),
            full_text: false,
        }
    }
}

/// An open mail database. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Store {
    read: SqlitePool,
    write: SqlitePool,
    writer: WriterState,
    log: Log,
    work: Arc<WorkKnob>,
    /// The number of extra operations so far.
    operations: Arc<AtomicU64>,
    search_time: Duration,
    full_text: bool,
}

impl Store {
    /// Opens an existing database and brings its schema up to date.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is no such file, [`StoreError::Schema`] if it has a schema that this version
    /// does not know, and any error of SQLite.
    pub async fn open(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        Self::create(path, options).await
    }

    /// Opens a database, or creates an empty one.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    pub async fn create(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        Self::connect_with(connection(path, options), options).await.map_err(|error| match error {
            StoreError::Database(source) => StoreError::Unopened { path: path.to_owned(), source },
            other => other,
        })
    }

    /// Opens a new database for a fast fill: without a journal, so that a crash leaves an unusable file. Only for files
    /// that get their final name when they are complete.
    ///
    /// # Errors
    /// The errors of [`Store::open`].
    pub async fn create_to_fill(path: &Path) -> Result<Self, StoreError> {
        let options = StoreOptions { readers: 1, ..StoreOptions::default() };
        let connect = connection(path, &options)
            .journal_mode(SqliteJournalMode::Off)
            .synchronous(SqliteSynchronous::Off)
            .pragma("cache_size", "-524288");
        Self::connect_with(connect, &options).await
    }

    async fn connect_with(connect: SqliteConnectOptions, options: &StoreOptions) -> Result<Self, StoreError> {
        // SQLite would make its files readable by everybody. It reports files that cannot be created.
        let _ = private::file(connect.get_filename());
        let (writer, log) = (WriterState::default(), Log::of(connect.get_filename()));
        let (released, acquired) = (writer.clone(), writer.clone());
        let write = pool(1, options.patience)
            .after_release(move |connection, _| {
                let keep = released.may_stay();
                Box::pin(async move { Ok(keep && !is_stuck(connection).await?) })
            })
            .before_acquire(move |_, _| {
                let keep = acquired.may_stay();
                Box::pin(async move { Ok(keep) })
            })
            .connect_with(connect.clone().create_if_missing(true))
            .await?;
        schema::migrator().run(&write).await?;
        let read = pool(options.readers.max(1), options.patience);
        #[cfg(test)]
        let read = read.before_acquire(|_, _| {
            TURNS.with(|turns| turns.set(turns.get() + 1));
            Box::pin(async { Ok(true) })
        });
        let read = read.connect_with(connect.read_only(true)).await?;
        Ok(Self {
            read,
            write,
            writer,
            log,
            work: Arc::default(),
            operations: Arc::default(),
            search_time: options.search_time,
            full_text: options.full_text,
        })
    }

    /// The work knob.
    #[must_use]
    pub fn work(&self) -> &WorkKnob {
        &self.work
    }

    /// Lets SQLite analyse its tables, and merges the full-text index: for databases that were just filled.
    ///
    /// # Errors
    /// Any error of the database.
    pub async fn optimise(&self) -> Result<(), StoreError> {
        let watch = |error| self.writer.failed(error);
        sqlx::query("INSERT INTO search_index (search_index) VALUES ('optimize')")
            .execute(&self.write)
            .await
            .map_err(watch)?;
        sqlx::query("ANALYZE").execute(&self.write).await.map_err(watch)?;
        Ok(())
    }

    /// Searches for damage: in the file, between tables, and between folders and their counts. Empty: there is none.
    /// Reads all data, which takes a second for 100 MiB.
    ///
    /// # Errors
    /// If the check itself could not be done.
    pub async fn damage(&self) -> Result<Vec<String>, StoreError> {
        let mut found: Vec<String> = sqlx::query_scalar("PRAGMA integrity_check").fetch_all(&self.read).await?;
        found.retain(|line| line != "ok");
        let orphans: Vec<(String, i64)> =
            sqlx::query_as("SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1")
                .fetch_all(&self.read)
                .await?;
        found.extend(orphans.into_iter().map(|(table, rows)| format!("{rows} rows of {table} belong to nothing")));
        let counts: Vec<(FolderId, i64, i64)> = sqlx::query_as(
            "SELECT f.id, f.messages, (SELECT count(*) FROM entries e WHERE e.folder_id = f.id) AS there
             FROM folders f WHERE f.messages <> there",
        )
        .fetch_all(&self.read)
        .await?;
        found.extend(counts.into_iter().map(|(id, said, there)| format!("folder {id} says {said} and has {there}")));
        Ok(found)
    }

    /// Merges the write-ahead log into the database file and closes all connections. To be called before the file is
    /// copied.
    ///
    /// # Errors
    /// If the log could not be merged, for example because another process reads the database.
    pub async fn close(self) -> Result<(), StoreError> {
        let folded = log::fold(&self.write).await;
        self.read.close().await;
        self.write.close().await;
        folded?;
        Ok(())
    }

    /// Starts a change. If it is dropped without [`Change::commit`] (after an error, or when the client is gone), it
    /// has no effect.
    async fn change(&self) -> Result<Change<'_>, StoreError> {
        match self.log.bound(&self.write).await.map_err(|error| self.writer.failed(error)) {
            Ok(()) | Err(StoreError::Busy) => {} // somebody else writes, or does the same
            Err(error) => return Err(error),
        }
        // Immediate: taking the write lock later, within the transaction, could fail in a way that no wait resolves.
        let begun = self.write.begin_with("BEGIN IMMEDIATE").await;
        Ok(Change { transaction: begun.map_err(|error| self.writer.failed(error))?, writer: &self.writer })
    }
}

/// A change under way.
#[derive(Debug)]
struct Change<'a> {
    transaction: Transaction<'static, Sqlite>,
    writer: &'a WriterState,
}

impl Change<'_> {
    /// The change has happened only if this returns `Ok`.
    async fn commit(self) -> Result<(), StoreError> {
        let writer = self.writer;
        self.transaction.commit().await.map_err(|error| writer.failed(error))
    }
}

/// Notes that the writer met a failed read, write or sync: then the contents of its caches cannot be trusted, so its
/// connection must be closed. After a failed sync the kernel marks the pages clean, so that a retry would succeed
/// without having written anything (Rebello et al., "Can Applications Recover from fsync Failures?", ATC 2020).
#[derive(Debug, Clone, Default)]
struct WriterState {
    broken: Arc<AtomicBool>,
}

impl WriterState {
    fn failed(&self, error: sqlx::Error) -> StoreError {
        if primary_code(&error) == Some(SQLITE_IOERR) {
            self.broken.store(true, Ordering::Relaxed);
        }
        error.into()
    }

    /// Checked for a connection that is returned, or about to be used: a broken one is closed, and the next is sound.
    fn may_stay(&self) -> bool {
        !self.broken.swap(false, Ordering::Relaxed)
    }
}

/// True if sqlx counts a transaction that SQLite has rolled back itself, as it may after some errors (a full disk, no
/// memory, an interrupt): the rollback that sqlx sends then fails, its count stays, and it begins no other transaction.
async fn is_stuck(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    if connection.is_in_transaction() {
        // The rollback of a dropped change is under way: this waits for it.
        connection.ping().await?;
    }
    Ok(connection.is_in_transaction())
}

fn connection(path: &Path, options: &StoreOptions) -> SqliteConnectOptions {
    let synchronous = match options.durability {
        Durability::Normal => SqliteSynchronous::Normal,
        Durability::Full => SqliteSynchronous::Full,
    };
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .busy_timeout(options.patience)
        .foreign_keys(true)
        .pragma("cache_size", "-16384")
        .pragma("mmap_size", "1073741824")
        .pragma("temp_store", "memory")
        .thread_name(|id| format!("sqlite-{id}"))
}

fn pool(connections: u32, patience: Duration) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(connections)
        .acquire_timeout(patience)
        .idle_timeout(None)
        .max_lifetime(None)
        // A local file does not disconnect: a test before each use would double the cost of a small query.
        .test_before_acquire(false)
}

// The number of times that a test's thread has had a connection for reading.
#[cfg(test)]
thread_local!(pub(super) static TURNS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });

#[cfg(test)]
mod tests;
