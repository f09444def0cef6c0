//! The acceptor of a service: takes connections from the listening socket while there is room, and closes in order.

use std::{
    io, iter,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::Duration,
};

use controllers::Offer;
use service_core::{
    ledger::{Ledgers, ServiceLedger},
    request::Intake,
};
use spec::{
    EdgeSpec,
    wire::{CallBooks, Gauges, StageGauges},
};
use tokio::time::Instant;

use super::{
    Arrival, ClientSource, Conn, Registry,
    accepting::{Accepting, is_exhausted},
    canned,
    conn::ConnPhase,
    ebb::Ebb,
    wire::bounded,
};
use crate::{
    clock::ServiceClock,
    signals,
    stage::{AdmissionGate, GatePermit, lock},
};

/// The period of the check of deadlines.
pub const TICK: Duration = Duration::from_millis(250);

/// The time that new connections have for their first request, from the order to end or from the close of the port.
const LATE: Duration = Duration::from_millis(500);

/// A listening socket with its open connections.
#[derive(Debug)]
pub struct ConnectionAcceptor {
    accepting: Accepting,
    /// The open connections.
    pub registry: Arc<Registry>,
    ledger: Arc<ServiceLedger>,
    clock: ServiceClock,
    ebb: Mutex<Ebb>,
}

impl ConnectionAcceptor {
    /// Needs a runtime. `backlog`: the length of the kernel's queue of connections.
    ///
    /// # Errors
    /// If the socket cannot be watched.
    pub fn new(
        listener: TcpListener,
        (gate, backlog): (Arc<AdmissionGate>, u32),
        cap: usize,
        ledger: Arc<ServiceLedger>,
        clock: ServiceClock,
    ) -> io::Result<Self> {
        let accepting = Accepting::new(listener, gate, backlog)?;
        Ok(Self { accepting, registry: Registry::new(cap), ledger, clock, ebb: Mutex::default() })
    }

