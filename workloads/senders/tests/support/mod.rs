//! A small service to load, on a thread of its own, and plans to load it with.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};
use workloads::plan::{Behaviour, FailureRule, Load, LoadPlan, Phase, Target, UrlUsers, Users};

/// The counts of the service.
#[derive(Debug, Default)]
pub struct Seen {
    pub connections: AtomicU64,
    pub requests: AtomicU64,
    /// Of the requests: read, and lost with their connection.
    pub lost: AtomicU64,
}

impl Seen {
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }
}

/// The service; it ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Seen>,
    _stop: oneshot::Sender<()>,
}

impl Server {
    /// Answers by path: `/ok`, `/chunked`, `/close` (closes after the answer), `/until-close` (the end of the connection
    /// ends the body), `/rude` (closes without having said so), `/503`, `/silent` (never answers), `/garbage`,
    /// `/flood` (interim answers without an end), `/endless` (a body without one), `/loses?HOW` (the connection of each fifth request: `reset`, `closes-after-MS`), `/slow?MS`, `/moved` (to `/ok`), `/moved-in-full` (the same, with scheme and host), `/away` (to another port).
    pub fn start() -> Self {
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let seen = Arc::new(Seen::default());
        let theirs = Arc::clone(&seen);
        #[expect(clippy::disallowed_methods, reason = "the service is no user machine")]
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("the test waits");
                tokio::select! {
                    () = accept(listener, theirs) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address: told.recv().expect("the server started"), seen, _stop: stop }
    }
}

async fn accept(listener: TcpListener, seen: Arc<Seen>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        seen.connections.fetch_add(1, Relaxed);
        tokio::spawn(serve(stream, Arc::clone(&seen)));
    }
}

async fn serve(mut stream: TcpStream, seen: Arc<Seen>) {
    let mut bytes = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            match stream.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let nth = seen.requests.fetch_add(1, Relaxed);
        let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
        let body = text
            .to_ascii_lowercase()
            .split("content-length: ")
            .nth(1)
            .map_or(0, |rest| rest.lines().next().and_then(|length| length.parse::<usize>().ok()).unwrap_or(0));
        while bytes.len() < head + body {
            if stream.read_buf(&mut bytes).await.is_ok_and(|count| count == 0) {
                return;
            }
        }
        bytes.drain(..head + body);
        let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
        let asked_to_close = text.contains("Connection: close");
        let whole;
        let (answer, close): (&[u8], bool) = match path.split('?').next().unwrap_or_default() {
            "/ok" => (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false),
            "/head" => (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false),
            "/chunked" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n").await.ok();
                tokio::time::sleep(Duration::from_millis(2)).await;
                (b"2\r\nlo\r\n0\r\n\r\n", false)
            }
            "/close" => (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", true),
            "/until-close" => (b"HTTP/1.1 200 OK\r\n\r\nhello", true),
            "/rude" => (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true),
            "/503" => (b"HTTP/1.1 503 Service Unavailable\r\nX-Refused: test\r\nContent-Length: 4\r\n\r\nbusy", false),
            "/moved" => (b"HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n", false),
            "/moved-in-full" => {
                let head = text.to_ascii_lowercase();
                let host = head.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
                whole = format!("HTTP/1.1 302 Found\r\nLocation: http://{host}/ok\r\nContent-Length: 0\r\n\r\n");
                (whole.as_bytes(), false)
            }
            "/away" => (
                b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/ok\r\nContent-Length: 0\r\n\r\n",
                false,
            ),
            "/garbage" => (b"220 smtp.example ESMTP\r\n\r\n", true),
            "/loses" if nth % 5 == 4 => {
                seen.lost.fetch_add(1, Relaxed);
                match path.split("closes-after-").nth(1).and_then(|ms| ms.parse().ok()) {
                    Some(wait) => tokio::time::sleep(Duration::from_millis(wait)).await,
                    None => stream.set_zero_linger().expect("a socket"),
                }
                return;
            }
            "/loses" => (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false),
            "/slow" => {
                let wait = path.split('?').nth(1).and_then(|ms| ms.parse().ok()).unwrap_or(0);
                tokio::time::sleep(Duration::from_millis(wait)).await;
                (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", false)
            }
            "/flood" => return repeat(&mut stream, "", "HTTP/1.1 100 Continue\r\n\r\n").await,
            "/endless" => return repeat(&mut stream, "HTTP/1.1 200 OK\r\n\r\n", "0123456789abcdef").await,
            _ => std::future::pending().await,
        };
        if stream.write_all(answer).await.is_err() || close || asked_to_close {
            return;
        }
    }
}

/// Until nobody reads it any more.
async fn repeat(stream: &mut TcpStream, first: &str, then: &str) {
    let piece = then.repeat(1000);
    let mut going = stream.write_all(first.as_bytes()).await.is_ok();
    while going {
        going = stream.write_all(piece.as_bytes()).await.is_ok();
    }
}

/// An address where nobody listens, below the range from which the kernel gives ports to clients: one of that range may be
/// given to the very client that connects to it.
pub fn nobody() -> SocketAddr {
    let free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (15_000..30_000).step_by(7).find(free).expect("a port");
    ([127, 0, 0, 1], port).into()
}

/// Users that begin anew at once, whatever went wrong.
pub fn restless(address: SocketAddr, path: &str, users: u32, duration: Duration) -> LoadPlan {
    with_users(plan(address, path, users, duration), |users| {
        users.behaviour = Behaviour::on_any_failure(FailureRule::Login { wait: Duration::ZERO });
    })
}

/// `users` closed users of one path for `duration`, without a pause, each with its own connection. No answer is late, however
/// long the machine stands still.
pub fn plan(address: SocketAddr, path: &str, users: u32, duration: Duration) -> LoadPlan {
    let phases = vec![phase("all", duration, vec![Load::users(users)])];
    LoadPlan {
        seed: 7,
        objective: Duration::from_secs(60),
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        drain: Duration::from_secs(20),
        ..LoadPlan::new(Target::at(address), Users::Url(url_users(path)), phases)
    }
}

pub fn phase(name: &str, duration: Duration, loads: Vec<Load>) -> Phase {
    Phase { name: name.to_owned(), duration, loads }
}

pub fn url_users(path: &str) -> UrlUsers {
    UrlUsers { behaviour: behaviour(), ..UrlUsers::new(path) }
}

/// Users that take what comes: after trouble they wait 50 ms and begin anew.
pub fn behaviour() -> Behaviour {
    Behaviour { redirects: 5, ..Behaviour::on_any_failure(FailureRule::Login { wait: Duration::from_millis(50) }) }
}

/// Changes the users of a plan of URL users.
pub fn with_users(mut plan: LoadPlan, change: impl FnOnce(&mut UrlUsers)) -> LoadPlan {
    if let Users::Url(users) = &mut plan.users {
        change(users);
    }
    plan
}
