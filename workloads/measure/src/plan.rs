//! The parts of a load plan and of a request that a recorder needs.

use std::{collections::BTreeMap, time::Duration};

use controllers::{Class, Kind, Timestamp};

use super::Shard;

/// The part of a load plan that a recorder needs.
#[derive(Debug, Clone)]
pub struct RecorderPlan {
    /// The part of the plan that is carried out; `None`: all of it. Users are numbered in the whole.
    pub shard: Option<Shard>,
    /// One after another, from time zero.
    pub phases: Vec<RecorderPhase>,
    /// Classes of users, in order, each once.
    pub classes: Vec<Class>,
    /// The longest wait for an answer or a connection. Histograms hold times up to twice this.
    pub timeout: Duration,
    /// The objective: later answers are late.
    pub objective: Duration,
    /// The objectives of classes that have one of their own.
    pub class_objectives: BTreeMap<Class, Duration>,
    /// True if a part of the load is recorded.
    pub replays: bool,
}

/// The part of a phase that a recorder needs.
#[derive(Debug, Clone)]
pub struct RecorderPhase {
    /// The name in every table.
    pub name: String,
    /// The length.
    pub duration: Duration,
    /// The largest number of users of closed loads at once; `None` where users come and go (open loads).
    pub users: Option<u64>,
    /// True if all arrivals are independent and at one rate, so that their spread can be judged.
    pub independent: bool,
}

/// A request that a user intends to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intent {
    /// The type.
    pub kind: Kind,
    /// The class of its user.
    pub class: Class,
    /// The intended start of the first attempt.
    pub wanted_at: Timestamp,
    /// 0 for the first attempt, 1 for the first retry.
    pub attempt: u8,
}
