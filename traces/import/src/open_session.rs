//! A session while its entries are read.

use std::collections::BTreeMap;

use traces::trace::Totals;

use super::grammar::Grammar;

/// A session that may go on.
#[derive(Debug, Default)]
pub struct OpenSession {
    /// The user; empty while it is not known.
    pub user: String,
    /// Its unique name.
    pub name: String,
    /// The time of its end.
    pub left: Option<i64>,
    /// The totals of the source.
    pub totals: Totals,
    /// The time of its last entry.
    pub last: i64,
    /// True if the trace has actions of it.
    pub shown: bool,
    /// True if the trace has other actions of it than logins.
    pub has_pages: bool,
    /// The start of its last action in the trace.
    last_shown: i64,
    /// True if the source has no sessions: this one is derived from a user's pauses.
    pub by_pause: bool,
    pub grammar: Grammar,
}

impl OpenSession {
    /// The start of its last action in the trace.
    pub fn last_shown(&self) -> i64 {
        self.last_shown
    }

    /// Notes that an action is in the trace.
    pub fn shown_at(&mut self, at: i64) {
        self.shown = true;
        self.last_shown = self.last_shown.max(at);
    }
}

/// The session with this key, new or not.
pub fn open(sessions: &mut BTreeMap<String, OpenSession>, at: i64, key: String, user: String) -> &mut OpenSession {
    let session = sessions.entry(key).or_insert_with_key(|key| OpenSession {
        // A key that contains an address may be used again.
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
