//! Attempts of calls: their ends, and counts by how they ended.

use controllers::Outcome;

use crate::wire::CallCounts;

/// How an attempt has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptEnd {
    Answered,
    /// `retry`: false if the called service said `X-Retry: never`.
    Refused {
        retry: bool,
    },
    Failed,
    TimedOut,
    /// No connection was established, or it broke before the answer.
    Unavailable,
}

impl AttemptEnd {
    /// An answer with this status; `never`: it said `X-Retry: never`.
    pub(crate) fn of(status: u16, never: bool) -> Self {
        match status {
            200..=399 => Self::Answered,
            503 | 429 => Self::Refused { retry: !never },
            _ => Self::Failed,
        }
    }

    /// The outcome that the caller's own policy is told.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Self::Answered => Outcome::Served,
            Self::Refused { retry } => Outcome::Overloaded { retry },
            Self::Failed => Outcome::Failed,
            Self::TimedOut => Outcome::TimedOut,
            Self::Unavailable => Outcome::Unavailable,
        }
    }
}

impl CallCounts {
    /// Counts an attempt: the first of a call is number 0.
    pub(crate) fn begins(&mut self, attempt: u8) {
        self.attempts += 1;
        self.open += 1;
        self.retries += u64::from(attempt > 0);
    }

    /// Counts a refusal by the caller's own policy.
    pub(crate) fn refused_at_home(&mut self) {
        self.open -= 1;
        self.refused_locally += 1;
    }

    /// Counts the end of an attempt.
    pub(crate) fn ended(&mut self, reply: AttemptEnd) {
        self.open -= 1;
        *match reply {
            AttemptEnd::Answered => &mut self.answered,
            AttemptEnd::Refused { .. } => &mut self.refused,
            AttemptEnd::Failed | AttemptEnd::TimedOut | AttemptEnd::Unavailable => &mut self.failed,
        } += 1;
    }
}
