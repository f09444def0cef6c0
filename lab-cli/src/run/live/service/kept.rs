//! Services that answer later on a connection that is kept than on a new one, as one does that writes an answer in
//! several parts: Nagle's algorithm holds the second part back until the other side's delayed acknowledgement, 40 ms on
//! Linux.

use std::{
    io,
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use tokio::{runtime, time::timeout};

use super::http::{Door, get};

/// Requests on a kept connection before those that count: the first ones are acknowledged at once.
const FIRST: usize = 6;
/// Requests that count, on new connections and on a kept one.
const COUNTED: usize = 7;
/// The difference that a delayed acknowledgement makes, milliseconds.
const DELAY: RangeInclusive<f64> = 30.0..=50.0;
/// A slower answer hides the difference.
const LONGEST: Duration = Duration::from_millis(500);
/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A service that answers some 40 ms later on kept connections.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowerKept {
    /// The page.
    path: String,
    /// Median times on new connections and on a kept one, milliseconds.
    anew_ms: f64,
    kept_ms: f64,
}

impl SlowerKept {
    /// For people.
    pub fn in_words(&self) -> String {
        let Self { path, anew_ms, kept_ms } = self;
        format!(
            "caution: {path} takes {kept_ms:.0} ms on a kept connection and {anew_ms:.0} ms on new ones, about 40 ms more on kept \
             connections: the service answers in several writes without TCP_NODELAY; see docs/troubleshooting.md"
        )
    }
}

/// Asks for a page alone, on new connections and on a kept one. `None`: there is no such difference, or it cannot be told: the service
/// keeps no connections, is too slow, or does not answer; or it is asked over TLS or in HTTP/2.
pub fn kept_connections(door: &Door, path: &str, headers: &[(String, String)]) -> Option<SlowerKept> {
    if !door.is_plain() {
        return None;
    }
    let mut anew = Vec::new();
    for _ in 0..COUNTED {
        let took = get(door, path, headers, PATIENCE).ok()?.took;
        if took > LONGEST {
            return None;
        }
        anew.push(took.as_secs_f64() * 1e3);
    }
    let mut kept = on_one_connection(door, path, headers)?;
    anew.sort_by(f64::total_cmp);
    kept.sort_by(f64::total_cmp);
    // The delay is in each of them: shortest and middle times both have it.
    let differs = |at: usize| Some(DELAY.contains(&(kept.get(at)? - anew.get(at)?)));
    let slower = differs(0)? && differs(COUNTED / 2)?;
    let [anew_ms, kept_ms] = [anew[COUNTED / 2], kept[COUNTED / 2]];
    slower.then(|| SlowerKept { path: path.to_owned(), anew_ms, kept_ms })
}

/// The times of requests on one connection, as far as the service keeps it, milliseconds, without the first ones. `None`: not all were
/// answered in time.
fn on_one_connection(door: &Door, path: &str, headers: &[(String, String)]) -> Option<Vec<f64>> {
    let kept = KeptConnection::new(door, headers).ok()?;
    let mut times = Vec::new();
    for _ in 0..FIRST + COUNTED {
        let began = Instant::now();
        kept.get(path, PATIENCE).ok()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Some(times.split_off(FIRST))
}

/// Client that keeps its connection, as the lab's users do.
#[derive(Debug)]
pub struct KeptConnection<'a> {
    runtime: runtime::Runtime,
    client: reqwest::Client,
    door: &'a Door,
    headers: &'a [(String, String)],
}

impl<'a> KeptConnection<'a> {
    /// Makes one; it connects with its first request.
    ///
    /// # Errors
    /// Certificates that cannot be used.
    pub fn new(door: &'a Door, headers: &'a [(String, String)]) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, client: door.client(true).map_err(io::Error::other)?, door, headers })
    }

    /// Status of a page's answer, which is read to its end.
    ///
    /// # Errors
    /// There is none in time.
    pub fn get(&self, path: &str, patience: Duration) -> io::Result<u16> {
        let request = self.client.get(format!("{}{path}", self.door.url.trim_end_matches('/')));
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let answer = async {
            let answer = request.send().await?;
            let status = answer.status().as_u16();
            answer.bytes().await.map(|_| status)
        };
        self.runtime.block_on(async { timeout(patience, answer).await })?.map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, BufRead, BufReader, Write},
        net::{SocketAddr, TcpListener, TcpStream},
        thread,
    };

    use super::{DELAY, Door, SlowerKept, kept_connections};

    /// A service that answers in two writes, head and body, on connections that it keeps.
    fn service(nodelay: bool, answer: [&'static str; 2]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || answers(stream, nodelay, answer));
            }
        });
        address
    }

    fn answers(mut stream: TcpStream, nodelay: bool, answer: [&str; 2]) -> io::Result<()> {
        stream.set_nodelay(nodelay)?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        loop {
            let mut last = false;
            loop {
                let line = lines.next().ok_or(io::ErrorKind::UnexpectedEof)??.to_ascii_lowercase();
                last |= line == "connection: close";
                if line.is_empty() {
                    break;
                }
            }
            for part in answer {
                stream.write_all(part.as_bytes())?;
            }
            if last {
                return Ok(());
            }
        }
    }

    const WITH_LENGTH: [&str; 2] = ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "ok"];
    const CHUNKED: [&str; 2] =
        ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "2;x=1\r\nok\r\n3\r\nyes\r\n0\r\nA: b\r\n\r\n"];

    fn looked_at(address: SocketAddr) -> Option<SlowerKept> {
        kept_connections(&Door::plain(format!("http://{address}"), address), "/items", &[])
    }

    #[test]
    fn two_writes_without_tcp_nodelay_are_told() {
        for answer in [WITH_LENGTH, CHUNKED] {
            let address = service(false, answer);
            // Other programs on this processor may hold single answers up.
            let seen = (0..5).find_map(|_| looked_at(address)).expect("Linux acknowledges with delay");
            assert!(DELAY.contains(&(seen.kept_ms - seen.anew_ms)), "{seen:?}");
            let said = seen.in_words();
            assert!(said.contains("/items takes") && said.contains("about 40 ms more on kept connections"), "{said}");
        }
    }

    #[test]
    fn one_write_or_tcp_nodelay_or_a_connection_that_is_not_kept_is_no_news() {
        let whole = ["", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"];
        let ends = ["HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n", "ok"];
        for address in [service(true, WITH_LENGTH), service(true, CHUNKED), service(false, whole), service(true, ends)]
        {
            assert_eq!(looked_at(address), None);
        }
    }
}
