//! A request that a user wants answered, with its attempts and hops.

use std::{sync::Arc, time::Duration};

use controllers::{RetryHint, Timestamp};

use super::{
    advice::retry_hint,
    home::Home,
    jitter::full_jitter,
    redirect::{Onward, onward, onward_in_queue},
};
use crate::{
    persona::{Answer, Call, Connection, Draws, Ending, Move, Purpose, Stay},
    plan::{Behaviour, FailureRule},
};

/// The papers' users wait this long after a reject before they log in again (Welsh, USITS'03, section 4.1).
pub(crate) const PAPER_WAIT: Duration = Duration::from_secs(5);

/// One request that a user wants answered. The user keeps this value from request to request, since a retry budget
/// counts over all of them.
#[derive(Debug, Clone)]
pub struct RequestAttempts {
    call: Call,
    requests: u32,
    retries: u32,
}

/// Why an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptFailure {
    /// Refused because of load, by the service or by a policy on the user's own side, with this advice. After
    /// [`RetryHint::Never`] the user does not retry: "overloaded; don't retry" (Google SRE, chapter 21).
    Rejected(RetryHint),
    /// The attempt failed, timed out, or found no connection.
    Failed,
    /// The user's own patience ended.
    GaveUp,
}

/// How a user reacts to a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Retries after this time: think, then [`RequestAttempts::resume`].
    Again(Duration),
    /// Gives this request up, and starts a new session after this long.
    NewSession(Duration),
    /// Leaves for good.
    Leave,
}

impl Reaction {
    /// The reaction of a user that has had enough: the next visitor takes its place where their number is given.
    pub(crate) fn of_leaver(stay: Stay) -> Self {
        match stay {
            Stay::Forever => Self::NewSession(PAPER_WAIT),
            Stay::OneSession | Stay::OneRequest => Self::Leave,
        }
    }
}

/// What an answer means before its page is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstLook {
    /// The service sends the user elsewhere: [`RequestAttempts::resume`] after this wait.
    Hop(Duration),
    /// The attempt failed.
    Failure(Ending, AttemptFailure),
    /// The page says.
    Page,
}

impl RequestAttempts {
    /// Attempts whose first request is `call`; nothing is sent before [`RequestAttempts::begin`].
    #[must_use]
    pub fn new(call: Call) -> Self {
        Self { call, requests: 0, retries: 0 }
    }

    /// The request under way, or the last one.
    #[must_use]
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// Sets the header lines of all later requests.
    pub fn set_headers(&mut self, headers: Arc<str>) {
        self.call.headers = headers;
    }

    /// Begins a new request.
    pub fn begin(&mut self, call: Call, now: Timestamp, behaviour: &Behaviour, draws: &Draws) -> Move {
        self.requests = self.requests.saturating_add(1);
        self.call = call;
        self.call.attempt = 0;
        self.call.hop = 0;
        self.call.wanted_at = now;
        self.call.give_up_after =
            behaviour.patience.as_ref().map(|patience| draws.pause(&patience.lasts, Purpose::Patience));
        Move::Send(self.call.clone())
    }

    /// Sends the request under way, after the pause before a retry or a hop.
    pub fn resume(&mut self) -> Move {
        Move::Send(self.call.clone())
    }

    /// Changes the path of the request that [`RequestAttempts::resume`] sends.
    pub(crate) fn set_path(&mut self, path: Arc<str>) {
        self.call.path = path;
    }

    /// Takes an answer: follows it where it sends the user, and knows a refusal.
    pub(crate) fn answered(&mut self, answer: &Answer<'_>, home: &Home, behaviour: &Behaviour) -> FirstLook {
        let onward = onward(answer, &self.call, home, behaviour);
        self.look(onward, answer, behaviour)
    }

    /// The same, of a user who takes a place in a queue: see [`onward_in_queue`].
    pub(crate) fn answered_in_queue(&mut self, answer: &Answer<'_>, home: &Home, behaviour: &Behaviour) -> FirstLook {
        let onward = onward_in_queue(answer, &self.call, home, behaviour);
        self.look(onward, answer, behaviour)
    }

