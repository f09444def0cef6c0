use std::time::Duration;

use controllers::{Class, Timestamp};

use super::{EventQueue, Identity, connections::Connections, host::SimEvent};
use crate::persona::Call;

/// The far end of the link: a service, or several, as a machine in virtual time.
pub trait SimServer {
    /// Events that the server plans for itself.
    type Event: Identity;

    /// The run begins: the server plans its first events.
    fn begin(&mut self, cx: &mut Cx<'_, Self::Event>);

    /// A client's SYN arrives.
    fn connect(&mut self, conn: ConnId, client: SimClient, cx: &mut Cx<'_, Self::Event>) -> SynResult;

    /// A request has arrived on a connection.
    fn ask(&mut self, request: SimRequest, cx: &mut Cx<'_, Self::Event>);

    /// The client has closed a connection, whatever it was waiting for.
    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, Self::Event>);

    /// An event that the server planned is due.
    fn happen(&mut self, event: Self::Event, cx: &mut Cx<'_, Self::Event>);
}

/// A connection. Numbers of closed ones are used again, with another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    /// Its place among those that are open: small numbers, to index with.
    pub place: u32,
    /// How often the place had been used before.
    pub generation: u32,
}

/// The client of a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimClient {
    /// Number of the user; a service would see an address.
    pub user: u64,
    /// Class of the user, who may have been told to go to another address by it.
    pub class: Class,
    /// No request follows at once: the client wants the connection alone.
    pub silent: bool,
}

/// A listener's reaction to a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SynResult {
    /// The connection is made (it may still wait to be accepted).
    Taken,
    /// The listener's queue is full: the SYN is dropped, and the client's kernel sends it again.
    Dropped,
    /// The port is closed: the client gets a reset.
    Refused,
}

/// A request as it arrives.
#[derive(Debug, Clone)]
pub struct SimRequest {
    /// The connection that the answer goes back on.
    pub conn: ConnId,
    /// Number of the user; a service would see an address.
    pub user: u64,
    /// The request.
    pub call: Call,
    /// Key of all draws that belong to this request: the same for request *k* of user *u*, attempt *a*, whatever happened
    /// before.
    pub key: u64,
    /// Its number, where requests are numbered.
    pub number: Option<u64>,
    /// How much longer its user waited as it was sent; a call says so in its header lines.
    pub left: Option<Duration>,
}

/// An answer.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Header lines.
    pub headers: Vec<(&'static str, String)>,
    /// Body.
    pub body: String,
    /// The service closes the connection after it.
    pub close: bool,
}

/// The actions of a server.
#[derive(Debug)]
pub struct Cx<'a, E> {
    pub(super) now: Timestamp,
    pub(super) events: &'a mut EventQueue<SimEvent<E>>,
    pub(super) connections: &'a mut Connections,
}

impl<E> Cx<'_, E> {
    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Plans an event of the server's own.
    pub fn plan(&mut self, at: Timestamp, event: E) {
        self.events.plan(at.max(self.now), SimEvent::Server(event));
    }

    /// Sends an answer. To a connection that is closed, it goes nowhere.
    pub fn reply(&mut self, conn: ConnId, response: Response) {
        if let Some(at) = self.connections.arrives_at_client(conn, self.now) {
            self.events.plan(at, SimEvent::Answered(conn, response));
        }
    }

    /// Closes a connection from the service's side.
    pub fn close(&mut self, conn: ConnId) {
        if let Some(at) = self.connections.arrives_at_client(conn, self.now) {
            self.events.plan(at, SimEvent::Closed(conn));
        }
    }
}
