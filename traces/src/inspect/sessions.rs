//! Sessions and users of a trace of any service, by its records alone.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::{
    learn::{Bins, Sample},
    spread::UserRequests,
    trace::{LEAVE, LOGIN, Record},
};

/// A session without a record for this time, microseconds, counts as ended.
const SILENT: u64 = 24 * 3600 * 1_000_000;

/// The number of open sessions from which silent ones are searched.
const WAITING: usize = 500_000;

/// Counts over all sessions.
#[derive(Debug, Default)]
pub struct SessionsSeen {
    /// All sessions.
    pub all: u64,
    /// Those whose end is not in the trace.
    pub cut: u64,
    /// Those of a login and nothing else.
    pub login_only: u64,
    /// Requests in sessions that ended.
    pub lengths: Sample,
    /// The times at which sessions began.
    pub arrivals: Bins,
    /// Requests by user.
    pub by_user: UserRequests,
    open: HashMap<u64, Open>,
    /// When the last session of each user began.
    began: HashMap<u64, u64>,
    end: u64,
}

#[derive(Debug)]
struct Open {
    user: u64,
    last: u64,
    requests: u64,
    has_pages: bool,
}

impl SessionsSeen {
    /// Adds a record.
    pub fn take(&mut self, record: &Record<'_>) {
        self.end = self.end.max(record.offset);
        if self.open.len() > WAITING {
            self.sweep();
        }
        let session = hashed(&record.session);
        if record.action == LEAVE {
            if let Some(open) = self.open.remove(&session) {
                self.leave(&open);
            }
            return;
        }
        self.by_user.add(&record.user);
        let is_login = record.action == LOGIN;
        if is_login && let Some(before) = self.open.remove(&session) {
            self.leave(&before);
        }
        let user = hashed(&record.user);
        let open = self.open.entry(session).or_insert_with(|| {
            self.all += 1;
            self.arrivals.add(record.offset);
            self.began.insert(user, record.offset);
            Open { user, last: 0, requests: 0, has_pages: false }
        });
        open.last = record.offset;
        open.requests += 1;
        open.has_pages |= !is_login;
    }

    /// Ends the trace.
    pub fn finish(&mut self) {
        for (_, open) in std::mem::take(&mut self.open) {
            self.resolve(&open);
        }
    }

    fn leave(&mut self, open: &Open) {
        self.lengths.add(open.requests);
        self.login_only += u64::from(!open.has_pages);
    }

    /// A session whose end is not in the trace: if its user began another one, it had ended; else it was cut.
    fn resolve(&mut self, open: &Open) {
        if self.began.get(&open.user).is_some_and(|began| *began > open.last) {
            self.leave(open);
        } else {
            self.cut += 1;
            self.login_only += u64::from(!open.has_pages);
        }
    }

    fn sweep(&mut self) {
        let end = self.end;
        let silent: Vec<Open> =
            self.open.extract_if(|_, open| end - open.last > SILENT).map(|(_, open)| open).collect();
        silent.iter().for_each(|open| self.resolve(open));
    }
}

fn hashed(name: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
