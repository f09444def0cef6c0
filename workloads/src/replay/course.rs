//! How far a user has come with its script.

use controllers::Timestamp;

use super::{Pace, Script, Step};

/// A script, and the step that is next.
#[derive(Debug)]
pub(crate) struct Course {
    script: Script,
    next: usize,
    began: Timestamp,
}

impl Course {
    pub(crate) fn new(script: Script) -> Self {
        Self { script, next: 0, began: Timestamp::ZERO }
    }

    /// The user arrives: recorded times count from now.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.began = now;
    }

    /// The next step.
    pub(crate) fn ahead(&self) -> Option<Step> {
        self.script.steps.get(self.next).cloned()
    }

    /// When it is due, if the answer before it came now.
    pub(crate) fn due(&self, step: &Step, now: Timestamp) -> Timestamp {
        match self.script.pace {
            Pace::Clock => self.began + step.at,
            Pace::Sessions => now + step.pause,
        }
    }

    /// The same for a step that the user is on its way to already.
    pub(crate) fn still_due(&self, step: &Step, now: Timestamp) -> Timestamp {
        match self.script.pace {
            Pace::Clock => self.began + step.at,
            Pace::Sessions => now,
        }
    }

    /// The step is asked for, or passed over.
    pub(crate) fn advance(&mut self) {
        self.next += 1;
    }
}
