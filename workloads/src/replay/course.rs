//! The position of a user in its script.

use controllers::Timestamp;

use super::{Pace, ReplayStep, Script, Steps};

/// A script, and its next step.
#[derive(Debug)]
pub(crate) struct Course {
    script: Script,
    next: usize,
    began: Timestamp,
    /// True if a step was taken and its request is in no ledger yet.
    to_ask: bool,
    steps: Steps,
}

impl Course {
    /// Follows `script`; `steps` counts the results.
    pub(crate) fn new(script: Script, steps: Steps) -> Self {
        steps.begun(script.steps.len());
        Self { script, next: 0, began: Timestamp::ZERO, to_ask: false, steps }
    }

    /// Starts the script when the user arrives: recorded times count from now.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.began = now;
    }

    /// The next step.
    pub(crate) fn ahead(&self) -> Option<ReplayStep> {
        self.script.steps.get(self.next).cloned()
    }

    /// The time at which the step is due, if the answer before it came now.
    pub(crate) fn due(&self, step: &ReplayStep, now: Timestamp) -> Timestamp {
        match self.script.pace {
            Pace::Clock => self.began + step.at,
            Pace::Sessions => now + step.pause,
        }
    }

    /// The time at which a step is due to which the user is already on its way.
    pub(crate) fn still_due(&self, step: &ReplayStep, now: Timestamp) -> Timestamp {
        match self.script.pace {
            Pace::Clock => self.began + step.at,
            Pace::Sessions => now,
        }
    }

    /// Takes the step: it is requested next.
    pub(crate) fn take(&mut self) {
        self.to_ask = true;
        self.next += 1;
    }

    /// Notes that a request of the user is in the ledger: it is that of the step that was taken, if there is one.
    pub(crate) fn asked(&mut self) {
        if std::mem::take(&mut self.to_ask) {
            self.steps.asked();
        }
    }

    /// Skips the step.
    pub(crate) fn pass_over(&mut self) {
        self.steps.passed_over();
        self.next += 1;
    }
}
