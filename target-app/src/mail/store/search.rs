//! Search over message headers: by substring, as in the thesis, or by full-text index.

use std::{sync::Arc, time::Instant};

use sqlx::{AssertSqlSafe, query_as, query_scalar};

use super::{Listed, PAGE_ROWS, Scope, Store, StoreError, UserId};

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hits {
    /// One page of it, newest first.
    pub rows: Vec<Listed>,
    /// There is at least one more.
    pub more: bool,
}

/// Longest text that is searched for, in characters; the rest is ignored.
const MAX_LENGTH: usize = 200;
/// Most words of a full-text search; the rest is ignored.
const MAX_WORDS: usize = 8;
/// How many steps of SQLite's machine between two looks at the clock: some ten microseconds.
const STEPS_BETWEEN_CHECKS: i32 = 4096;

impl Store {
    /// Messages whose headers hold `text`, newest first, from hit number `start` on. `None`: the user has no such
    /// folder. Nothing (but blanks) is found nowhere.
    ///
    /// # Errors
    /// [`StoreError::TooLong`] if it would take longer than a search may.
    pub async fn search(&self, user: UserId, scope: Scope, text: &str, start: u32) -> Result<Option<Hits>, StoreError> {
        let mut reader = self.read.acquire().await?;
        if let Scope::Folder(folder) = scope {
            let there: Option<i64> = query_scalar("SELECT 1 FROM folders WHERE id = ? AND user_id = ?")
                .bind(folder)
                .bind(user)
                .fetch_optional(&mut *reader)
                .await?;
            if there.is_none() {
                return Ok(None);
            }
        }
        let wanted = if self.full_text { phrases(text) } else { folded(text) };
        if wanted.is_empty() {
            return Ok(Some(Hits { rows: Vec::new(), more: false }));
        }
        // The handler stays with the connection, so it must not outlive this search, not even if the search is dropped
        // half way: it does nothing once `running` is gone.
        let running = Arc::new(());
        let watched = Arc::downgrade(&running);
        let until = Instant::now() + self.search_time;
        reader
            .lock_handle()
            .await?
            .set_progress_handler(STEPS_BETWEEN_CHECKS, move || watched.strong_count() == 0 || Instant::now() < until);
        let sql = sql(scope, self.full_text);
        let bound = query_as(sql).bind(user).bind(wanted);
        let bound = match scope {
            Scope::Folder(folder) => bound.bind(folder),
            Scope::All => bound.bind(0),
        };
        let mut rows: Vec<Listed> = bound.bind(PAGE_ROWS + 1).bind(start).fetch_all(&mut *reader).await?;
        drop(running);
        let more = rows.len() > PAGE_ROWS as usize;
        rows.truncate(PAGE_ROWS as usize);
        Ok(Some(Hits { rows, more }))
    }
}

/// `?1` user, `?2` text, `?3` folder, `?4` rows, `?5` offset.
fn sql(scope: Scope, full_text: bool) -> AssertSqlSafe<String> {
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
    AssertSqlSafe(format!(
        "SELECT e.id AS entry, e.folder_id AS folder, e.date, m.author, m.subject, m.size, m.attachments
         FROM {from} ORDER BY e.date DESC, e.id DESC LIMIT ?4 OFFSET ?5"
    ))
}

/// Text for a substring search: folded like the stored text.
fn folded(text: &str) -> String {
    let text: String = text.trim().chars().take(MAX_LENGTH).collect();
    text.to_lowercase()
}

/// Text for the full-text index: each word a quoted phrase, so that none of it is read as query syntax (FTS5 has
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
