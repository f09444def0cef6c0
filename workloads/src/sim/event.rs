use super::{ConnId, Identity, Response, SimRequest, identity_of};
use crate::host::ExchangeEnd;

/// The events of a run.
#[derive(Debug)]
pub(crate) enum SimEvent<E> {
    /// A SYN arrives, after this many lost ones.
    Syn(ConnId, u32),
    /// The client learns that it is connected.
    Connected(ConnId),
    /// The client learns that the port is closed.
    Refused(ConnId),
    /// A request arrives.
    Request(Box<SimRequest>),
    /// An answer arrives.
    Answered(ConnId, Response),
    /// The client learns that the service has closed the connection.
    Closed(ConnId),
    /// The client learns that the connection broke.
    Reset(ConnId),
    /// The service learns that the client has closed it.
    HungUp(ConnId),
    /// A time-out or the user's patience ends, if the user still waits for the same event.
    Deadline(ConnId, u32, ExchangeEnd),
    Server(E),
}

impl<E: Identity> Identity for SimEvent<E> {
    fn identity(&self) -> u64 {
        match self {
            Self::Syn(conn, sent_before) => identity_of(0, &[conn.identity(), u64::from(*sent_before)]),
            Self::Connected(conn) => identity_of(1, &[conn.identity()]),
            Self::Refused(conn) => identity_of(2, &[conn.identity()]),
            Self::Request(request) => identity_of(3, &[request.identity()]),
            Self::Answered(conn, response) => identity_of(4, &[conn.identity(), response.identity()]),
            Self::Closed(conn) => identity_of(5, &[conn.identity()]),
            Self::HungUp(conn) => identity_of(6, &[conn.identity()]),
            Self::Deadline(conn, number, end) => identity_of(7, &[conn.identity(), u64::from(*number), *end as u64]),
            Self::Reset(conn) => identity_of(9, &[conn.identity()]),
            Self::Server(event) => identity_of(8, &[event.identity()]),
        }
    }
}
