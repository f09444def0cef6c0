//! The position of a mail user in its script.

use std::sync::Arc;

use controllers::Timestamp;

use super::{known_mailbox::KnownMailbox, model::State};
use crate::{
    page::ScannedPage,
    replay::{Course, Object, Script, Steps},
};

/// A script, and the search for its next step.
#[derive(Debug)]
pub(super) struct ScriptPosition {
    course: Course,
    /// The number of other pages that the user has requested to find the next step, since the page did not offer it.
    detours: u8,
    /// The object of the step that was requested last.
    about: Object,
    /// The mailbox, as far as the user's session knows it.
    pub(super) mailbox: KnownMailbox,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScriptStep {
    pub(super) state: State,
    pub(super) object: Object,
    /// The time at which the step is due.
    pub(super) due: Timestamp,
}

impl ScriptPosition {
    pub(super) fn new(script: Script, steps: Steps) -> Self {
        Self {
            course: Course::new(script, steps),
            detours: 0,
            about: Object::default(),
            mailbox: KnownMailbox::default(),
        }
    }

    /// Starts the script: the user arrives and signs in, which completes a first step that signs in.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.course.begin(now);
        if self.course.ahead().is_some_and(|step| State::of(step.kind) == Some(State::Login)) {
            self.course.take();
        }
    }

    /// The next step that web-mail users know, after a page has arrived.
    pub(super) fn ahead(&mut self, now: Timestamp) -> Option<ScriptStep> {
        loop {
            let step = self.course.ahead()?;
            let Some(state) = State::of(step.kind) else {
                self.course.pass_over();
                continue;
            };
            let due = if self.detours > 0 { self.course.still_due(&step, now) } else { self.course.due(&step, now) };
            return Some(ScriptStep { state, object: step.object, due });
        }
    }

    /// True if the user may look for the next step on another page: from the folders to a list, and no further.
    pub(super) fn may_detour(&mut self) -> bool {
        self.detours += 1;
        self.detours <= 2
    }

    /// Takes in a requested page that has arrived.
    pub(super) fn see(&mut self, asked: State, path: &Arc<str>, page: &ScannedPage<'_>) {
        self.mailbox.see(asked, self.about, path, page);
    }

    /// Takes the step: it is requested next.
    pub(super) fn take(&mut self) {
        self.about = self.course.ahead().map_or(self.about, |step| step.object);
        self.course.take();
        self.detours = 0;
    }

    /// Notes that a request of the user is in the ledger.
    pub(super) fn asked(&mut self) {
        self.course.asked();
    }

    /// Skips the step: no page offers it.
    pub(super) fn pass_over(&mut self) {
        self.about = self.course.ahead().map_or(self.about, |step| step.object);
        self.course.pass_over();
        self.detours = 0;
    }
}
