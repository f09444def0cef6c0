//! The listener: accepts connections, lets hyper read and write HTTP/1.1, and bounds slow and ambiguous senders.

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    pin::pin,
    sync::{Arc, atomic::Ordering},
};

use controllers::Outcome;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use nix::sys::resource::{Resource, getrlimit};
use service_core::{
    own_headers::OwnHeaders,
    request::{self, DEGRADED, LedgerEnding},
};
use socket2::{Domain, Socket, Type};
use spec::EdgeSpec;
use workloads::background::HEALTH;

use crate::{
    app::{AppAnswer, LiveApp},
    stage::GatePermit,
};

mod acceptable;
mod accepting;
mod acceptor;
mod body;
mod canned;
mod client_wait;
mod conn;
mod ebb;
mod framing;
mod head_start;
mod registry;
mod source;
mod wire;

pub use acceptable::{HeadFault, fault_of_proxied};
use accepting::Arrival;
pub use acceptor::{ConnectionAcceptor, TICK};
pub(crate) use body::{Answered, read as read_body};
pub use canned::{LATE, PLAIN};
pub use conn::{Conn, ConnPhase};
pub use head_start::HeadStart;
pub use registry::{Membership, Registry};
pub use source::{ClientSource, SourceCounts};
use wire::given_up;
pub use wire::{Wire, poll_bytes, poll_write};

/// hyper parses up to this number of header lines on its stack; for more it allocates.
const HEADERS_ON_STACK: u32 = 100;
/// hyper's smallest buffer for a head, bytes.
pub const LEAST_HEAD_BYTES: u32 = 8192;
/// The listening side.
#[derive(Debug)]
pub(crate) struct Edge {
    app: Arc<LiveApp>,
    pub(crate) acceptor: ConnectionAcceptor,
}

/// Opens a listening socket.
///
/// # Errors
/// If the address cannot be bound.
pub(crate) fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

impl Edge {
    /// Puts the app behind a listening socket. Needs a runtime.
    ///
    /// # Errors
    /// If the socket cannot be watched.
    pub fn new(app: Arc<LiveApp>, listener: TcpListener, backlog: u32) -> io::Result<Arc<Self>> {
        let gate = (Arc::clone(&app.sites.accept), backlog);
        let acceptor =
            ConnectionAcceptor::new(listener, gate, cap(&app.edge), Arc::clone(&app.ledgers.users), app.clock)?;
        Ok(Arc::new(Self { app, acceptor }))
    }

    /// Accepts for ever. Drop the future to stop.
    pub async fn accept(self: Arc<Self>) {
        let offer = || self.app.intake.connection(self.app.clock.now());
        self.acceptor.accept(offer, |stream, peer, permit| self.start(stream, peer, permit)).await;
    }

    /// Closes overdue connections, for ever.
    pub async fn keep_deadlines(self: Arc<Self>) {
        loop {
            tokio::time::sleep(TICK).await;
            self.acceptor.keep_deadlines(&self.app.edge);
        }
    }

    /// Waits until every connection is closed, at the latest after the drain time, and closes the others. New
    /// requests are refused meanwhile.
    pub async fn drain(&self) {
        self.app.draining.store(true, Ordering::Relaxed);
        self.acceptor.drain(self.app.edge.drain, |stream, peer| self.start(stream, peer, None), || {}).await;
        self.acceptor.registry.close_all();
    }

    fn start(&self, stream: TcpStream, peer: SocketAddr, permit: Option<GatePermit>) {
        let Some((stream, conn)) = self.acceptor.open(stream, peer, &self.app.edge) else { return };
        let app = Arc::clone(&self.app);
        let about = Arc::clone(&conn);
        self.acceptor.registry.add(conn, |member| {
            let open = Open { app: Arc::clone(&app), permit, conn: Arc::clone(&about), _member: member };
            tokio::spawn(async move {
                let _open = open;
                serve(&app, stream, about).await;
            })
            .abort_handle()
        });
    }
}

/// The resources that end with a connection, however it ends.
struct Open {
    app: Arc<LiveApp>,
    permit: Option<GatePermit>,
    conn: Arc<Conn>,
    _member: registry::Membership,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.conn.ledger(&self.app).disconnected();
        self.permit.take().into_iter().for_each(|permit| _ = permit.end(Outcome::Served));
    }
}

/// The reader and writer of connections with these limits.
pub fn http1_within(limits: &EdgeSpec) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.keep_alive(limits.kept.keep_alive)
        .header_read_timeout(None)
        .half_close(true)
        .max_buf_size(usize::try_from(limits.head_bytes).unwrap_or(usize::MAX));
    if limits.headers > HEADERS_ON_STACK {
        http.max_headers(usize::try_from(limits.headers).unwrap_or(usize::MAX));
    }
    http
}

