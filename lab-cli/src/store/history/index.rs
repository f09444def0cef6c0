//! The index: a SQLite file in the folder of the runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteRow},
};

use super::{Found, PastArm, PastRun, Question, listed, read};

/// Its name in the folder of the runs.
pub const FILE: &str = ".history.sqlite";
/// The version of the layout; an index of another version is rebuilt.
const VERSION: i64 = 2;

const LAYOUT: &str = "
    CREATE TABLE run (
        name TEXT PRIMARY KEY, mark TEXT NOT NULL, began TEXT NOT NULL, experiment TEXT NOT NULL, mode TEXT NOT NULL,
        verdict TEXT NOT NULL, partial INTEGER NOT NULL, blocks INTEGER NOT NULL, held INTEGER NOT NULL,
        judged INTEGER NOT NULL, thresholds INTEGER NOT NULL);
    CREATE TABLE arm (
        run TEXT NOT NULL REFERENCES run (name) ON DELETE CASCADE, place INTEGER NOT NULL, name TEXT NOT NULL,
        policy TEXT NOT NULL, PRIMARY KEY (run, place));
    CREATE INDEX run_by_time ON run (began);
    CREATE INDEX arm_by_policy ON arm (policy);
";

/// Why the history cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The folder of the runs cannot be read.
    #[error("{path}: {source}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The index failed.
    #[error("the index of runs: {} (it is made from the folders alone: --rebuild makes it anew)", in_words(.0))]
    Database(#[from] sqlx::Error),
}

/// What the database says, without what the library that asks it says around that.
fn in_words(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        _ => "it is not as this lab writes it".to_owned(),
    }
}

/// An index that is open, and as new as the folders were when it was opened.
#[derive(Debug)]
pub struct Index {
    database: SqliteConnection,
    /// The index is not in the folder of the runs, because nothing can be written there.
    pub in_memory: bool,
}

impl Index {
    /// Opens the index of the runs in a folder and brings it up to date. `anew`: removes the old one first.
    ///
    /// # Errors
    /// If the folder cannot be read, or the index cannot even be made in memory.
    pub async fn open(runs: &Path, anew: bool) -> Result<Self, HistoryError> {
        let found = listed(runs).map_err(|source| HistoryError::Folder { path: runs.to_owned(), source })?;
        let file = runs.join(FILE);
        if anew {
            remove(&file);
        }
        // Broken, or of another layout: nothing is lost with it.
        for attempt in 0..2 {
            if let Ok(mut index) = Self::on_disk(&file).await
                && index.update(runs, &found).await.is_ok()
            {
                return Ok(index);
            }
            if attempt == 0 {
                remove(&file);
            }
        }
        let database = SqliteConnection::connect("sqlite::memory:").await?;
        let mut index = Self { database, in_memory: true };
        index.lay_out().await?;
        index.update(runs, &found).await?;
        Ok(index)
    }

