//! Retries of calls: a refused call is tried again at once, up to the attempts that its service allows.

use controllers::RetryHint;

use super::{AttemptEnd, CallsEnded};
use crate::spec::services::{CallSpec, WhenRefused};

/// The decision after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// Another attempt, at once.
    Again {
        /// True if the called service had said `X-Retry: never`.
        told_not_to: bool,
    },
    /// The call has ended.
    Over(CallsEnded),
}

impl CallSpec {
    /// Decides whether this attempt (the first is number 0) is followed by another.
    pub(crate) fn retry_decision(&self, reply: AttemptEnd, attempt: u8) -> RetryDecision {
        match reply {
            AttemptEnd::Refused { retry } if attempt + 1 < self.attempts && (retry || !self.heed_dont_retry) => {
                RetryDecision::Again { told_not_to: !retry }
            }
            AttemptEnd::Refused { .. } => RetryDecision::Over(self.given_up()),
            AttemptEnd::Answered => RetryDecision::Over(CallsEnded::Answered),
            AttemptEnd::Failed | AttemptEnd::TimedOut | AttemptEnd::Unavailable => {
                RetryDecision::Over(CallsEnded::Failed)
            }
        }
    }

    /// The result of a call whose last attempt was refused, by the called service or by the caller's own policy.
    pub(crate) fn given_up(&self) -> CallsEnded {
        match self.when_refused {
            WhenRefused::Overloaded => CallsEnded::Refused(RetryHint::Unsaid),
            WhenRefused::DontRetry => CallsEnded::Refused(RetryHint::Never),
            WhenRefused::Degrade => CallsEnded::Answered,
        }
    }
}
