//! One connection to a backend, as requests are sent on it.

use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};

use crate::proxy::{headers, upload::Upload};

/// One connection.
#[derive(Debug)]
pub(super) enum Sender {
    /// HTTP/1.1: one request at a time.
    Http1(http1::SendRequest<Upload>),
    /// HTTP/2: shared by all requests.
    Http2 {
        sender: http2::SendRequest<Upload>,
        /// In TLS.
        secure: bool,
    },
}

impl Sender {
    /// Sends a request and waits for the head of its answer. The error is the request, if no part of it was sent.
    pub(super) async fn send(
        &mut self,
        mut request: Request<Upload>,
    ) -> Result<Response<Incoming>, Option<Box<Request<Upload>>>> {
        let sent = match self {
            Self::Http1(sender) => sender.try_send_request(request).await,
            Self::Http2 { sender, secure } => {
                headers::to_http2(&mut request, *secure);
                sender.try_send_request(request).await
            }
        };
        sent.map_err(|mut error| error.take_message().map(Box::new))
    }

    /// True once it can take a request; false if it is closed.
    pub(super) async fn is_usable(&mut self) -> bool {
        match self {
            Self::Http1(sender) => sender.ready().await.is_ok(),
            Self::Http2 { sender, .. } => sender.ready().await.is_ok(),
        }
    }

    /// True if nothing can be sent on it any more.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Http1(sender) => sender.is_closed(),
            Self::Http2 { sender, .. } => sender.is_closed(),
        }
    }

    /// Another handle of a connection that several requests share.
    pub(super) fn shared(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2 { sender, secure } => Some(Self::Http2 { sender: sender.clone(), secure: *secure }),
        }
    }

    /// True if the connection is to be kept after a request: a shared one is in the pool all the time.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self, Self::Http1(sender) if !sender.is_closed())
    }
}
