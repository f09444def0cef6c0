//! The contract between hosts and user machines: *a user is a machine*.
//!
//! A [`Persona`] is told what came back and what time it is, and says what it does next. It reads no clock, opens no
//! socket, and draws randomness only from [`Draws`], so one and the same user runs on a fiber against a real server or on
//! an event heap against a simulated one.

use std::{fmt, sync::Arc, time::Duration};

use controllers::{Class, Kind, Random, RetryHint, Seeded, Timestamp, random::mix};
use measure::Intent;

/// An emulated user.
pub trait Persona: fmt::Debug + Send {
    /// Judges the last reply, and says what the user does next. After [`Move::Think`], `now` is the *intended* wake-up:
    /// lateness is the host's to measure, never hidden in the plan (coordinated omission).
    fn next(&mut self, last: Reply<'_>, now: Timestamp, draws: &mut Draws) -> Turn;

    /// The request that the user wants to send is in the ledger: it has not come too late.
    fn begins(&mut self) {}

    /// True if each request is due at a fixed time, which not even a failed connection of the one before puts off.
    fn keeps_times(&self) -> bool {
        false
    }
}

/// The user's answer to one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The user's judgement on a [`Reply::Answer`]. For every other reply the host knows the end itself, and this is
    /// [`Ending::Unasked`].
    pub ending: Ending,
    /// The user's next move.
    pub then: Move,
}

/// A user's judgement on an answer. Only the user knows what it asked for: a 200 without the mail asked for has failed,
/// a 404 for a message that it has just deleted has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// There was no answer to judge.
    Unasked,
    /// Answered as asked.
    Served,
    /// Refused because of load (503, 429).
    Rejected,
    /// Answered with something else than what was asked for.
    Failed,
    /// Failed: sent to another host, where users do not go.
    Elsewhere,
    /// Sent on (a redirect, a `Refresh`): the same request goes on with the next [`Move::Send`], whose
    /// [`hop`](Call::hop) is not 0. The host keeps the ticket of the request open until its last hop has ended, so the
    /// response time holds every hop and every wait.
    Continued,
}

/// A user's next move.
#[derive(Debug, Clone, PartialEq)]
pub enum Move {
    /// Does nothing for this long, for this reason.
    Think(Duration, Pause),
    /// Does nothing until this moment, for this reason; at once if it has passed.
    Until(Timestamp, Pause),
    /// Sends a request.
    Send(Call),
    /// Goes away for good.
    Leave,
}

/// Why a user is quiet: the live view counts users by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pause {
    /// Reads, or thinks.
    Thinking,
    /// Was told to wait (a `Refresh`, a `Retry-After`, a turn in a queue).
    Waiting,
    /// Backs off after a reject or failure, before a retry.
    BackingOff,
}

/// One request, as the user wants it sent. The target's address is the host's, and so are the header lines `Host`,
/// `Content-Length`, `Content-Type: application/x-www-form-urlencoded` (where there is a body), `Connection`, and
/// `X-Attempt: N` where `attempt` is not 0. `Host`, `Content-Type` and `Connection` of the user's own stand in their place.
///
/// Texts are shared: cloning a call allocates nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Request type, an index into the model's list of types.
    pub kind: Kind,
    /// User class.
    pub class: Class,
    /// What the user wants of the service.
    pub want: Want,
    /// Method.
    pub method: Method,
    /// Path and query, as found in the page.
    pub path: Arc<str>,
    /// Header lines in addition to the host's own: whole lines, each ending in CR LF; empty if none. Rendered once a session.
    pub headers: Arc<str>,
    /// Body of a POST, form-encoded.
    pub body: Option<Arc<str>>,
    /// The intended start of the first attempt. Goodput counts from here.
    pub wanted_at: Timestamp,
    /// Patience: the user closes the connection and gives up after this long from the intended start.
    pub give_up_after: Option<Duration>,
    /// 0 for a first attempt, then the number of the retry.
    pub attempt: u8,
    /// 0 for a request of its own, then the number of the redirect or refresh that is being followed.
    pub hop: u8,
    /// Which connection to use.
    pub connection: Connection,
}

impl Call {
    /// A first attempt of type 0 to get an answer from this path, on a kept connection, wanted at time 0.
    #[must_use]
    pub fn get(class: Class, path: Arc<str>, headers: Arc<str>) -> Self {
        Self {
            kind: Kind(0),
            class,
            want: Want::Answer,
            method: Method::Get,
            path,
            headers,
            body: None,
            wanted_at: Timestamp::ZERO,
            give_up_after: None,
            attempt: 0,
            hop: 0,
            connection: Connection::Keep,
        }
    }

