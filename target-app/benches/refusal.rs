//! The cost of a refusal: CPU of a 503 on a kept connection, as a share of the CPU of *show message* at work 0.
//!
//! `cargo bench -p target-app --bench refusal`. The target is a process of its own on the last processor; its CPU time
//! comes from its control port. Pairs of refusals and pages alternate; the median of their ratios is printed with the
//! range.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use arashi::corpus;
use controllers::{
    ClassRule, Objective, Place,
    catalogue::{PolicySpec, Setting},
};
use live_service::control::client::ControlClient;
use service_core::mail::CorpusSpec;
use spec::{
    App, ArashiSpec, ConnectionSpec, EdgeSpec, TargetSpec, WorkSpec,
    services::TaskSpec,
    wire::{Ready, SetPolicy},
};
use target_app::serve;

const SPEC: &str = "REFUSAL_BENCH_SPEC";
const PAIRS: usize = 7;
const CONNECTIONS: usize = 8;
const REQUESTS: usize = 1000;

fn main() {
    if let Ok(spec) = std::env::var(SPEC) {
        let spec: TargetSpec = serde_json::from_str(&spec).unwrap();
        let tell = |ready: Ready| println!("{}", serde_json::to_string(&ready).unwrap());
        return serve(TaskSpec::alone(spec), tell).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mail = CorpusSpec { users: 4, inbox_max: 400, ..CorpusSpec::default() };
    let database = folder.path().join("mail.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(corpus::build(&mail, &database)).unwrap();

    let mut target = start(&spec(&database));
    let ready = ready(&mut target);
    let control = ControlClient::of(&ready).unwrap();
    let address = ready.url.trim_start_matches("http://").to_owned();
    let page = show(&address, &service_core::mail::accounts(&mail)[0]);

    let mut ratios: Vec<f64> = (0..=PAIRS)
        .map(|_| {
            set_policy(&control, "fixed-rate");
            let refusal = cost(&control, &address, &page, 503);
            set_policy(&control, "none");
            let shown = cost(&control, &address, &page, 200);
            println!("refusal {refusal:6.1} us   show message {shown:6.1} us   ratio {:.3}", refusal / shown);
            refusal / shown
        })
        .skip(1) // the first pair warms up
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("median of {PAIRS} pairs: {:.3} (range {:.3} to {:.3})", ratios[PAIRS / 2], ratios[0], ratios[PAIRS - 1]);
    control.stop().unwrap();
    target.wait().unwrap();
}

fn spec(database: &Path) -> TargetSpec {
    let processors = thread::available_parallelism().unwrap().get();
    let (work, spec) = (WorkSpec::default(), ArashiSpec::default());
    let app = App::Arashi { database: database.to_owned(), work, spec };
    let policy = PolicySpec { name: "none".to_owned(), place: None, settings: BTreeMap::new() };
    let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    TargetSpec {
        // Refusals are measured on kept connections: the cost of a new one is not theirs.
        edge: EdgeSpec {
            kept: ConnectionSpec { connection_requests: 0, ..ConnectionSpec::default() },
            ..EdgeSpec::default()
        },
        class: ClassRule::Header("User-Class".to_owned()),
        cpus: vec![processors - 1],
        die_with: Some(std::process::id()),
        ..TargetSpec::new(app, policy, objective)
    }
}

fn start(spec: &TargetSpec) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(SPEC, serde_json::to_string(spec).unwrap()).stdin(Stdio::null()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn ready(child: &mut Child) -> Ready {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

fn set_policy(control: &ControlClient, name: &str) {
    let settings = match name {
        "fixed-rate" => {
            [("rate", 0.05), ("depth", 1.0)].map(|(key, value)| (key.to_owned(), Setting::Number(value))).into()
        }
        _ => BTreeMap::new(),
    };
    let policy = PolicySpec { name: name.to_owned(), place: Some(Place::Stage), settings };
    control.set_policy(&SetPolicy { stage: None, policy }).unwrap();
}

/// Signs in and finds a message: the request for it.
fn show(address: &str, (user, password): &(String, String)) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let form = format!("user={user}&password={password}");
    let login = format!(
        "POST /login HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    let (_, head, _) = ask(&mut stream, &login);
    let cookie = head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: ")?.split(';').next())
        .expect("a session")
        .to_owned();
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n");
    let link = |page: &str, mark: &str| -> String {
        let (_, rest) = page.split_once(&format!("<a data-do=\"{mark}\" href=\"")).expect(mark);
        rest.split('"').next().unwrap().replace("&amp;", "&")
    };
    let (_, _, folders) = ask(&mut stream, &get("/folderlist"));
    let (_, _, list) = ask(&mut stream, &get(&link(&folders, "list")));
    get(&link(&list, "show"))
}

/// CPU time of the target for one request, microseconds.
fn cost(control: &ControlClient, address: &str, request: &str, wanted: u16) -> f64 {
    let before = control.gauges().unwrap().cpu_s;
    let other = thread::scope(|scope| {
        let client = || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            (0..REQUESTS).filter(|_| ask(&mut stream, request).0 != wanted).count()
        };
        let all: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(client)).collect();
        all.into_iter().map(|client| client.join().unwrap()).sum::<usize>()
    });
    assert!(other <= 2, "{other} answers were not {wanted}");
    let after = control.gauges().unwrap().cpu_s;
    (after - before) * 1e6 / (CONNECTIONS * REQUESTS) as f64
}

fn ask(stream: &mut TcpStream, request: &str) -> (u16, String, String) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "closed after {head:?}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head, String::from_utf8_lossy(&body).into_owned())
}
