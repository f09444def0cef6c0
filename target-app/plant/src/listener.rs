//! Connections of the service, and those in the kernel's queue.

use std::collections::{BTreeMap, VecDeque};

use controllers::{JobId, Offer, Timestamp, site::Permit};
use service_core::{ledger::LedgerEntry, request::LedgerEnding};
use spec::EdgeSpec;
use workloads::sim::{ConnId, Response, SimRequest};

/// A connection.
#[derive(Debug)]
pub(super) struct Conn {
    pub(super) state: State,
    /// A request that has arrived and is unread, since the connection has not been accepted.
    pub(super) unread: Option<Box<SimRequest>>,
    /// The request in progress.
    pub(super) busy: Option<JobId>,
    /// The number of requests read.
    pub(super) requests: u32,
    /// No request follows: accepting the connection was charged by itself.
    pub(super) silent: bool,
    pub(super) idle_since: Timestamp,
    pub(super) idle_planned: bool,
    /// Its client is gone; the kernel keeps it until it is accepted.
    pub(super) dead: bool,
}

/// The first place of connections of other services' calls; those of users are below.
pub(super) const CALLS: u32 = 1 << 31;

/// True if another service calls on this connection.
pub(super) fn is_call(conn: ConnId) -> bool {
    conn.place >= CALLS
}

/// The state of a connection.
#[derive(Debug)]
pub(super) enum State {
    /// In the kernel's queue.
    Queued,
    /// Accepted, with the permit of the policy at accept.
    Open(Option<Permit>),
    /// Refused by the policy at accept.
    TurnedAway,
}

/// A refusal that is being sent.
#[derive(Debug)]
pub(super) struct PendingRefusal {
    pub(super) conn: ConnId,
    pub(super) response: Response,
    pub(super) entry: Option<LedgerEntry>,
    pub(super) ending: LedgerEnding,
}

/// The listener.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) conns: BTreeMap<ConnId, Conn>,
    pub(super) kernel: VecDeque<ConnId>,
    pub(super) backlog: u32,
    pub(super) edge: EdgeSpec,
    /// The next connection, which the policy at accept holds under this identity: none is accepted meanwhile.
    pub(super) pending: Option<Offer>,
}

impl Listener {
    pub(super) fn new(backlog: u32, edge: EdgeSpec) -> Self {
        Self { conns: BTreeMap::new(), kernel: VecDeque::new(), backlog, edge, pending: None }
    }

    /// True if the kernel has no room for another connection. In Linux, the queue is full above the backlog.
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
