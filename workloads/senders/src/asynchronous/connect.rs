//! New connections: TCP, TLS where the target wants it, and the version of HTTP that comes of it.

use std::{cell::Cell, fmt, io, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use nix::{
    libc::{EADDRNOTAVAIL, EMFILE, ENFILE, ETIMEDOUT},
    sys::socket::{setsockopt, sockopt::IpBindAddressNoPort},
};
use rustls::{client::Resumption, pki_types::ServerName};
use tokio::{
    net::{TcpSocket, TcpStream, UnixStream},
    time::timeout,
};
use tokio_rustls::TlsConnector;
use workloads::{
    host::ExchangeEnd,
    plan::{HttpVersion, LoadPlan},
};

use super::{http1::Http1Connection, http2::Http2Connection, lost::Lost, wire::Wire};
use crate::{
    addresses::{Addresses, SourceAddresses},
    options::{RunError, RunOptions},
    tls,
};

/// A new connection, by what it speaks.
#[derive(Debug)]
pub(super) enum Opened {
    Http1(Http1Connection),
    Http2(Box<Http2Connection>),
}

/// Makes connections to the target.
#[derive(Debug)]
pub(super) struct Connector {
    to: Addresses,
    sources: SourceAddresses,
    /// The number of connections so far, for which source addresses take turns.
    made: Cell<u64>,
    /// The socket to connect to in place of any address.
    unix_socket: Option<PathBuf>,
    timeout: Duration,
    tls: Option<(Tls, ServerName<'static>)>,
    /// HTTP/2, whatever is negotiated.
    http2: bool,
}

struct Tls(TlsConnector);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(…)")
    }
}

impl Connector {
    pub(super) fn new(plan: &LoadPlan, options: &RunOptions, target: &http::Uri) -> Result<Self, RunError> {
        let secure = target.scheme() == Some(&http::uri::Scheme::HTTPS);
        let tls = if secure { Some(security(plan, options, target)?) } else { None };
        let http2 = options.version == HttpVersion::Http2;
        Ok(Self {
            to: Addresses::of(&plan.target),
            sources: SourceAddresses::of(options),
            made: Cell::new(0),
            unix_socket: options.unix_socket.clone(),
            timeout: plan.connect_timeout,
            tls,
            http2,
        })
    }

    /// True if a connection may turn out to carry several requests at once.
    pub(super) fn may_multiplex(&self) -> bool {
        let offers = |(tls, _): &(Tls, _)| tls.0.config().alpn_protocols.iter().any(|name| name == b"h2");
        self.http2 || self.tls.as_ref().is_some_and(offers)
    }

    /// A new connection, as far as TCP and TLS make it.
    pub(super) async fn connect(&self) -> Result<Opened, Lost> {
        match timeout(self.timeout, self.shake_hands()).await {
            Ok(opened) => opened.map_err(|error| unconnected(&error)),
            Err(_) => Err(ExchangeEnd::ConnectTimedOut.into()),
        }
    }

    async fn shake_hands(&self) -> io::Result<Opened> {
        let socket = self.dial().await?;
        let Some((tls, name)) = &self.tls else { return Ok(self.speak(socket, false)) };
        let stream = tls.0.connect(name.clone(), socket).await?;
        let negotiated = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(self.speak(Box::new(stream), negotiated))
    }

    async fn dial(&self) -> io::Result<Box<dyn Wire>> {
        if let Some(path) = &self.unix_socket {
            return Ok(Box::new(UnixStream::connect(path).await?));
        }
        let nth = self.made.replace(self.made.get() + 1);
        let (mut to, mut tried) = (self.to.first(), 0);
        loop {
            let reached = self.reach(to, nth).await;
            tried += 1;
            let dead = reached
                .as_ref()
                .is_err_and(|e| matches!(end_of(e), ExchangeEnd::ConnectFailed | ExchangeEnd::OutOfPorts));
            match dead.then(|| self.to.after(to, tried)).flatten() {
                Some(next) => to = next,
                None => return Ok(Box::new(reached?)),
            }
        }
    }

    async fn reach(&self, to: SocketAddr, nth: u64) -> io::Result<TcpStream> {
        let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if let Some(source) = self.sources.towards(to, nth) {
            // As for the fiber host: without it the kernel would reserve a port for all targets at once.
            setsockopt(&socket, IpBindAddressNoPort, &true)?;
            socket.bind(SocketAddr::new(source, 0))?;
        }
        let socket = socket.connect(to).await?;
        socket.set_nodelay(true)?;
        Ok(socket)
    }

    fn speak(&self, wire: Box<dyn Wire>, negotiated: bool) -> Opened {
        if self.http2 || negotiated {
            Opened::Http2(Box::new(Http2Connection::new(wire)))
        } else {
            Opened::Http1(Http1Connection::new(wire))
        }
    }
}

/// TLS, and the name that the target is to show.
fn security(plan: &LoadPlan, options: &RunOptions, target: &http::Uri) -> Result<(Tls, ServerName<'static>), RunError> {
    let offered: &[&str] = match options.version {
        HttpVersion::Http2 => &["h2"],
        // HTTP/2 has no host but the URL's.
        HttpVersion::Auto if !plan.users.give_host() => &["h2", "http/1.1"],
        HttpVersion::Auto | HttpVersion::Http1 => &["http/1.1"],
    };
    let mut config = tls::client_config(&options.tls, offered)?;
    // Each connection is another user's.
    config.resumption = Resumption::disabled();
    let host = target.host().unwrap_or_default();
    let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
    let name = name.map_err(|_| RunError::Client(format!("{host} is no name of a service")))?;
    Ok((Tls(TlsConnector::from(Arc::new(config))), name))
}

fn unconnected(error: &io::Error) -> Lost {
    Lost::because(end_of(error), &tls::said(error))
}

fn end_of(error: &io::Error) -> ExchangeEnd {
    match error.raw_os_error() {
        Some(EADDRNOTAVAIL) => ExchangeEnd::OutOfPorts,
        Some(EMFILE | ENFILE) => ExchangeEnd::OutOfDescriptors,
        Some(ETIMEDOUT) => ExchangeEnd::ConnectTimedOut,
        _ => ExchangeEnd::ConnectFailed,
    }
}
