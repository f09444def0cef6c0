//! Counts of users' transitions: one pass over a trace, in memory that does not grow with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{arrivals::Bins, sample::Sample};
use crate::trace::{LEAVE, LOGIN, Record};

/// The states of web-mail users. A model has no others.
pub const STATES: [&str; 7] = [LOGIN, "list folders", "list messages", "show message", "delete", "refile", "search"];

/// The number of states.
pub const COUNT: usize = STATES.len();

/// A session without a record for this time, microseconds, counts as ended.
const SILENT: u64 = 24 * 3600 * 1_000_000;

/// The number of open sessions from which silent ones are searched.
const WAITING: usize = 500_000;

/// The largest number of folders with a stored size.
const FOLDERS: usize = 200_000;

/// Counts over all sessions.
#[derive(Debug, Default)]
pub struct Walks {
    /// Transitions by from and to. A transition to login is the end of a session.
    pub pairs: [[u64; COUNT]; COUNT],
    /// Transitions by previous state, from and to.
    pub triples: [[[u64; COUNT]; COUNT]; COUNT],
    /// Pauses between requests, microseconds.
    pub pauses: PauseSamples,
    /// Requests in sessions that ended.
    pub lengths: Sample,
    /// The times at which sessions began.
    pub arrivals: Bins,
    /// Bytes of answers, by action.
    pub sizes: BTreeMap<String, Sample>,
    /// Records of other actions.
    pub left_out: BTreeMap<String, u64>,
    /// Numbers of sessions.
    pub sessions: SessionCounts,
    /// Offset of the last record.
    pub end: u64,
    open: BTreeMap<u64, Open>,
    /// Users, with their last login.
    users: BTreeMap<u64, u64>,
    /// Highest number of a message in each folder.
    folders: BTreeMap<u64, u64>,
}

/// Pauses between requests, microseconds.
#[derive(Debug, Default)]
pub struct PauseSamples {
    /// By from and to.
    pub by_step: [[Sample; COUNT]; COUNT],
    /// By from.
    pub after: [Sample; COUNT],
    /// All of them.
    pub all: Sample,
}

/// Numbers of sessions.
#[derive(Debug, Default)]
pub struct SessionCounts {
    /// All sessions.
    pub all: u64,
    /// Those whose end is not in the trace.
    pub cut: u64,
    /// Those that did not begin with a login.
    pub without_login: u64,
    /// Sessions with 1, 2, 3 … requests; the last entry counts all longer ones.
    pub by_length: Vec<u64>,
}

/// The longest session with a count of its own.
const LONGEST: usize = 10_000;

#[derive(Debug)]
struct Open {
    user: u64,
    state: usize,
    before: Option<usize>,
    /// When the last page was complete.
    done: u64,
    /// When the last record began.
    last: u64,
    /// Requests so far.
    length: usize,
    /// True if the last page's time is a guess, so that the pause after it is not counted.
    guessed: bool,
}

impl Walks {
    /// Adds a record.
    pub fn take(&mut self, record: &Record<'_>) {
        self.end = self.end.max(record.offset);
        if self.open.len() > WAITING {
            self.sweep();
        }
        let session = hashed(&record.session);
        if record.action == LEAVE {
            if let Some(open) = self.open.remove(&session) {
                self.leave(&open, Some(record.offset));
            }
            return;
        }
        let Some(state) = STATES.iter().position(|state| *state == record.action) else {
            // Few actions have names; a hostile trace must not fill memory with them.
            let known = self.left_out.len() < 100 || self.left_out.contains_key(&*record.action);
            let name = if known { record.action.to_string() } else { "others".into() };
            *self.left_out.entry(name).or_default() += 1;
            return;
        };
        if let Some(bytes) = record.received {
            self.sizes.entry(STATES[state].into()).or_default().add(bytes);
        }
        self.folder(record);
        let user = hashed(&record.user);
        if state == 0 {
            self.users.insert(user, record.offset);
        } else {
            self.users.entry(user).or_insert(record.offset);
        }
        match self.open.remove(&session) {
            Some(open) if state == 0 => {
                self.leave(&open, Some(record.offset));
                self.begin(session, user, record);
            }
            Some(open) => self.go(session, &open, state, record),
            None if state == 0 => self.begin(session, user, record),
            None => {
                // Counted as if the session began with a login at the same time.
                self.sessions.without_login += 1;
                self.begin(session, user, &Record { inferred: true, ..record.clone() });
                if let Some(open) = self.open.remove(&session) {
                    self.go(session, &open, state, record);
                }
            }
        }
    }

