//! The decisions about calls.

use std::time::Duration;

use controllers::{Class, ClassRule, Criticality, Note, RetryHint, Tags};
use spec::services::{CallSpec, WhenRefused};

use super::*;

fn call() -> CallSpec {
    let timeout = Duration::from_secs(5);
    CallSpec { attempts: 3, when_refused: WhenRefused::DontRetry, timeout, ..CallSpec::to("back") }
}

#[test]
fn a_refused_call_is_tried_again_as_often_as_it_may() {
    let spec = call();
    let refused = AttemptEnd::Refused { retry: true };
    assert_eq!(RetryDecision::after(refused, 0, &spec), RetryDecision::Again { told_not_to: false });
    assert_eq!(RetryDecision::after(refused, 1, &spec), RetryDecision::Again { told_not_to: false });
    assert_eq!(RetryDecision::after(refused, 2, &spec), RetryDecision::Over(CallsEnded::Refused(RetryHint::Never)));
    assert_eq!(RetryDecision::after(AttemptEnd::Answered, 0, &spec), RetryDecision::Over(CallsEnded::Answered));
    assert_eq!(RetryDecision::after(AttemptEnd::TimedOut, 0, &spec), RetryDecision::Over(CallsEnded::Failed));
    let never = AttemptEnd::Refused { retry: false };
    assert_eq!(RetryDecision::after(never, 0, &spec), RetryDecision::Over(CallsEnded::Refused(RetryHint::Never)));
    let deaf = CallSpec { heed_dont_retry: false, ..call() };
    assert_eq!(RetryDecision::after(never, 0, &deaf), RetryDecision::Again { told_not_to: true });
}

#[test]
fn what_a_request_is_told_is_the_callers_choice() {
    let given_up = |when_refused| CallsEnded::given_up(&CallSpec { when_refused, ..call() });
    assert_eq!(given_up(WhenRefused::Overloaded), CallsEnded::Refused(RetryHint::Unsaid));
    assert_eq!(given_up(WhenRefused::Degrade), CallsEnded::Answered);
}

#[test]
fn statuses_are_answers_refusals_or_failures() {
    assert_eq!(AttemptEnd::of(200, false), AttemptEnd::Answered);
    assert_eq!(AttemptEnd::of(307, true), AttemptEnd::Answered);
    assert_eq!(
        (AttemptEnd::of(503, false), AttemptEnd::of(429, true)),
        (AttemptEnd::Refused { retry: true }, AttemptEnd::Refused { retry: false })
    );
    assert_eq!((AttemptEnd::of(502, false), AttemptEnd::of(404, false)), (AttemptEnd::Failed, AttemptEnd::Failed));
}

#[test]
fn a_call_carries_what_it_was_made_for() {
    let tags = Tags {
        criticality: Criticality::Sheddable,
        user: 9,
        customer: 7,
        class: Class(3),
        attempt: 2,
        ..Tags::default()
    };
    let noted = carried(&tags, Duration::from_millis(250), &ClassRule::None, Some(Note(5)));
    let lines = |class| carried(&tags, Duration::from_millis(250), &class, None);
    let usual = "X-Criticality: SHEDDABLE\r\nX-User: 9\r\nX-Customer: 7\r\nX-Timeout-Ms: 250\r\n";
    assert_eq!(lines(ClassRule::None), usual);
    assert_eq!(noted, format!("{usual}x-note: 5\r\n"));
    assert_eq!(lines(ClassRule::Header("User-Class".to_owned())), format!("{usual}User-Class: 3\r\n"));
    assert_eq!(lines(ClassRule::Cookie("class".to_owned())), format!("{usual}Cookie: class=3\r\n"));
}
