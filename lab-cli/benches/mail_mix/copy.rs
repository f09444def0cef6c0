//! A server that knows answers by heart.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    thread,
};

use memchr::memmem;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// Request types, as the mail service counts them.
pub const TYPES: [&str; 7] = ["login", "list folders", "list messages", "show message", "delete", "refile", "search"];
const PATHS: [&[u8]; 7] = [b"/login", b"/folderlist", b"/list", b"/show", b"/delete", b"/refile", b"/search"];

/// Answers by what was asked for (see [`key`]): whole, as they were on the wire.
pub type Answers = HashMap<Vec<u8>, Answer>;

#[derive(Debug)]
pub struct Answer {
    /// Index into [`TYPES`].
    kind: usize,
    bytes: Vec<u8>,
}

impl Answer {
    /// The answer to this request; `None` for a request that mail users do not make.
    pub fn to(request: &[u8], bytes: Vec<u8>) -> Option<Self> {
        let path = path(request)?;
        let path = path.split(|byte| *byte == b'?').next()?;
        Some(Self { kind: PATHS.iter().position(|known| *known == path)?, bytes })
    }
}

/// What the server has seen of one client.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seen {
    /// By [`TYPES`].
    pub requests: [u64; TYPES.len()],
    pub bytes: u64,
    /// Requests that it had no answer to.
    pub unknown: u64,
}

#[derive(Debug, Default)]
struct Books {
    requests: [AtomicU64; TYPES.len()],
    bytes: AtomicU64,
    unknown: AtomicU64,
    /// Requests still to be recorded.
    to_record: AtomicU64,
    recorded: Mutex<Vec<Vec<u8>>>,
}

/// The running server, on a thread of its own.
#[derive(Debug)]
pub struct CopyServer {
    pub address: SocketAddr,
    books: Arc<Books>,
}

impl CopyServer {
    /// Serves until this process ends.
    pub fn serve(answers: Answers) -> Result<Self, String> {
        let books = Arc::<Books>::default();
        let theirs = Arc::clone(&books);
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            super::pin(super::SERVER_CORE);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("the main thread waits");
                let answers = Arc::new(answers);
                loop {
                    let Ok((stream, _)) = listener.accept().await else { continue };
                    tokio::spawn(converse(stream, Arc::clone(&answers), Arc::clone(&theirs)));
                }
            });
        });
        let address = told.recv().map_err(|_| "the copy did not start")?;
        Ok(Self { address, books })
    }

    /// What was seen since this was asked last.
    pub fn seen(&self) -> Seen {
        Seen {
            requests: std::array::from_fn(|place| self.books.requests[place].swap(0, Relaxed)),
            bytes: self.books.bytes.swap(0, Relaxed),
            unknown: self.books.unknown.swap(0, Relaxed),
        }
    }

    /// Records the next so many requests.
    pub fn record(&self, requests: usize) {
        self.books.to_record.store(requests as u64, Relaxed);
    }

    /// What was recorded, in order.
    pub fn recorded(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.books.recorded.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn converse(mut stream: TcpStream, answers: Arc<Answers>, books: Arc<Books>) {
    let _ = stream.set_nodelay(true);
    let (mut request, mut asked) = (Vec::with_capacity(4096), Vec::with_capacity(256));
    loop {
        match stream.read_buf(&mut request).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // Clients here send one request at a time.
        if !is_whole(&request) {
            continue;
        }
        let answer = if key(&request, &mut asked) { answers.get(&asked) } else { None };
        let Some(answer) = answer else {
            books.unknown.fetch_add(1, Relaxed);
            return;
        };
        books.enter(answer, &request);
        request.clear();
        if stream.write_all(&answer.bytes).await.is_err() {
            return;
        }
    }
}

impl Books {
    /// Only the server's thread enters anything.
    fn enter(&self, answer: &Answer, request: &[u8]) {
        self.requests[answer.kind].fetch_add(1, Relaxed);
        self.bytes.fetch_add(answer.bytes.len() as u64, Relaxed);
        if self.to_record.load(Relaxed) > 0 {
            self.to_record.fetch_sub(1, Relaxed);
            self.recorded.lock().unwrap_or_else(PoisonError::into_inner).push(request.to_vec());
        }
    }
}

/// Writes what decides on the answer: the path, and who asks, by cookie or, to sign in, by name and password. What is
/// searched for does not count, nor which message is deleted or moved, nor where to: one answer of each kind is kept for
/// each user. False if this is no request of a mail user.
pub fn key(request: &[u8], into: &mut Vec<u8>) -> bool {
    into.clear();
    let Some(path) = path(request) else { return false };
    let path = if path.starts_with(b"/search?") { &b"/search"[..] } else { path };
    into.extend_from_slice(path);
    into.push(b' ');
    let who =
        if path == b"/login" { between(request, b"\r\n\r\n", b"\n") } else { between(request, b"Cookie: ", b"\r") };
    into.extend_from_slice(who.unwrap_or_default());
    who.is_some()
}

fn path(request: &[u8]) -> Option<&[u8]> {
    request.split(|byte| *byte == b' ').nth(1)
}

fn is_whole(request: &[u8]) -> bool {
    let Some(head) = memmem::find(request, b"\r\n\r\n") else { return false };
    let body = between(&request[..head], b"Content-Length: ", b"\r").and_then(|length| {
        let length = std::str::from_utf8(length).ok()?;
        length.parse::<usize>().ok()
    });
    request.len() >= head + 4 + body.unwrap_or(0)
}

/// From behind `begins` up to `ends`, or to the end.
fn between<'a>(bytes: &'a [u8], begins: &[u8], ends: &[u8]) -> Option<&'a [u8]> {
    let rest = &bytes[memmem::find(bytes, begins)? + begins.len()..];
    Some(&rest[..memmem::find(rest, ends).unwrap_or(rest.len())])
}
