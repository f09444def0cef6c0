//! Connections between services, and from a balancer to the tasks of the service behind it.

use workloads::sim::{ConnId, ConnSlots, SimRequest};

use crate::listener::{CALLS, is_call};

/// The first place of connections of a balancer; those of users are below, those of calls above.
pub(super) const BALANCER: u32 = 1 << 30;

/// The owner of a connection's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    /// A user, with its connection to the balancer.
    User(ConnId),
    /// A service's call.
    Call(u64),
}

/// A connection.
#[derive(Debug)]
pub(super) struct InnerConnection {
    pub(super) node: usize,
    pub(super) pool: usize,
    pub(super) owner: Option<Sender>,
    /// The request to send once the connection is established.
    pub(super) asked: Option<Box<SimRequest>>,
}

/// All connections within the cluster.
#[derive(Debug)]
pub(super) struct InnerConnections {
    calls: ConnSlots<InnerConnection>,
    balancer: ConnSlots<InnerConnection>,
}

impl Default for InnerConnections {
    fn default() -> Self {
        Self { calls: ConnSlots::from(CALLS), balancer: ConnSlots::from(BALANCER) }
    }
}

/// True for connections within the cluster.
pub(super) fn is_inside(conn: ConnId) -> bool {
    conn.place >= BALANCER
}

impl InnerConnections {
    pub(super) fn open(&mut self, connection: InnerConnection) -> ConnId {
        let of_call = matches!(connection.owner, Some(Sender::Call(_)));
        self.slots(of_call).open(connection)
    }

    pub(super) fn get(&mut self, conn: ConnId) -> Option<&mut InnerConnection> {
        self.slots(is_call(conn)).get(conn)
    }

    pub(super) fn remove(&mut self, conn: ConnId) -> Option<InnerConnection> {
        self.slots(is_call(conn)).close(conn)
    }

    fn slots(&mut self, of_call: bool) -> &mut ConnSlots<InnerConnection> {
        if of_call { &mut self.calls } else { &mut self.balancer }
    }
}
