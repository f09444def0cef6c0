//! Retries of calls: a refused call is tried again at once, up to the attempts that its service allows.

use controllers::RetryHint;
use spec::services::{CallSpec, WhenRefused};

use super::{AttemptEnd, CallsEnded};

/// The decision after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Another attempt, at once.
    Again {
        /// True if the called service had said `X-Retry: never`.
        told_not_to: bool,
    },
    /// The call has ended.
    Over(CallsEnded),
}

impl RetryDecision {
    /// Decides whether this attempt of a call (the first is number 0) is followed by another.
    #[must_use]
    pub fn after(reply: AttemptEnd, attempt: u8, call: &CallSpec) -> Self {
        match reply {
            AttemptEnd::Refused { retry } if attempt + 1 < call.attempts && (retry || !call.heed_dont_retry) => {
                Self::Again { told_not_to: !retry }
            }
            AttemptEnd::Refused { .. } => Self::Over(CallsEnded::given_up(call)),
            AttemptEnd::Answered => Self::Over(CallsEnded::Answered),
            AttemptEnd::Failed | AttemptEnd::TimedOut | AttemptEnd::Unavailable => Self::Over(CallsEnded::Failed),
        }
    }
}

impl CallsEnded {
    /// The result of a call whose last attempt was refused, by the called service or by the caller's own policy.
    #[must_use]
    pub fn given_up(call: &CallSpec) -> Self {
        match call.when_refused {
            WhenRefused::Overloaded => Self::Refused(RetryHint::Unsaid),
            WhenRefused::DontRetry => Self::Refused(RetryHint::Never),
            WhenRefused::Degrade => Self::Answered,
        }
    }
}
