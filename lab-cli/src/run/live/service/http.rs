//! One request on a connection of its own, on a plain socket: shows whether a service is there, and its answer.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

/// The number of bytes of an answer that are read at most.
const MOST: u64 = 1 << 20;

/// What may be behind a connection that breaks off, or an answer that is none.
const NOT_HTTP: &str =
    "if it speaks HTTPS there, name its plain HTTP port: TLS goes before the lab's proxy, or ends in it";

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The HTTP status.
    pub status: u16,
    /// Header lines and body as received, up to a megabyte.
    pub text: String,
    /// The time from connecting to the end of the answer.
    pub took: Duration,
}

/// Gets a path. `url`: scheme, host and port. `headers`: further header lines.
///
/// # Errors
/// There is no answer in time, or none of HTTP.
pub fn get(
    address: SocketAddr,
    url: &str,
    path: &str,
    headers: &[(String, String)],
    timeout: Duration,
) -> io::Result<HttpAnswer> {
    let began = Instant::now();
    let mut stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let host = url.trim_start_matches("http://");
    let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: lab\r\nAccept: */*\r\n{more}Connection: close\r\n\r\n"
    )?;
    let mut bytes = Vec::new();
    let read = stream.take(MOST).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)?.get(..3)?.parse().ok());
    match (status, read) {
        (Some(status), _) => Ok(HttpAnswer { status, text, took: began.elapsed() }),
        (None, Err(error)) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {} s", timeout.as_secs())))
        }
        (None, Err(error)) => Err(io::Error::new(error.kind(), format!("{error}; {NOT_HTTP}"))),
        (None, Ok(_)) => {
            Err(io::Error::new(io::ErrorKind::InvalidData, format!("it does not answer in HTTP/1; {NOT_HTTP}")))
        }
    }
}
