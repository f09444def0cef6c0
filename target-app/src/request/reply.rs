//! The header lines of a reply that overload control sets.

use std::borrow::Cow;

use controllers::{Note, RetryHint};
use workloads::client::NOTE;

use super::End;

/// The reason of a refusal.
pub(crate) const REFUSED: &str = "x-refused";
/// `never` on a refusal that advises against a retry: "overloaded; don't retry" (Google SRE, chapter 21).
const RETRY: &str = "x-retry";
/// The answer is less than was requested (`reduced`, `newest 25%`), or older (`stale`).
pub(crate) const DEGRADED: &str = "x-degraded";

/// The header lines of a reply; `note`: the note for the sender's policy.
pub(crate) fn headers(end: &End, note: Option<Note>) -> impl Iterator<Item = (&'static str, Cow<'static, str>)> {
    let (location, reason, retry) = match end {
        End::Answered(_) | End::Degraded(_) => (None, None, RetryHint::Unsaid),
        End::Redirected { location, reason } => (Some(location.clone()), Some(*reason), RetryHint::Unsaid),
        End::Refused(refusal) => (None, Some(refusal.reason), refusal.retry),
    };
    let advice = match retry {
        RetryHint::Unsaid => None,
        RetryHint::After(wait) => {
            Some(("retry-after", Cow::Owned((wait.as_secs_f64().ceil().max(1.0) as u64).to_string())))
        }
        RetryHint::Never => Some((RETRY, Cow::Borrowed("never"))),
    };
    let location = location.map(|location| ("location", Cow::Owned(location)));
    let reason = reason.map(|reason| (REFUSED, Cow::Borrowed(reason.name())));
    let note = note.map(|Note(number)| (NOTE, Cow::Owned(number.to_string())));
    [location, reason, advice, note].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use controllers::{Reason, Refusal};

    use super::*;

    fn lines(end: &End, note: Option<Note>) -> Vec<String> {
        headers(end, note).map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn advice_on_retrying_is_a_header() {
        let refused = |retry| lines(&End::Refused(Refusal { reason: Reason::Rate, retry }), None);
        assert_eq!(refused(RetryHint::Unsaid), ["x-refused: rate"]);
        let wait = RetryHint::After(Duration::from_millis(1200));
        assert_eq!(refused(wait), ["x-refused: rate", "retry-after: 2"]);
        assert_eq!(refused(RetryHint::Never), ["x-refused: rate", "x-retry: never"]);
    }

    #[test]
    fn any_answer_may_carry_a_note() {
        assert_eq!(lines(&End::Answered(200), None), [""; 0]);
        assert_eq!(lines(&End::Degraded(200), Some(Note(5))), ["x-note: 5"]);
        let redirected = End::Redirected { location: "http://b/".to_owned(), reason: Reason::QueueFull };
        assert_eq!(lines(&redirected, Some(Note(5))), ["location: http://b/", "x-refused: queue-full", "x-note: 5"]);
    }
}
