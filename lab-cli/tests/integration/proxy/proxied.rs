//! `lab proxy` as a process, ended by its process id when it is dropped.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{proxy::backend::Backend, served::Kept};

/// How long anything here may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running proxy.
#[derive(Debug)]
pub struct Proxied {
    child: Kept,
    pub ready: Value,
    pub address: SocketAddr,
    lines: Receiver<Value>,
}

impl Proxied {
    /// A proxy with these settings before these services.
    pub fn before(to: &[String], settings: Value) -> Self {
        Self::listening(to, "127.0.0.1:0", settings)
    }

    /// A proxy with these settings before one service.
    pub fn alone(settings: Value) -> (Backend, Self) {
        let backend = Backend::start();
        let proxy = Self::before(&[backend.url()], settings);
        (backend, proxy)
    }

    /// A request that is inside of the service, on a connection of its own.
    pub fn inside(&self, backend: &Backend, path: &'static str) -> JoinHandle<Answer> {
        let (address, before) = (self.address, backend.requests());
        let asked = thread::spawn(move || get(address, path));
        until("request inside", || (backend.requests() > before).then_some(()));
        asked
    }

    /// The settings in force.
    pub fn config(&self) -> Value {
        let answer = self.control("GET", "/config", "");
        assert_eq!(answer.status, 200, "{answer:?}");
        serde_yaml::from_str(&answer.body).expect("YAML")
    }

    /// One that listens at this address.
    pub fn listening(to: &[String], at: &str, mut settings: Value) -> Self {
        settings["to"] = json!(to);
        settings["listen"] = json!(at);
        let mut command = crate::program::lab();
        command.args(["proxy", "--json", "--config", "-"]);
        Self::start(command, &settings.to_string())
    }

    /// One that is started with this command line.
    pub fn with_flags(flags: &[&str]) -> Self {
        Self::with_flags_at("127.0.0.1:0", flags)
    }

    /// One that is started with this command line, and listens at this address.
    pub fn with_flags_at(address: &str, flags: &[&str]) -> Self {
        let mut command = crate::program::lab();
        command.args(["proxy", "--json", "--listen", address]).args(flags);
        Self::start(command, "")
    }

    /// One that is started with this command line, and whose standard error is on a full disk.
    pub fn on_a_full_disk(flags: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 2>/dev/full"]).arg(crate::program::path());
        command.args(["proxy", "--json", "--listen", "127.0.0.1:0"]).args(flags);
        Self::start(command, "")
    }

    fn start(mut command: Command, settings: &str) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Kept(piped.spawn().expect("lab starts"));
        child.0.stdin.take().expect("piped").write_all(settings.as_bytes()).expect("it takes its settings");
        let line = child.first_line();
        let stderr = child.0.stderr.take().expect("piped");
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap_or(Value::String(line)));
            }
        });
        let ready: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("no ready line: {line:?}; {:?}", lines.recv_timeout(Duration::from_secs(2))));
        let address = ready["url"].as_str().and_then(|url| url.split_once("://")?.1.parse().ok());
        Self { child, address: address.expect("an address"), ready, lines }
    }

    /// GET of a path on a connection of its own.
    pub fn get(&self, path: &str) -> Answer {
        get(self.address, path)
    }

    /// One that reads its settings from this file.
    pub fn of_file(file: &Path, flags: &[&str]) -> Self {
        let mut command = crate::program::lab();
        command.args(["proxy", "--json", "--config"]).arg(file).args(flags);
        Self::start(command, "")
    }

    /// A request to the control port.
    pub fn control(&self, method: &str, path: &str, body: &str) -> Answer {
        self.control_with("", method, path, body)
    }

    /// A request to the control port with these lines in its head.
    pub fn control_with(&self, lines: &str, method: &str, path: &str, body: &str) -> Answer {
        let control = self.ready["control"].as_str().expect("an address").trim_start_matches("http://");
        let token = self.ready["token"].as_str().expect("a token");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {control}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\
             {lines}Connection: close\r\n\r\n{body}",
            body.len()
        );
        Answer::to(control.parse().expect("an address"), &head)
    }

    /// The row of the gate.
    pub fn gate(&self) -> Value {
        self.row(|row| row["policy_name"].as_str().is_some_and(|name| !name.is_empty()))
    }

    /// The row of a backend, by its number from 1.
    pub fn backend(&self, number: usize) -> Value {
        self.row_of(&format!("backend {number}"))
    }

    /// The row of this name.
    pub fn row_of(&self, name: &str) -> Value {
        self.row(|row| row["name"] == name)
    }

    fn row(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        let gauges = self.gauges();
        gauges["stages"].as_array().expect("rows").iter().find(|row| is_it(row)).expect("a row").clone()
    }

    pub fn ledger(&self) -> Value {
        self.gauges()["ledger"].clone()
    }

    pub fn gauges(&self) -> Value {
        serde_json::from_str(&self.control("GET", "/gauges", "").body).expect("JSON")
    }

    /// The next line of the log of this kind.
    pub fn logged(&self, event: &str) -> Value {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no line of {event}"));
            if line["event"] == event {
                return line;
            }
        }
    }

    pub fn signal(&self, name: &str) {
        crate::program::signal(name, self.child.0.id());
    }

    /// Waits for the end of the process.
    pub fn ended(&mut self) -> ExitStatus {
        until("the proxy's end", || self.child.0.try_wait().expect("a status"))
    }
}

/// An answer over HTTP/1.1.
#[derive(Debug, Clone)]
pub struct Answer {
    /// 0: none came.
    pub status: u16,
    pub head: String,
    pub body: String,
    /// True if the answer is as long as its head says, or its chunks have their end, or only the connection ends it.
    pub whole: bool,
}

impl Answer {
    /// Sends bytes on a connection of their own, and reads to its end.
    pub fn to(address: SocketAddr, bytes: &str) -> Self {
        Self::over(TcpStream::connect(address).expect("a connection"), bytes)
    }

    /// Sends bytes on this connection, and reads to its end.
    pub fn over(mut stream: TcpStream, bytes: &str) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream.write_all(bytes.as_bytes()).expect("it goes out");
        Self::from(stream)
    }

    /// Reads what comes until the connection ends.
    pub fn from(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut answer = Self {
            status: head.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
            whole: false,
        };
        answer.whole = read.is_ok()
            && match (answer.header("content-length"), answer.header("transfer-encoding")) {
                (Some(length), _) => length.parse() == Ok(answer.body.len()),
                (None, Some(_)) => answer.body.ends_with("0\r\n\r\n"),
                (None, None) => true,
            };
        answer
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The first line that a proxy prints for people; it is ended then.
pub fn first_line(command: Command) -> String {
    first_lines(command, "").0
}

/// What a proxy prints for people up to a line with this word, and what it says on standard error; it is ended then.
pub fn first_lines(mut command: Command, word: &str) -> (String, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("lab starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut said = String::new();
    loop {
        let mut line = String::new();
        let read = lines.read_line(&mut line).expect("a line");
        said.push_str(&line);
        if read == 0 || line.contains(word) {
            break;
        }
    }
    let _ = child.kill();
    let mut errors = String::new();
    let _ = child.stderr.take().expect("piped").read_to_string(&mut errors);
    let _ = child.wait();
    (said, errors)
}

pub fn get(address: SocketAddr, path: &str) -> Answer {
    Answer::to(address, &request(path))
}

pub fn request(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

/// Asks again and again until there is an answer.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "no {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
