//! One request on a connection of its own: shows whether a service is there, and its answer.

use std::{
    error::Error as _,
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    time::{Duration, Instant},
};

use reqwest::{Client, header::HeaderMap, redirect::Policy};
use senders::{
    RunOptions,
    tls::{client_config, said},
};
use tokio::{runtime, time};
use workloads::plan::{HttpVersion, Target, TlsOptions};

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

    /// A client of the service. `keeps`: it keeps a connection, else each request has one of its own.
    ///
    /// # Errors
    /// Certificates that cannot be used, in words.
    pub fn client(&self, keeps: bool) -> Result<Client, String> {
        // Without TLS no certificate is looked at, and none is looked for.
        let any = TlsOptions { insecure: true, ..TlsOptions::default() };
        let (tls, http2) = (if self.is_secure() { &self.tls } else { &any }, self.version == HttpVersion::Http2);
        let offered: &[&str] = if http2 { &["h2"] } else { &["h2", "http/1.1"] };
        let config = client_config(tls, offered).map_err(|error| error.to_string())?;
        let name = self.host().rsplit_once(':').map_or(self.host(), |(host, _)| host);
        let client = Client::builder().tls_backend_preconfigured(config).resolve(name, self.address);
        let client = client.no_proxy().redirect(Policy::none()).pool_max_idle_per_host(keeps.into()).user_agent("lab");
        let client = if http2 { client.http2_prior_knowledge() } else { client };
        client.build().map_err(|error| error.to_string())
    }

    /// The answer to a `GET` on a connection of its own, with at most so many bytes of its body (and the rest of a piece).
    ///
    /// # Errors
    /// There is none in time, or none of HTTP.
    pub fn ask(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        most: usize,
        limit: Duration,
    ) -> io::Result<(u16, HeaderMap, Vec<u8>)> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let asked = runtime.block_on(async { time::timeout(limit, self.answer(path, headers, most)).await });
        let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", limit.as_secs()));
        asked.map_err(|_| late())?.map_err(io::Error::other)
    }

    async fn answer(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        most: usize,
    ) -> Result<(u16, HeaderMap, Vec<u8>), String> {
        let request = self.client(false)?.get(format!("{}{path}", self.url.trim_end_matches('/')));
        let request = if self.is_plain() { request.header("connection", "close") } else { request };
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut answer = request.send().await.map_err(|error| match error.is_connect() {
            true => why(&error),
            false => {
                let version = if self.version == HttpVersion::Http2 { "2" } else { "1" };
                let hint = if self.is_secure() { "" } else { NOT_HTTP };
                format!("it does not answer in HTTP/{version}: {}{hint}", why(&error))
            }
        })?;
        let (status, headers) = (answer.status().as_u16(), std::mem::take(answer.headers_mut()));
        let mut bytes = Vec::new();
        while bytes.len() < most
            && let Some(piece) =
                answer.chunk().await.map_err(|error| format!("its answer breaks off: {}", why(&error)))?
        {
            bytes.extend_from_slice(&piece);
        }
        Ok((status, headers, bytes))
    }
}

/// The likely cause of a connection that breaks off, or of an answer that is none.
const NOT_HTTP: &str = "; if it speaks HTTPS there, write https://";

/// The defect of a connection or an answer, in words.
fn why(error: &reqwest::Error) -> String {
    let causes = || std::iter::successors(error.source(), |cause| (*cause).source());
    if let Some(cause) = causes().find_map(|cause| cause.downcast_ref()) {
        return said(cause);
    }
    match causes().find_map(|cause| cause.downcast_ref::<hyper::Error>()) {
        Some(error) if error.is_incomplete_message() => "it closes the connection".to_owned(),
        Some(error) if error.is_parse() => "what it sends is something else".to_owned(),
        _ => "the connection fails".to_owned(),
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
    let all: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    let (status, headers, body) = door.ask(path, &all, MOST, timeout)?;
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
