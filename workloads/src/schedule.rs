//! Who arrives and leaves when, as planned from the seed before the run.

use controllers::{Class, Timestamp};

use crate::{persona::Stay, plan::LoadPlan};

/// One planned event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
}

/// What is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A user arrives, and starts at once.
    Arrive(Arrival),
    /// The user with this number is let go after the request it is at, if it is still there.
    Depart(u64),
    /// This phase begins (an index into the plan).
    Phase(usize),
    /// The last phase is over: nobody begins anything any more.
    End,
}

/// A user that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its number, which keys its draws. Never used twice in a run.
    pub user: u64,
    /// Its account. Closed users that replace others take over theirs.
    pub slot: u32,
    /// Its class.
    pub class: Class,
    /// How long it stays.
    pub stay: Stay,
}

/// The planned events of a run in order of time, made one at a time: memory is bounded by the closed users that are there
/// at once. Two schedules of one plan are equal.
#[derive(Debug, Clone)]
pub struct Schedule {
    events: std::vec::IntoIter<Event>,
}

impl Schedule {
    /// The schedule of this plan.
    #[must_use]
    pub fn new(plan: &LoadPlan) -> Self {
        let mut begins = Timestamp::ZERO;
        let mut events = Vec::new();
        for (index, phase) in plan.phases.iter().enumerate() {
            events.push(Event { at: begins, what: What::Phase(index) });
            begins = begins + phase.duration;
        }
        events.push(Event { at: begins, what: What::End });
        Self { events: events.into_iter() }
    }
}

impl Iterator for Schedule {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.events.next()
    }
}
