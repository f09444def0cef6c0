//! Connections to backends.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

use super::{
    address::{Address, Protocol},
    pool::OpenConnection,
    sender::Sender,
};
use crate::proxy::spec::ProxySpec;

/// Makes connections.
#[derive(Debug)]
pub(in super::super) struct Connector {
    timeout: Duration,
}

impl Connector {
    pub(in super::super) fn new(spec: &ProxySpec) -> Self {
        Self { timeout: spec.timeouts.connect }
    }

    /// A new connection, which has its place until it is closed.
    ///
    /// # Errors
    /// If there is none in time.
    pub(super) async fn connect(&self, to: &Address, place: OpenConnection) -> io::Result<Sender> {
        let connected = timeout(self.timeout, async {
            let stream = tcp(to).await?;
            match to.protocol {
                Protocol::Http1 => speak(stream, place).await,
                Protocol::Http2 | Protocol::Tls => Err(io::Error::other("not yet")),
            }
        });
        connected.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

async fn tcp(to: &Address) -> io::Result<TcpStream> {
    let stream = match to.host.parse::<IpAddr>() {
        Ok(address) => TcpStream::connect(SocketAddr::new(address, to.port)).await?,
        Err(_) => TcpStream::connect((to.host.as_str(), to.port)).await?,
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn speak(stream: TcpStream, place: OpenConnection) -> io::Result<Sender> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(async move {
        let _place = place;
        let _ = connection.with_upgrades().await; // what breaks it is told to the request on it
    });
    Ok(Sender::Http1(sender))
}