/// Serves one connection until it is closed.
async fn serve(app: &Arc<LiveApp>, stream: tokio::net::TcpStream, conn: Arc<Conn>) {
    let http = http1_within(&app.edge);
    let stream = Arc::new(stream);
    // hyper has buffers from its beginning on: not for a client that says nothing.
    tokio::select! {
        biased;
        () = given_up(&stream) => return,
        _ = stream.readable() => {}
    }
    let wire = TokioIo::new(Wire::new(Arc::clone(&stream), Arc::clone(&conn)));
    let service = service_fn(|request| {
        let (app, conn) = (Arc::clone(app), Arc::clone(&conn));
        async move { Ok::<_, Infallible>(answer(&app, request, &conn).await) }
    });
    let mut serving = pin!(http.serve_connection(wire, service));
    let served = loop {
        tokio::select! {
            biased;
            // First: a request is not read if its client has already gone.
            () = given_up(&stream) => return,
            served = &mut serving => break served,
            // On the next read, the wire sends the answer itself.
            () = conn.called_late() => {}
        }
    };
    if served.is_err_and(|error| error.is_parse() || conn.is_late()) {
        app.ledgers.users.malformed();
    }
}

/// Handles one request, from its head to an answer that is ready to be written.
async fn answer(app: &Arc<LiveApp>, request: Request<Incoming>, conn: &Arc<Conn>) -> Response<Answered> {
    let mut entered = app.clock.now();
    let ambiguous = conn.request_begins().await;
    let (head, body) = request.into_parts();
    let method = head.method.clone();
    if let Some(HeadFault { status, allow }) = acceptable::fault(&head, ambiguous, &app.edge) {
        app.ledgers.users.malformed();
        let answer = if allow { with_methods(app.failed(status)) } else { app.failed(status) };
        return finish(app, close(answer), &method, None, conn);
    }
    let check = head.uri.path() == HEALTH && [Method::GET, Method::HEAD].contains(&method);
    let reading = app.wire.reading(conn.is_new(), check);
    if !reading.is_zero() {
        app.spend(reading).await;
        entered = app.clock.now();
    }
    if check {
        return finish(app, app.check(&head, entered, conn.peer).await, &method, None, conn);
    }
    let entry = Some(if head.headers.contains_key(CALLER) {
        conn.is_callers(app);
        app.ledgers.calls.open(None)
    } else {
        app.ledgers.users.open(OwnHeaders::of(&head.headers).number(&NUMBER))
    });
    if ![Method::GET, Method::HEAD, Method::POST, Method::OPTIONS].contains(&method) {
        let answer = with_methods(app.failed(StatusCode::METHOD_NOT_ALLOWED));
        return finish(app, close(answer), &method, entry, conn);
    }
    let answer = match body::read(body, &app.edge, conn).await {
        Ok(_) if method == Method::OPTIONS => with_methods(app.nothing()),
        Ok(body) => app.answer(head, body, entered, conn.peer).await,
        Err(status) => close(app.failed(status)),
    };
    finish(app, answer, &method, entry, conn)
}

fn with_methods(mut answer: AppAnswer) -> AppAnswer {
    answer.response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST, OPTIONS"));
    answer
}

fn finish(
    app: &LiveApp,
    answer: AppAnswer,
    method: &Method,
    entry: Option<service_core::ledger::LedgerEntry>,
    conn: &Arc<Conn>,
) -> Response<Answered> {
    let refused = app.edge.kept.refusal_closes && matches!(answer.ending, LedgerEnding::Refused(_));
    let last = refused || app.draining.load(Ordering::Relaxed) || conn.is_used_up(&app.edge);
    let mut answer = answer;
    let has = |name: &str| answer.response.headers().contains_key(name);
    if let Some(seconds) = request::retry_after(app.edge.kept.retry_after, has) {
        answer.response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    let AppAnswer { response, ending } = if last { close(answer) } else { answer };
    if response.headers().contains_key(DEGRADED) {
        conn.ledger(app).degraded();
    }
    conn.enter(ConnPhase::Writing);
    response.map(|page| Answered::new(page, method, entry, ending, Arc::clone(conn)))
}

/// Makes the connection end with this answer.
fn close(mut answer: AppAnswer) -> AppAnswer {
    answer.response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// The name of the calling service.
const CALLER: HeaderName = HeaderName::from_static("x-caller");

/// The number that a client of ours gives a request.
pub static NUMBER: HeaderName = HeaderName::from_static("x-request-number");

/// The largest number of connections: as set, or four fifths of the descriptors, at most 4096.
pub fn cap(limits: &EdgeSpec) -> usize {
    let set = usize::try_from(limits.connections).unwrap_or(usize::MAX);
    if set > 0 {
        return set;
    }
    let (descriptors, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    usize::try_from(descriptors / 5 * 4).unwrap_or(usize::MAX).clamp(1, 4096)
}
