//! Possessions of a task: the connection of its user, and buffers.

use std::rc::Rc;

use super::{http1::Http1Connection, http2::Lane};
use crate::http1::Inbox;

/// The connection that a user keeps.
#[derive(Debug)]
pub(super) enum Client {
    Http1(Http1Connection),
    /// It is the user's alone.
    Http2(Rc<Lane>),
}

/// The buffers of a task.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) out: Vec<u8>,
    pub(super) inbox: Inbox,
}
