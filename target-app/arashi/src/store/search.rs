//! Search over message headers: by substring, as in the thesis, or by full-text index. Over all mail of a scope, or
//! over its newest part, which is searched by substring in less time (Google SRE, chapter 21: "only search a small
//! percentage of the candidate set").

use std::{sync::Arc, time::Instant};

use sqlx::{AssertSqlSafe, SqliteConnection, query_as, query_scalar};

use super::{Listed, PAGE_ROWS, Scope, Store, StoreError, UserId};

/// The results of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// One page of results, newest first.
    pub rows: Vec<Listed>,
    /// True if there is at least one more.
    pub more: bool,
    /// The part that was searched; `None`: everything.
    pub part: Option<Part>,
}

/// The newest part of a folder, or of all folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The number of messages in the part.
    pub newest: i64,
    /// The number of all messages.
    pub of: i64,
    /// The date of the oldest message in the part, seconds since 1970.
    pub since: i64,
    /// The number of that message: of equal dates the higher number is newer.
    oldest: i64,
}

/// The longest text that is searched for, in characters; the rest is ignored.
const MAX_LENGTH: usize = 200;
/// The largest number of words of a full-text search; the rest is ignored.
const MAX_WORDS: usize = 8;
/// The number of steps of SQLite's machine between two checks of the clock: some ten microseconds.
const STEPS_BETWEEN_CHECKS: i32 = 4096;

impl Store {
    /// Messages whose headers contain `text`, newest first, from hit number `start` on. `None`: the user has no such
    /// folder. An empty or blank text has no hits.
    ///
    /// # Errors
    /// [`StoreError::TooLong`] if it exceeds the time limit of a search.
    pub async fn search(&self, user: UserId, scope: Scope, text: &str, start: u32) -> Result<Option<Hits>, StoreError> {
        self.search_newest(user, scope, text, start, 1.0).await
    }

    /// The same as [`Store::search`], but searches only this share of the messages, the newest: 0 to 1, and at least
    /// one message. Its hits are the beginning of those of a whole search.
    ///
    /// # Errors
    /// The errors of [`Store::search`].
    pub async fn search_newest(
        &self,
        user: UserId,
        scope: Scope,
        text: &str,
        start: u32,
        share: f64,
    ) -> Result<Option<Hits>, StoreError> {
        let mut reader = self.read.acquire().await?;
        let Some(messages) = messages(&mut reader, user, scope, share).await? else { return Ok(None) };
        let wanted = if self.full_text { phrases(text) } else { folded(text) };
        if wanted.is_empty() {
            return Ok(Some(Hits { rows: Vec::new(), more: false, part: None }));
        }
        // The handler stays with the connection, so it must not outlive this search, even if the search is dropped
        // midway: it has no effect once `running` is gone.
        let running = Arc::new(());
        let watched = Arc::downgrade(&running);
        let until = Instant::now() + self.search_time;
        reader
            .lock_handle()
            .await?
            .set_progress_handler(STEPS_BETWEEN_CHECKS, move || watched.strong_count() == 0 || Instant::now() < until);
        let part = newest(&mut reader, user, scope, messages, share).await?;
        let sql = sql(scope, self.full_text, part.is_some());
        let bound = query_as(sql).bind(user).bind(wanted);
        let bound = match scope {
            Scope::Folder(folder) => bound.bind(folder),
            Scope::All => bound.bind(0),
        };
        let mut bound = bound.bind(PAGE_ROWS + 1).bind(start);
        if let Some(Part { since, oldest, .. }) = part {
            bound = bound.bind(since).bind(oldest);
        }
        let mut rows: Vec<Listed> = bound.fetch_all(&mut *reader).await?;
        drop(running);
        let more = rows.len() > PAGE_ROWS as usize;
        rows.truncate(PAGE_ROWS as usize);
        Ok(Some(Hits { rows, more, part }))
    }
}

/// The number of messages, if it is needed. `None`: the user has no such folder.
async fn messages(
    reader: &mut SqliteConnection,
    user: UserId,
    scope: Scope,
    share: f64,
) -> Result<Option<i64>, StoreError> {
    let query = match scope {
        Scope::Folder(folder) => {
            query_scalar("SELECT messages FROM folders WHERE user_id = ? AND id = ?").bind(user).bind(folder)
        }
        Scope::All if share >= 1.0 => return Ok(Some(0)),
        Scope::All => query_scalar("SELECT COALESCE(SUM(messages), 0) FROM folders WHERE user_id = ?").bind(user),
    };
    Ok(query.fetch_optional(reader).await?)
}

