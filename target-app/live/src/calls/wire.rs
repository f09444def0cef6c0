//! A kept connection to a task of a called service: HTTP/1.1 on a plain socket.

use std::{io, net::SocketAddr};

use senders::{
    Http1Connection,
    http1::{HEADERS_MAX, Inbox, Limits, Outgoing},
};
use service_core::calls::CallReply;

/// A connection to a task.
#[derive(Debug)]
pub(super) struct Wire {
    connection: Http1Connection,
    inbox: Inbox,
}

impl Wire {
    pub(super) async fn connect(to: SocketAddr) -> io::Result<Self> {
        Ok(Self { connection: Http1Connection::plain(to).await?, inbox: Inbox::new(Limits::default()) })
    }

    /// The connection, unless the service has closed it meanwhile, or sent unrequested bytes.
    pub(super) fn unless_stale(mut self) -> Option<Self> {
        (!self.connection.is_stale()).then_some(self)
    }

    /// True if another call may follow.
    pub(super) fn is_reusable(&self) -> bool {
        self.inbox.reusable()
    }

    /// Sends a request and receives the answer; `None` if the connection broke before it. If the future is dropped before
    /// its end, the connection is reset: the answer is not wanted any more.
    pub(super) async fn ask(&mut self, request: &Outgoing<'_>) -> Option<CallReply> {
        let mut out = Vec::new();
        request.write(&mut out);
        self.connection.exchange(&out, &mut self.inbox).await.ok()?;
        let mut space = [("", &b""[..]); HEADERS_MAX];
        let response = self.inbox.response(&mut space)?;
        Some(CallReply::of(response.status, response.headers.iter().copied()))
    }
}
