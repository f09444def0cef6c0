//! What a recorder must know of a load plan, and of each request.

use std::time::Duration;

use controllers::{Class, Kind, Timestamp};

/// What a recorder must know of a load plan.
#[derive(Debug, Clone)]
pub struct RecorderPlan {
    /// One after another, from time zero.
    pub phases: Vec<RecorderPhase>,
    /// Classes of users, in order, each once.
    pub classes: Vec<Class>,
    /// Longest wait for an answer or a connection. Histograms hold times up to twice this.
    pub timeout: Duration,
    /// An answer later than this is late.
    pub objective: Duration,
    /// Some of the load is recorded.
    pub replays: bool,
}

/// What a recorder must know of a phase.
#[derive(Debug, Clone)]
pub struct RecorderPhase {
    /// Its name in every table.
    pub name: String,
    /// How long it lasts.
    pub duration: Duration,
    /// Most users of closed loads at once; `None` where users come and go (open loads).
    pub users: Option<u64>,
    /// All arrivals are independent and at one rate, so that their spread can be judged.
    pub independent: bool,
}

/// A request that a user means to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intent {
    /// Its type.
    pub kind: Kind,
    /// The class of its user.
    pub class: Class,
    /// When the user wanted it first: for a retry, when the first attempt was wanted.
    pub wanted_at: Timestamp,
    /// 0 for the first attempt, 1 for the first retry.
    pub attempt: u8,
}
