//! A service that is not the lab's: a pool of connections that a page holds for a while. It is this test program itself, so that
//! nothing else need be installed.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// Pages that are made at once, and how long each takes: 160 a second.
const CONNECTIONS: u32 = 4;
const TAKES: Duration = Duration::from_millis(25);

struct Pool {
    free: Mutex<u32>,
    freed: Condvar,
    waiting: AtomicU64,
    made: AtomicU64,
}

impl Pool {
    fn held(&self, work: impl FnOnce()) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        drop(free);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        work();
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.freed.notify_one();
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// In Prometheus's text format.
    fn metrics(&self) -> String {
        let (waiting, made) = (self.waiting.load(Ordering::Relaxed), self.made.load(Ordering::Relaxed));
        format!(
            "# TYPE pool_waiting gauge\npool_waiting{{pool=\"pages\"}} {waiting}\n\
             # TYPE pages_total counter\npages_total {made}\n"
        )
    }
}

/// The words that start it, with `mark` among them to find it by. The port comes in its environment.
pub fn command(mark: &str) -> String {
    let program = std::env::current_exe().expect("this program");
    format!("{} --exact own_service::service::the_service --nocapture {mark} {{port}}", program.display())
}

/// No test but the service itself, where it is started with these words.
#[test]
fn the_service() {
    if std::env::args().any(|word| word.starts_with("mark-")) {
        serve();
    }
}

pub fn serve() {
    let port: u16 = std::env::var("PORT").expect("the lab gives a port").parse().expect("a port");
    let pool = Arc::new(Pool {
        free: Mutex::new(CONNECTIONS),
        freed: Condvar::new(),
        waiting: AtomicU64::new(0),
        made: AtomicU64::new(0),
    });
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    eprintln!("listening on {port}");
    for stream in listener.incoming().flatten() {
        let pool = Arc::clone(&pool);
        thread::spawn(move || answer(stream, &pool));
    }
}

fn answer(mut stream: TcpStream, pool: &Pool) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let mut first = String::new();
        reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
        let (mut length, mut last) = (0_u64, false);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            last |= line == "connection: close";
        }
        io::copy(&mut (&mut reader).take(length), &mut io::sink()).ok()?;
        match first.split(' ').nth(1)? {
            "/health" => {}
            // In pieces, as many services do.
            "/metrics" => {
                let text = pool.metrics();
                let (one, two) = text.split_at(text.len() / 2);
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
                write!(stream, "{head}{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len()).ok()?;
                continue;
            }
            "/die" => {
                eprintln!("it was told to die");
                std::process::exit(7);
            }
            _ => pool.held(|| thread::sleep(TAKES)),
        }
        let page = "<a href=\"/more\">more</a>\n";
        let length = page.len();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n{page}").ok()?;
        if last {
            return None;
        }
    }
}
