//! Services that are not well, each on threads of its own, until it is dropped.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

/// What a service does with a connection on which a request has come: false if that was the last one.
type Answer = fn(&mut TcpStream) -> bool;

/// What it does with all of them.
#[derive(Clone, Copy)]
pub enum Behaves {
    /// Answers 200.
    Well,
    /// Answers so.
    Says(&'static str),
    /// Closes connections as soon as they are there.
    ClosesAtOnce,
    /// Does this for each request.
    Does(Answer),
}

pub struct Service {
    shared: Arc<Shared>,
}

struct Shared {
    address: SocketAddr,
    behaves: Behaves,
    over: AtomicBool,
    connections: AtomicU64,
    requests: AtomicU64,
    /// Open connections, by number, and the last head that was read.
    open: Mutex<BTreeMap<u64, TcpStream>>,
    last: Mutex<String>,
}

pub const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

impl Service {
    /// On a free port.
    pub fn start(behaves: Behaves) -> Self {
        Self::on(free_port(), behaves)
    }

    fn on(listener: TcpListener, behaves: Behaves) -> Self {
        let shared = Arc::new(Shared {
            address: listener.local_addr().expect("an address"),
            behaves,
            over: AtomicBool::new(false),
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            open: Mutex::default(),
            last: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || serving.accept(&listener));
        Self { shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.shared.address)
    }

    /// Connections that it was given.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(SeqCst)
    }

    /// Requests that it has read.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(SeqCst)
    }

    /// Waits until so many requests have come: on a busy machine that can take seconds.
    pub fn wait_for(&self, requests: u64) {
        let until = Instant::now() + Duration::from_secs(20);
        while self.requests() < requests {
            assert!(Instant::now() < until, "no {requests} requests");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The last request: head and body, as they came.
    pub fn last(&self) -> String {
        lock(&self.shared.last).clone()
    }

    /// As a process that is killed: the port is closed, and so is every connection.
    pub fn die(self) -> SocketAddr {
        self.shared.address
    }

    /// The same, and after so long it is back on the same port.
    pub fn restart(self, after: Duration) -> Self {
        let behaves = self.shared.behaves;
        let address = self.die();
        thread::sleep(after);
        Self::on(TcpListener::bind(address).expect("the port is free again"), behaves)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.over.store(true, SeqCst);
        // Wakes the listener, which then goes.
        let _ = TcpStream::connect(self.shared.address);
        while TcpStream::connect(self.shared.address).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
        for stream in lock(&self.shared.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming().map_while(Result::ok) {
            if self.over.load(SeqCst) {
                return;
            }
            let number = self.connections.fetch_add(1, SeqCst);
            if matches!(self.behaves, Behaves::ClosesAtOnce) {
                continue;
            }
            lock(&self.open).insert(number, stream.try_clone().expect("a descriptor"));
            let serving = Arc::clone(self);
            thread::spawn(move || {
                serving.serve(stream);
                lock(&serving.open).remove(&number);
            });
        }
    }

    fn serve(&self, mut stream: TcpStream) {
        while let Some(request) = request(&mut stream) {
            *lock(&self.last) = request;
            self.requests.fetch_add(1, SeqCst);
            let goes_on = match self.behaves {
                Behaves::Well => say(&mut stream, OK),
                Behaves::Says(answer) => say(&mut stream, answer),
                Behaves::Does(answer) => answer(&mut stream),
                Behaves::ClosesAtOnce => false,
            };
            if !goes_on || self.over.load(SeqCst) {
                return;
            }
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads one: `None` if there is none to come.
fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase().lines().find_map(|line| {
                let value = line.strip_prefix("content-length:")?;
                value.trim().parse::<usize>().ok()
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut piece) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&piece[..count]),
            _ => return None,
        }
    }
}

pub fn say(stream: &mut TcpStream, answer: &str) -> bool {
    stream.write_all(answer.as_bytes()).is_ok()
}

/// Interim answers until nobody reads them.
pub fn floods(stream: &mut TcpStream) -> bool {
    let piece = "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000);
    while say(stream, &piece) {}
    false
}

/// A body without an end.
pub fn never_ends(stream: &mut TcpStream) -> bool {
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    if say(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") {
        while say(stream, &chunk) {}
    }
    false
}

/// 15 MB of a body of 16, and no more.
pub fn nearly_ends(stream: &mut TcpStream) -> bool {
    let piece = vec![b'x'; 250_000];
    let head = say(stream, "HTTP/1.1 200 OK\r\nContent-Length: 16000000\r\n\r\n");
    head && (0..60).all(|_| stream.write_all(&piece).is_ok()) && is_silent(stream)
}

/// An answer that never comes.
pub fn is_silent(stream: &mut TcpStream) -> bool {
    let _ = stream.read(&mut [0; 1]);
    false
}

/// An address where nobody listens.
pub fn nobody() -> SocketAddr {
    free_port().local_addr().expect("an address")
}

/// Below the range from which the kernel gives ports to clients. Where nobody listens on a port of that range, a client of this
/// machine is given that very port sooner or later, and is connected to itself; or it has the port when the service comes back.
fn free_port() -> TcpListener {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + (std::process::id() % 2000) as u16 * 10;
    loop {
        let port = 10_000 + (first - 10_000 + NEXT.fetch_add(1, SeqCst)) % 20_000;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return listener;
        }
    }
}
