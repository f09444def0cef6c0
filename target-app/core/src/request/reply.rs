//! The header lines of a reply that overload control sets.

use std::{borrow::Cow, time::Duration};

use controllers::{Note, RetryHint};
use http::{HeaderMap, HeaderValue};
use workloads::headers::NOTE;

use super::RequestEnd;

/// The reason of a refusal.
pub const REFUSED: &str = "x-refused";
/// `never` on a refusal that advises against a retry: "overloaded; don't retry" (Google SRE, chapter 21).
const RETRY: &str = "x-retry";
/// When to retry, in seconds.
pub const RETRY_AFTER: &str = "retry-after";
/// The answer is less than was requested (`reduced`, `newest 25%`), or older (`stale`).
pub const DEGRADED: &str = "x-degraded";

/// The header lines of a reply; `note`: the note for the sender's policy.
pub fn headers(end: &RequestEnd, note: Option<Note>) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
    let (location, reason, retry) = match end {
        RequestEnd::Answered(_) | RequestEnd::Degraded(_) => (None, None, RetryHint::Unsaid),
        RequestEnd::Redirected { location, reason } => (Some(location.clone()), Some(*reason), RetryHint::Unsaid),
        RequestEnd::Refused(refusal) => (None, Some(refusal.reason), refusal.retry),
    };
    let advice = match retry {
        RetryHint::Unsaid => None,
        RetryHint::After(wait) => Some((RETRY_AFTER, Cow::Owned(whole_seconds(wait).to_string()))),
        RetryHint::Never => Some((RETRY, Cow::Borrowed("never"))),
    };
    let location = location.map(|location| ("location", Cow::Owned(location)));
    let reason = reason.map(|reason| (REFUSED, Cow::Borrowed(reason.name())));
    let note = note.map(|Note(number)| (NOTE, Cow::Owned(number.to_string())));
    [location, reason, advice, note].into_iter().flatten()
}

/// Puts these header lines on a reply.
pub fn put_headers(end: &RequestEnd, note: Option<Note>, into: &mut HeaderMap) {
    for (name, value) in headers(end, note) {
        // Only the address of another node could be invalid, and that was checked at the start.
        let value = match value {
            Cow::Borrowed(value) => Some(HeaderValue::from_static(value)),
            Cow::Owned(value) => HeaderValue::try_from(value).ok(),
        };
        value.into_iter().for_each(|value| drop(into.insert(name, value)));
    }
}

/// The seconds of `Retry-After` for an answer of a service that says `unsaid` where the policy advises nothing. `has`: whether the answer
/// has this header line. `None`: the answer is no refusal, or it has advice, or nothing is to be said.
pub fn retry_after(unsaid: Option<Duration>, has: impl Fn(&str) -> bool) -> Option<u64> {
    let advised = [RETRY_AFTER, RETRY, "location"].into_iter().any(&has);
    unsaid.filter(|_| has(REFUSED) && !advised).map(whole_seconds)
}

/// A wait as `Retry-After` says it: rounded up, and at least one.
pub fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs_f64().ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use controllers::{Reason, Refusal};

    use super::*;

    fn lines(end: &RequestEnd, note: Option<Note>) -> Vec<String> {
        headers(end, note).map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn advice_on_retrying_is_a_header() {
        let refused = |retry| lines(&RequestEnd::Refused(Refusal { reason: Reason::Rate, retry }), None);
        assert_eq!(refused(RetryHint::Unsaid), ["x-refused: rate"]);
        let wait = RetryHint::After(Duration::from_millis(1200));
        assert_eq!(refused(wait), ["x-refused: rate", "retry-after: 2"]);
        assert_eq!(refused(RetryHint::Never), ["x-refused: rate", "x-retry: never"]);
    }

    #[test]
    fn a_refusal_without_advice_gets_that_of_the_service() {
        let of = |unsaid: Option<u64>, lines: &[&str]| {
            retry_after(unsaid.map(Duration::from_millis), |name| lines.contains(&name))
        };
        assert_eq!(of(Some(1200), &["x-refused"]), Some(2));
        assert_eq!(of(Some(1), &["x-refused", "x-note"]), Some(1));
        assert_eq!(of(None, &["x-refused"]), None);
        for advised in ["retry-after", "x-retry", "location"] {
            assert_eq!(of(Some(1200), &["x-refused", advised]), None, "{advised}");
        }
        assert_eq!(of(Some(1200), &[]), None, "no refusal");
    }

    #[test]
    fn any_answer_may_carry_a_note() {
        assert_eq!(lines(&RequestEnd::Answered(200), None), [""; 0]);
        assert_eq!(lines(&RequestEnd::Degraded(200), Some(Note(5))), ["x-note: 5"]);
        let redirected = RequestEnd::Redirected { location: "http://b/".to_owned(), reason: Reason::QueueFull };
        assert_eq!(lines(&redirected, Some(Note(5))), ["location: http://b/", "x-refused: queue-full", "x-note: 5"]);
    }
}
