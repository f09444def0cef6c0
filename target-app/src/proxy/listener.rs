//! Accepts connections of clients, serves each, and ends all of them in order.

use std::{
    collections::BTreeMap,
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    time::Duration,
};

use tokio::{sync::Notify, task::coop::unconstrained, time::Instant};

use super::{
    client::Open,
    connection::{self, Served},
    endable::EndableTask,
    state::Proxy,
};
use crate::{
    edge::{Accepting, Arrival, Conn, Ebb, Phase, Registry, Source, bounded, turn_away},
    stage::GatePermit,
};

/// The period of the check of deadlines.
const TICK: Duration = Duration::from_millis(250);
/// The time that the last connections have for their request, once the port is closed.
const LATE: Duration = Duration::from_millis(500);

/// The listening side.
#[derive(Debug)]
pub(super) struct Listener {
    proxy: Arc<Proxy>,
    accepting: Accepting,
    registry: Arc<Registry>,
    cap: usize,
    /// Tells connections to end after the answer that is under way.
    ending: Arc<Notify>,
}

impl Listener {
    /// Puts a proxy behind a listening socket with a queue of this length. Needs a runtime.
    ///
    /// # Errors
    /// If the socket cannot be watched.
    pub(super) fn new(proxy: Arc<Proxy>, listener: TcpListener, backlog: u32) -> io::Result<Arc<Self>> {
        let cap = proxy.settings().spec.most_connections();
        let accepting = Accepting::new(listener, Arc::clone(&proxy.accept), backlog)?;
        Ok(Arc::new(Self { proxy, accepting, registry: Arc::default(), cap, ending: Arc::default() }))
    }

    /// Changes the length of the kernel's queue of connections.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn set_backlog(&self, backlog: u32) -> io::Result<()> {
        self.accepting.set_backlog(backlog)
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
            match self.accepting.next(|| self.proxy.intake.connection(self.proxy.clock.now())).await {
                Ok(Some(Arrival::Accepted(stream, peer, permit))) => self.start(stream, peer, permit),
                Ok(Some(Arrival::Refused(stream))) => {
                    self.proxy.ledgers.users.connection_refused();
                    turn_away(&stream);
                }
                Ok(None) => {}
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

    /// Closes overdue connections of both sides, and logs which backends are left out, for ever.
    pub(super) async fn keep_deadlines(&self) {
        let (mut up, mut ebb) = (BTreeMap::new(), Ebb::default());
        loop {
            tokio::time::sleep(TICK).await;
            let settings = self.proxy.settings();
            let now = self.proxy.clock.now();
            self.registry.reap(now, &settings.edge);
            ebb.look(now, self.registry.all());
            self.proxy.takers.pass(TICK, settings.edge.write_timeout);
            // Unconstrained: tokio lets one task look at so many sockets only.
            unconstrained(async { settings.backends.sweep() }).await;
            for backend in settings.backends.iter() {
                let is_up = !backend.is_ejected(self.proxy.clock);
                if up.insert(backend.address.url.clone(), is_up).unwrap_or(true) != is_up {
                    let event = if is_up { "backend_in" } else { "backend_out" };
                    self.proxy
                        .changed(event, &[("backend", &backend.address.url)].into_iter().collect::<BTreeMap<_, _>>());
                }
            }
        }
    }

    /// Waits until every connection is closed: idle ones at once, the others after their answer, at the latest after
    /// the drain time. Whoever connects meanwhile is told that the proxy ends, and then the port is closed.
    pub(super) async fn drain(self: &Arc<Self>) {
        let mark = self.registry.mark();
        self.ending.notify_waiters();
        let end = Instant::now() + self.proxy.settings().edge.drain;
        tokio::select! {
            () = self.accept_late() => {}
            () = self.wait_until(end, || self.registry.close_idle_before(mark)) => {}
        }
        self.accepting.close().into_iter().for_each(|(stream, peer)| self.start(stream, peer, None));
        self.wait_until(Instant::now() + LATE, || self.registry.all()).await;
        self.ending.notify_waiters(); // who has said nothing
        self.wait_until(Instant::now() + TICK, || self.registry.all()).await;
    }

    /// Closes all connections.
    pub(super) fn close_all(&self) {
        self.registry.close_all();
    }

    /// Waits until no connection is left of those that are counted.
    async fn wait_until(&self, end: Instant, left: impl Fn() -> usize) {
        while left() > 0 && Instant::now() < end {
            let pause = end.min(Instant::now() + TICK / 10);
            let _ = tokio::time::timeout_at(pause, self.registry.changed()).await;
        }
    }

    /// Accepts for ever: requests are refused.
    async fn accept_late(self: &Arc<Self>) {
        loop {
            match self.accepting.next_unasked().await {
                Ok(Some((stream, peer))) => self.start(stream, peer, None),
                Ok(None) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await, // out of descriptors: some will be freed
            }
        }
    }

    fn start(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr, permit: Option<GatePermit>) {
        let settings = self.proxy.settings();
        if !self.has_room(Source::of(peer), settings.edge.connections_per_source) {
            return turn_away(&stream);
        }
        let ready = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        let ready = ready.and_then(|()| bounded(&stream, settings.edge.send_buffer));
        let Ok(stream) = ready.and_then(|()| tokio::net::TcpStream::from_std(stream)) else { return };
        let conn = Arc::new(Conn::new(peer, self.proxy.clock, &settings.edge));
        self.proxy.ledgers.users.connected();
        let tls = settings.tls.clone();
        let (proxy, about, ending) = (Arc::clone(&self.proxy), Arc::clone(&conn), Arc::clone(&self.ending));
        self.registry.add(conn, |member| {
            let open = Arc::new(Open { ledger: Arc::clone(&proxy.ledgers.users), permit, _member: member });
            EndableTask::spawn(async move {
                connection::serve(Served { proxy, conn: about, open, ending, tls }, stream).await;
            })
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
        self.proxy.ledgers.users.connections_evicted(evicted);
        if !room {
            self.proxy.ledgers.users.connection_refused();
        }
        room
    }
}