/// The newest part of the messages with this share. `None`: that is all of them. It reads an index and none of the
/// mail.
async fn newest(
    reader: &mut SqliteConnection,
    user: UserId,
    scope: Scope,
    of: i64,
    share: f64,
) -> Result<Option<Part>, StoreError> {
    let newest = ((of as f64 * share).ceil() as i64).max(1);
    if newest >= of {
        return Ok(None);
    }
    let of_folder = "SELECT e.date, e.id FROM folders f CROSS JOIN entries e ON e.folder_id = f.id
                     WHERE f.user_id = ? AND f.id = ? ORDER BY e.date DESC, e.id DESC LIMIT 1 OFFSET ?";
    let of_all = "SELECT e.date, e.id FROM folders f CROSS JOIN entries e ON e.folder_id = f.id
                  WHERE f.user_id = ? ORDER BY e.date DESC, e.id DESC LIMIT 1 OFFSET ?";
    let query = match scope {
        Scope::Folder(folder) => query_as(of_folder).bind(user).bind(folder),
        Scope::All => query_as(of_all).bind(user),
    };
    let oldest: Option<(i64, i64)> = query.bind(newest - 1).fetch_optional(reader).await?;
    Ok(oldest.map(|(since, oldest)| Part { newest, of, since, oldest }))
}

/// `?1` user, `?2` text, `?3` folder, `?4` rows, `?5` offset; with `in_part`, `?6` date and `?7` number of the oldest
/// message in the part.
fn sql(scope: Scope, full_text: bool, in_part: bool) -> AssertSqlSafe<String> {
    let from = match (full_text, scope) {
        // Substring: walk the folder from its newest message until the page is full. instr() and not LIKE: it has no
        // wildcards that would need escaping.
        (false, Scope::Folder(_)) => {
            "folders f CROSS JOIN entries e ON e.folder_id = f.id
             CROSS JOIN search_text s ON s.message_id = e.message_id
             CROSS JOIN messages m ON m.id = e.message_id
             WHERE f.user_id = ?1 AND f.id = ?3 AND instr(s.text, ?2) > 0"
        }
        (false, Scope::All) => {
            "folders f CROSS JOIN entries e ON e.folder_id = f.id
             CROSS JOIN search_text s ON s.message_id = e.message_id
             CROSS JOIN messages m ON m.id = e.message_id
             WHERE f.user_id = ?1 AND ?3 = 0 AND instr(s.text, ?2) > 0"
        }
        (true, Scope::Folder(_)) => {
            "search_index s CROSS JOIN entries e ON e.message_id = s.rowid
             CROSS JOIN folders f ON f.id = e.folder_id CROSS JOIN messages m ON m.id = e.message_id
             WHERE search_index MATCH ?2 AND e.folder_id = ?3 AND f.user_id = ?1"
        }
        (true, Scope::All) => {
            "search_index s CROSS JOIN entries e ON e.message_id = s.rowid
             CROSS JOIN folders f ON f.id = e.folder_id CROSS JOIN messages m ON m.id = e.message_id
             WHERE search_index MATCH ?2 AND ?3 = 0 AND f.user_id = ?1"
        }
    };
    let part = if in_part { " AND (e.date, e.id) >= (?6, ?7)" } else { "" };
    AssertSqlSafe(format!(
        "SELECT e.id AS entry, e.folder_id AS folder, e.date, m.author, m.subject, m.size, m.attachments
         FROM {from}{part} ORDER BY e.date DESC, e.id DESC LIMIT ?4 OFFSET ?5"
    ))
}

/// Text for a substring search: folded like the stored text.
fn folded(text: &str) -> String {
    let text: String = text.trim().chars().take(MAX_LENGTH).collect();
    text.to_lowercase()
}

/// Text for the full-text index: each word a quoted phrase, so that none of it is parsed as query syntax (FTS5 has
/// operators, column filters and prefix marks, and a bound parameter does not protect from them).
fn phrases(text: &str) -> String {
    let text: String = text.chars().take(MAX_LENGTH).filter(|c| *c != '\0').collect();
    let words = text.split_whitespace().filter(|w| w.chars().any(char::is_alphanumeric)).take(MAX_WORDS);
    words.map(|w| format!("\"{}\"", w.replace('"', "\"\""))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_syntax_is_quoted_away() {
        assert_eq!(phrases(r#"a" OR text:b* NEAR(c)"#), r#""a""" "OR" "text:b*" "NEAR(c)""#);
        assert_eq!(phrases("  - \" * "), "", "nothing to search for");
        assert_eq!(phrases(&"x ".repeat(100)).split(' ').count(), MAX_WORDS);
    }

    #[test]
    fn text_is_folded_and_capped() {
        assert_eq!(folded("  Été_100% "), "été_100%");
        assert_eq!(folded(&"é".repeat(500)).chars().count(), MAX_LENGTH);
    }
}
