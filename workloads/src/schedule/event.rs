//! Events of a schedule.

use controllers::{Class, Timestamp};

use crate::{background::BackgroundRole, persona::Stay, replay::Script};

/// One planned event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledEvent {
    /// The time of the event.
    pub at: Timestamp,
    /// The event.
    pub what: ScheduleChange,
}

impl ScheduledEvent {
    /// The user that it is about, if it is about one.
    pub(super) fn user(&self) -> Option<u64> {
        match &self.what {
            ScheduleChange::Arrive(arrival) => Some(arrival.user),
            ScheduleChange::Depart(user) => Some(*user),
            ScheduleChange::Phase(_) | ScheduleChange::Broken(_) | ScheduleChange::End => None,
        }
    }
}

/// The kinds of planned events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleChange {
    /// This phase begins (an index into the plan).
    Phase(usize),
    /// A user arrives, and starts at once.
    Arrive(Arrival),
    /// The user with this number, if it is still there, leaves after its current request.
    Depart(u64),
    /// The rest of a recording cannot be read, for this reason. The run has measured only a part of it.
    Broken(String),
    /// The last phase is over: no request begins any more.
    End,
}

/// A user that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its number in order of arrival, from 0. Never used twice in a run.
    pub user: u64,
    /// The key of its draws ([`crate::Crowd::draws`]): derived from its class or stream and its number within, so that
    /// an additional class does not shift another's draws.
    pub key: u64,
    /// Its account. A closed user takes the lowest free one, so that users rarely share an account.
    pub slot: u32,
    /// The user's class.
    pub class: Class,
    /// How long it stays.
    pub stay: Stay,
    /// The role of a background client; `None`: it is a user.
    pub role: Option<BackgroundRole>,
    /// The user's requests, if they are recorded.
    pub script: Option<Script>,
}
