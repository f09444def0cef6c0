//! Envoy with the module, a service behind it, and clients.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A service that takes so long for a page.
pub struct Service {
    pub port: u16,
    takes: Duration,
    alive: Arc<AtomicBool>,
}

impl Service {
    pub fn begin(takes: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let alive = Arc::new(AtomicBool::new(true));
        serve(listener, takes, Arc::clone(&alive));
        Self { port, takes, alive }
    }

    /// Ends all connections, and takes none.
    pub fn kill(&mut self) {
        self.alive.store(false, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port)); // wakes the listener
        thread::sleep(Duration::from_millis(50));
    }

    pub fn come_back(&mut self) {
        self.alive = Arc::new(AtomicBool::new(true));
        let listener = TcpListener::bind(("127.0.0.1", self.port)).expect("the port is free again");
        serve(listener, self.takes, Arc::clone(&self.alive));
    }
}

fn serve(listener: TcpListener, takes: Duration, alive: Arc<AtomicBool>) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if !alive.load(Ordering::SeqCst) {
                return;
            }
            let alive = Arc::clone(&alive);
            thread::spawn(move || answer(stream, takes, &alive));
        }
    });
}

fn answer(mut stream: TcpStream, takes: Duration, alive: &AtomicBool) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let head = read_head(&mut reader)?;
        let length = header(&head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        if !head.contains(" /health") {
            thread::sleep(takes);
        }
        if !alive.load(Ordering::SeqCst) {
            return None;
        }
        write!(stream, "HTTP/1.1 200 OK\r\nx-length: {length}\r\ncontent-length: 2\r\n\r\nok").ok()?;
    }
}

fn read_head(reader: &mut impl BufRead) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)))
        .map(|(_, v)| v)
}

/// A request on a connection of its own: status and head of the answer; 0: there was none.
pub fn ask(port: u16, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let answer = || -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let method = if body.is_empty() { "GET" } else { "POST" };
        let more: String = headers.iter().map(|(key, value)| format!("{key}: {value}\r\n")).collect();
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n{body}").ok()?;
        let mut reader = BufReader::new(stream);
        let head = read_head(&mut reader)?;
        let mut rest = String::new();
        let _ = reader.read_to_string(&mut rest);
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, head + &rest))
    };
    answer().unwrap_or_default()
}

pub fn get(port: u16, path: &str, body: &str) -> (u16, String) {
    ask(port, path, &[], body)
}

/// A client that leaves without an answer after this time.
pub fn leave(port: u16, path: &str, after: Duration) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: test\r\n\r\n").expect("written");
    thread::sleep(after);
}

/// The folder with the module, which cargo builds beside the tests.
fn module() -> PathBuf {
    std::env::current_exe().expect("this program").with_file_name("")
}

/// Hot restarts of several tests at once need numbers of their own.
static BASE_ID: AtomicU64 = AtomicU64::new(0);

/// A running Envoy.
pub struct Bench {
    envoys: Vec<Child>,
    pub port: u16,
    admin: u16,
    file: PathBuf,
    workers: u32,
    base_id: u64,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Bench {
    /// Starts one. `None`: there is no Envoy on this machine.
    pub fn begin(service: &Service, workers: u32, config: &str) -> Option<Self> {
        let mut bench = Self::new(service, workers, config)?;
        bench.start_again();
        Some(bench)
    }

    /// Ends it as a full memory does.
    pub fn kill(&mut self) {
        for mut envoy in self.envoys.drain(..) {
            envoy.kill().and_then(|()| envoy.wait()).expect("it is ours");
        }
    }

    pub fn start_again(&mut self) {
        let envoy = self.envoy(0).spawn().expect("envoy starts");
        self.envoys.push(envoy);
        self.wait_until("it is ready", || get(self.admin, "/ready", "").0 == 200);
    }

    /// The last words of an Envoy that does not start.
    pub fn refused(service: &Service, config: &str) -> Option<String> {
        let bench = Self::new(service, 1, config)?;
        let output = bench.envoy(0).stderr(Stdio::piped()).output().expect("envoy starts");
        assert!(!output.status.success());
        Some(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn new(service: &Service, workers: u32, config: &str) -> Option<Self> {
        let found = std::env::var_os("PATH")?;
        if !std::env::split_paths(&found).any(|folder| folder.join("envoy").is_file()) {
            return None; // it comes from PyPI, which not every machine reaches
        }
        let (port, admin) = (free_port(), free_port());
        let number = BASE_ID.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("admission-envoy-{}-{number}.yaml", std::process::id()));
        let text = include_str!("../../../../packaging/envoy/envoy.yaml.in")
            .replace("{port}", &port.to_string())
            .replace("{admin_port}", &admin.to_string())
            .replace("{upstream_port}", &service.port.to_string());
        let own = text.find("filter_config:").map(|at| (at, text[at..].find('\n').expect("a line ends")));
        let (at, length) = own.expect("the file has a filter_config");
        let of = "{\"@type\": type.googleapis.com/google.protobuf.Struct, value: ";
        fs::write(&file, format!("{}filter_config: {of}{config}}}{}", &text[..at], &text[at + length..]))
            .expect("written");
        let base_id = u64::from(std::process::id()) % 1_000_000 * 20 + number;
        Some(Self { envoys: Vec::new(), port, admin, file, workers, base_id })
    }

    fn envoy(&self, epoch: u32) -> Command {
        let mut command = Command::new("envoy");
        command.arg("-c").arg(&self.file).args(["--concurrency", &self.workers.to_string(), "--log-level", "error"]);
        command.args(["--base-id", &self.base_id.to_string(), "--restart-epoch", &epoch.to_string()]);
        command.args(["--drain-time-s", "1", "--parent-shutdown-time-s", "2"]);
        command.env("ENVOY_DYNAMIC_MODULES_SEARCH_PATH", module()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A new process takes over the listeners of the old one, which ends after its requests.
    pub fn restart_hot(&mut self) {
        let envoy = self.envoy(1).spawn().expect("envoy starts");
        self.envoys.push(envoy);
        let old = &mut self.envoys[0];
        let began = Instant::now();
        while old.try_wait().expect("it is ours").is_none() {
            assert!(began.elapsed() < Duration::from_secs(20), "the old one does not end");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// A statistic of Envoy's.
    pub fn stat(&self, name: &str) -> Option<u64> {
        let (_, text) = get(self.admin, "/stats", "");
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.ends_with(name).then(|| value.trim().parse().ok())?
        })
    }

    /// Waits until a statistic, which is published each second, has this value.
    pub fn until(&self, name: &str, wanted: u64) {
        self.wait_until(&format!("{name} is {wanted}"), || self.stat(name) == Some(wanted));
    }

    pub fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            let (_, stats) = get(self.admin, "/stats?filter=admission", "");
            assert!(began.elapsed() < Duration::from_secs(15), "never: {what}; {stats}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for envoy in &mut self.envoys {
            let _ = envoy.kill();
            let _ = envoy.wait();
        }
        let _ = fs::remove_file(&self.file);
    }
}
