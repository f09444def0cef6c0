//! Connections as the service sees them, and those that the kernel keeps for it.

use std::collections::{BTreeMap, VecDeque};

use controllers::{JobId, Offer, Timestamp, site::Permit};
use workloads::sim::{ConnId, Response, SimRequest};

use crate::{
    ledger::{LedgerEntry, RequestEnding},
    spec::EdgeSpec,
};

/// A connection.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) state: State,
    /// What has come in and was not read, since the connection has not been taken.
    pub(super) unread: Option<Box<SimRequest>>,
    /// The request that is being answered.
    pub(super) busy: Option<JobId>,
    /// Requests read.
    pub(super) requests: u32,
    /// No request was to follow: to take it was paid for by itself.
    pub(super) silent: bool,
    pub(super) idle_since: Timestamp,
    pub(super) idle_planned: bool,
    /// Its client has gone; the kernel keeps it until somebody takes it.
    pub(super) dead: bool,
}

/// Connections of other services' calls have places from here on, those of users below.
pub(super) const CALLS: u32 = 1 << 31;

/// Whether another service calls on this connection.
pub(super) fn is_call(conn: ConnId) -> bool {
    conn.place >= CALLS
}

/// Where a connection is.
#[derive(Debug)]
pub(super) enum State {
    /// In the kernel's queue.
    Queued,
    /// Taken, with the pass of the policy at accept.
    Open(Option<Permit>),
    /// Refused by the policy at accept.
    TurnedAway,
}

/// A refusal on its way out.
#[derive(Debug)]
pub(super) struct PendingRefusal {
    pub(super) conn: ConnId,
    pub(super) response: Response,
    pub(super) entry: Option<LedgerEntry>,
    pub(super) ending: RequestEnding,
}

/// The listener.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) conns: BTreeMap<ConnId, Conn>,
    pub(super) kernel: VecDeque<ConnId>,
    pub(super) backlog: u32,
    pub(super) edge: EdgeSpec,
    /// The policy at accept holds the next connection under this identity: nothing is taken meanwhile.
    pub(super) pending: Option<Offer>,
}

impl Listener {
    pub(super) fn new(backlog: u32, edge: EdgeSpec) -> Self {
        Self { conns: BTreeMap::new(), kernel: VecDeque::new(), backlog, edge, pending: None }
    }

    /// True if the kernel has no room for another connection. Linux: full is more than the backlog.
    pub(super) fn is_full(&self) -> bool {
        self.kernel.len() > usize::try_from(self.backlog).unwrap_or(usize::MAX)
    }

    pub(super) fn add(&mut self, conn: ConnId, silent: bool, now: Timestamp) {
        self.kernel.push_back(conn);
        let new = Conn {
            state: State::Queued,
            unread: None,
            busy: None,
            requests: 0,
            silent,
            idle_since: now,
            idle_planned: false,
            dead: false,
        };
        self.conns.insert(conn, new);
    }
}
