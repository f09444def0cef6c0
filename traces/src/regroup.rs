//! A trace's sessions, whole, in the order of their start.
//!
//! Records of many sessions stand mixed in a trace; who replays it needs each session together. A session ends where the
//! trace says so, after [`IDLE`] without a record, or after [`LONGEST`] or [`MOST_STEPS`] (then the rest is a session of its
//! own). Memory is bounded by what happens within `LONGEST`, not by the length of the trace.

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
    time::Duration,
};

use crate::trace::{LEAVE, Reader, Record, TraceError};

/// A session without a record for so long has ended.
pub const IDLE: Duration = Duration::from_secs(30 * 60);
/// A session that lasts longer is cut.
pub const LONGEST: Duration = Duration::from_secs(3600);
/// A session with more records is cut.
pub const MOST_STEPS: usize = 10_000;

/// A session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Who.
    pub user: String,
    /// Class of its first record.
    pub class: u8,
    /// Since the trace began: microseconds.
    pub start: u64,
    /// In order of time.
    pub steps: Vec<Step>,
    /// It goes on where another was cut.
    pub cut: bool,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// As in the trace.
    pub action: String,
    /// As in the trace.
    pub object: String,
    /// Since the session's start: microseconds.
    pub at: u64,
    /// Since the answer before: microseconds; 0 if that was not there yet.
    pub pause: u64,
}

/// Sessions of a trace, as an iterator.
#[derive(Debug)]
pub struct Sessions<R> {
    reader: Reader<R>,
    /// Which session of `waiting` a user's session is in now.
    open: HashMap<(String, String), Key>,
    /// By start: whole ones wait for those that began before.
    waiting: BTreeMap<Key, Building>,
    count: u64,
    now: u64,
    over: bool,
}

/// Start and number.
type Key = (u64, u64);

#[derive(Debug)]
struct Building {
    session: Session,
    /// As in `open`.
    name: (String, String),
    /// When the last answer was there.
    done: u64,
    latest: u64,
    whole: bool,
}

impl<R: Read> Sessions<R> {
    /// The sessions of this trace.
    #[must_use]
    pub fn new(reader: Reader<R>) -> Self {
        Self { reader, open: HashMap::new(), waiting: BTreeMap::new(), count: 0, now: 0, over: false }
    }

    /// Takes in one record; `false` at the end of the trace.
    fn step(&mut self) -> Result<bool, TraceError> {
        let Some(record) = self.reader.next_record()? else {
            self.waiting.values_mut().for_each(|building| building.whole = true);
            self.open.clear();
            return Ok(false);
        };
        let record = record.into_owned();
        self.now = record.offset;
        self.take_in(&record);
        Ok(true)
    }

    fn take_in(&mut self, record: &Record<'_>) {
        let name = (record.user.to_string(), record.session.to_string());
        let key = self.open.get(&name).copied();
        let leaves = record.action == LEAVE;
        let Some(building) = key.and_then(|key| self.waiting.get_mut(&key)) else {
            if !leaves {
                self.begin(record, name, false);
            }
            return;
        };
        if leaves || building.is_over(record.offset) {
            building.whole = true;
            self.open.remove(&name);
            if !leaves {
                self.begin(record, name, false);
            }
            return;
        }
        if building.is_full(record.offset) {
            building.whole = true;
            self.begin(record, name, true);
            return;
        }
        building.push(record);
    }

    fn begin(&mut self, record: &Record<'_>, name: (String, String), cut: bool) {
        let key = (record.offset, self.count);
        self.count += 1;
        let session =
            Session { user: name.0.clone(), class: record.class, start: record.offset, steps: Vec::new(), cut };
        let mut building =
            Building { session, name: name.clone(), done: record.offset, latest: record.offset, whole: false };
        building.push(record);
        self.waiting.insert(key, building);
        self.open.insert(name, key);
    }

    /// The first session, if nothing can be added to it any more.
    fn first(&mut self) -> Option<Session> {
        let mut first = self.waiting.first_entry()?;
        let building = first.get_mut();
        if !building.whole && !building.is_over(self.now) && !building.is_full(self.now) {
            return None;
        }
        let key = *first.key();
        let building = first.remove();
        if self.open.get(&building.name) == Some(&key) {
            self.open.remove(&building.name);
        }
        Some(building.session)
    }
}

impl Building {
    fn push(&mut self, record: &Record<'_>) {
        self.session.steps.push(Step {
            action: record.action.to_string(),
            object: record.object.to_string(),
            at: record.offset - self.session.start,
            pause: record.offset.saturating_sub(self.done),
        });
        self.latest = record.offset;
        self.done = self.done.max(record.done());
    }

    fn is_over(&self, now: u64) -> bool {
        now - self.latest > IDLE.as_micros() as u64
    }

    fn is_full(&self, now: u64) -> bool {
        now - self.session.start > LONGEST.as_micros() as u64 || self.session.steps.len() >= MOST_STEPS
    }
}

impl<R: Read> Iterator for Sessions<R> {
    type Item = Result<Session, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(session) = self.first() {
                return Some(Ok(session));
            }
            if self.over {
                return None;
            }
            match self.step() {
                Ok(more) => self.over = !more,
                Err(problem) => {
                    // What stands before the problem is sound, but its sessions may not be whole.
                    self.over = true;
                    self.waiting.clear();
                    return Some(Err(problem));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