    async fn on_disk(file: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(file).create_if_missing(true).foreign_keys(true);
        let mut index = Self { database: options.connect().await?, in_memory: false };
        let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut index.database).await?;
        match version {
            0 => index.lay_out().await?,
            VERSION => {}
            other => return Err(sqlx::Error::Protocol(format!("layout {other}"))),
        }
        Ok(index)
    }

    async fn lay_out(&mut self) -> Result<(), sqlx::Error> {
        let mut change = self.database.begin().await?;
        sqlx::raw_sql(LAYOUT).execute(&mut *change).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("PRAGMA user_version = {VERSION}"))).execute(&mut *change).await?;
        change.commit().await
    }

    /// Takes in what is new or has changed, and out what is gone.
    async fn update(&mut self, runs: &Path, found: &[Found]) -> Result<(), sqlx::Error> {
        let mut change = self.database.begin().await?;
        let rows = sqlx::query("SELECT name, mark FROM run").fetch_all(&mut *change).await?;
        let mut known = std::collections::BTreeMap::new();
        for row in &rows {
            known.insert(row.try_get::<String, _>(0)?, row.try_get::<String, _>(1)?);
        }
        for Found { name, mark } in found {
            if known.remove(name).as_ref() == Some(mark) {
                continue;
            }
            forget(name, &mut change).await?;
            if let Some(run) = read(runs, name) {
                keep(&run, mark, &mut change).await?;
            }
        }
        for gone in known.keys() {
            forget(gone, &mut change).await?;
        }
        change.commit().await
    }

    /// The runs that fit, the newest first.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub async fn ask(&mut self, question: &Question<'_>) -> Result<Vec<PastRun>, HistoryError> {
        let mut sql = "SELECT * FROM run WHERE TRUE".to_owned();
        let mut values: Vec<String> = Vec::new();
        let mut wanted = |condition: &str, value: &str| {
            sql.push_str(" AND ");
            sql.push_str(condition);
            values.extend(std::iter::repeat_n(value.to_owned(), condition.matches('?').count()));
        };
        // Times of that day begin with it, and a T comes after it.
        let until = question.until.map(|until| format!("{until}U"));
        for (condition, value) in [
            ("experiment = ?", question.experiment),
            ("EXISTS (SELECT 1 FROM arm WHERE arm.run = run.name AND ? IN (arm.name, arm.policy))", question.policy),
            ("began >= ?", question.since),
            ("began < ?", until.as_deref()),
        ] {
            value.into_iter().for_each(|value| wanted(condition, value));
        }
        for word in question.words {
            wanted(
                "(instr(lower(run.name || ' ' || experiment || ' ' || verdict || ' ' || mode), lower(?)) > 0
                  OR EXISTS (SELECT 1 FROM arm WHERE arm.run = run.name
                             AND instr(lower(arm.name || ' ' || arm.policy), lower(?)) > 0))",
                word,
            );
        }
        sql.push_str(" ORDER BY began DESC, name DESC LIMIT ?");
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql));
        for value in values {
            query = query.bind(value);
        }
        let rows = query.bind(question.limit).fetch_all(&mut self.database).await?;
        let mut runs = Vec::new();
        for row in &rows {
            let mut run = run_of(row)?;
            let arms = sqlx::query("SELECT name, policy FROM arm WHERE run = ? ORDER BY place").bind(&run.name);
            for row in arms.fetch_all(&mut self.database).await? {
                run.arms.push(PastArm { name: row.try_get(0)?, policy: row.try_get(1)? });
            }
            runs.push(run);
        }
        Ok(runs)
    }

    /// Closes it, so that all of it is in its file.
    ///
    /// # Errors
    /// If that fails.
    pub async fn close(self) -> Result<(), HistoryError> {
        Ok(self.database.close().await?)
    }
}

fn remove(file: &Path) {
    // An index that cannot be removed cannot be opened either, and opening it reports the error.
    let _ = fs::remove_file(file);
    for rest in ["-journal", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(rest);
        let _ = fs::remove_file(name);
    }
}

async fn forget(name: &str, database: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM arm WHERE run = ?").bind(name).execute(&mut *database).await?;
    sqlx::query("DELETE FROM run WHERE name = ?").bind(name).execute(&mut *database).await?;
    Ok(())
}

async fn keep(run: &PastRun, mark: &str, database: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(&run.name)
        .bind(mark)
        .bind(&run.began)
        .bind(&run.experiment)
        .bind(&run.mode)
        .bind(&run.verdict)
        .bind(run.partial)
        .bind(run.blocks)
        .bind(run.held)
        .bind(run.judged)
        .bind(run.thresholds)
        .execute(&mut *database)
        .await?;
    for (place, arm) in (0_i64..).zip(&run.arms) {
        let insert = sqlx::query("INSERT INTO arm VALUES (?, ?, ?, ?)").bind(&run.name).bind(place);
        insert.bind(&arm.name).bind(&arm.policy).execute(&mut *database).await?;
    }
    Ok(())
}

fn run_of(row: &SqliteRow) -> Result<PastRun, sqlx::Error> {
    Ok(PastRun {
        name: row.try_get("name")?,
        began: row.try_get("began")?,
        experiment: row.try_get("experiment")?,
        mode: row.try_get("mode")?,
        verdict: row.try_get("verdict")?,
        partial: row.try_get("partial")?,
        blocks: row.try_get("blocks")?,
        arms: Vec::new(),
        held: row.try_get("held")?,
        judged: row.try_get("judged")?,
        thresholds: row.try_get("thresholds")?,
    })
}
