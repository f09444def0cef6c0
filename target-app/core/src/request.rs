//! The life of a request in a service, live and in virtual time: `Entered → Gate → Queued → Working → Calling → Ended`.
//!
//! - *Entered*: its head and body were read; [`Intake`] assigns its tags.
//! - *Gate*: the policy at dispatch admits, holds or refuses it.
//! - *Queued*: dispatch takes it to its stage, which queues or refuses it.
//! - *Working*: a worker of the stage does the service's own work.
//! - *Calling*: the worker waits for the calls to other services ([`crate::calls`]).
//! - *Ended*: an [`RequestEnd`]; it determines the outcome for policies, the ledger's count and the client's answer.
//!
//! The sites (`controllers::site`) are the machines of the phases before the end. This module holds the decisions
//! around them that the hosts of both worlds (target-app's app, the plant) share, as pure functions.

mod ending;
mod intake;
mod reply;
mod tags;

use controllers::{
    Note, Outcome, Reason, Refusal,
    site::{RefusalAnswer, outcome_of_refusal},
};

pub use ending::LedgerEnding;
pub use intake::Intake;
pub use reply::{DEGRADED, REFUSED, RETRY_AFTER, headers, put_headers, retry_after, whole_seconds};
pub use tags::CRITICALITY;
use tags::tags;

use crate::calls::CallsEnded;

/// How a request ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEnd {
    /// With an answer of this status from the service.
    Answered(u16),
    /// With a cheap answer of this status in place of a refusal.
    Degraded(u16),
    /// With the address of another node in place of a refusal.
    Redirected { location: String, reason: Reason },
    /// With a refusal by a policy, a full queue, the service itself, or a service that it calls.
    Refused(Refusal),
}

impl RequestEnd {
    /// The end of a request that no stage takes, as the stage upstream chooses (USITS'03, section 2.3). `path`: the
    /// requested path; `degraded`: the status of the cheap answer, if the service has one.
    pub fn not_taken(refusal: Refusal, answer: &RefusalAnswer, path: &str, degraded: Option<u16>) -> Self {
        match (answer, degraded) {
            (RefusalAnswer::Redirect(node), _) => {
                Self::Redirected { location: format!("{}{path}", node.trim_end_matches('/')), reason: refusal.reason }
            }
            (RefusalAnswer::Degrade, Some(status)) => Self::Degraded(status),
            (RefusalAnswer::Degrade | RefusalAnswer::Reject, _) => Self::Refused(refusal),
        }
    }

    /// The outcome for policies; `gone`: the client went away before the work was done.
    pub fn outcome(&self, gone: bool) -> Outcome {
        match *self {
            _ if gone => Outcome::Abandoned,
            Self::Answered(500..) => Outcome::Failed,
            Self::Answered(_) => Outcome::Served,
            Self::Degraded(_) | Self::Redirected { .. } => Outcome::Ignored,
            Self::Refused(refusal) => outcome_of_refusal(refusal, false),
        }
    }

    /// The ending for the ledger.
    pub fn ending(&self) -> LedgerEnding {
        match *self {
            Self::Answered(500..) | Self::Degraded(500..) => LedgerEnding::Failed,
            Self::Answered(_) | Self::Degraded(_) => LedgerEnding::Served,
            Self::Redirected { reason, .. } | Self::Refused(Refusal { reason, .. }) => LedgerEnding::Refused(reason),
        }
    }

    /// True if the service spends the cost of a refusal. A refused call comes after the request's own work, and costs
    /// nothing more.
    pub fn costs_a_refusal(&self) -> bool {
        match self {
            Self::Answered(_) | Self::Degraded(_) => false,
            Self::Redirected { .. } => true,
            Self::Refused(refusal) => refusal.reason != Reason::Callee,
        }
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        match *self {
            Self::Answered(status) | Self::Degraded(status) => status,
            Self::Redirected { .. } => 307,
            Self::Refused(_) => 503,
        }
    }
}