    /// What the ledgers must know of it.
    #[must_use]
    pub fn intent(&self) -> Intent {
        Intent { kind: self.kind, class: self.class, wanted_at: self.wanted_at, attempt: self.attempt }
    }
}

/// What a user wants of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Want {
    /// An answer: a request, as all books have them.
    #[default]
    Answer,
    /// Whether it is there: a health check, which is in no ledger and no goodput.
    Check,
    /// A connection, and no more: [`Reply::Connected`].
    Connection,
}

/// Methods that users use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes.
    Post,
}

/// Which connection a request goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The user's open one if there is one, else a new one, kept afterwards.
    Keep,
    /// A new one (an open one is closed first), kept afterwards: a new session.
    Fresh,
    /// A new one, closed after the reply.
    Once,
}

/// The result of the last move.
#[derive(Debug, Clone, Copy)]
pub enum Reply<'a> {
    /// The user has just arrived.
    Start,
    /// The pause is over.
    Woke,
    /// The service answered, with any status.
    Answer(Answer<'a>),
    /// The connection is there, and nothing else was wanted.
    Connected,
    /// No connection came about within the connect time-out, or it was refused.
    ConnectFailed,
    /// No answer within the time-out.
    TimedOut,
    /// The user's own patience ended first.
    GaveUp,
    /// The connection broke, or what came was no HTTP.
    Broken,
    /// A client-side policy refused before anything was sent, and says this on trying again.
    RefusedLocally(RetryHint),
}

/// An answer, borrowed from the connection's buffer: a user that wants to remember something copies it.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// HTTP status.
    pub status: u16,
    /// Header lines in order.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body, whole.
    pub body: &'a [u8],
}

/// How long a user stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stay {
    /// A new session begins when one ends, until the host lets the user go (closed loops).
    Forever,
    /// Until the session ends (partly open loads).
    OneSession,
    /// Until the first request, with its retries, has ended (open loads).
    OneRequest,
}

impl<'a> Answer<'a> {
    /// The first header of that name (in lower case), if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }
}

/// A user's randomness: every draw is keyed by (user, step, purpose), so that what one policy rejects does not shift
/// another draw: common random numbers in closed loops too.
#[derive(Debug, Clone)]
pub struct Draws {
    user: u64,
    step: u64,
}

impl Draws {
    /// Draws of user number `user` in a run with this seed.
    #[must_use]
    pub fn new(seed: u64, user: u64) -> Self {
        Self { user: mix(seed ^ mix(user.wrapping_add(0x9E37_79B9_7F4A_7C15))), step: 0 }
    }

    /// Says at which step the user is: steps count the user's own decisions (requests of its walk), not its attempts.
    pub fn at_step(&mut self, step: u64) {
        self.step = step;
    }

    /// A generator for this purpose at this step. Asked twice it gives the same draws.
    #[must_use]
    pub fn of(&self, purpose: Purpose) -> Seeded {
        Seeded::new(mix(mix(self.user ^ mix(self.step)) ^ (purpose as u64)))
    }

    /// The key of what belongs to one request of this user (its service time, its way there): the same for the same request
    /// and attempt, whatever else happened.
    pub(crate) fn key_of_request(&self, ordinal: u64, attempt: u8) -> u64 {
        mix(mix(self.user ^ mix(ordinal)) ^ (OF_REQUESTS + u64::from(attempt)))
    }

    /// A pause by this law, for this purpose at this step.
    #[must_use]
    pub fn pause(&self, law: &traces::Think, purpose: Purpose) -> Duration {
        let mut random = self.of(purpose);
        law.sample(|| random.uniform())
    }

    /// One uniform draw in [0, 1) for this purpose that is the same at every step: a trait of the user.
    #[must_use]
    pub fn character(&self, purpose: Purpose) -> f64 {
        Self { user: self.user, step: 0 }.uniform(purpose)
    }

    /// One uniform draw in [0, 1) for this purpose at this step.
    #[must_use]
    pub fn uniform(&self, purpose: Purpose) -> f64 {
        self.of(purpose).uniform()
    }
}

/// Apart from every [`Purpose`].
const OF_REQUESTS: u64 = 1 << 32;

/// The purpose of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Which page next.
    Transition = 1,
    /// Which of several links.
    Link = 2,
    /// How long to think.
    Think = 3,
    /// How long to back off.
    Backoff = 4,
    /// How long the patience lasts.
    Patience = 5,
    /// Words to search for, folders to file into.
    Text = 6,
    /// Which class, which account, which connection habit a new user has.
    Character = 7,
    /// How long a user is kept from its next request after one that got no answer.
    Setback = 8,
}

#[cfg(test)]
mod tests;
