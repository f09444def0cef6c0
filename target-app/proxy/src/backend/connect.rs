//! Connections to backends.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use spec::proxy::ProxySpec;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::{
    allowance::{self, Allowance},
    pool::OpenConnection,
    sender::Sender,
};
use crate::{
    address::{Address, Protocol},
    error::ProxyError,
    tls,
};

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    timeout: Duration,
    /// Only where a backend speaks TLS.
    tls: Option<TlsConnector>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// Bytes that a stream and a connection of HTTP/2 may bring unasked.
const WINDOWS: (u32, u32) = (256 * 1024, 4 * 1024 * 1024);

impl Connector {
    /// # Errors
    /// No certificates to check those of backends against.
    pub(super) fn new(spec: &ProxySpec) -> Result<Self, ProxyError> {
        let is_secure = spec.to.iter().any(|url| url.starts_with("https:"));
        let tls = is_secure.then(|| tls::connector(spec.backend_ca.as_deref(), spec.backend_insecure)).transpose()?;
        Ok(Self { timeout: spec.timeouts.connect, tls })
    }

    /// A new connection, which has its place until it is closed.
    ///
    /// # Errors
    /// If there is none in time.
    pub(super) async fn connect(&self, to: &Address, place: OpenConnection) -> io::Result<Sender> {
        let connected = timeout(self.timeout, async {
            let stream = tcp(to).await?;
            match (to.protocol, &self.tls) {
                (Protocol::Http1, _) => speak(stream, place).await,
                (Protocol::Http2, _) => speak_http2(stream, place, false).await,
                (Protocol::Tls, None) => Err(io::Error::other("without certificates")),
                (Protocol::Tls, Some(tls)) => {
                    let name = ServerName::try_from(to.host.clone()).map_err(io::Error::other)?;
                    let stream = tls.connect(name, stream).await?;
                    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                        speak_http2(stream, place, true).await
                    } else {
                        speak(stream, place).await
                    }
                }
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

async fn speak<S>(stream: S, place: OpenConnection) -> io::Result<Sender>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let allowance = Allowance::new();
    let stream = TokioIo::new(allowance::http1(stream, Arc::clone(&allowance)));
    let (sender, connection) = http1::handshake(stream).await.map_err(io::Error::other)?;
    let connection = async move {
        let _place = place;
        let _ = connection.with_upgrades().await; // what breaks it is told to the request on it
    };
    Ok(Sender::http1(sender, connection, allowance))
}

async fn speak_http2<S>(stream: S, place: OpenConnection, secure: bool) -> io::Result<Sender>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.initial_stream_window_size(WINDOWS.0).initial_connection_window_size(WINDOWS.1);
    let allowance = Allowance::new();
    let stream = TokioIo::new(allowance::http2(stream, Arc::clone(&allowance)));
    let (sender, connection) = http.handshake(stream).await.map_err(io::Error::other)?;
    tokio::spawn(async move {
        let _place = place;
        let _ = connection.await; // what breaks it is told to the requests on it
    });
    Ok(Sender::Http2 { sender, secure, allowance })
}
