//! Calls that a service makes on behalf of requests: the decisions that live and virtual hosts share.
//!
//! A request to a service with calls is worked on first, and keeps its worker while the calls are made, one after the other or
//! all at once. A refused call may be tried again by the service that made it, right away. [`CallMachine`] decides all
//! this; hosts make the calls, live over kept connections, and in virtual time as events.

mod attempt;
mod machine;
mod pool;
mod retry;
#[cfg(test)]
mod tests;

use std::{fmt::Write as _, time::Duration};

use controllers::{ClassRule, Note, Random, RetryHint, Seeded, Tags, random::mix, seed_for};
use workloads::{
    balance::{LOAD_METRICS, LoadReport},
    client::note,
    headers::{CRITICALITY, CUSTOMER, NOTE, TIMEOUT_MS, USER},
};

pub use attempt::AttemptEnd;
pub use machine::{Call, CallContext, CallMachine, CallStep, RequestCalls, Visits};
pub use pool::{CallRoute, Pool};
pub use retry::RetryDecision;

/// The key of all draws for a call on behalf of a request with this key. `place`: the index of the called service among all; `number`:
/// the index of the call among those to this service.
pub fn key_of_call(request: u64, place: usize, number: u32) -> u64 {
    mix(request ^ mix((place as u64) << 32 | u64::from(number)))
}

/// The key of the draws for one attempt of a call: that of the first for all, unless each draws anew.
pub fn key_of_attempt(call: u64, attempt: u8) -> u64 {
    mix(call ^ u64::from(attempt))
}

/// True if a request with this key makes that call, drawn with this probability.
pub fn is_made(request: u64, place: usize, number: u32, probability: f64) -> bool {
    let drawn = || Seeded::new(seed_for(key_of_call(request, place, number), "visit")).uniform();
    probability >= 1.0 || drawn() < probability
}

/// The end of an attempt, with the note from the called service to the caller's policies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CallReply {
    pub reply: AttemptEnd,
    pub note: Option<Note>,
    /// What the task that was called reported of its load.
    pub load: Option<LoadReport>,
}

impl From<AttemptEnd> for CallReply {
    fn from(reply: AttemptEnd) -> Self {
        Self { reply, note: None, load: None }
    }
}

impl CallReply {
    /// An answer with this status and these headers.
    pub fn of<'a>(status: u16, headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Self {
        let (mut never, mut noted, mut load) = (false, None, None);
        for (name, value) in headers {
            if name.eq_ignore_ascii_case("x-retry") {
                never |= value == b"never";
            } else if name.eq_ignore_ascii_case(NOTE) {
                noted = note(value);
            } else if name.eq_ignore_ascii_case(LOAD_METRICS) {
                load = LoadReport::read(value);
            }
        }
        Self { reply: AttemptEnd::of(status, never), note: noted, load }
    }
}

/// How calls on behalf of a request have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallsEnded {
    /// All were answered, or there were none.
    Answered,
    /// One was refused; this is the advice for the sender.
    Refused(RetryHint),
    /// One failed or was not answered in time.
    Failed,
}

/// How all calls on behalf of a request have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallsResult {
    pub ended: CallsEnded,
    /// The note of the last reply to one of them.
    pub note: Option<Note>,
}

impl CallsResult {
    /// The result for a request without calls.
    pub const NONE: Self = Self { ended: CallsEnded::Answered, note: None };
}

/// The header lines that a call takes over from its request: criticality, user, customer, note, the time that is left, and the class where
/// requests state it in a header or a cookie. The number of the attempt is the call's own, and not among them.
pub fn carried(tags: &Tags, left: Duration, class: &ClassRule, note: Option<Note>) -> String {
    let Tags { criticality, user, customer, class: of, .. } = tags;
    let millis = left.as_millis();
    let mut lines = format!(
        "{CRITICALITY}: {}\r\n{USER}: {user}\r\n{CUSTOMER}: {customer}\r\n{TIMEOUT_MS}: {millis}\r\n",
        criticality.name()
    );
    // Writing to a string cannot fail.
    let _ = match class {
        ClassRule::Header(name) => write!(lines, "{name}: {}\r\n", of.0),
        ClassRule::Named(named) => match named.value(*of) {
            Some(value) => write!(lines, "{}: {value}\r\n", named.header),
            None => Ok(()),
        },
        ClassRule::Cookie(name) => write!(lines, "Cookie: {name}={}\r\n", of.0),
        ClassRule::None | ClassRule::Address(_) | ClassRule::Path(_) => Ok(()),
    };
    if let Some(Note(number)) = note {
        let _ = write!(lines, "{NOTE}: {number}\r\n");
    }
    lines
}
