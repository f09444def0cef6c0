//! A service that is not the lab's: what it answers is in the path.

use std::{
    collections::VecDeque,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::served::{self, at_each};

/// What a backend has done, and is to do.
#[derive(Debug, Default)]
pub struct State {
    /// Requests whose head came.
    pub requests: AtomicUsize,
    /// Bytes of `/endless` and `/long` that were written.
    pub written: AtomicUsize,
    /// True: `/health` fails.
    pub sick: AtomicBool,
    /// True: connections are closed as soon as they come.
    pub dead: AtomicBool,
    /// Answers of the next requests, in place of those that their paths ask for; empty: the connection is closed.
    pub next: Mutex<VecDeque<String>>,
    /// The heads of the requests.
    pub heads: Mutex<Vec<String>>,
}

/// A service at a free port of loopback, for as long as the test runs.
#[derive(Debug)]
pub struct Backend {
    pub address: SocketAddr,
    pub state: Arc<State>,
}

impl Backend {
    pub fn start() -> Self {
        let state = Arc::<State>::default();
        let of_all = Arc::clone(&state);
        let address = at_each(move |stream| {
            if !of_all.dead.load(Ordering::SeqCst) {
                serve(stream, &of_all);
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// The next requests are answered with these status lines (and further lines of a head) and no body.
    pub fn answers(&self, heads: &[&str]) {
        let heads = heads.iter().map(|head| match *head {
            "" => String::new(),
            head => format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n"),
        });
        self.state.next.lock().expect("a list").extend(heads);
    }

    /// The values of a header in the requests so far; `None`: a request without it.
    pub fn got(&self, header: &str) -> Vec<Option<String>> {
        let heads = self.state.heads.lock().expect("a list");
        let value = |head: &String| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(name, _)| name.eq_ignore_ascii_case(header)).map(|(_, value)| value.to_owned())
        };
        heads.iter().map(value).collect()
    }
}

fn serve(mut stream: TcpStream, state: &State) {
    while let Some(head) = head(&mut stream) {
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        if path == "/health" {
            let status = if state.sick.load(Ordering::SeqCst) { "503 Ill" } else { "200 OK" };
            if write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
            continue;
        }
        state.requests.fetch_add(1, Ordering::SeqCst);
        state.heads.lock().expect("a list").push(head.clone());
        let next = state.next.lock().expect("a list").pop_front();
        if let Some(answer) = next {
            if answer.is_empty() || stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
            continue;
        }
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let goes_on = match path.split('?').next().unwrap_or_default() {
            "/slow" => {
                let millis = path.split_once('?').and_then(|(_, n)| n.parse().ok()).unwrap_or(500);
                thread::sleep(Duration::from_millis(millis));
                stream.write_all(whole.as_bytes()).is_ok()
            }
            // A page that leads on, as a person would.
            "/sale" => {
                let page = "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=/inside\"><p>on sale";
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html";
                write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len()).is_ok()
            }
            // Answers that break off: of a length, of chunks; and one that ends with its connection.
            "/short" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
                false
            }
            "/chunks" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
                false
            }
            "/close" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall that there is");
                false
            }
            "/endless" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
                let part = [b'x'; 64 * 1024];
                while stream.write_all(&part).is_ok() {
                    state.written.fetch_add(part.len(), Ordering::SeqCst);
                }
                false
            }
            // So many bytes.
            "/long" => {
                let bytes = path.split_once('?').and_then(|(_, n)| n.parse().ok()).unwrap_or(0);
                let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
                let (part, mut left) = ([b'x'; 64 * 1024], bytes);
                while left > 0 && stream.write_all(&part[..part.len().min(left)]).is_ok() {
                    let written = part.len().min(left);
                    state.written.fetch_add(written, Ordering::SeqCst);
                    left -= written;
                }
                left == 0
            }
            "/stalls" => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
                thread::sleep(Duration::from_secs(20));
                false
            }
            _ => stream.write_all(whole.as_bytes()).is_ok(),
        };
        if !goes_on {
            return;
        }
    }
}

/// The next request's head. Its body, if there is one, is read and left out.
fn head(stream: &mut TcpStream) -> Option<String> {
    let head = served::head(stream)?;
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    stream.read_exact(&mut vec![0; length.unwrap_or(0)]).ok()?;
    if head.to_ascii_lowercase().contains("\r\ntransfer-encoding: chunked\r\n") {
        loop {
            let size = usize::from_str_radix(line(stream)?.trim(), 16).ok()?;
            if size == 0 {
                break;
            }
            stream.read_exact(&mut vec![0; size + 2]).ok()?;
        }
        while !line(stream)?.trim().is_empty() {} // trailers
    }
    Some(head)
}

fn line(stream: &mut TcpStream) -> Option<String> {
    let (mut line, mut byte) = (Vec::new(), [0; 1]);
    while !line.ends_with(b"\n") {
        stream.read_exact(&mut byte).ok()?;
        line.push(byte[0]);
    }
    String::from_utf8(line).ok()
}
