//! A request that a user wants answered, with its attempts and hops.

use std::{sync::Arc, time::Duration};

use controllers::{RetryHint, Timestamp};

use super::{
    follow::{Onward, onward, retry_hint},
    home::Home,
    jitter::full_jitter,
};
use crate::{
    persona::{Answer, Call, Connection, Draws, Ending, Move, Purpose, Stay},
    plan::{Behaviour, OnTrouble},
};

/// The papers' users wait this long after a reject before they log in again (Welsh, USITS'03, section 4.1).
pub(crate) const PAPER_WAIT: Duration = Duration::from_secs(5);

/// One request that a user wants answered. Kept by the user from request to request, since a retry budget counts over all
/// of them.
#[derive(Debug, Clone)]
pub struct RequestAttempts {
    call: Call,
    requests: u32,
    retries: u32,
}

/// Why an attempt came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Refused because of load, by the service or by a policy on the user's own side, with this advice. After
    /// [`RetryHint::Never`] the user does not try the same again: "overloaded; don't retry" (Google SRE, chapter 21).
    Rejected(RetryHint),
    /// Failed, timed out, or no connection came about.
    Failed,
    /// The user's own patience ended.
    GaveUp,
}

/// How a user reacts to trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    /// Tries the same again after this long: think, then [`RequestAttempts::resume`].
    Again(Duration),
    /// Gives this request up, and starts a new session after this long.
    NewSession(Duration),
    /// Goes away for good.
    Leave,
}

/// What an answer means before its page is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstLook {
    /// The service sends the user elsewhere: [`RequestAttempts::resume`] after this wait.
    Hop(Duration),
    /// The request has come to nothing.
    Trouble(Ending, Trouble),
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

    /// Changes the header lines that requests carry from now on.
    pub fn set_headers(&mut self, headers: Arc<str>) {
        self.call.headers = headers;
    }

    /// Sends a request of its own.
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

    /// Sends the request under way again: the pause before a retry or a hop is over.
    pub fn resume(&mut self) -> Move {
        Move::Send(self.call.clone())
    }

    /// Takes an answer: follows it where it sends the user, and knows a refusal.
    pub(crate) fn answered(&mut self, answer: &Answer<'_>, home: &Home, behaviour: &Behaviour) -> FirstLook {
        match onward(answer, &self.call, home, behaviour) {
            Onward::To(call, wait) => {
                self.follow(*call);
                FirstLook::Hop(wait)
            }
            Onward::Elsewhere => FirstLook::Trouble(Ending::Elsewhere, Trouble::Failed),
            Onward::Astray => FirstLook::Trouble(Ending::Failed, Trouble::Failed),
            Onward::Here if matches!(answer.status, 429 | 503) => {
                FirstLook::Trouble(Ending::Rejected, Trouble::Rejected(retry_hint(answer, behaviour)))
            }
            Onward::Here => FirstLook::Page,
        }
    }

    /// Goes on where the service sent the request: with [`RequestAttempts::resume`] at once, or after the wait it asked for.
    pub fn follow(&mut self, call: Call) {
        let hop = self.call.hop.saturating_add(1);
        let Call { attempt, wanted_at, .. } = self.call;
        self.call = Call { hop, attempt, wanted_at, ..call };
    }

    /// The user's reaction to trouble. After [`Reaction::Again`] the next attempt is ready to be resumed.
    ///
    /// A user of a closed load that loses its patience leaves, and the next visitor takes its place after the papers' wait:
    /// in a closed load the number of users is given. [`OnTrouble::Leave`] does make it smaller, as it says.
    pub fn trouble(&mut self, trouble: Trouble, stay: Stay, behaviour: &Behaviour, draws: &Draws) -> Reaction {
        if let (Trouble::GaveUp, Some(patience)) = (trouble, &behaviour.patience) {
            return match stay {
                _ if patience.reload => self.again(Duration::ZERO, true, behaviour),
                Stay::Forever => Reaction::NewSession(PAPER_WAIT),
                Stay::OneSession | Stay::OneRequest => Reaction::Leave,
            };
        }
        let (rule, hint) = match trouble {
            Trouble::Rejected(hint) => (&behaviour.on_reject, hint),
            Trouble::Failed | Trouble::GaveUp => (&behaviour.on_failure, RetryHint::Unsaid),
        };
        let asked = match hint {
            RetryHint::After(wait) => wait.min(behaviour.retry_after_at_most.unwrap_or(Duration::ZERO)),
            RetryHint::Unsaid | RetryHint::Never => Duration::ZERO,
        };
        let may_retry = hint != RetryHint::Never;
        let attempts_made = u32::from(self.call.attempt) + 1;
        match *rule {
            OnTrouble::Leave => Reaction::Leave,
            OnTrouble::Login { wait } => Reaction::NewSession(wait.max(asked)),
            OnTrouble::RetryNow { attempts } if may_retry && attempts_made < u32::from(attempts) => {
                self.again(asked, false, behaviour)
            }
            OnTrouble::Backoff { base, cap, attempts } if may_retry && attempts_made < u32::from(attempts) => {
                let pause = full_jitter(base, cap, self.call.attempt.into(), (Purpose::Backoff, self.retries), draws);
                self.again(pause.max(asked), false, behaviour)
            }
            OnTrouble::RetryNow { .. } | OnTrouble::Backoff { .. } => Reaction::NewSession(PAPER_WAIT.max(asked)),
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
