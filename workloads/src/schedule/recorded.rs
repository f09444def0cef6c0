//! The arrivals of a recording.

use std::fmt;

use controllers::{Timestamp, random::mix};

use super::event::{Arrival, ScheduleChange};
use crate::{
    persona::Stay,
    replay::{Coming, Pace, ReplaySession, ReplaySessions, Script},
};

/// Sessions of a recording that start within a phase.
pub(super) struct Recorded {
    coming: Coming,
    next: Option<Result<ReplaySession, String>>,
    pace: Pace,
    until: Timestamp,
    /// The time at which a problem is reported: that of the last session before it.
    at: Timestamp,
    seed: u64,
    ordinal: u64,
}

impl Recorded {
    pub(super) fn new(sessions: &ReplaySessions, pace: Pace, from: Timestamp, until: Timestamp, seed: u64) -> Self {
        let coming: Coming = match sessions.open() {
            Ok(coming) => coming,
            Err(problem) => Box::new(std::iter::once(Err(problem))),
        };
        let mut recorded = Self { coming, next: None, pace, until, at: from, seed, ordinal: 0 };
        recorded.step();
        // Earlier sessions belong to an earlier phase.
        while let Some(Ok(session)) = &recorded.next
            && Timestamp::ZERO + session.at < from
        {
            recorded.step();
        }
        recorded
    }

    fn step(&mut self) {
        self.next = self.coming.next();
        self.ordinal += 1;
    }

    pub(super) fn peek(&self) -> Option<Timestamp> {
        match self.next.as_ref()? {
            Ok(session) => Some(Timestamp::ZERO + session.at).filter(|&at| at < self.until),
            Err(_) => Some(self.at),
        }
    }

    /// The next event; an arrival gets user number `user`.
    pub(super) fn next(&mut self, user: u64) -> Option<ScheduleChange> {
        let key = self.seed.wrapping_add(mix(self.ordinal));
        let session = match self.next.take()? {
            Ok(session) => session,
            Err(problem) => {
                // The sessions after a problem cannot be trusted.
                self.coming = Box::new(std::iter::empty());
                return Some(ScheduleChange::Broken(problem));
            }
        };
        self.at = Timestamp::ZERO + session.at;
        self.step();
        let script = Some(Script { name: session.name, steps: session.steps, pace: self.pace });
        let (slot, class) = (session.user, session.class);
        Some(ScheduleChange::Arrive(Arrival { user, key, slot, class, stay: Stay::OneSession, role: None, script }))
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorded").field("next", &self.next).field("until", &self.until).finish_non_exhaustive()
    }
}