    fn look(&mut self, onward: Onward, answer: &Answer<'_>, behaviour: &Behaviour) -> FirstLook {
        match onward {
            Onward::To(call, wait) => {
                self.follow(*call);
                FirstLook::Hop(wait)
            }
            Onward::Elsewhere => FirstLook::Failure(Ending::Elsewhere, AttemptFailure::Failed),
            Onward::Astray => FirstLook::Failure(Ending::Failed, AttemptFailure::Failed),
            Onward::Here if behaviour.refused.mark(answer) => {
                FirstLook::Failure(Ending::Rejected, AttemptFailure::Rejected(retry_hint(answer, behaviour)))
            }
            Onward::Here => FirstLook::Page,
        }
    }

    /// Follows a redirect to `call`: [`RequestAttempts::resume`] sends it, at once or after the wait that the service
    /// asked for.
    pub fn follow(&mut self, call: Call) {
        let hop = self.call.hop.saturating_add(1);
        let Call { attempt, wanted_at, .. } = self.call;
        self.call = Call { hop, attempt, wanted_at, ..call };
    }

    /// The user's reaction to a failed attempt. After [`Reaction::Again`] the next attempt is ready to be resumed.
    ///
    /// A user of a closed load that loses its patience leaves, and the next visitor takes its place after the papers'
    /// wait: in a closed load the number of users is given. [`FailureRule::Leave`], in contrast, does reduce the number.
    pub fn after_failure(
        &mut self,
        failure: AttemptFailure,
        stay: Stay,
        behaviour: &Behaviour,
        draws: &Draws,
    ) -> Reaction {
        if let (AttemptFailure::GaveUp, Some(patience)) = (failure, &behaviour.patience) {
            return if patience.reload {
                self.again(Duration::ZERO, true, behaviour)
            } else {
                Reaction::of_leaver(stay)
            };
        }
        let (rule, hint) = match failure {
            AttemptFailure::Rejected(hint) => (&behaviour.on_reject, hint),
            AttemptFailure::Failed | AttemptFailure::GaveUp => (&behaviour.on_failure, RetryHint::Unsaid),
        };
        let asked = match hint {
            RetryHint::After(wait) => wait.min(behaviour.retry_after_at_most.unwrap_or(Duration::ZERO)),
            RetryHint::Unsaid | RetryHint::Never => Duration::ZERO,
        };
        let may_retry = hint != RetryHint::Never;
        let attempts_made = u32::from(self.call.attempt) + 1;
        match *rule {
            FailureRule::Leave => Reaction::Leave,
            FailureRule::Login { wait } => Reaction::NewSession(wait.max(asked)),
            FailureRule::RetryNow { attempts } if may_retry && attempts_made < u32::from(attempts) => {
                self.again(asked, false, behaviour)
            }
            FailureRule::Backoff { base, cap, attempts } if may_retry && attempts_made < u32::from(attempts) => {
                let pause = full_jitter(base, cap, self.call.attempt.into(), (Purpose::Backoff, self.retries), draws);
                self.again(pause.max(asked), false, behaviour)
            }
            FailureRule::RetryNow { .. } | FailureRule::Backoff { .. } => Reaction::NewSession(PAPER_WAIT.max(asked)),
        }
    }

    /// The next attempt, if the budget allows it.
    fn again(&mut self, wait: Duration, fresh: bool, behaviour: &Behaviour) -> Reaction {
        let within_budget = behaviour
            .retry_budget
            .is_none_or(|share| f64::from(self.retries + 1) <= share * f64::from(self.requests + self.retries + 1));
        if !within_budget || self.call.attempt == u8::MAX {
            return Reaction::NewSession(PAPER_WAIT.max(wait));
        }
        self.retries = self.retries.saturating_add(1);
        self.call.attempt += 1;
        self.call.hop = 0;
        if fresh && self.call.connection == Connection::Keep {
            self.call.connection = Connection::Fresh;
        }
        Reaction::Again(wait)
    }
}
