//! Messages between clients and the service.

use std::time::Duration;

use controllers::Class;

use crate::persona::Call;

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
