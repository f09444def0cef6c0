//! Attempts of calls: their ends, and counts by how they ended.

use controllers::Outcome;
use spec::wire::CallCounts;

/// How an attempt has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptEnd {
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
    pub fn of(status: u16, never: bool) -> Self {
        match status {
            200..=399 => Self::Answered,
            503 | 429 => Self::Refused { retry: !never },
            _ => Self::Failed,
        }
    }

    /// The outcome that the caller's own policy is told.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Answered => Outcome::Served,
            Self::Refused { retry } => Outcome::Overloaded { retry },
            Self::Failed => Outcome::Failed,
            Self::TimedOut => Outcome::TimedOut,
            Self::Unavailable => Outcome::Unavailable,
        }
    }

    /// Counts the end of an attempt.
    pub fn count_in(self, counts: &mut CallCounts) {
        counts.open -= 1;
        *match self {
            Self::Answered => &mut counts.answered,
            Self::Refused { .. } => &mut counts.refused,
            Self::Failed | Self::TimedOut | Self::Unavailable => &mut counts.failed,
        } += 1;
    }
}
