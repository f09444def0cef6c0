//! A session while its entries are read.

use std::collections::BTreeMap;

use super::grammar::Grammar;
use crate::trace::Totals;

/// A session that may go on.
#[derive(Debug, Default)]
pub struct OpenSession {
    /// Who; empty while nobody has said it.
    pub user: String,
    /// Its name, unlike any other's.
    pub name: String,
    /// When it ended, and what it came to.
    pub left: Option<i64>,
    /// What the source counts of it.
    pub totals: Totals,
    /// When it was last heard of.
    pub last: i64,
    /// Something of it is in the trace.
    pub shown: bool,
    /// When its last action began.
    last_shown: i64,
    /// The source has no sessions: this one is made from a user's pauses.
    pub by_pause: bool,
    pub grammar: Grammar,
}

impl OpenSession {
    /// When its last action in the trace began.
    pub fn last_shown(&self) -> i64 {
        self.last_shown
    }

    /// An action is in the trace.
    pub fn shown_at(&mut self, at: i64) {
        self.shown = true;
        self.last_shown = self.last_shown.max(at);
    }
}

/// The session of that key, new or not.
pub fn open(sessions: &mut BTreeMap<String, OpenSession>, at: i64, key: String, user: String) -> &mut OpenSession {
    let session = sessions.entry(key).or_insert_with_key(|key| OpenSession {
        // A key with an address in it may come again.
        name: if key.contains('|') { format!("{key}@{at}") } else { key.clone() },
        last: at,
        ..OpenSession::default()
    });
    if session.user.is_empty() {
        session.user = user;
    }
    session.last = session.last.max(at);
    session
}