    /// Changes the length of the kernel's queue of connections. Linux allows that on a listening socket.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn set_backlog(&self, backlog: u32) -> io::Result<()> {
        self.accepting.set_backlog(backlog)
    }

    /// The number of requests that are being read.
    pub(crate) fn reading(&self) -> u32 {
        self.registry.in_phase(&[ConnPhase::Head, ConnPhase::Body])
    }

    /// The number of answers that are being written.
    pub(crate) fn writing(&self) -> u32 {
        self.registry.in_phase(&[ConnPhase::Writing])
    }

    /// The gauges of the process; `within`: rows between those of reading and of writing; `behind`: after them.
    pub fn gauges(
        &self,
        (ledgers, intake): (&Ledgers, &Intake),
        within: impl IntoIterator<Item = StageGauges>,
        behind: impl IntoIterator<Item = StageGauges>,
    ) -> Gauges {
        let books = ledgers.read();
        let [read, send] = Ledgers::rows(&books, intake);
        let [ledger, calls] = books;
        let read = StageGauges { queue: self.reading(), ..read };
        let send = StageGauges { queue: self.writing(), ..send };
        Gauges {
            at_ms: self.clock.now().as_secs_f64() * 1e3,
            ledger,
            stages: iter::once(read).chain(within).chain([send]).chain(behind).collect(),
            cpu_s: signals::cpu_time().as_secs_f64(),
            rss_bytes: signals::resident_bytes(),
            open_files: signals::open_files(),
            calls: CallBooks { read: calls, made: Vec::new() },
            ..Gauges::default()
        }
    }

    /// Accepts for ever, as the policy decides. Drop the future to stop.
    pub async fn accept(&self, offer: impl Fn() -> Offer, start: impl Fn(TcpStream, SocketAddr, Option<GatePermit>)) {
        let mut in_a_row = 0_u32;
        loop {
            match self.accepting.next(&offer).await {
                Ok(Some(Arrival::Accepted(stream, peer, permit))) => start(stream, peer, permit),
                Ok(Some(Arrival::Refused(stream))) => self.turn_away(&stream),
                Ok(None) => {}
                Err(error) => self.accept_failed(&error).await,
            }
            in_a_row = in_a_row.wrapping_add(1);
            if in_a_row.is_multiple_of(16) {
                tokio::task::yield_now().await; // a flood of connections must not starve the open ones
            }
        }
    }

    /// The connection, ready to be served, or `None` if it is turned away. Others may have to make room.
    pub fn open(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        limits: &EdgeSpec,
    ) -> Option<(tokio::net::TcpStream, Arc<Conn>)> {
        if !self.has_room(ClientSource::of(peer), limits.connections_per_source) {
            self.turn_away(&stream);
            return None;
        }
        stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).ok()?;
        bounded(&stream, limits.send_buffer).ok()?;
        let stream = tokio::net::TcpStream::from_std(stream).ok()?;
        self.ledger.connected();
        Some((stream, Arc::new(Conn::new(peer, self.clock, limits))))
    }

    /// Closes overdue connections and, of too many slow ones, the slowest, and gives memory back after a flood.
    pub fn keep_deadlines(&self, limits: &EdgeSpec) {
        let now = self.clock.now();
        self.registry.reap(now, limits);
        let ended = self.registry.end_slowest_but(limits.most_slow_clients(self.registry.cap()), now);
        self.ledger.connections_evicted(ended);
        lock(&self.ebb).look(now, self.registry.all());
    }

    /// Waits until every connection is closed: those between requests at once, the others after their answer, and `within` at the latest.
    /// Whoever connects meanwhile is started too (and told that the service ends), and then the port is closed. `tell`: ends what
    /// can be ended in order.
    pub async fn drain(&self, within: Duration, start: impl Fn(TcpStream, SocketAddr), tell: impl Fn()) {
        let (mark, begun) = (self.registry.mark(), Instant::now());
        let left = || self.registry.close_idle_before(mark, begun.elapsed() >= LATE);
        tell();
        tokio::select! {
            () = self.accept_late(&start) => {}
            () = self.wait_until(begun + within, left) => {}
        }
        self.accepting.close().into_iter().for_each(|(stream, peer)| start(stream, peer));
        self.wait_until(Instant::now() + LATE, || self.registry.all()).await;
        tell(); // those who have said nothing
        self.wait_until(Instant::now() + TICK, || self.registry.all()).await;
    }

    /// Waits until no connection is left of those that are counted.
    async fn wait_until(&self, end: Instant, left: impl Fn() -> usize) {
        while left() > 0 && Instant::now() < end {
            let pause = end.min(Instant::now() + TICK / 10);
            let _ = tokio::time::timeout_at(pause, self.registry.changed()).await;
        }
    }

    /// Accepts for ever, without a policy.
    async fn accept_late(&self, start: impl Fn(TcpStream, SocketAddr)) {
        loop {
            match self.accepting.next_unasked().await {
                Ok(Some((stream, peer))) => start(stream, peer),
                Ok(None) => {}
                Err(error) => self.accept_failed(&error).await,
            }
        }
    }

    async fn accept_failed(&self, error: &io::Error) {
        self.ledger.accept_failed();
        if is_exhausted(error) {
            self.registry.evict(self.clock.now(), None);
            // The connection that could not be taken stays readable: without a pause this would spin.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// True if there is room for one more connection, after evictions if need be.
    fn has_room(&self, source: ClientSource, most_of_one: u32) -> bool {
        let most_of_one = usize::try_from(most_of_one).unwrap_or(usize::MAX);
        let of_source = most_of_one > 0 && self.registry.len_from(source) >= most_of_one;
        if !of_source && self.registry.has_room() {
            return true;
        }
        let evicted = self.registry.evict(self.clock.now(), of_source.then_some(source));
        self.ledger.connections_evicted(evicted);
        // Evicted tasks need a moment to end, and have their descriptors until then.
        evicted > 0 && self.registry.all() < self.registry.cap() + (self.registry.cap() / 8).max(8)
    }

    fn turn_away(&self, stream: &TcpStream) {
        self.ledger.connection_refused();
        canned::turn_away(stream);
    }
}
