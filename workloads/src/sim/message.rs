//! Messages between clients and the service.

use std::time::Duration;

use controllers::Class;

use crate::persona::Call;

/// A connection. The numbers of closed connections are used again, with another generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId {
    /// Its index among the open connections: small numbers, usable as an index.
    pub place: u32,
    /// The number of earlier uses of this place.
    pub generation: u32,
}

/// The client of a new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimClient {
    /// The number of the user; a real service would see an address.
    pub user: u64,
    /// The class of the user, which may determine the address that it connects to.
    pub class: Class,
    /// True if no request follows at once: the client wants the connection alone.
    pub silent: bool,
}

/// A listener's reaction to a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SynResult {
    /// The connection is established (it may still wait to be accepted).
    Taken,
    /// The listener's queue is full: the SYN is dropped, and the client's kernel sends it again.
    Dropped,
    /// The port is closed: the client gets a reset.
    Refused,
}

/// A request as it arrives.
#[derive(Debug, Clone)]
pub struct SimRequest {
    /// The connection for the answer.
    pub conn: ConnId,
    /// The number of the user; a real service would see an address.
    pub user: u64,
    /// The request.
    pub call: Call,
    /// The key of all draws of this request: the same for request *k* of user *u*, whatever happened before, and for all
    /// its attempts unless the plan says `redraw`.
    pub key: u64,
    /// Its number, where requests are numbered.
    pub number: Option<u64>,
    /// The time that its user still waited when it was sent; a call has it in its header lines.
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
    /// True if the service closes the connection after the answer.
    pub close: bool,
    /// How much sooner than its end an answer counts that is read while it comes.
    pub ahead: Duration,
}
