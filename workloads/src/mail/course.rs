//! A mail user's way through its script.

use std::sync::Arc;

use controllers::Timestamp;

use super::{model::State, shelf::Shelf};
use crate::{
    page::ScannedPage,
    replay::{Course, Object, Script, Steps},
};

/// A script, and whether the user has gone looking for its next step.
#[derive(Debug)]
pub(super) struct Way {
    course: Course,
    /// The page did not offer the next step, and the user has asked for this many other pages to find it.
    detours: u8,
    /// What the step that was asked for last is about.
    about: Object,
    /// The user's mailbox, as far as its session knows it.
    pub(super) shelf: Shelf,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ahead {
    pub(super) state: State,
    pub(super) object: Object,
    /// When it is due.
    pub(super) due: Timestamp,
}

impl Way {
    pub(super) fn new(script: Script, steps: Steps) -> Self {
        Self { course: Course::new(script, steps), detours: 0, about: Object::default(), shelf: Shelf::default() }
    }

    /// The user arrives, and signs in: a script that begins so has its first step done.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.course.begin(now);
        if self.course.ahead().is_some_and(|step| State::of(step.kind) == Some(State::Login)) {
            self.course.take();
        }
    }

    /// The next step that web-mail users know, once a page is here.
    pub(super) fn ahead(&mut self, now: Timestamp) -> Option<Ahead> {
        loop {
            let step = self.course.ahead()?;
            let Some(state) = State::of(step.kind) else {
                self.course.pass_over();
                continue;
            };
            let due = if self.detours > 0 { self.course.still_due(&step, now) } else { self.course.due(&step, now) };
            return Some(Ahead { state, object: step.object, due });
        }
    }

    /// May the user look for the next step on another page? From the folders to a list, and no further.
    pub(super) fn may_look(&mut self) -> bool {
        self.detours += 1;
        self.detours <= 2
    }

    /// A page that was asked for is here.
    pub(super) fn see(&mut self, asked: State, path: &Arc<str>, page: &ScannedPage<'_>) {
        self.shelf.see(asked, self.about, path, page);
    }

    /// The step is what is asked for next.
    pub(super) fn take(&mut self) {
        self.about = self.course.ahead().map_or(self.about, |step| step.object);
        self.course.take();
        self.detours = 0;
    }

    /// A request of the user's is in the books.
    pub(super) fn asked(&mut self) {
        self.course.asked();
    }

    /// The step is given up: no page offers it.
    pub(super) fn pass_over(&mut self) {
        self.about = self.course.ahead().map_or(self.about, |step| step.object);
        self.course.pass_over();
        self.detours = 0;
    }
}
