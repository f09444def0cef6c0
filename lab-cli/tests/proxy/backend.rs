//! A service that is not the lab's: what it answers is in the path.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// What a backend has done, and is to do.
#[derive(Debug, Default)]
pub struct State {
    /// Requests whose head came.
    pub requests: AtomicUsize,
    /// Bytes of `/endless` that were written.
    pub written: AtomicUsize,
    /// True: `/health` fails.
    pub sick: AtomicBool,
    /// True: connections are closed as soon as they come.
    pub dead: AtomicBool,
}

/// A service at a free port of loopback, for as long as the test runs.
#[derive(Debug)]
pub struct Backend {
    pub address: SocketAddr,
    pub state: Arc<State>,
}

impl Backend {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (address, state) = (listener.local_addr().expect("an address"), Arc::<State>::default());
        let of_all = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&of_all);
                if !state.dead.load(Ordering::SeqCst) {
                    thread::spawn(move || serve(stream, &state));
                }
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
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let goes_on = match path.split('?').next().unwrap_or_default() {
            "/slow" => {
                let millis = path.split_once('?').and_then(|(_, n)| n.parse().ok()).unwrap_or(500);
                thread::sleep(Duration::from_millis(millis));
                stream.write_all(whole.as_bytes()).is_ok()
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

/// The next request's head. Requests of these tests have no bodies.
fn head(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0; 1]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    String::from_utf8(head).ok()
}
