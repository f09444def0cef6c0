//! The bound of the write-ahead log. SQLite begins it anew by itself only where a checkpoint catches up with it: beside another process
//! that writes while this one syncs, never.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use sqlx::{AssertSqlSafe, SqlitePool, sqlite::SqliteQueryResult};

/// Bytes of the log from which on it is folded into the database. SQLite itself folds from 4 MiB on.
pub(super) const LONG: u64 = 16 << 20;

/// A wait of this length was for a reader: whoever folds meanwhile is done sooner.
const FOR_READER: Duration = Duration::from_millis(500);

/// The log of a store. Clones share what they know.
#[derive(Debug, Clone)]
pub(super) struct Log {
    path: PathBuf,
    /// The length from which on folding is tried again.
    next: Arc<AtomicU64>,
    /// True while SQLite does not fold by itself: two processes that do so by turns leave no moment for a whole one.
    by_hand: Arc<AtomicBool>,
}

impl Log {
    pub(super) fn of(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Self { path: path.into(), next: Arc::new(LONG.into()), by_hand: Arc::default() }
    }

    /// Folds a long log into the database, and begins it anew. Others that write wait; where somebody reads for longer than may be waited
    /// for, it stays as it is until it has grown as much again.
    pub(super) async fn bound(&self, write: &SqlitePool) -> Result<(), sqlx::Error> {
        let length = self.length();
        if length <= LONG {
            return self.set_by_hand(write, false).await;
        }
        if length <= self.next.load(Relaxed) {
            return Ok(());
        }
        self.set_by_hand(write, true).await?;
        let began = Instant::now();
        let folded = fold(write).await;
        let waits = self.length() > LONG && began.elapsed() >= FOR_READER;
        self.next.store(if waits { length + LONG } else { LONG }, Relaxed);
        folded.map(drop)
    }

    fn length(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |log| log.len())
    }

    async fn set_by_hand(&self, write: &SqlitePool, by_hand: bool) -> Result<(), sqlx::Error> {
        if self.by_hand.swap(by_hand, Relaxed) != by_hand {
            let pages = if by_hand { 0 } else { 1000 }; // SQLite's default
            sqlx::query(AssertSqlSafe(format!("PRAGMA wal_autocheckpoint = {pages}"))).execute(write).await?;
        }
        Ok(())
    }
}

/// Folds the log into the database, if nobody reads.
pub(super) async fn fold(write: &SqlitePool) -> Result<SqliteQueryResult, sqlx::Error> {
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(write).await
}
