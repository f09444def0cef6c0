//! How far a user has come with its script.

use controllers::Timestamp;

use super::{Pace, ReplayStep, Script, Steps};

/// A script, and the step that is next.
#[derive(Debug)]
pub(crate) struct Course {
    script: Script,
    next: usize,
    began: Timestamp,
    /// A step was taken, and its request is in no books yet.
    to_ask: bool,
    steps: Steps,
}

impl Course {
    /// `steps` counts what becomes of it.
    pub(crate) fn new(script: Script, steps: Steps) -> Self {
        steps.begun(script.steps.len());
        Self { script, next: 0, began: Timestamp::ZERO, to_ask: false, steps }
    }

    /// The user arrives: recorded times count from now.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.began = now;
    }

    /// The next step.
    pub(crate) fn ahead(&self) -> Option<ReplayStep> {
        self.script.steps.get(self.next).cloned()
    }

    /// When it is due, if the answer before it came now.
    pub(crate) fn due(&self, step: &ReplayStep, now: Timestamp) -> Timestamp {
        match self.script.pace {
            Pace::Clock => self.began + step.at,
            Pace::Sessions => now + step.pause,
        }
    }

    /// The same for a step that the user is on its way to already.
    pub(crate) fn still_due(&self, step: &ReplayStep, now: Timestamp) -> Timestamp {
        match self.script.pace {
            Pace::Clock => self.began + step.at,
            Pace::Sessions => now,
        }
    }

    /// The step is what is asked for next.
    pub(crate) fn take(&mut self) {
        self.to_ask = true;
        self.next += 1;
    }

    /// A request of the user's is in the books: it is that of the step that was taken, if there is one.
    pub(crate) fn asked(&mut self) {
        if std::mem::take(&mut self.to_ask) {
            self.steps.asked();
        }
    }

    /// The step is left out.
    pub(crate) fn pass_over(&mut self) {
        self.steps.passed_over();
        self.next += 1;
    }
}
