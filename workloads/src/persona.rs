//! The contract between hosts and user machines: *a user is a machine*.
//!
//! A [`Persona`] is told the reply and the time, and returns its next move. It reads no clock, opens no socket, and
//! draws randomness only from [`Draws`], so one and the same user runs on a fiber against a real server or on an event
//! heap against a simulated one.

use std::{fmt, sync::Arc, time::Duration};

use controllers::{Class, Kind, Random, RetryHint, Seeded, Timestamp, random::mix};
use measure::Intent;

/// An emulated user.
pub trait Persona: fmt::Debug + Send {
    /// Judges the last reply, and returns the user's next move. After [`Move::Think`], `now` is the *intended* wake-up:
    /// the host measures its own lateness, and the plan never hides it (coordinated omission).
    fn next(&mut self, last: Reply<'_>, now: Timestamp, draws: &mut Draws) -> Turn;

    /// Called when the request that the user wants to send has entered the ledger: it has not come too late.
    fn begins(&mut self) {}

    /// What the last answer had not that the user expects: why it was judged [`Ending::Failed`], where that is known.
    fn objection(&self) -> Option<&str> {
        None
    }

    /// True if each request is due at a fixed time, which not even a failed connection of the previous request delays.
    fn keeps_times(&self) -> bool {
        false
    }
}

/// The user's answer to one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The user's judgement on a [`Reply::Answer`]. After any other reply the host itself knows how the request ended,
    /// and this is [`Ending::Unasked`].
    pub ending: Ending,
    /// The user's next move.
    pub then: Move,
}

/// A user's judgement on an answer. Only the user knows what it requested: a 200 without the requested mail has failed,
/// a 404 for a message that it has just deleted has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// There was no answer to judge.
    Unasked,
    /// Answered as requested.
    Served,
    /// Refused because of load (503, 429).
    Rejected,
    /// Answered with something other than what was requested.
    Failed,
    /// Failed: redirected to another host, where users do not go.
    Elsewhere,
    /// The user was told to wait, and does not come back.
    Abandoned,
    /// Redirected (a redirect, a `Refresh`): the same request goes on with the next [`Move::Send`], whose
    /// [`hop`](Call::hop) is not 0. The host keeps the ticket of the request open until its last hop has ended, so the
    /// response time includes every hop and every wait.
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
    /// Leaves for good.
    Leave,
}

/// Why a user is quiet: the live view counts users by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pause {
    /// Reads, or thinks.
    Thinking,
    /// Was told to wait (a `Refresh`, a `Retry-After`, a turn in a queue).
    Waiting,
    /// Backs off after a reject or failure, before a retry.
    BackingOff,
}

/// One request, as the user wants it sent. The host adds the target's address and the header lines `Host`,
/// `Content-Length`, `Content-Type: application/x-www-form-urlencoded` (where there is a body), `Connection`, and
/// `X-Attempt: N` where `attempt` is not 0. The user's own `Host`, `Content-Type` and `Connection` replace the host's.
///
/// Texts are shared: cloning a call allocates nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Request type, an index into the model's list of types.
    pub kind: Kind,
    /// User class.
    pub class: Class,
    /// The kind of reply that the user wants.
    pub want: Want,
    /// Method.
    pub method: Method,
    /// Path and query, as found in the page.
    pub path: Arc<str>,
    /// Header lines in addition to the host's own: whole lines, each ending in CR LF; empty if none. Rendered once a
    /// session.
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
    /// The connection to use.
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

    /// The values that the ledgers need.
    #[must_use]
    pub fn intent(&self) -> Intent {
        Intent { kind: self.kind, class: self.class, wanted_at: self.wanted_at, attempt: self.attempt }
    }
}

/// The kind of reply that a user wants of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Want {
    /// An answer: a request, as all ledgers count them.
    #[default]
    Answer,
    /// A health check, which counts in no ledger and no goodput.
    Check,
    /// A connection alone: [`Reply::Connected`].
    Connection,
}

/// Methods that users use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes.
    Post,
    /// Replaces.
    Put,
    /// Changes a part.
    Patch,
    /// Removes.
    Delete,
    /// Reads the head of an answer alone.
    Head,
    /// Asks what may be done.
    Options,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 7] = [Self::Get, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Head, Self::Options];

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
        }
    }

    /// The method of this name, in upper or lower case; `None`: users do not know it.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name().eq_ignore_ascii_case(name))
    }
}

/// The connection that a request goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The user's open connection if there is one, else a new one, kept afterwards.
    Keep,
    /// A new connection (an open one is closed first), kept afterwards: a new session.
    Fresh,
    /// A new connection, closed after the reply.
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
    /// The connection is established, and nothing else was wanted.
    Connected,
    /// No connection was established within the connect time-out, or it was refused.
    ConnectFailed,
    /// No answer within the time-out.
    TimedOut,
    /// The user's own patience ended first.
    GaveUp,
    /// The connection broke, or the response was not HTTP.
    Broken,
    /// A client-side policy refused the request before anything was sent, with this advice on retrying.
    RefusedLocally(RetryHint),
}

/// An answer, borrowed from the connection's buffer: a user copies what it wants to remember.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// HTTP status.
    pub status: u16,
    /// Header lines in order.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// The body, as far as users read it ([`Users::bytes_read`](crate::plan::Users::bytes_read)).
    pub body: &'a [u8],
    /// The bytes of the body, read or not.
    pub length: usize,
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
    /// An answer with all of its body.
    #[must_use]
    pub const fn whole(status: u16, headers: &'a [(&'a str, &'a [u8])], body: &'a [u8]) -> Self {
        Self { status, headers, body, length: body.len() }
    }

    /// The first header with this name (in lower case), if its value is text.
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

    /// Sets the user's step: steps count the user's own decisions (requests of its walk), not its attempts.
    pub fn at_step(&mut self, step: u64) {
        self.step = step;
    }

    /// A generator for this purpose at this step. A second call returns the same draws.
    #[must_use]
    pub fn of(&self, purpose: Purpose) -> Seeded {
        Seeded::new(mix(mix(self.user ^ mix(self.step)) ^ (purpose as u64)))
    }

    /// A generator for the event of this number among those with this purpose at this step: one step may need many, and
    /// their draws must not repeat.
    #[must_use]
    pub fn nth(&self, purpose: Purpose, number: u32) -> Seeded {
        Seeded::new(self.of(purpose).next_u64() ^ u64::from(number))
    }

    /// The key of the draws of one attempt of a request of this user: the same for the same request and attempt, whatever
    /// else happened. The first attempt's is that of the request itself.
    pub(crate) fn key_of_request(&self, ordinal: u64, attempt: u8) -> u64 {
        mix(mix(self.user ^ mix(ordinal)) ^ (OF_REQUESTS + u64::from(attempt)))
    }

    /// A pause drawn from this distribution, for this purpose at this step.
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

/// Distinct from every [`Purpose`].
const OF_REQUESTS: u64 = 1 << 32;

/// The purpose of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The next page.
    Transition = 1,
    /// The choice of one of several links.
    Link = 2,
    /// The length of a pause.
    Think = 3,
    /// The length of a back-off.
    Backoff = 4,
    /// The length of the patience.
    Patience = 5,
    /// Words to search for, folders to file into.
    Text = 6,
    /// Class, account and connection habit of a new user.
    Character = 7,
    /// The pause before the next request after one that got no answer.
    Setback = 8,
    /// Which of several requests comes next.
    Request = 9,
    /// Whether a user comes back after a wait, and when.
    Return = 10,
    /// Whose token a user shows, and a forged one.
    Token = 11,
}

#[cfg(test)]
mod tests;
