//! Jobs: their tags on arrival, their grants and their outcomes.

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

    /// The rank, 0 (lowest) to 3.
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

    /// Parses a name. `None`: no criticality has that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|criticality| criticality.name() == name)
    }
}

/// The attributes of a job on arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    /// Request type.
    pub kind: Kind,
    /// User class.
    pub class: Class,
    /// The user who asks: a user of the generator, a session, an address; 0 where the host knows no users. It is the same number at every
    /// service that a request comes through.
    pub user: u64,
    /// The customer that is charged: an index into the host's customers; 0 when the host knows one customer only.
    pub customer: u32,
    /// Importance to the product.
    pub criticality: Criticality,
    /// 0 for the first attempt, then the number of the retry.
    pub attempt: u8,
    /// On the sender's side, for a retry: the previous attempt was answered "overloaded; don't retry"
    /// ([`Outcome::Overloaded`] with `retry: false`).
    pub told_not_to_retry: bool,
    /// When the sender stops waiting, if the request says so.
    pub deadline: Option<Timestamp>,
}

/// A job that requests admission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// The job's identity within this host.
    pub id: JobId,
    /// Its attributes.
    pub tags: Tags,
    /// When the job entered the *service* (not this stage): SEDA measures response time from there.
    pub entered: Timestamp,
    /// The note of the sender's policy: a level, a demand, or credits from an earlier reply. A call without a note of
    /// its own carries the note of the request that it serves.
    pub note: Option<Note>,
}

impl Offer {
    /// Time at which the answer is late: the deadline of the sender, and at most so long after the entry into the service.
    pub(crate) fn due(&self, objective: Duration) -> Timestamp {
        let late = self.entered + objective;
        self.tags.deadline.map_or(late, |deadline| deadline.min(late))
    }
}

/// A number that requests and replies carry between the policies of both sides. Only those policies interpret it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note(pub u64);

/// A policy's private cookie for one admitted job, returned to the policy once, when the job ends.
///
/// It carries the epoch of the policy that issued it: after a live switch, ends of older epochs only update the counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Grant {
    /// The policy's private value; 0 if unused.
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

/// How a job ended. An end from which a policy must learn nothing is [`Outcome::Ignored`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Answered as requested.
    Served,
    /// Refused downstream; `retry` says whether a retry can succeed.
    Overloaded {
        /// False for "overloaded; don't retry".
        retry: bool,
    },
    /// Exceeded its time limit.
    TimedOut,
    /// Answered with an error whose cause is not load.
    Failed,
    /// Not answered: the connection failed, or broke before the answer (gRPC: UNAVAILABLE). Senders' side only.
    Unavailable,
    /// Ended without information about load (a cheap error, a health check).
    Ignored,
    /// The sender disconnected before the answer.
    Abandoned,
}

/// The times of one job's steps at one seat. Only [`Timing::entered`] is the same at every seat of a service that a job passes;
/// at a stage `ended - offered` is the time at this stage alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Entry to the service, not to this seat.
    pub entered: Timestamp,
    /// The offer to this seat.
    pub offered: Timestamp,
    /// Start of work here, after queueing: [`Seen::Started`](crate::Seen::Started). On a sender, when the request was let
    /// go; for a job without work here, its end.
    pub started: Timestamp,
    /// End of work here: at a stage of the stage's work, at dispatch, in a proxy and on a sender of the whole request.
    pub ended: Timestamp,
}

impl Timing {
    /// From entry into the service to the end of work here: the response time of SEDA (USITS'03, section 3.2).
    #[must_use]
    pub fn response(&self) -> Duration {
        self.ended.since(self.entered)
    }

    /// Time spent waiting here.
    #[must_use]
    pub fn waited(&self) -> Duration {
        self.started.since(self.offered)
    }

    /// What the job cost, seconds: this CPU time, else the time of its work. `None`: it left before its work began.
    pub(crate) fn cost_s(&self, cpu: Option<Duration>, outcome: Outcome) -> Option<f64> {
        let worked = self.started < self.ended || outcome == Outcome::Served;
        worked.then(|| cpu.unwrap_or_else(|| self.ended.since(self.started)).as_secs_f64())
    }
}
