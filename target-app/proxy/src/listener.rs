//! Accepts connections of clients, serves each, and ends all of them in order.

use std::{
    collections::BTreeMap,
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
};

use live_service::{
    edge::{ConnectionAcceptor, TICK},
    stage::GatePermit,
};
use tokio::{sync::Notify, task::coop::unconstrained};

use super::{
    client::Open,
    connection::{self, Served},
    endable::EndableTask,
    state::{Proxy, most_connections},
};

/// The listening side.
#[derive(Debug)]
pub(super) struct Listener {
    proxy: Arc<Proxy>,
    pub(super) acceptor: ConnectionAcceptor,
    /// Tells connections to end after the answer that is under way.
    ending: Arc<Notify>,
}

impl Listener {
    /// Puts a proxy behind a listening socket with a queue of this length. Needs a runtime.
    ///
    /// # Errors
    /// If the socket cannot be watched.
    pub(super) fn new(proxy: Arc<Proxy>, listener: TcpListener, backlog: u32) -> io::Result<Arc<Self>> {
        let cap = most_connections(&proxy.settings().spec);
        let gate = (Arc::clone(&proxy.accept), backlog);
        let acceptor = ConnectionAcceptor::new(listener, gate, cap, Arc::clone(&proxy.ledgers.users), proxy.clock)?;
        Ok(Arc::new(Self { proxy, acceptor, ending: Arc::default() }))
    }

    /// Accepts for ever. Drop the future to stop.
    pub(super) async fn accept(self: Arc<Self>) {
        let offer = || self.proxy.intake.connection(self.proxy.clock.now());
        self.acceptor.accept(offer, |stream, peer, permit| self.start(stream, peer, permit)).await;
    }

    /// Closes overdue connections of both sides, and logs which backends are left out, for ever.
    pub(super) async fn keep_deadlines(self: Arc<Self>) {
        let mut up = BTreeMap::new();
        loop {
            tokio::time::sleep(TICK).await;
            let settings = self.proxy.settings();
            self.acceptor.keep_deadlines(&settings.edge);
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

    /// Waits until every connection is closed ([`ConnectionAcceptor::drain`]), at the latest after the drain time.
    pub(super) async fn drain(&self) {
        let within = self.proxy.settings().edge.drain;
        self.acceptor
            .drain(within, |stream, peer| self.start(stream, peer, None), || self.ending.notify_waiters())
            .await;
    }

    fn start(&self, stream: TcpStream, peer: SocketAddr, permit: Option<GatePermit>) {
        let settings = self.proxy.settings();
        let Some((stream, conn)) = self.acceptor.open(stream, peer, &settings.edge) else { return };
        let tls = settings.tls.clone();
        let (proxy, about, ending) = (Arc::clone(&self.proxy), Arc::clone(&conn), Arc::clone(&self.ending));
        self.acceptor.registry.add(conn, |member| {
            let open = Arc::new(Open { ledger: Arc::clone(&proxy.ledgers.users), permit, member });
            EndableTask::spawn(async move {
                connection::serve(Served { proxy, conn: about, open, ending, tls }, stream).await;
            })
        });
    }
}
