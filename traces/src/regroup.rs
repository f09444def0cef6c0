//! The complete sessions of a trace in the order of their start.
//!
//! A trace interleaves the records of sessions; a replay needs each session as a whole. A session ends where the trace
//! says so, after [`IDLE`] without a record, or after [`LONGEST`] or [`MOST_STEPS`] (the rest becomes a separate
//! session). So a session waits for those that began before it for at most `LONGEST`.
//!
//! Memory holds [`HELD`] steps of waiting and open sessions; further steps go to temporary files. An open session then
//! takes about 300 bytes: memory grows with the number of concurrent sessions, not with the trace.

mod overflow;
mod session;

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Read},
    time::Duration,
};

use crate::trace::{LEAVE, Reader, Record, TraceError};
use overflow::{Overflow, Part};
use session::Key;

pub use session::{Session, Step};

/// A session without a record for this time has ended.
pub const IDLE: Duration = Duration::from_secs(30 * 60);
/// A session that lasts longer is cut.
pub const LONGEST: Duration = Duration::from_secs(3600);
/// A session with more records is cut.
pub const MOST_STEPS: usize = 10_000;
/// The largest number of steps in memory, about 150 bytes each.
pub const HELD: usize = 250_000;

/// Sessions of a trace, as an iterator.
#[derive(Debug)]
pub struct Sessions<R> {
    reader: Reader<R>,
    /// The key in `waiting` of each open session.
    open: HashMap<(String, String), Key>,
    /// Sessions by start: complete ones wait for those that began before.
    waiting: BTreeMap<Key, Building>,
    /// The number of steps in `waiting`, and its limit in `room`.
    held: usize,
    room: usize,
    /// Steps beyond the limit: complete sessions, and the first steps of others.
    overflow: Overflow,
    count: u64,
    now: u64,
    over: bool,
}

#[derive(Debug)]
struct Building {
    session: Session,
    /// As in `open`.
    name: (String, String),
    /// The time of the last answer.
    done: u64,
    latest: u64,
    /// Steps so far, in memory and in files.
    steps: usize,
    whole: bool,
}

impl<R: Read> Sessions<R> {
    /// The sessions of this trace.
    #[must_use]
    pub fn new(reader: Reader<R>) -> Self {
        Self::holding(reader, HELD)
    }

    /// The same with another limit of steps in memory.
    fn holding(reader: Reader<R>, room: usize) -> Self {
        Self {
            reader,
            open: HashMap::new(),
            waiting: BTreeMap::new(),
            held: 0,
            room,
            overflow: Overflow::default(),
            count: 0,
            now: 0,
            over: false,
        }
    }

    /// Adds one record; `false` at the end of the trace.
    fn step(&mut self) -> Result<bool, TraceError> {
        let Some(record) = self.reader.next_record()? else {
            self.waiting.values_mut().for_each(|building| building.whole = true);
            self.open.clear();
            return Ok(false);
        };
        let record = record.into_owned();
        self.now = record.offset;
        self.take_in(&record);
        if self.held > self.room {
            self.spill().map_err(TraceError::Spool)?;
        }
        Ok(true)
    }

    fn take_in(&mut self, record: &Record<'_>) {
        let name = (record.user.to_string(), record.session.to_string());
        let key = self.open.get(&name).copied();
        let leaves = record.action == LEAVE;
        let Some(building) = key.and_then(|key| self.waiting.get_mut(&key)) else {
            if !leaves {
                self.begin(record, name);
            }
            return;
        };
        if leaves || building.has_ended(record.offset) {
            building.whole = true;
            self.open.remove(&name);
            if !leaves {
                self.begin(record, name);
            }
            return;
        }
        building.push(record);
        self.held += 1;
    }

    fn begin(&mut self, record: &Record<'_>, name: (String, String)) {
        let key = (record.offset, self.count);
        self.count += 1;
        let session = Session { user: name.0.clone(), class: record.class, start: record.offset, steps: Vec::new() };
        let mut building = Building {
            session,
            name: name.clone(),
            done: record.offset,
            latest: record.offset,
            steps: 0,
            whole: false,
        };
        building.push(record);
        self.held += 1;
        self.waiting.insert(key, building);
        self.open.insert(name, key);
    }

    /// Writes all steps to a file. Complete sessions leave memory.
    fn spill(&mut self) -> io::Result<()> {
        let now = self.now;
        let (mut parts, mut going_on) = (Vec::new(), BTreeMap::new());
        for (key, mut building) in std::mem::take(&mut self.waiting) {
            let steps = std::mem::take(&mut building.session.steps);
            if !steps.is_empty() {
                parts.push(Part { key, session: Session { steps, ..building.session.clone() } });
            }
            if building.has_ended(now) {
                self.close(&building.name, key);
            } else {
                going_on.insert(key, building);
            }
        }
        self.waiting = going_on;
        self.held = 0;
        self.overflow.push(parts.into_iter())
    }

    /// True if the session is complete.
    fn close(&mut self, name: &(String, String), key: Key) {
        if self.open.get(name) == Some(&key) {
            self.open.remove(name);
        }
    }

    /// The first session, if it is complete.
    fn first(&mut self) -> io::Result<Option<Session>> {
        let keys = [self.waiting.keys().next().copied(), self.overflow.first()];
        let Some(key) = keys.into_iter().flatten().min() else { return Ok(None) };
        if self.waiting.get(&key).is_some_and(|building| !building.has_ended(self.now)) {
            return Ok(None);
        }
        let late = self.waiting.remove(&key);
        if let Some(building) = &late {
            self.held -= building.session.steps.len();
            self.close(&building.name, key);
        }
        let late = late.map(|building| building.session);
        let early = if self.overflow.first() == Some(key) { self.overflow.take(key)? } else { None };
        Ok(match early {
            None => late,
            Some(Part { mut session, .. }) => {
                session.steps.extend(late.into_iter().flat_map(|late| late.steps));
                Some(session)
            }
        })
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
        self.steps += 1;
        self.latest = record.offset;
        self.done = self.done.max(record.done());
    }

    fn is_over(&self, now: u64) -> bool {
        now - self.latest > IDLE.as_micros() as u64
    }

    fn is_full(&self, now: u64) -> bool {
        now - self.session.start > LONGEST.as_micros() as u64 || self.steps >= MOST_STEPS
    }

    fn has_ended(&self, now: u64) -> bool {
        self.whole || self.is_over(now) || self.is_full(now)
    }
}

impl<R: Read> Iterator for Sessions<R> {
    type Item = Result<Session, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let problem = match self.first() {
                Ok(Some(session)) => return Some(Ok(session)),
                Ok(None) if self.over => return None,
                Ok(None) => match self.step() {
                    Ok(more) => {
                        self.over = !more;
                        continue;
                    }
                    Err(problem) => problem,
                },
                Err(error) => TraceError::Spool(error),
            };
            // Records before the problem are valid, but their sessions can be incomplete.
            self.over = true;
            self.waiting.clear();
            self.overflow = Overflow::default();
            return Some(Err(problem));
        }
    }
}

#[cfg(test)]
mod tests;
