use std::time::Duration;

use controllers::{JobId, Note, RetryHint, Timestamp};

use crate::{
    client::{Member, Pass},
    crowd::User,
    host::ExchangeOutcome,
    measure::{Fate, Ticket},
    persona::{Call, Draws, Pause, Persona as _, Reply},
};

/// One user, between and during its requests.
#[derive(Debug)]
pub struct UserTask<C> {
    pub(super) persona: User,
    pub(super) draws: Draws,
    /// The number of the user.
    pub number: u64,
    /// The connection that the user keeps.
    pub connection: Option<C>,
    /// The number of requests that the user has begun, without retries.
    pub(super) ordinal: u64,
    /// The intended start of the user's request, or the intended end of its pause.
    pub at: Timestamp,
    pub(super) setback: Setback,
    /// The user's state at the client gate, if the run has one. Boxed, since most runs have none and memory per user
    /// counts.
    pub(super) client: Option<Box<ClientState>>,
    /// The user's request that is in the ledger and has not ended: from its planned start to the end of its last hop.
    pub(super) open: Option<OpenRequest>,
    pub(super) phase: UserPhase,
}

/// A user's state at the client gate, and its request there.
#[derive(Debug)]
pub(super) struct ClientState {
    pub(super) member: Member,
    /// The pass of a request that the client gate has released.
    pub(super) pass: Option<Pass>,
    /// True if the last answer advised against a retry.
    pub(super) told_not_to_retry: bool,
    /// The note of the last answer.
    pub(super) note: Option<Note>,
}

/// The phase of a user.
#[derive(Debug, Default)]
pub(super) enum UserPhase {
    /// The user has arrived, and its persona has not been asked yet.
    #[default]
    Arrived,
    /// The user is quiet for this reason, perhaps between two hops of its request.
    Pausing(Pause),
    /// The user's next request is put off, for this reason, and not in the ledger yet.
    PutOff(Pause, Call),
    /// The client gate holds the user's request.
    AtGate(Call, JobId),
    /// The client gate has sent the user's request back until this time.
    SentBack(Call, Timestamp),
    /// The client gate has released the user's request.
    LetGo(Call),
    /// The user's request will not be sent, and its persona has not been told yet.
    NeverSent(NeverSent),
    /// The host has the user's request.
    InFlight(InFlight),
}

/// A request in the ledger.
#[derive(Debug)]
pub(super) struct OpenRequest {
    pub(super) ticket: Ticket,
    /// The share of time-out and patience that the user waits; `None`: all.
    pub(super) patience_factor: Option<f64>,
}

/// A request or background activity that the host has, and its progress.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) call: Call,
    /// Background activity: the phase of the plan in whose ledger it is.
    pub(super) background: Option<usize>,
    /// When the host began with it.
    pub(super) begun: Option<Timestamp>,
    /// Its number, if requests are numbered.
    pub(super) number: Option<u64>,
    /// True once the request has been written. A second write is the same request, which the service has not begun with.
    pub(super) written: bool,
}

/// Failures that ended a request without a wait. A user that went on at once would fail for ever at one moment, so it
/// pauses; the pause clears the flags, and an answer resets the number in a row.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Setback {
    /// The balancer of the service refused the user's request.
    pub(super) turned_back: bool,
    /// The last request got no connection, or lost it before the answer.
    pub(super) unanswered: bool,
    /// The number of such requests in a row.
    pub(super) in_a_row: u32,
    /// The user sends nothing before this time, because of the last such request.
    pub(super) quiet_until: Timestamp,
}

/// Why a request was never sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum NeverSent {
    /// The client gate refused it.
    Refused(RetryHint),
    /// The client gate held it until the user's patience ended.
    GaveUp,
    /// The client gate held it until the time-out.
    TimedOut,
}

impl NeverSent {
    /// The reply that the persona gets.
    pub(super) fn reply(self) -> Reply<'static> {
        match self {
            Self::Refused(hint) => Reply::RefusedLocally(hint),
            Self::GaveUp => Reply::GaveUp,
            Self::TimedOut => Reply::TimedOut,
        }
    }
}

impl Setback {
    /// Notes how a request has ended. A time-out is no setback: it has taken its time.
    pub(super) fn note(&mut self, is: &ExchangeOutcome<'_>) {
        self.unanswered = matches!(is.fate, Fate::ConnectFailed | Fate::Broken);
        self.in_a_row = if self.unanswered { self.in_a_row.saturating_add(1) } else { 0 };
    }
}

impl InFlight {
    pub(super) fn new(call: Call, background: Option<usize>) -> Self {
        Self { call, background, begun: None, number: None, written: false }
    }
}

impl<C> UserTask<C> {
    /// The request that the host is to send.
    pub fn call(&self) -> Option<&Call> {
        self.in_flight().map(|sending| &sending.call)
    }

    /// The share of time-out and patience that the user waits for its request; `None`: all.
    pub fn patience_factor(&self) -> Option<f64> {
        self.open.as_ref()?.patience_factor
    }

    /// The key of the attempt's draws on the way to the service.
    pub(crate) fn key(&self) -> u64 {
        self.draws.key_of_request(self.ordinal, self.call().map_or(0, |call| call.attempt))
    }

    /// The key of the request's draws at the service: of all its attempts, or of each its own (`redraw`).
    pub fn draw(&self, redraw: bool) -> u64 {
        if redraw { self.key() } else { self.draws.key_of_request(self.ordinal, 0) }
    }

    /// True if the host has begun with the request: it did not come too late for it.
    pub fn has_begun(&self) -> bool {
        self.in_flight().is_some_and(|sending| sending.begun.is_some())
    }

    /// Notes that the host begins with the request.
    pub fn begins(&mut self, now: Timestamp) {
        self.in_flight_mut().into_iter().for_each(|sending| sending.begun = Some(now));
    }

    pub(super) fn in_flight(&self) -> Option<&InFlight> {
        if let UserPhase::InFlight(sending) = &self.phase { Some(sending) } else { None }
    }

    pub(super) fn in_flight_mut(&mut self) -> Option<&mut InFlight> {
        if let UserPhase::InFlight(sending) = &mut self.phase { Some(sending) } else { None }
    }

    /// The reason that the user is quiet; `None`: it is not quiet, or is a background client and not counted.
    pub(super) fn pause(&self) -> Option<Pause> {
        let pause = match self.phase {
            UserPhase::Pausing(why) | UserPhase::PutOff(why, _) => why,
            UserPhase::Arrived | UserPhase::InFlight(_) => return None,
            _ => Pause::Waiting,
        };
        (!matches!(self.persona, User::Background(_))).then_some(pause)
    }

    /// The fate of the user's request if the run ends now.
    pub(super) fn fate_at_end(&self) -> Fate {
        match self.phase {
            UserPhase::AtGate(..) | UserPhase::SentBack(..) | UserPhase::NeverSent(_) => Fate::RefusedLocally,
            _ => Fate::InFlight,
        }
    }

    /// The earliest start of this request after one without an answer or one that was refused at once (`least_pause`).
    /// The hops of a request are not put off, and recorded requests keep their times.
    pub(super) fn earliest(&self, call: &Call, least_pause: Duration) -> Timestamp {
        let first = call.attempt == 0;
        if call.hop > 0 {
            self.at
        } else if self.at < self.setback.quiet_until && !(first && self.persona.keeps_times()) {
            self.setback.quiet_until
        } else if first {
            self.at + least_pause
        } else {
            self.at
        }
    }
}
