//! The control port's connections: few, each with limits of its own, so that they neither take descriptors that the
//! service needs, nor block the port for others.

use std::{convert::Infallible, sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use nix::sys::resource::{Resource, getrlimit};
use spec::{EdgeSpec, token::Token};

use super::{Controlled, Port, answer};
use crate::edge::{Conn, Registry, TICK, Wire};

/// Serves the control port until the runtime ends.
pub(crate) async fn serve(listener: tokio::net::TcpListener, running: Arc<dyn Controlled>, token: Token) {
    let clock = running.clock();
    let limits = limits();
    let registry = Registry::new(usize::try_from(limits.connections).unwrap_or(usize::MAX));
    let port = Arc::new(Port { running, token, limits, clock, registry });
    tokio::join!(accept(&port, &listener), keep_deadlines(&port));
}

async fn accept(port: &Arc<Port>, listener: &tokio::net::TcpListener) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            port.registry.evict(port.clock.now(), None);
            tokio::time::sleep(Duration::from_millis(20)).await; // out of descriptors: some will be freed
            continue;
        };
        if !port.registry.has_room() && port.registry.evict(port.clock.now(), None) == 0 {
            continue; // all are streams of authorised readers
        }
        let conn = Arc::new(Conn::new(peer, port.clock, &port.limits));
        let (open, about) = (Arc::clone(port), Arc::clone(&conn));
        port.registry.add(conn, |member| {
            tokio::spawn(async move {
                let _member = member;
                serve_one(open, stream, about).await;
            })
            .abort_handle()
        });
        while port.registry.all() > 2 * port.registry.cap() {
            port.registry.changed().await; // evicted connections keep their descriptors until their tasks end
        }
    }
}

async fn keep_deadlines(port: &Port) {
    loop {
        tokio::time::sleep(TICK).await;
        port.registry.reap(port.clock.now(), &port.limits);
    }
}

async fn serve_one(port: Arc<Port>, stream: tokio::net::TcpStream, conn: Arc<Conn>) {
    let service = service_fn(|request| {
        let (port, conn) = (Arc::clone(&port), Arc::clone(&conn));
        async move { Ok::<_, Infallible>(answer(&port, request, &conn).await) }
    });
    let wire = TokioIo::new(Wire::new(Arc::new(stream), Arc::clone(&conn)));
    let mut http = http1::Builder::new();
    http.header_read_timeout(None); // the connection enforces the time limit of its head
    let mut serving = std::pin::pin!(http.serve_connection(wire, service));
    let _ = tokio::select! {
        biased;
        served = &mut serving => served, // a broken connection concerns its client only
        () = conn.called_late() => serving.await,
    };
}

fn limits() -> EdgeSpec {
    let (descriptors, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    // The service takes four fifths of the descriptors, and its files need a part of the rest.
    let connections = u32::try_from(descriptors / 16).unwrap_or(u32::MAX).clamp(8, 64);
    EdgeSpec { connections, body_bytes: 256 * 1024, ..EdgeSpec::default() }
}
