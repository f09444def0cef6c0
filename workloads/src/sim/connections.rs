use std::{cell::RefCell, rc::Rc};

use controllers::{Seeded, Timestamp, random::mix};

use super::{ConnId, ConnSlots, LinkSpec, SimRequest};
use crate::host::UserTask;

/// The client's end of a connection. The connection is closed when this is dropped (with the user that kept it, or for
/// a new connection).
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) id: ConnId,
    dropped: Rc<RefCell<Vec<ConnId>>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.dropped.borrow_mut().push(self.id);
    }
}

/// One connection, from its first SYN.
#[derive(Debug)]
pub(super) struct ConnectionState {
    /// The request under way on it; it keeps the client's end meanwhile.
    pub(super) waiting: Option<PendingRequest>,
    /// True once the service has closed it.
    pub(super) closed: bool,
    /// The number of time-outs set on this connection: only the last one is valid.
    limits: u32,
    random: Seeded,
    /// The arrival of the last message in this direction: no message overtakes another.
    to_service: Timestamp,
    to_client: Timestamp,
}

/// A user with a request under way.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) user: Box<UserTask<Handle>>,
    pub(super) handle: Handle,
    /// The request, until it is sent.
    pub(super) request: Option<Box<SimRequest>>,
    pub(super) began: Timestamp,
}

/// All connections that are open or being opened.
#[derive(Debug)]
pub(crate) struct Connections {
    spec: LinkSpec,
    seed: u64,
    connections: ConnSlots<ConnectionState>,
    dropped: Rc<RefCell<Vec<ConnId>>>,
}

impl Connections {
    pub(super) fn new(spec: LinkSpec, seed: u64) -> Self {
        Self { spec, seed, connections: ConnSlots::from(0), dropped: Rc::default() }
    }

    /// A new connection for a request with this key.
    pub(super) fn open(&mut self, key: u64) -> Handle {
        let id = self.connections.open(ConnectionState {
            waiting: None,
            closed: false,
            limits: 0,
            random: Seeded::new(mix(self.seed ^ key)),
            to_service: Timestamp::ZERO,
            to_client: Timestamp::ZERO,
        });
        Handle { id, dropped: Rc::clone(&self.dropped) }
    }

    pub(super) fn get(&mut self, conn: ConnId) -> Option<&mut ConnectionState> {
        self.connections.get(conn)
    }

    /// The number of a new time-out on this connection, which invalidates earlier ones.
    pub(super) fn next_limit(&mut self, conn: ConnId) -> u32 {
        self.get(conn).map_or(0, |state| {
            state.limits += 1;
            state.limits
        })
    }

    /// True if a user waits on this connection and this is its last time-out.
    pub(super) fn waits_for(&mut self, conn: ConnId, limit: u32) -> bool {
        self.get(conn).is_some_and(|state| state.waiting.is_some() && state.limits == limit)
    }

    /// Sets the key of the link's draws: they are keyed by request, also on a kept connection.
    pub(super) fn rekey(&mut self, conn: ConnId, key: u64) {
        let random = Seeded::new(mix(self.seed ^ key));
        if let Some(state) = self.get(conn) {
            state.random = random;
        }
    }

    /// Removes the next connection whose client's end was dropped.
    pub(super) fn next_dropped(&mut self) -> Option<ConnId> {
        let conn = self.dropped.borrow_mut().pop()?;
        self.connections.close(conn);
        Some(conn)
    }

    /// The time at which a SYN sent now arrives; `None` if it is lost, or its sender is gone.
    pub(super) fn syn_arrives(&mut self, conn: ConnId, now: Timestamp) -> Option<Timestamp> {
        let spec = self.spec;
        let state = self.get(conn)?;
        spec.syn_takes(&mut state.random).map(|takes| now + takes)
    }

    pub(super) fn arrives_at_service(&mut self, conn: ConnId, now: Timestamp) -> Option<Timestamp> {
        let spec = self.spec;
        let state = self.get(conn)?;
        state.to_service = state.to_service.max(now + spec.takes(&mut state.random));
        Some(state.to_service)
    }

    pub(super) fn arrives_at_client(&mut self, conn: ConnId, now: Timestamp) -> Option<Timestamp> {
        let spec = self.spec;
        let state = self.get(conn)?;
        state.to_client = state.to_client.max(now + spec.takes(&mut state.random));
        Some(state.to_client)
    }

    /// Removes all requests under way.
    pub(super) fn take_waiting(&mut self) -> Vec<PendingRequest> {
        self.connections.iter_mut().filter_map(|state| state.waiting.take()).collect()
    }
}
