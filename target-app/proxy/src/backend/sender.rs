//! One connection to a backend, as requests are sent on it.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
};

use http::{Request, Response, request::Parts};
use hyper::{
    body::Incoming,
    client::conn::{http1, http2},
};
use tokio::task::coop::unconstrained;

use super::{allowance::Allowance, driven::Driven};
use crate::{headers, upload::Upload};

/// One connection.
#[derive(Debug)]
pub(super) enum Sender {
    /// HTTP/1.1: one request at a time.
    Http1 {
        sender: http1::SendRequest<Upload>,
        /// `None`: the connection has a task of its own.
        driven: Option<Driven>,
        allowance: Arc<Allowance>,
    },
    /// HTTP/2: shared by all requests.
    Http2 {
        sender: http2::SendRequest<Upload>,
        /// In TLS.
        secure: bool,
        allowance: Arc<Allowance>,
    },
}

impl Sender {
    /// A connection of HTTP/1.1 that its requests drive.
    pub(super) fn http1(
        sender: http1::SendRequest<Upload>,
        connection: impl Future<Output = ()> + Send + 'static,
        allowance: Arc<Allowance>,
    ) -> Self {
        Self::Http1 { sender, driven: Some(Driven::new(connection)), allowance }
    }

    /// Sends a request and waits for the head of its answer. The error is the request, if no part of it was sent.
    pub(super) async fn send(
        &mut self,
        head: Box<Parts>,
        body: Upload,
    ) -> Result<Response<Incoming>, Option<(Box<Parts>, Upload)>> {
        let sent = match self {
            Self::Http1 { sender, driven, allowance } => {
                allowance.begin();
                // Unconstrained: a turn of the connection has made it ready or not, whatever this task has done before.
                let mut sent = pin!(unconstrained(sender.try_send_request(Request::from_parts(*head, body))));
                let sent = match driven {
                    None => sent.await,
                    Some(driven) => poll_fn(|cx| driven.drive(cx, |unwoken| sent.as_mut().poll(unwoken))).await,
                };
                allowance.lift();
                sent
            }
            Self::Http2 { sender, secure, allowance } => {
                let request = headers::to_http2(Request::from_parts(*head, body), *secure);
                let sent = sender.try_send_request(request).await;
                if sent.is_ok() {
                    allowance.begin();
                }
                sent
            }
        };
        sent.map_err(|mut error| {
            let (head, body) = error.take_message()?.into_parts();
            Some((Box::new(head), body))
        })
    }

    /// The connection, if the request on it drives it.
    pub(super) fn driven(&mut self) -> Option<&mut Driven> {
        match self {
            Self::Http1 { driven, .. } => driven.as_mut(),
            Self::Http2 { .. } => None,
        }
    }

    /// Gives the connection a task of its own, if it has none.
    pub(super) fn detach(&mut self) {
        if let Self::Http1 { driven, .. } = self {
            driven.take().into_iter().for_each(Driven::spawn);
        }
    }

    /// True once it can take a request; false if it is closed.
    pub(super) async fn is_usable(&mut self) -> bool {
        match self {
            // What has ended since hands the request back.
            Self::Http1 { sender, driven: Some(_), .. } => sender.is_ready(),
            Self::Http1 { sender, driven: None, .. } => sender.ready().await.is_ok(),
            Self::Http2 { sender, .. } => sender.ready().await.is_ok(),
        }
    }

    /// Between requests: true if nothing can be sent on it any more.
    pub(super) fn is_closed(&mut self) -> bool {
        match self {
            Self::Http1 { sender, driven, .. } => driven.as_mut().is_some_and(Driven::has_ended) || sender.is_closed(),
            Self::Http2 { sender, .. } => sender.is_closed(),
        }
    }

    /// Another handle of a connection that several requests share.
    pub(super) fn shared(&self) -> Option<Self> {
        match self {
            Self::Http1 { .. } => None,
            Self::Http2 { sender, secure, allowance } => {
                let (sender, allowance) = (sender.clone(), Arc::clone(allowance));
                Some(Self::Http2 { sender, secure: *secure, allowance })
            }
        }
    }

    /// The request on it has ended. True if the connection is to be kept: a shared one is in the pool all the time.
    pub(super) fn rests(&mut self) -> bool {
        match self {
            Self::Http1 { sender, driven: Some(driven), .. } => {
                driven.rest();
                sender.is_ready()
            }
            Self::Http1 { sender, driven: None, .. } => !sender.is_closed(),
            Self::Http2 { .. } => false,
        }
    }
}
