//! An action that further commands may join.

use traces::trace::RecordOutcome;

use super::entry::{Cost, Meaning, Set};

/// An action, with the commands that belong to it so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPage {
    /// Its name.
    pub action: &'static str,
    /// Its progress, which determines the commands that may join it.
    pub stage: ActionProgress,
    /// The time of its first command, microseconds since 1970.
    pub at: i64,
    /// The end of the last answer; `None`: no command has an answer yet.
    pub done: Option<i64>,
    /// The folder of the action.
    pub folder: String,
    /// The messages of the action, in the source's numbers.
    pub messages: String,
    /// The sum of bytes in both directions, and the worst outcome.
    pub cost: Cost,
}

/// A command for the headers of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderRequest {
    /// The time of the command.
    pub at: i64,
    /// The message.
    pub set: Set,
    /// Its duration, size and outcome.
    pub cost: Cost,
}

/// The progress of an action, which determines the commands that may join it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActionProgress {
    /// A login.
    Login {
        /// True if its time is known to the second only.
        coarse: bool,
    },
    /// A list of folders, with the questions asked so far.
    Folders(Vec<u64>),
    /// A folder was selected or put in order, and nothing requested from it.
    Selected,
    /// One message's headers were requested: the message may be shown, or be a list.
    Glimpsed(Set),
    /// Headers were listed.
    Listed,
    /// A search, whose results may have been listed.
    Searched {
        /// True if the results were listed.
        listed: bool,
        /// Headers of one message, which may belong to the search or to the next action.
        one: Option<HeaderRequest>,
    },
    /// A message is shown, with the questions asked so far.
    Shown {
        /// The message.
        set: Set,
        /// The questions.
        items: Vec<u64>,
    },
    /// Messages are deleted or refiled.
    Gone {
        /// The messages.
        set: Set,
        /// True if the messages are expunged: nothing more follows.
        expunged: bool,
    },
    /// No command may join.
    Done,
}

impl OpenPage {
    /// An action with this first command.
    #[must_use]
    pub fn new(at: i64, action: &'static str, stage: ActionProgress, cost: Cost) -> Self {
        let (folder, messages) = (String::new(), String::new());
        let mut page = Self { action, stage, at, done: None, folder, messages, cost };
        page.done_at(at, &cost);
        page
    }

    /// Sets the folder and the messages of the action.
    #[must_use]
    pub fn about(mut self, folder: &str, messages: &str) -> Self {
        folder.clone_into(&mut self.folder);
        messages.clone_into(&mut self.messages);
        self
    }

    /// Keeps the headers of one message after a search, since the next command decides which action they belong to.
    /// False: the command is something else.
    pub fn glimpse(&mut self, at: i64, meaning: &Meaning, cost: &Cost) -> bool {
        let ActionProgress::Searched { listed: false, one } = &mut self.stage else { return false };
        let Meaning::Headers { set, only_flags: false } = meaning else { return false };
        if set.one() {
            *one = Some(HeaderRequest { at, set: set.clone(), cost: *cost });
        }
        set.one()
    }

    /// Adds a command to the action.
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

    /// The time from the first command to the last answer, microseconds, if known.
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
