//! Connections between services, and from a balancer to the tasks of the service behind it.

use workloads::sim::{ConnId, SimRequest};

use crate::plant::listener::CALLS;

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
    /// The request to send once the connection is established; or the last request, if the connection has been used
    /// before: the service may have closed it meanwhile.
    pub(super) asked: Option<SimRequest>,
    pub(super) used: bool,
}

/// All connections within the cluster.
#[derive(Debug, Default)]
pub(super) struct InnerConnections {
    calls: Slots,
    balancer: Slots,
}

#[derive(Debug, Default)]
struct Slots {
    inner: Vec<(u32, Option<InnerConnection>)>,
    free: Vec<u32>,
}

/// True for connections within the cluster.
pub(super) fn is_inside(conn: ConnId) -> bool {
    conn.place >= BALANCER
}

impl InnerConnections {
    pub(super) fn open(&mut self, connection: InnerConnection) -> ConnId {
        let of_call = matches!(connection.owner, Some(Sender::Call(_)));
        let (slots, base) = if of_call { (&mut self.calls, CALLS) } else { (&mut self.balancer, BALANCER) };
        let place = slots.free.pop().unwrap_or_else(|| {
            slots.inner.push((0, None));
            u32::try_from(slots.inner.len() - 1).expect("so many connections do not fit into memory")
        });
        let (generation, slot) = &mut slots.inner[place as usize];
        *slot = Some(connection);
        ConnId { place: base + place, generation: *generation }
    }

    pub(super) fn get(&mut self, conn: ConnId) -> Option<&mut InnerConnection> {
        let (slots, place) = self.slots(conn);
        let (generation, connection) = slots.inner.get_mut(place)?;
        connection.as_mut().filter(|_| *generation == conn.generation)
    }

    pub(super) fn remove(&mut self, conn: ConnId) -> Option<InnerConnection> {
        self.get(conn)?;
        let (slots, place) = self.slots(conn);
        let (generation, connection) = &mut slots.inner[place];
        *generation = generation.wrapping_add(1);
        slots.free.push(u32::try_from(place).unwrap_or(u32::MAX));
        connection.take()
    }

    fn slots(&mut self, conn: ConnId) -> (&mut Slots, usize) {
        if conn.place >= CALLS {
            (&mut self.calls, (conn.place - CALLS) as usize)
        } else {
            (&mut self.balancer, conn.place.saturating_sub(BALANCER) as usize)
        }
    }
}
