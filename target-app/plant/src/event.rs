//! Scheduled events of a plant.

use controllers::JobId;
use workloads::sim::{ConnId, Identity, identity_of};

/// A scheduled event of a plant.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// Some work may have ended.
    Cores(u64),
    /// The wake-up of a site is due.
    Wake(TimerSite),
    /// Blocked jobs are tried again.
    Retry,
    /// The delay of a request by a fault has ended.
    Waited(JobId),
    /// A connection may have been idle for too long.
    Idle(ConnId),
    /// A fault begins or ends.
    Fault(usize, bool),
    /// A new policy of the same kind replaces the policy.
    Renew,
    /// Another second of all open connections is charged.
    Upkeep,
    /// A second of the wall clock begins, for waiting rooms.
    Second,
    /// A task that had crashed is back.
    Restart,
}

impl Identity for Event {
    fn identity(&self) -> u64 {
        match *self {
            Self::Cores(plan) => identity_of(0, &[plan]),
            Self::Wake(place) => identity_of(1, &[place.identity()]),
            Self::Retry => identity_of(2, &[]),
            Self::Waited(JobId(job)) => identity_of(3, &[job]),
            Self::Idle(conn) => identity_of(4, &[conn.identity()]),
            Self::Fault(number, on) => identity_of(5, &[number as u64, u64::from(on)]),
            Self::Renew => identity_of(6, &[]),
            Self::Upkeep => identity_of(7, &[]),
            Self::Second => identity_of(8, &[]),
            Self::Restart => identity_of(9, &[]),
        }
    }
}

/// A site with a timer of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimerSite {
    /// The gate at accept.
    Accept,
    /// The gate at dispatch.
    Dispatch,
    /// A stage of the service.
    Stage(usize),
    /// The monitors of the whole process.
    System,
}

impl Identity for TimerSite {
    fn identity(&self) -> u64 {
        match *self {
            Self::Accept => 0,
            Self::Dispatch => 1,
            Self::System => 2,
            Self::Stage(stage) => 3 + stage as u64,
        }
    }
}
