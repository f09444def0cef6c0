//! One connection of a client, as its requests see it.

use std::{
    fmt::Write as _,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use http::HeaderValue;
use socket2::SockRef;
use tokio::net::TcpStream;

use crate::{edge::Conn, stage::lock};

/// One connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) conn: Arc<Conn>,
    socket: Arc<TcpStream>,
    pub(super) secure: bool,
    /// HTTP/2: several requests at a time.
    pub(super) multiplexed: bool,
    /// The address as `X-Forwarded-For` has it.
    pub(super) address: HeaderValue,
    /// The last `Host` and the `Forwarded` line made of it: most clients ask for one host.
    forwarded: Mutex<Option<(HeaderValue, HeaderValue)>>,
}

impl Client {
    pub(super) fn new(conn: &Arc<Conn>, socket: &Arc<TcpStream>, secure: bool, multiplexed: bool) -> Arc<Self> {
        let address = conn.peer.ip().to_canonical().to_string();
        Arc::new(Self {
            conn: Arc::clone(conn),
            socket: Arc::clone(socket),
            secure,
            multiplexed,
            address: HeaderValue::try_from(address).unwrap_or(HeaderValue::from_static("unknown")),
            forwarded: Mutex::new(None),
        })
    }

    /// The address of the client.
    pub(super) fn peer(&self) -> SocketAddr {
        self.conn.peer
    }

    /// `http` or `https`.
    pub(super) fn scheme(&self) -> HeaderValue {
        HeaderValue::from_static(if self.secure { "https" } else { "http" })
    }

    /// The element of `Forwarded` (RFC 7239) for a request to this host.
    pub(super) fn forwarded(&self, host: &HeaderValue) -> HeaderValue {
        let mut last = lock(&self.forwarded);
        if let Some((of, line)) = &*last
            && of == host
        {
            return line.clone();
        }
        let line = element(self.peer().ip().to_canonical(), host, self.secure);
        *last = Some((host.clone(), line.clone()));
        line
    }

    /// Makes the end of the connection a reset: a client could take a plain end for that of its answer.
    pub(super) fn reset(&self) {
        let _ = SockRef::from(&*self.socket).set_linger(Some(std::time::Duration::ZERO));
    }
}

fn element(address: IpAddr, host: &HeaderValue, secure: bool) -> HeaderValue {
    let mut text = match address {
        IpAddr::V4(address) => format!("for={address}"),
        IpAddr::V6(address) => format!("for=\"[{address}]\""),
    };
    if let Ok(host) = host.to_str()
        && !host.contains(['"', '\\'])
    {
        let _ = write!(text, ";host=\"{host}\""); // writing to a string cannot fail
    }
    text.push_str(if secure { ";proto=https" } else { ";proto=http" });
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("for=unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_of_forwarded_quotes_what_is_no_token() {
        let element = |address: &str, host| element(address.parse().unwrap(), &HeaderValue::from_static(host), false);
        assert_eq!(element("127.0.0.1", "a:80"), "for=127.0.0.1;host=\"a:80\";proto=http");
        assert_eq!(element("::1", "a\"b"), "for=\"[::1]\";proto=http");
    }
}
