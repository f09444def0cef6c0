use std::cmp::Ordering;

use controllers::{Note, RetryHint, Timestamp};

use crate::{
    client::{Member, Pass},
    crowd::User,
    measure::{Fate, Ticket},
    persona::{Answer, Call, Draws, Pause, Persona as _, Reply},
};

/// One user, between and during its requests.
#[derive(Debug)]
pub(crate) struct UserTask<C> {
    pub(super) persona: User,
    pub(super) draws: Draws,
    pub(crate) number: u64,
    /// The connection that it keeps.
    pub(crate) connection: Option<C>,
    pub(super) errand: Option<Call>,
    /// Requests that it has begun, retries not counted.
    pub(super) ordinal: u64,
    /// The intended start of its request, or the intended end of its pause.
    pub(crate) at: Timestamp,
    pub(super) ticket: Option<Ticket>,
    /// The number of its request, if requests are numbered and it has not ended.
    pub(super) request: Option<u64>,
    pub(super) begun: Option<Timestamp>,
    /// What its last request came to at once, and how often in a row: it may not begin anew without a pause.
    pub(super) setback: Setback,
    /// Its request has been written. A second write is the same request, on a new connection in place of one that was closed.
    pub(super) written: bool,
    pub(super) pause: Option<Pause>,
    /// What its next turn is about.
    pub(super) due: Due,
    /// It is at something beside requests, which is in the books of this phase.
    pub(super) beside: Option<usize>,
    /// What there is between it and its own policy, if it has one. Apart, since most runs have none and all users take memory.
    pub(super) client: Option<Box<ClientState>>,
    /// The share of time-out and patience that it waits for its request; `None`: all.
    pub(crate) patience_factor: Option<f64>,
}

/// A user whose request ends at once, and who begins anew at once, would do so for ever at one moment.
/// What a pause was made for is forgotten with it; how many there were in a row is not, until there is an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Setback {
    /// The balancer before the service refused its request.
    pub(super) turned_back: bool,
    /// It got no connection, or lost it before the answer.
    pub(super) unanswered: bool,
    /// How many in a row did.
    pub(super) in_a_row: u32,
    /// It sends nothing before, because of the last of these.
    pub(super) quiet_until: Timestamp,
}

/// A user and its policy.
#[derive(Debug)]
pub(super) struct ClientState {
    /// Its place among those who share one.
    pub(super) member: Member,
    /// Its request has been let go.
    pub(super) pass: Option<Pass>,
    /// The last answer said not to try the same again.
    pub(super) told_not_to_retry: bool,
    /// What the last answer told beside it.
    pub(super) note: Option<Note>,
    /// Until when its request has been kept back, if it has.
    pub(super) kept_until: Option<Timestamp>,
}

/// What a user's turn is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Due {
    /// It has arrived.
    Start,
    /// Its pause is over.
    Woke,
    /// Its policy is to be asked about its request, perhaps once more.
    Ask,
    /// Its policy has let its request go.
    Go,
    /// Its request is over, and was never sent.
    Over(NeverSent),
}

/// Why a request was never sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum NeverSent {
    /// Its policy refused it.
    Refused(RetryHint),
    /// Its policy kept it back until the user's patience ended.
    GaveUp,
    /// Or until the time-out.
    TimedOut,
}

impl NeverSent {
    /// What the user hears.
    pub(super) fn reply(self) -> Reply<'static> {
        match self {
            Self::Refused(hint) => Reply::RefusedLocally(hint),
            Self::GaveUp => Reply::GaveUp,
            Self::TimedOut => Reply::TimedOut,
        }
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome<'a> {
    /// As the user is told.
    pub(crate) reply: Reply<'a>,
    /// As the ledger is told, where the user has no answer to judge.
    pub(crate) fate: Fate,
    /// What went wrong, where there is no answer and that has a text.
    pub(crate) error: Option<&'a str>,
}

impl<'a> Outcome<'a> {
    /// The service has answered; the user judges.
    pub(crate) fn answered(answer: Answer<'a>) -> Self {
        Self { reply: Reply::Answer(answer), fate: Fate::Failed, error: None }
    }

    /// With what went wrong.
    pub(crate) fn because(self, error: &'a str) -> Self {
        Self { error: Some(error), ..self }
    }
}

impl ClientState {
    pub(super) fn of(member: Member) -> Self {
        Self { member, pass: None, told_not_to_retry: false, note: None, kept_until: None }
    }
}

impl<C> UserTask<C> {
    /// The request that the user wants sent.
    pub(crate) fn call(&self) -> Option<&Call> {
        self.errand.as_ref()
    }

    /// It is too early for this request, after one without an answer. Recorded requests are due when they are.
    pub(super) fn is_to_wait_for(&self, call: &Call) -> bool {
        self.at < self.setback.quiet_until && call.hop == 0 && !(call.attempt == 0 && self.persona.keeps_times())
    }

    /// The key of all draws that belong to its request.
    pub(crate) fn key(&self) -> u64 {
        let attempt = self.errand.as_ref().map_or(0, |call| call.attempt);
        self.draws.key_of_request(self.ordinal, attempt)
    }

    /// Its own policy has not let its request go.
    pub(super) fn is_kept_back(&self) -> bool {
        let kept = self.client.as_ref().is_some_and(|client| client.kept_until.is_some());
        kept || matches!(self.due, Due::Over(_))
    }

    /// The host has begun with the request: it did not come too late for it.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// The host begins with the request.
    pub(crate) fn begins(&mut self, now: Timestamp) {
        self.begun = Some(now);
    }
}

/// A user in the heap: the one that is due first is on top.
#[derive(Debug)]
pub(super) struct TimerEntry<C> {
    /// When, and whose: here as well as in the user, since a heap of 100 000 compares 17 times for each that it gives out,
    /// and each look into a box is memory that no cache has.
    pub(super) at: Timestamp,
    pub(super) number: u64,
    pub(super) user: Box<UserTask<C>>,
}

impl<C> Ord for TimerEntry<C> {
    /// By time, then by number, so that the order of a run does not depend on the heap's.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<C> PartialOrd for TimerEntry<C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<C> PartialEq for TimerEntry<C> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<C> Eq for TimerEntry<C> {}
