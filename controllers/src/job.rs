//! What is decided about: jobs, what is known of them on arrival, and how they end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// Identifies a job within one host. Never reused while the job is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u64);

/// A request type, as an index into the host's list of type names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Kind(pub u16);

/// A user class. A higher number is more important; 0 is the lowest and the default (as in the SEDA code, where a
/// missing or malformed `User-Class` header means 0).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Class(pub u8);

/// How important a request is to the product (Google SRE, chapter 21, "Criticality"), lowest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Criticality {
    /// Frequent partial unavailability and occasional full unavailability are expected.
    Sheddable,
    /// Partial unavailability is expected. The default for batch jobs, which can retry minutes or even hours later.
    SheddablePlus,
    /// The default for requests of production jobs: user-visible impact when it fails.
    #[default]
    Critical,
    /// Serious user-visible impact when it fails.
    CriticalPlus,
}

impl Criticality {
    /// All four, lowest first.
    pub const ALL: [Self; 4] = [Self::Sheddable, Self::SheddablePlus, Self::Critical, Self::CriticalPlus];

    /// Its place from the lowest, 0 to 3.
    #[must_use]
    pub const fn level(self) -> usize {
        self as usize
    }

    /// The name used in headers and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sheddable => "SHEDDABLE",
            Self::SheddablePlus => "SHEDDABLE_PLUS",
            Self::Critical => "CRITICAL",
            Self::CriticalPlus => "CRITICAL_PLUS",
        }
    }

    /// The criticality of that name, if it is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|criticality| criticality.name() == name)
    }
}

/// What is known of a job when it arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    /// Request type.
    pub kind: Kind,
    /// User class.
    pub class: Class,
    /// Who asks: a user of the generator, a session, an address; 0 where the host knows no users. The same number at every service that
    /// a request comes through.
    pub user: u64,
    /// Who pays: an index into the host's customers; 0 when there is but one.
    pub customer: u32,
    /// Importance to the product.
    pub criticality: Criticality,
    /// 0 for a first attempt, then the number of the retry.
    pub attempt: u8,
    /// On the sender's side, for a retry: the attempt before was answered "overloaded; don't retry"
    /// ([`Outcome::Overloaded`] with `retry: false`).
    pub told_not_to_retry: bool,
    /// When its sender stops waiting, if it said so.
    pub deadline: Option<Timestamp>,
}

/// A job that asks to be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Its identity within this host.
    pub id: JobId,
    /// What is known of it.
    pub tags: Tags,
    /// When it entered the *service* (not this stage): SEDA measures from there.
    pub entered: Timestamp,
    /// What the sender's policy put on the request: a level, demand, credits that an earlier reply gave it. For a call: else what came with
    /// the request on whose behalf it is made.
    pub note: Option<Note>,
}

/// A number that rides on replies, and on requests. It means something to the policies of both sides alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note(pub u64);

/// A policy's private cookie for one admitted job, handed back once when the job ends.
///
/// It carries the epoch of the policy that gave it: after a live switch, ends of older epochs only update the counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grant {
    /// Whatever the policy wants to find again; 0 if nothing.
    pub cookie: u64,
    pub(crate) epoch: u32,
}

impl Grant {
    /// A grant with a private value. The [`crate::Seat`] stamps the epoch.
    #[must_use]
    pub const fn new(cookie: u64) -> Self {
        Self { cookie, epoch: 0 }
    }
}

/// How a job ended. Never a bool: what must not teach a policy anything is [`Outcome::Ignored`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Answered as asked.
    Served,
    /// Refused further down; `retry` says whether trying again can help.
    Overloaded {
        /// False for "overloaded; don't retry".
        retry: bool,
    },
    /// Took longer than allowed.
    TimedOut,
    /// Went wrong for a reason that is not load: answered, but with an error.
    Failed,
    /// Nobody answered: no connection came about, or it broke before the answer (gRPC: UNAVAILABLE). Senders' side only.
    Unavailable,
    /// Ended, but says nothing about load (a cheap error, a health check).
    Ignored,
    /// Its sender went away before the answer.
    Abandoned,
}

/// When things happened to one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Entry to the service.
    pub entered: Timestamp,
    /// Arrival at this seat.
    pub offered: Timestamp,
    /// Start of work here, after any queue.
    pub started: Timestamp,
    /// End of work here.
    pub ended: Timestamp,
}

impl Timing {
    /// From entry to the service until the end of work here: what SEDA calls response time (USITS'03, section 3.2).
    #[must_use]
    pub fn response(&self) -> Duration {
        self.ended.since(self.entered)
    }

    /// Time spent waiting here.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.started.since(self.offered)
    }
}