impl CallsEnded {
    /// The end of the request that made the calls; `None`: its own answer stands.
    pub fn end_of_request(self) -> Option<RequestEnd> {
        match self {
            Self::Answered => None,
            Self::Refused(retry) => Some(RequestEnd::Refused(Refusal { reason: Reason::Callee, retry })),
            Self::Failed => Some(RequestEnd::Answered(502)),
        }
    }
}

/// The note of a reply for the sender's policy: of the policies here, the one nearest to the sender takes precedence.
pub fn note_of_reply(at_gate: Option<Note>, at_stage: Option<Note>) -> Option<Note> {
    at_gate.or(at_stage)
}

#[cfg(test)]
mod tests {
    use controllers::RetryHint;

    use super::*;

    const FULL: Refusal = Refusal::new(Reason::QueueFull);

    fn not_taken(answer: &RefusalAnswer, degraded: Option<u16>) -> RequestEnd {
        RequestEnd::not_taken(FULL, answer, "/show?id=1", degraded)
    }

    #[test]
    fn the_stage_upstream_chooses_the_end_of_a_request_that_no_stage_takes() {
        let node = RefusalAnswer::Redirect("http://b/".to_owned());
        let location = "http://b/show?id=1".to_owned();
        assert_eq!(not_taken(&node, None), RequestEnd::Redirected { location, reason: Reason::QueueFull });
        assert_eq!(not_taken(&RefusalAnswer::Degrade, Some(200)), RequestEnd::Degraded(200));
        assert_eq!(
            not_taken(&RefusalAnswer::Degrade, None),
            RequestEnd::Refused(FULL),
            "the service has no cheap answer"
        );
        assert_eq!(not_taken(&RefusalAnswer::Reject, Some(200)), RequestEnd::Refused(FULL));
    }

    #[test]
    fn policies_and_ledger_see_each_end_in_their_own_way() {
        let redirected = not_taken(&RefusalAnswer::Redirect(String::new()), None);
        let refused = LedgerEnding::Refused(Reason::QueueFull);
        for (end, outcome, ending, costs) in [
            (RequestEnd::Answered(404), Outcome::Served, LedgerEnding::Served, false),
            (RequestEnd::Answered(500), Outcome::Failed, LedgerEnding::Failed, false),
            (RequestEnd::Degraded(200), Outcome::Ignored, LedgerEnding::Served, false),
            (redirected, Outcome::Ignored, refused, true),
            (RequestEnd::Refused(FULL), Outcome::Overloaded { retry: true }, refused, true),
        ] {
            assert_eq!((end.outcome(false), end.ending(), end.costs_a_refusal()), (outcome, ending, costs), "{end:?}");
            assert_eq!(end.outcome(true), Outcome::Abandoned);
        }
    }

    #[test]
    fn a_refused_call_refuses_the_request_and_a_failed_one_fails_it() {
        assert_eq!(CallsEnded::Answered.end_of_request(), None);
        let refused = CallsEnded::Refused(RetryHint::Never).end_of_request().unwrap();
        assert_eq!((refused.outcome(false), refused.status()), (Outcome::Overloaded { retry: false }, 503));
        assert_eq!((refused.ending(), refused.costs_a_refusal()), (LedgerEnding::Refused(Reason::Callee), false));
        let failed = CallsEnded::Failed.end_of_request().unwrap();
        assert_eq!(
            (failed.outcome(false), failed.ending(), failed.status()),
            (Outcome::Failed, LedgerEnding::Failed, 502)
        );
    }

    #[test]
    fn the_policy_nearest_to_the_sender_has_the_word() {
        assert_eq!(note_of_reply(Some(Note(1)), Some(Note(2))), Some(Note(1)));
        assert_eq!(note_of_reply(None, Some(Note(2))), Some(Note(2)));
    }
}
