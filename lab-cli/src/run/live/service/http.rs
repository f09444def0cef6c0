//! One request on a connection of its own: shows whether a service is there, and its answer.

use std::{
    error::Error as _,
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::{
    HeaderMap, Request, Response,
    body::Incoming,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    runtime, time,
};
use tokio_rustls::TlsConnector;
use workloads::{
    HttpVersion, RunOptions, TlsOptions,
    plan::Target,
    tls::{client_config, said},
};

/// The number of bytes of an answer that are read at most.
const MOST: usize = 1 << 20;

/// The address for requests to a service, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Door {
    /// Scheme, host and port: `http://127.0.0.1:8080`.
    pub url: String,
    /// The address of that URL.
    pub address: SocketAddr,
    pub tls: TlsOptions,
    pub version: HttpVersion,
}

impl Door {
    /// Makes the door of a service without TLS, in HTTP/1.1.
    pub fn plain(url: String, address: SocketAddr) -> Self {
        Self { url, address, tls: TlsOptions::default(), version: HttpVersion::Auto }
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        self.url.split_once("://").map_or(&*self.url, |(_, host)| host).trim_end_matches('/')
    }

    pub fn is_secure(&self) -> bool {
        self.url.starts_with("https://")
    }

    /// True if it is spoken to without TLS, in HTTP/1.1.
    pub fn is_plain(&self) -> bool {
        !self.is_secure() && self.version != HttpVersion::Http2
    }

    /// The target of users.
    pub fn target(&self) -> Target {
        Target { url: self.url.clone(), host: self.host().to_owned(), ..Target::at(self.address) }
    }

    /// Options of the users' connections.
    pub fn options(&self) -> RunOptions {
        RunOptions { tls: self.tls.clone(), version: self.version, ..RunOptions::default() }
    }

    /// The URL as the lab's proxy has it.
    pub fn backend(&self) -> String {
        match self.version {
            HttpVersion::Http2 if !self.is_secure() => format!("h2c://{}", self.host()),
            _ => self.url.clone(),
        }
    }

    /// The answer to a `GET` on a connection of its own, with at most so many bytes of its body (and the rest of a piece).
    ///
    /// # Errors
    /// There is none, in words.
    pub async fn ask(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        most: usize,
    ) -> Result<(u16, HeaderMap, Vec<u8>), String> {
        let stream = tokio::net::TcpStream::connect(self.address).await.map_err(|error| said(&error))?;
        let answer = if self.is_secure() {
            let offered: &[&str] = if self.version == HttpVersion::Http2 { &["h2"] } else { &["h2", "http/1.1"] };
            let config = client_config(&self.tls, offered).map_err(|error| error.to_string())?;
            let name = self.host().rsplit_once(':').map_or(self.host(), |(host, _)| host).trim_matches(['[', ']']);
            let name = ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?;
            let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
            let stream = stream.map_err(|error| said(&error))?;
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2") || self.version == HttpVersion::Http2;
            self.answer(stream, http2, path, headers).await?
        } else {
            self.answer(stream, self.version == HttpVersion::Http2, path, headers).await?
        };
        let (head, mut body) = answer.into_parts();
        let mut bytes = Vec::new();
        while bytes.len() < most
            && let Some(frame) = body.frame().await
        {
            let frame = frame.map_err(|error| format!("its answer breaks off: {}", why(&error)))?;
            bytes.extend_from_slice(frame.data_ref().unwrap_or(&Bytes::new()));
        }
        Ok((head.status.as_u16(), head.headers, bytes))
    }

    async fn answer<S>(
        &self,
        stream: S,
        http2: bool,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<Response<Incoming>, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let version = if http2 { "2" } else { "1" };
        let hint = if self.is_secure() { "" } else { NOT_HTTP };
        let broken = |error: hyper::Error| format!("it does not answer in HTTP/{version}: {}{hint}", why(&error));
        let stream = TokioIo::new(stream);
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        if http2 {
            let scheme = if self.is_secure() { "https" } else { "http" };
            let request = request.uri(format!("{scheme}://{}{path}", self.host())).body(Empty::<Bytes>::new());
            let request = request.map_err(|error| error.to_string())?;
            let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream).await.map_err(broken)?;
            tokio::spawn(connection);
            return sender.send_request(request).await.map_err(broken);
        }
        let request = request.header("host", self.host()).header("connection", "close").body(Empty::<Bytes>::new());
        let request = request.map_err(|error| error.to_string())?;
        let (mut sender, connection) = http1::handshake(stream).await.map_err(broken)?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(broken)
    }
}

