//! An action that may still go on.

use super::entry::{Cost, Meaning, Set};
use crate::trace::RecordOutcome;

/// An action, and the commands that belong to it so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPage {
    /// Its name.
    pub action: &'static str,
    /// What may join it.
    pub stage: ActionProgress,
    /// When its first command was given: microseconds since 1970.
    pub at: i64,
    /// When the last answer was complete; `None`: no command has an answer yet.
    pub done: Option<i64>,
    /// The folder that it is about.
    pub folder: String,
    /// The messages that it is about, as the source numbers them.
    pub messages: String,
    /// Bytes, both ways, and the worst of the outcomes.
    pub cost: Cost,
}

/// Headers of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glimpse {
    /// When they were asked for.
    pub at: i64,
    /// The message.
    pub set: Set,
    /// How that went.
    pub cost: Cost,
}

/// How far an action has come: what may join it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionProgress {
    /// Someone is logging in.
    Login {
        /// At some moment of a second: nothing says it more precisely yet.
        coarse: bool,
    },
    /// Folders are being listed: these questions were asked.
    Folders(Vec<u64>),
    /// A folder was selected or put in order, and nothing asked of it.
    Selected,
    /// One message's headers were asked for: it may be shown, or be a list.
    Glimpsed(Set),
    /// Headers were listed.
    Listed,
    /// A search; its finds may have been listed.
    Searched {
        /// They were.
        listed: bool,
        /// Headers of one message, of which nobody knows yet whether they belong to the search.
        one: Option<Glimpse>,
    },
    /// A message is shown: these questions were asked of it.
    Shown {
        /// The message.
        set: Set,
        /// The questions.
        items: Vec<u64>,
    },
    /// Messages are deleted or refiled.
    Gone {
        /// These.
        set: Set,
        /// They are gone for good: nothing more is to come.
        expunged: bool,
    },
    /// Nothing may join.
    Done,
}

impl OpenPage {
    /// An action that begins with a command.
    #[must_use]
    pub fn new(at: i64, action: &'static str, stage: ActionProgress, cost: Cost) -> Self {
        let (folder, messages) = (String::new(), String::new());
        let mut page = Self { action, stage, at, done: None, folder, messages, cost };
        page.done_at(at, &cost);
        page
    }

    /// The same, about these messages of this folder.
    #[must_use]
    pub fn about(mut self, folder: &str, messages: &str) -> Self {
        folder.clone_into(&mut self.folder);
        messages.clone_into(&mut self.messages);
        self
    }

    /// Keeps the headers of one message after a search, as what follows tells whose they are. False: this is something
    /// else.
    pub fn glimpse(&mut self, at: i64, meaning: &Meaning, cost: &Cost) -> bool {
        let ActionProgress::Searched { listed: false, one } = &mut self.stage else { return false };
        let Meaning::Headers { set, only_flags: false } = meaning else { return false };
        if set.one() {
            *one = Some(Glimpse { at, set: set.clone(), cost: *cost });
        }
        set.one()
    }

    /// One more command belongs to it.
    pub fn add(&mut self, at: i64, cost: &Cost) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (one, other) => one.or(other),
        };
        self.cost.sent = sum(self.cost.sent, cost.sent);
        self.cost.received = sum(self.cost.received, cost.received);
        self.cost.outcome = self.cost.outcome.max(cost.outcome);
        self.done_at(at, cost);
    }

    /// Microseconds from the first command to the last answer, if that is known.
    #[must_use]
    pub fn lasted(&self) -> Option<u64> {
        self.done.map(|done| done.abs_diff(self.at))
    }

    fn done_at(&mut self, at: i64, cost: &Cost) {
        let Some(lasted) = cost.lasted else { return };
        let done = at.saturating_add_unsigned(lasted);
        self.done = Some(self.done.unwrap_or(done).max(done));
        if cost.outcome == RecordOutcome::Unanswered {
            self.done = None;
        }
    }
}
