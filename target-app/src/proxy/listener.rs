//! Accepts connections of clients, serves each, and ends all of them in order.

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{io::Interest, net::TcpStream, sync::Notify};

use super::{client::Client, exchange, state::Proxy};
use crate::edge::{Conn, Member, Phase, Registry, Source, Wire, bounded, cap, turn_away};

/// The period of the check of deadlines.
const TICK: Duration = Duration::from_millis(250);

/// The listening side.
#[derive(Debug)]
pub(super) struct Listener {
    proxy: Arc<Proxy>,
    listener: tokio::net::TcpListener,
    registry: Arc<Registry>,
    cap: usize,
    /// Tells connections to end after the answer that is under way.
    ending: Arc<Notify>,
}

/// The resources that end with a connection, however it ends.
#[derive(Debug)]
pub(super) struct Open {
    proxy: Arc<Proxy>,
    _member: Member,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.proxy.ledgers.users.disconnected();
    }
}

impl Listener {
    /// Puts a proxy behind a listening socket. Needs a runtime.
    ///
    /// # Errors
    /// If the socket cannot be watched.
    pub(super) fn new(proxy: Arc<Proxy>, listener: TcpListener) -> io::Result<Arc<Self>> {
        // A request needs two descriptors: its client's connection and its backend's.
        let edge = &proxy.settings().edge;
        let cap = if edge.connections > 0 { cap(edge) } else { (cap(edge) / 2).max(1) };
        let listener = tokio::net::TcpListener::from_std(listener)?;
        Ok(Arc::new(Self { proxy, listener, registry: Arc::default(), cap, ending: Arc::default() }))
    }

    /// The number of requests that are being read.
    pub(super) fn reading(&self) -> usize {
        self.registry.in_phase(&[Phase::Head, Phase::Body])
    }

    /// The number of answers that are being written.
    pub(super) fn writing(&self) -> usize {
        self.registry.in_phase(&[Phase::Writing])
    }

    /// Accepts for ever. Drop the future to stop.
    pub(super) async fn accept(self: &Arc<Self>) {
        let mut in_a_row = 0_u32;
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => self.start(stream, peer),
                Err(_) => {
                    self.proxy.ledgers.users.accept_failed();
                    self.registry.evict(self.proxy.clock.now(), None);
                    // Out of descriptors the connection stays readable: without a pause this would spin.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            in_a_row = in_a_row.wrapping_add(1);
            if in_a_row.is_multiple_of(16) {
                tokio::task::yield_now().await; // a flood of connections must not starve the open ones
            }
        }
    }

    /// Closes overdue connections of both sides, for ever.
    pub(super) async fn keep_deadlines(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            let settings = self.proxy.settings();
            self.registry.reap(self.proxy.clock.now(), &settings.edge);
            settings.backends.sweep();
        }
    }

    /// Waits until every connection is closed: idle ones at once, the others after their answer, at the latest after
    /// the drain time.
    pub(super) async fn drain(&self) {
        self.proxy.draining.store(true, Ordering::Relaxed);
        self.ending.notify_waiters();
        let end = tokio::time::Instant::now() + self.proxy.settings().edge.drain;
        while self.registry.len() > 0 && tokio::time::Instant::now() < end {
            self.registry.close_idle();
            let pause = end.min(tokio::time::Instant::now() + TICK / 10);
            let _ = tokio::time::timeout_at(pause, self.registry.changed()).await;
        }
        self.registry.close_all();
    }

    fn start(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) {
        let settings = self.proxy.settings();
        if !self.has_room(Source::of(peer), settings.edge.connections_per_source) {
            return refuse(stream);
        }
        if stream.set_nodelay(true).and_then(|()| bounded(&stream, settings.edge.send_buffer)).is_err() {
            return;
        }
        let conn = Arc::new(Conn::new(peer, self.proxy.clock, &settings.edge));
        self.proxy.ledgers.users.connected();
        let (proxy, about, ending) = (Arc::clone(&self.proxy), Arc::clone(&conn), Arc::clone(&self.ending));
        self.registry.add(conn, |member| {
            let open = Arc::new(Open { proxy: Arc::clone(&proxy), _member: member });
            tokio::spawn(async move {
                serve(&proxy, stream, &about, &ending).await;
                drop(open);
            })
            .abort_handle()
        });
    }

    /// True if there is room for one more connection, after evictions if need be.
    fn has_room(&self, source: Source, most_of_one: u32) -> bool {
        let most_of_one = usize::try_from(most_of_one).unwrap_or(usize::MAX);
        let of_source = most_of_one > 0 && self.registry.len_from(source) >= most_of_one;
        if !of_source && self.registry.len() < self.cap {
            return true;
        }
        let evicted = self.registry.evict(self.proxy.clock.now(), of_source.then_some(source));
        let room = evicted > 0 && self.registry.all() < self.cap + (self.cap / 8).max(8);
        (0..evicted.max(1)).for_each(|_| self.proxy.ledgers.users.connection_refused());
        room
    }
}

fn refuse(stream: TcpStream) {
    if let Ok(stream) = stream.into_std() {
        turn_away(&stream);
    }
}

/// Serves one connection until it is closed.
async fn serve(proxy: &Arc<Proxy>, stream: TcpStream, conn: &Arc<Conn>, ending: &Notify) {
    let settings = proxy.settings();
    let (limits, half_close) = (&settings.edge, settings.spec.headers.half_close);
    let mut http = http1::Builder::new();
    http.keep_alive(limits.keep_alive)
        .header_read_timeout(None)
        .half_close(true)
        .max_buf_size(usize::try_from(limits.head_bytes).unwrap_or(usize::MAX));
    if limits.headers > 100 {
        http.max_headers(usize::try_from(limits.headers).unwrap_or(usize::MAX));
    }
    let stream = Arc::new(stream);
    let client = Client::new(conn, &stream, false, false);
    let wire = TokioIo::new(Wire::new(Arc::clone(&stream), Arc::clone(conn)));
    let service = service_fn(|request| {
        let (proxy, client) = (Arc::clone(proxy), Arc::clone(&client));
        async move { Ok::<_, Infallible>(exchange::answer(&proxy, request, &client).await) }
    });
    let serving = http.serve_connection(wire, service).with_upgrades();
    drop(settings);
    let (mut serving, mut left) = (pin!(serving), pin!(left(&stream, half_close)));
    let mut told = pin!(ending.notified());
    let mut ends = false;
    let served = loop {
        tokio::select! {
            biased;
            // First: no backend is asked for a client that has already gone.
            () = &mut left => return,
            served = &mut serving => break served,
            // On the next read, the wire sends the answer itself.
            () = conn.called_late() => {}
            () = &mut told, if !ends => {
                ends = true;
                serving.as_mut().graceful_shutdown();
            }
        }
    };
    if let Err(error) = served
        && (error.is_parse() || conn.is_late())
    {
        proxy.ledgers.users.malformed();
    }
}

/// Waits until the client has left: until it resets the connection or, unless it is allowed to, ends its sending side. That
/// is seen whatever bytes are still unread: the interest is in the end alone.
async fn left(stream: &TcpStream, half_close: bool) {
    let interest = if half_close { Interest::ERROR } else { Interest::PRIORITY };
    loop {
        match stream.ready(interest).await {
            Ok(ready) if ready.is_error() || (!half_close && ready.is_read_closed()) => return,
            Ok(_) => tokio::task::yield_now().await,      // a spurious wake-up
            Err(_) => std::future::pending::<()>().await, // the runtime ends
        }
    }
}