/// The likely cause of a connection that breaks off, or of an answer that is none.
const NOT_HTTP: &str = "; if it speaks HTTPS there, write https://";

/// The defect of an answer, in words.
fn why(error: &hyper::Error) -> String {
    let cause = std::iter::successors(error.source(), |cause| (*cause).source()).find_map(|cause| cause.downcast_ref());
    match cause {
        Some(cause) => said(cause),
        None if error.is_incomplete_message() => "it closes the connection".to_owned(),
        None if error.is_parse() => "what it sends is something else".to_owned(),
        None => "the connection fails".to_owned(),
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The HTTP status.
    pub status: u16,
    /// Header lines and body, up to a megabyte.
    pub text: String,
    /// The time from connecting to the end of the answer.
    pub took: Duration,
}

/// Gets a path. `headers`: further header lines.
///
/// # Errors
/// There is no answer in time, or none of HTTP.
pub fn get(door: &Door, path: &str, headers: &[(String, String)], timeout: Duration) -> io::Result<HttpAnswer> {
    let began = Instant::now();
    let own = [("user-agent", "lab"), ("accept", "*/*")].into_iter();
    let all: Vec<(&str, &str)> = own.chain(headers.iter().map(|(name, value)| (&**name, &**value))).collect();
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let asked = runtime.block_on(async { time::timeout(timeout, door.ask(path, &all, MOST)).await });
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", timeout.as_secs()));
    let (status, headers, body) = asked.map_err(|_| late())?.map_err(io::Error::other)?;
    let lines =
        headers.iter().map(|(name, value)| format!("{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes())));
    let text = lines.chain(["\r\n".to_owned(), String::from_utf8_lossy(&body).into_owned()]).collect();
    Ok(HttpAnswer { status, text, took: began.elapsed() })
}

/// Resolves a URL of scheme, host and port.
///
/// # Errors
/// The reason, in words.
pub fn address_of(url: &str) -> Result<SocketAddr, String> {
    let (scheme, host) = url.split_once("://").unwrap_or(("http", url));
    let host = host.trim_end_matches('/');
    let host = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        host.to_owned()
    } else {
        format!("{host}:{}", if scheme == "https" { 443 } else { 80 })
    };
    let found = host.to_socket_addrs().map_err(|error| format!("{url}: {error}"))?;
    let all: Vec<SocketAddr> = found.collect();
    // Servers that listen on localhost mostly do so on its IPv4 address.
    let first = all.iter().find(|address| address.is_ipv4()).or(all.first());
    first.copied().ok_or_else(|| format!("{url}: its name has no address"))
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::{TcpListener, TcpStream},
        thread,
    };

    use super::*;

    /// Says this to every request, and keeps the connection whatever it is asked.
    fn keeping(answer: &'static [u8]) -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        thread::spawn(move || {
            let mut kept: Vec<TcpStream> = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]).and_then(|_| stream.write_all(answer));
                kept.push(stream);
            }
        });
        Door::plain(format!("http://{address}"), address)
    }

    #[test]
    fn an_answer_ends_where_it_says_and_not_with_its_connection() {
        let longest = Duration::from_secs(5);
        let found = get(&keeping(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "/", &[], longest);
        let found = found.expect("an answer");
        assert!(found.status == 200 && found.text.ends_with("\r\n\r\nok") && found.took < longest / 2, "{found:?}");
        let hello = get(&keeping(b"hello\n"), "/", &[], longest).expect_err("no HTTP").to_string();
        assert!(hello.starts_with("it does not answer in HTTP/1: ") && hello.contains("write https://"), "{hello}");
    }
}
