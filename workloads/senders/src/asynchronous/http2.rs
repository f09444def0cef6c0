//! HTTP/2 on one connection: requests side by side, as many as the service allows.

use std::{
    cell::{Cell, RefCell},
    fmt,
    future::{Future as _, poll_fn},
    io,
    pin::Pin,
    rc::{Rc, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use h2::{
    Reason,
    client::{Builder, Connection, SendRequest},
};
use http::{HeaderMap, Request};
use tokio::{sync::Notify, time::timeout};
use workloads::host::ExchangeEnd;

use super::{lost::Lost, wire::Wire};
use crate::{
    http1::{Budget, Http1Error, Limits},
    tls,
};

/// Bytes that a stream and a connection may bring unasked.
const WINDOWS: (u32, u32) = (2 * 1024 * 1024, 8 * 1024 * 1024);

/// A connection on which nothing was said yet.
pub(super) struct Http2Connection(Box<dyn Wire>);

/// A connection that carries several requests at once.
#[derive(Debug)]
pub(super) struct Lane {
    sender: RefCell<Sender>,
    /// The number of requests that the service allows at once.
    limit: Cell<usize>,
    /// Places that are taken.
    taken: Cell<usize>,
    /// Notified when `sender` or `limit` has changed.
    changed: Notify,
    /// How long it took to connect, for the first request on it.
    connected_in: Cell<Option<Duration>>,
}

/// The way to send on a lane.
#[derive(Debug)]
enum Sender {
    /// The service has not said yet how many requests it allows.
    Connecting,
    Open(SendRequest<Bytes>),
    /// There was no such connection.
    Failed(Lost),
    /// The service takes nothing more on it.
    Ended,
}

/// The place of one request on a lane.
#[derive(Debug)]
pub(super) struct Place {
    lane: Rc<Lane>,
    /// The number of places that were taken before it.
    nth: usize,
    /// Whoever waits for a place of a lane that users share.
    freed: Option<Rc<Notify>>,
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct Http2Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

/// A body, as far as users read it.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    pub(super) length: usize,
    limits: Limits,
    memory: Budget,
}

impl fmt::Debug for Http2Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Http2Connection {
    pub(super) fn new(wire: Box<dyn Wire>) -> Self {
        Self(wire)
    }
}

impl Lane {
    pub(super) fn new() -> Rc<Self> {
        Rc::new(Self {
            sender: RefCell::new(Sender::Connecting),
            limit: Cell::new(0),
            taken: Cell::new(0),
            changed: Notify::new(),
            connected_in: Cell::new(None),
        })
    }

    /// Carries requests until the connection ends, which it also does once nobody has the lane; `on_change` hears of each
    /// change of what it can carry.
    pub(super) async fn carry(
        lane: Weak<Self>,
        connection: Http2Connection,
        (connected_in, within): (Duration, Duration),
        on_change: impl Fn(),
    ) {
        let began =
            timeout(within, connection.begin()).await.unwrap_or_else(|_| Err(ExchangeEnd::ConnectTimedOut.into()));
        let Some(here) = lane.upgrade() else { return };
        let (sender, mut connection) = match began {
            Ok(begun) => begun,
            Err(lost) => {
                here.fail(lost);
                return on_change();
            }
        };
        here.connected_in.set(Some(connected_in));
        here.limit.set(connection.max_concurrent_send_streams());
        here.becomes(Sender::Open(sender));
        drop(here);
        on_change();
        poll_fn(|cx| {
            let ended = Pin::new(&mut connection).poll(cx);
            if let Some(lane) = lane.upgrade()
                && lane.look(connection.max_concurrent_send_streams())
            {
                on_change();
            }
            ended.map(drop)
        })
        .await;
    }

    /// There is no such connection.
    pub(super) fn fail(&self, lost: Lost) {
        self.becomes(Sender::Failed(lost));
    }

    /// It turned out to be no lane.
    pub(super) fn end(&self) {
        self.becomes(Sender::Ended);
    }

    fn becomes(&self, sender: Sender) {
        self.sender.replace(sender);
        self.changed.notify_waiters();
    }

    /// Notes what the service has said meanwhile: true if that changes what the lane can carry.
    fn look(&self, limit: usize) -> bool {
        let ended = matches!(&*self.sender.borrow(), Sender::Open(_)) && !self.is_usable();
        if ended {
            self.becomes(Sender::Ended);
        }
        let changed = self.limit.replace(limit) != limit;
        if changed {
            self.changed.notify_waiters();
        }
        changed || ended
    }

    /// True if further requests may be sent on it.
    pub(super) fn is_usable(&self) -> bool {
        let Sender::Open(sender) = &mut *self.sender.borrow_mut() else { return false };
        !matches!(sender.poll_ready(&mut Context::from_waker(Waker::noop())), Poll::Ready(Err(_)))
    }

    /// The number of requests that it carries at once; `expected`: while the service has not said so; 0 after its end.
    pub(super) fn capacity(&self, expected: usize) -> usize {
        match &*self.sender.borrow() {
            Sender::Connecting => expected,
            Sender::Open(_) => self.limit.get(),
            Sender::Failed(_) | Sender::Ended => 0,
        }
    }

    /// The number that the service has said.
    pub(super) fn said(&self) -> Option<usize> {
        matches!(&*self.sender.borrow(), Sender::Open(_)).then(|| self.limit.get())
    }

    /// True if nothing can be sent on it any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(&*self.sender.borrow(), Sender::Failed(_) | Sender::Ended)
    }

    /// A place on it, if one is free.
    pub(super) fn place(self: &Rc<Self>, expected: usize, freed: Option<&Rc<Notify>>) -> Option<Place> {
        let nth = self.taken.get();
        if nth >= self.capacity(expected) {
            return None;
        }
        self.taken.set(nth + 1);
        Some(Place { lane: Rc::clone(self), nth, freed: freed.cloned() })
    }
}

impl Http2Connection {
    /// The connection, once the service has said how many requests it allows.
    async fn begin(self) -> Result<(SendRequest<Bytes>, Connection<Box<dyn Wire>, Bytes>), Lost> {
        let failed = |error: &h2::Error| Lost { end: ExchangeEnd::ConnectFailed, unprocessed: false, ..lost(error) };
        // None, until the service says its own number, which it does first of all.
        let mut settings = Builder::new();
        settings.enable_push(false).initial_max_send_streams(0);
        settings.initial_window_size(WINDOWS.0).initial_connection_window_size(WINDOWS.1);
        let begun = settings.handshake(self.0).await;
        let (sender, mut connection) = begun.map_err(|error| failed(&error))?;
        poll_fn(|cx| match Pin::new(&mut connection).poll(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(Err(ExchangeEnd::ConnectFailed.into())),
            Poll::Ready(Err(error)) => Poll::Ready(Err(failed(&error))),
            Poll::Pending if connection.max_concurrent_send_streams() > 0 => Poll::Ready(Ok(())),
            Poll::Pending => Poll::Pending,
        })
        .await?;
        Ok((sender, connection))
    }
}

impl Place {
    /// True if nothing can be sent on its lane any more.
    pub(super) fn is_over(&self) -> bool {
        self.lane.is_over()
    }

    /// How long it took to connect, told once.
    pub(super) fn connected_in(&self) -> Option<Duration> {
        self.lane.connected_in.take()
    }

    /// The way to send, once the lane has one; `None`: it has no place for this request after all.
    pub(super) async fn sender(&self) -> Result<Option<SendRequest<Bytes>>, Lost> {
        loop {
            let changed = self.lane.changed.notified();
            match &*self.lane.sender.borrow() {
                Sender::Failed(lost) => return Err(lost.clone()),
                Sender::Open(sender) if self.nth < self.lane.limit.get() => return Ok(Some(sender.clone())),
                Sender::Open(_) | Sender::Ended => return Ok(None),
                Sender::Connecting => {}
            }
            changed.await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.lane.taken.update(|taken| taken - 1);
        self.freed.iter().for_each(|freed| freed.notify_one());
    }
}

/// Sends a request and receives the answer; `on_sent` hears when it is sent. If this is dropped, the stream is reset.
pub(super) async fn exchange(
    mut sender: SendRequest<Bytes>,
    (request, body): (Request<()>, Option<Bytes>),
    mut into: Body,
    on_sent: impl FnOnce(),
) -> Result<Http2Answer, Lost> {
    let unsent = |error: h2::Error| Lost { end: ExchangeEnd::ConnectFailed, unprocessed: true, ..lost(&error) };
    poll_fn(|cx| sender.poll_ready(cx)).await.map_err(unsent)?;
    let (response, mut stream) = sender.send_request(request, body.is_none()).map_err(unsent)?;
    on_sent();
    if let Some(body) = body {
        stream.send_data(body, true).map_err(|error| lost(&error))?;
    }
    let (head, mut body) = response.await.map_err(|error| lost(&error))?.into_parts();
    while let Some(piece) = body.data().await {
        let piece = piece.map_err(|error| lost(&error))?;
        // The room is given back at once: the answers' memory has a limit of its own.
        let _ = body.flow_control().release_capacity(piece.len());
        into.push(&piece)?;
    }
    Ok(Http2Answer { status: head.status.as_u16(), headers: head.headers, body: into })
}

impl Body {
    pub(super) fn new(limits: Limits, memory: Budget) -> Self {
        Self { bytes: Vec::new(), length: 0, limits, memory }
    }

    /// Appends a piece of the body.
    fn push(&mut self, piece: &[u8]) -> Result<(), Http1Error> {
        self.length += piece.len();
        if self.length > self.limits.body {
            return Err(Http1Error::BodyTooLong(self.limits.body));
        }
        let kept = &piece[..piece.len().min(self.limits.kept - self.bytes.len())];
        if !self.memory.take(kept.len()) {
            return Err(Http1Error::Memory(self.memory.bytes()));
        }
        self.bytes.extend_from_slice(kept);
        Ok(())
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes.len());
    }
}

/// Streams that the service has refused, and those that a GOAWAY leaves out, were not processed (RFC 9113, section 8.7).
fn lost(error: &h2::Error) -> Lost {
    let unprocessed = error.is_remote() && (error.is_go_away() || error.reason() == Some(Reason::REFUSED_STREAM));
    let why = match error.get_io() {
        // The connection has ended without a word.
        Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => String::new(),
        Some(cause) => tls::said(cause),
        None => error.to_string(),
    };
    Lost { end: ExchangeEnd::Broken, why, unprocessed }
}
