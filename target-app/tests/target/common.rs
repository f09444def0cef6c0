//! A target on a thread of this process, and bytes to and from it.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use arashi::{
    password::{self, PasswordCost},
    store::{NewMessage, Store, StoreOptions},
};
use controllers::{ClassRule, Objective, Settings, catalogue::PolicySpec};
use live_service::{control::client::ControlClient, serve::ServeError};
use spec::{
    App, ArashiSpec, ChecksumSpec, ConnectionSpec, EdgeSpec, EmulatedSpec, ServiceTime, StageSpec, TargetSpec,
    WorkSpec,
    services::{CallSpec, CalleeSpec, TaskSpec},
    wire::Gauges,
};
use target_app::serve;
use workloads::balance::{Balancer, Per};

/// A running target; stopped and joined when dropped.
pub struct Target {
    pub address: SocketAddr,
    pub control: ControlClient,
    pub control_address: SocketAddr,
    /// The token of the control port.
    pub token: String,
    thread: Option<thread::JoinHandle<Result<(), ServeError>>>,
}

/// A small emulated service on free ports.
pub fn spec() -> TargetSpec {
    let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    TargetSpec {
        stage_defaults: StageSpec { queue: 1000, workers: 4, batch: 4, ..StageSpec::default() },
        edge: edge(),
        class: ClassRule::Header("User-Class".to_owned()),
        seed: 7,
        ..TargetSpec::new(emulated(Duration::from_millis(1), 4), policy("none", &[]), objective)
    }
}

/// Limits as usual, for a service that goes by the name that tests call it, and whose clients keep one connection however
/// often they ask.
pub fn edge() -> EdgeSpec {
    let hosts = vec!["a".to_owned()];
    let kept = ConnectionSpec { connection_requests: 0, ..ConnectionSpec::default() };
    EdgeSpec { drain: Duration::from_secs(5), kept, hosts, ..EdgeSpec::default() }
}

pub fn emulated(time: Duration, servers: u32) -> App {
    App::Emulated(EmulatedSpec { servers, answer_bytes: 200, ..EmulatedSpec::one(ServiceTime::Constant(time)) })
}

pub fn checksum(rounds: u32, reads: u32) -> App {
    App::Checksum(ChecksumSpec { rounds, fixed_rounds: 0, reads, answer_bytes: 100 })
}

/// Fills a database with forty messages of ann's, in folder 1.
pub fn mailbox(database: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let store = Store::create(database, &StoreOptions::default()).await.expect("opens");
        let mut fill = store.fill().await.expect("begins");
        let hash = password::hash("a", &[1; 16], PasswordCost::Least);
        let (_, folders) = fill.user("ann", &hash, &["inbox"]).await.expect("user");
        for number in 1..=40 {
            let headers = format!("Subject: topic {number}\n");
            let subject = format!("topic {number}");
            let date = 1_000_000_000 + i64::from(number);
            let message = NewMessage { digest: [number; 32], date, subject, headers, ..NewMessage::default() };
            fill.message(&message).await.expect("message");
        }
        fill.put_range(folders[0], 1, 40).await.expect("put");
        fill.commit().await.expect("commits");
        store.close().await.expect("closes");
    });
}

/// The mail service over it: these types do so many extra database operations, the others none. Keys of sessions are in links.
pub fn arashi(database: &Path, operations: &[(&str, f64)]) -> App {
    let mut weights: BTreeMap<_, _> = service_core::mail::KINDS.iter().map(|&kind| (kind.to_owned(), 0.0)).collect();
    weights.extend(operations.iter().map(|&(kind, operations)| (kind.to_owned(), operations)));
    App::Arashi {
        database: database.to_owned(),
        work: WorkSpec { operations: 1.0, weights, ..WorkSpec::default() },
        spec: ArashiSpec {
            connections: 2,
            session_in_links: true,
            stale: Duration::from_secs(30),
            ..ArashiSpec::default()
        },
    }
}