    /// Ends the trace.
    pub fn finish(&mut self) {
        let open = std::mem::take(&mut self.open);
        open.values().for_each(|open| self.resolve(open));
    }

    /// The number of users.
    #[must_use]
    pub fn users(&self) -> u64 {
        self.users.len() as u64
    }

    /// Sizes of folders.
    #[must_use]
    pub fn folders(&self) -> Sample {
        let mut sample = Sample::default();
        self.folders.values().for_each(|&size| sample.add(size));
        sample
    }

    fn begin(&mut self, session: u64, user: u64, record: &Record<'_>) {
        self.sessions.all += 1;
        self.arrivals.add(record.offset);
        let (done, last) = (record.done(), record.offset);
        let open = Open { user, state: 0, before: None, done, last, length: 1, guessed: record.inferred };
        self.open.insert(session, open);
    }

    fn go(&mut self, session: u64, open: &Open, state: usize, record: &Record<'_>) {
        self.step(open, state, record.offset);
        let next = Open {
            state,
            before: Some(open.state),
            done: record.done(),
            last: record.offset,
            length: open.length + 1,
            guessed: record.inferred,
            user: open.user,
        };
        self.open.insert(session, next);
    }

    fn step(&mut self, open: &Open, to: usize, at: u64) {
        self.pairs[open.state][to] += 1;
        if let Some(before) = open.before {
            self.triples[before][open.state][to] += 1;
        }
        if !open.guessed {
            // A request before the answer is complete has no pause.
            let pause = at.saturating_sub(open.done);
            self.pauses.by_step[open.state][to].add(pause);
            self.pauses.after[open.state].add(pause);
            self.pauses.all.add(pause);
        }
    }

    /// Ends a session. `at`: the time; `None`: unknown.
    fn leave(&mut self, open: &Open, at: Option<u64>) {
        let guessed = open.guessed || at.is_none();
        self.step(&Open { guessed, ..*open }, 0, at.unwrap_or(open.done));
        self.lengths.add(open.length as u64);
        let place = open.length.min(LONGEST);
        if self.sessions.by_length.len() <= place {
            self.sessions.by_length.resize(place + 1, 0);
        }
        self.sessions.by_length[place] += 1;
    }

    /// A session whose end is not in the trace: if its user logged in again, it had ended; else it was cut.
    fn resolve(&mut self, open: &Open) {
        if self.users.get(&open.user).is_some_and(|login| *login > open.last) {
            self.leave(open, None);
        } else {
            self.sessions.cut += 1;
        }
    }

    fn sweep(&mut self) {
        let end = self.end;
        let silent: Vec<Open> =
            self.open.extract_if(.., |_, open| end - open.last > SILENT).map(|(_, open)| open).collect();
        silent.iter().for_each(|open| self.resolve(open));
    }

    /// The highest number of a message that the record names is a lower bound of its folder's size.
    fn folder(&mut self, record: &Record<'_>) {
        let Some((folder, messages)) = record.object.rsplit_once('/') else { return };
        let numbers = messages.split([':', ',']).filter_map(|number| number.parse::<u64>().ok());
        let Some(highest) = numbers.max() else { return };
        let key = hashed(&(&*record.user, folder));
        if self.folders.len() < FOLDERS || self.folders.contains_key(&key) {
            let size = self.folders.entry(key).or_default();
            *size = highest.max(*size);
        }
    }
}

fn hashed(name: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// States that lie on a cycle through the first state: users cannot visit the others.
#[must_use]
pub fn walkable(pairs: &[[u64; COUNT]; COUNT]) -> BTreeSet<usize> {
    let reach = |forward: bool| {
        let mut reached = BTreeSet::from([0]);
        let mut todo = vec![0];
        while let Some(at) = todo.pop() {
            let seen = |next: &usize| if forward { pairs[at][*next] > 0 } else { pairs[*next][at] > 0 };
            for next in (0..COUNT).filter(seen) {
                if reached.insert(next) {
                    todo.push(next);
                }
            }
        }
        reached
    };
    reach(true).intersection(&reach(false)).copied().collect()
}
