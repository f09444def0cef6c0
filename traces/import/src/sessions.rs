//! Converts the entries of all sessions, in the order of time, to records: each session has its own grammar.

use std::{collections::BTreeMap, io};

use traces::{
    names::count,
    trace::{LOGIN, Totals},
};

use super::{
    emit::Emit,
    entry::{Command, EventKind, LogEntry, Page},
    grammar::Did,
    open_session::{OpenSession, open},
};

/// The silence after which a session is over, microseconds. Mail servers close idle connections after half an hour (RFC
/// 9051, section 5.4), but a client in IDLE stays.
const SILENT: i64 = 24 * 3600 * 1_000_000;

/// The longest time between a logout and the log's own line about the session, microseconds.
const AFTER_END: i64 = 60 * 1_000_000;

/// The smallest number of sessions at which finished ones are searched.
const LEAST_SWEEP: usize = 1024;

/// Converts entries to records.
#[derive(Debug)]
pub struct SessionAssembler<'a> {
    open: BTreeMap<String, OpenSession>,
    /// In sources without sessions, a longer pause ends one: microseconds.
    gap: i64,
    /// The longest pause after which a command follows a SELECT directly: microseconds.
    window: i64,
    /// The number of open sessions at which finished ones are searched next.
    sweep_at: usize,
    now: i64,
    emit: Emit<'a>,
}

impl<'a> SessionAssembler<'a> {
    /// `gap`, `window`: microseconds.
    pub fn new(gap: i64, window: i64, emit: Emit<'a>) -> Self {
        Self { open: BTreeMap::new(), gap, window, sweep_at: LEAST_SWEEP, now: 0, emit }
    }

    /// Takes the next entry.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn take(&mut self, entry: LogEntry) -> io::Result<()> {
        let LogEntry { at, session, user, what } = entry;
        self.now = at;
        if self.open.len() >= self.sweep_at {
            self.sweep()?;
        }
        match what {
            EventKind::Login { coarse } => self.login(at, session, user, coarse),
            EventKind::Command(command) => self.command(at, session, user, command),
            EventKind::Page(page) => self.page(at, session, user, &page),
            EventKind::End(totals) => {
                self.end(at, &session, &totals);
                Ok(())
            }
        }
    }

    /// Ends the input, and closes the open sessions.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        for (_, session) in std::mem::take(&mut self.open) {
            self.forget(session)?;
        }
        self.emit.finish();
        Ok(())
    }

    fn login(&mut self, at: i64, key: String, user: String, coarse: bool) -> io::Result<()> {
        // Some sources name sessions by address and port, which are used again.
        if self.open.get(&key).is_some_and(|session| session.left.is_some())
            && let Some(before) = self.open.remove(&key)
        {
            self.forget(before)?;
        }
        let session = open(&mut self.open, at, key, user);
        let complete = session.grammar.login(at, coarse);
        self.emit.some(session, complete)
    }

    fn command(&mut self, at: i64, key: String, user: String, command: Command) -> io::Result<()> {
        let name = command.name.clone();
        let session = open(&mut self.open, at, key, user);
        let (did, complete) = session.grammar.take(at, self.window, command);
        let tally = &mut *self.emit.tally;
        let names = match did {
            Did::Began => &mut tally.began,
            Did::Merged => &mut tally.merged,
            Did::Dropped | Did::Ended => &mut tally.dropped,
            Did::Unknown => &mut tally.unknown,
        };
        count(names, &name);
        if did == Did::Ended {
            session.left = session.left.or(Some(at));
        }
        self.emit.some(session, complete)
    }

    fn page(&mut self, at: i64, key: String, user: String, page: &Page) -> io::Result<()> {
        let by_pause = key.is_empty();
        let key = if by_pause { format!("user {user}") } else { key };
        let over = self.open.get(&key).is_some_and(|session| {
            session.by_pause && (at - session.last > self.gap || (page.action == LOGIN && session.shown))
        });
        if over && let Some(mut before) = self.open.remove(&key) {
            before.left = Some(before.last);
            self.forget(before)?;
        }
        let session = open(&mut self.open, at, key, user);
        session.by_pause = by_pause;
        if by_pause && !session.shown {
            session.name = format!("{}@{at}", session.name);
        }
        let done = at.saturating_add_unsigned(page.cost.lasted.unwrap_or(0));
        session.last = session.last.max(done);
        self.emit.whole(session, at, page)
    }

    fn end(&mut self, at: i64, key: &str, totals: &Totals) {
        // The end of a session without any entry carries no information.
        let Some(session) = self.open.get_mut(key) else { return };
        session.left = session.left.or(Some(at));
        session.last = session.last.max(at);
        let Totals { shown, deleted, lasted } = totals;
        session.totals.shown = session.totals.shown.or(*shown);
        session.totals.deleted = session.totals.deleted.or(*deleted);
        session.totals.lasted = session.totals.lasted.or(*lasted);
    }

    /// Closes finished sessions, so that memory holds only those that may go on.
    fn sweep(&mut self) -> io::Result<()> {
        let now = self.now;
        let gap = self.gap;
        let over = self.open.extract_if(.., |_, session| {
            let wait = match session.left {
                Some(_) => AFTER_END,
                None if session.by_pause => gap,
                None => SILENT,
            };
            now - session.last > wait
        });
        for (_, session) in over.collect::<Vec<_>>() {
            self.forget(session)?;
        }
        self.sweep_at = LEAST_SWEEP.max(self.open.len() * 2);
        Ok(())
    }

    /// Writes the rest of a session.
    fn forget(&mut self, mut session: OpenSession) -> io::Result<()> {
        if session.by_pause && session.left.is_none() && self.now - session.last > self.gap {
            session.left = Some(session.last);
        }
        let complete = session.grammar.close();
        self.emit.some(&mut session, complete)?;
        self.emit.end(&session)
    }
}