/// Signs ann in; the key of her session.
pub fn sign_in(target: &Target) -> String {
    let form = "user=ann&password=a";
    let request = format!(
        "POST /login HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\n{form}",
        form.len()
    );
    let welcome = target.exchange(request.as_bytes());
    let key = welcome.split("key=").nth(1).and_then(|rest| rest.get(..32));
    key.unwrap_or_else(|| panic!("no key: {welcome}")).to_owned()
}

pub fn policy(name: &str, settings: &[(&str, f64)]) -> PolicySpec {
    let setting = |&(key, value): &(&str, f64)| (key.to_owned(), controllers::catalogue::Setting::Number(value));
    let settings: Settings = settings.iter().map(setting).collect();
    PolicySpec { name: name.to_owned(), place: None, settings }
}

pub fn start(spec: TargetSpec) -> Target {
    start_task(TaskSpec::alone(spec))
}

/// One call of each request to a service, tried once.
pub fn calls_to_back(back: &Target, timeout: Duration) -> Vec<CalleeSpec> {
    let call = CallSpec { timeout, ..CallSpec::to("back") };
    let tasks = vec![Some(back.address)];
    vec![CalleeSpec { call, tasks, balancer: Balancer::RoundRobin, per: Per::Request, cap: 0, reach: Vec::new() }]
}

/// Starts a task of a service among several.
pub fn start_task(task: TaskSpec) -> Target {
    let (ready, is_ready) = mpsc::channel();
    let thread = thread::spawn(move || serve(task, move |it| ready.send(it).unwrap()));
    let Ok(ready) = is_ready.recv_timeout(Duration::from_secs(20)) else {
        panic!("the target did not start: {:?}", thread.join());
    };
    Target {
        address: ready.url.trim_start_matches("http://").parse().unwrap(),
        control: ControlClient::of(&ready).unwrap(),
        token: ready.token.as_ref().expect("drawn").in_full().to_owned(),
        control_address: ready.control.trim_start_matches("http://").parse().unwrap(),
        thread: Some(thread),
    }
}

impl Target {
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(15))).unwrap();
        stream
    }

    /// Sends bytes on a connection of their own and reads until the target closes it, or goes quiet.
    pub fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A connection that is not to be closed ends with a silence.
        let closes = bytes.windows(17).any(|part| part == b"Connection: close");
        stream.set_read_timeout(Some(Duration::from_millis(if closes { 10_000 } else { 700 }))).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn get(&self, path: &str) -> String {
        self.exchange(format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes())
    }

    pub fn gauges(&self) -> Gauges {
        self.control.gauges().unwrap()
    }

    /// Waits until the gauges are as wanted.
    pub fn until(&self, what: &str, wanted: impl Fn(&Gauges) -> bool) -> Gauges {
        let end = Instant::now() + Duration::from_secs(15);
        loop {
            let gauges = self.gauges();
            if wanted(&gauges) {
                return gauges;
            }
            assert!(Instant::now() < end, "waited in vain for: {what}; {gauges:#?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops it; says how it ended and how long that took.
    pub fn stop(mut self) -> (Result<(), ServeError>, Duration) {
        let began = Instant::now();
        let _ = self.control.stop();
        let ended = self.thread.take().unwrap().join().unwrap();
        (ended, began.elapsed())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = self.control.stop();
            let _ = thread.join();
        }
    }
}

/// Sends requests on kept connections until told to stop; every one must be answered with 200 or 503.
pub fn keep_asking(address: SocketAddr, stop: &AtomicBool, answered: &AtomicU64) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    while !stop.load(Ordering::Relaxed) {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nUser-Class: 1\r\n\r\n").unwrap();
        let (status, head, _) = answer(&mut stream);
        assert!([200, 503].contains(&status), "{head}");
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// One answer on a kept connection: status, head, body.
pub fn answer(stream: &mut TcpStream) -> (u16, String, Vec<u8>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("an answer");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).unwrap();
    (status, head, body)
}

/// The status of an answer's text; 0 if there was none.
pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}
