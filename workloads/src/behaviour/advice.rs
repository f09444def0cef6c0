//! The advice of an answer on trying again.

use std::time::Duration;

use controllers::RetryHint;

use crate::{persona::Answer, plan::Behaviour};

/// True if an answer says `X-Retry: never`.
#[must_use]
pub(crate) fn forbids_retry(answer: &Answer<'_>) -> bool {
    answer.header("x-retry").is_some_and(|word| word.trim().eq_ignore_ascii_case("never"))
}

/// The advice of a refusal on retrying: `X-Retry: never` if the user heeds it, else the wait of a `Retry-After` in
/// seconds. A `Retry-After` with a date would need a wall clock and is ignored.
#[must_use]
pub(crate) fn retry_hint(answer: &Answer<'_>, behaviour: &Behaviour) -> RetryHint {
    if behaviour.heed_dont_retry && forbids_retry(answer) {
        return RetryHint::Never;
    }
    let wait = answer.header("retry-after").and_then(|seconds| seconds.trim().parse().ok());
    wait.map_or(RetryHint::Unsaid, |seconds| RetryHint::After(Duration::from_secs(seconds)))
}
