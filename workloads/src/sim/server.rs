use controllers::Timestamp;

use super::{
    ConnId, EventQueue, Identity, Response, SimClient, SimRequest, SynResult, connections::Connections, event::SimEvent,
};

/// The far end of the link: one or several services as a machine in virtual time.
pub trait SimServer {
    /// Events that the server schedules for itself.
    type Event: Identity;

    /// The run begins: the server schedules its first events.
    fn begin(&mut self, cx: &mut Cx<'_, Self::Event>);

    /// A client's SYN arrives.
    fn connect(&mut self, conn: ConnId, client: SimClient, cx: &mut Cx<'_, Self::Event>) -> SynResult;

    /// A request has arrived on a connection.
    fn ask(&mut self, request: Box<SimRequest>, cx: &mut Cx<'_, Self::Event>);

    /// The client has closed a connection, even if it waited for an answer.
    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, Self::Event>);

    /// An event that the server scheduled is due.
    fn happen(&mut self, event: Self::Event, cx: &mut Cx<'_, Self::Event>);
}

/// The actions of a server.
#[derive(Debug)]
pub struct Cx<'a, E> {
    pub(super) now: Timestamp,
    pub(super) events: &'a mut EventQueue<SimEvent<E>>,
    pub(super) connections: &'a mut Connections,
}

impl<E> Cx<'_, E> {
    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Schedules an event of the server.
    pub fn plan(&mut self, at: Timestamp, event: E) {
        self.events.plan(at.max(self.now), SimEvent::Server(event));
    }

    /// Sends an answer. An answer to a closed connection is dropped.
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

    /// Breaks a connection: unlike after [`Cx::close`], its client does not send a request again that may have been read.
    pub fn reset(&mut self, conn: ConnId) {
        if let Some(at) = self.connections.arrives_at_client(conn, self.now) {
            self.events.plan(at, SimEvent::Reset(conn));
        }
    }
}
