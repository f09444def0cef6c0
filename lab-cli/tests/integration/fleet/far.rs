//! Agents behind networks of their own, and behind ways that are longer back than there.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    process::{Child, Stdio},
    sync::mpsc::{Sender, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    super::{
        program::{self, done, path, wait_until},
        served::at_each,
    },
    loads::{arm_of, assert_agrees, assert_ended, sum},
    server::{AGENT, COORDINATOR, Server, Started, is_installed, printed_settings, with_passwords},
};
use crate::namespaces::Namespaces;

const AGENTS: u32 = 4;
const SERVER: &str = "10.77.0.1:4222";
const SERVICE: &str = "10.77.0.1:8457";

/// Nobody is refused, and nobody asks again.
const FILE: &str = "
name: far
target: {app: emulated, servers: 8, workers: 8, service: {exponential: 5ms}}
objective: {response_time: 500ms}
users:
  model: url
  timeout: 10s
  phases: [{name: calm, requests: 80/s, for: 1s}, {name: peak, requests: 160/s, for: 1s}]
arms: [none]
";

#[test]
fn agents_in_networks_of_their_own_send_what_one_sends() {
    if !is_installed() {
        return;
    }
    let Some(namespaces) = Namespaces::made(AGENTS) else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let at = scratch.path();
    fs::write(at.join("far.yaml"), FILE).expect("written");
    fs::write(at.join("nats.conf"), printed_settings(SERVER)).expect("written");
    done(at, &["run", "far.yaml", "--virtual", "--out", "one"]);
    let started = |command: &mut std::process::Command| -> Child {
        command.current_dir(at).env("LAB_CACHE", at.join("cache")).spawn().expect("it starts")
    };
    let _server = Started(started(with_passwords(&mut namespaces.command(0, "nats-server"))));
    let log = || fs::read_to_string(at.join("nats.log")).unwrap_or_default();
    wait_until("the server is ready", || log().contains("Server is ready"));
    let nats = format!("nats://{SERVER}");
    let there = ["--nats", &nats, "--insecure-nats"];
    let _agents: Vec<Started> = (1..=AGENTS)
        .map(|number| {
            let mut command = namespaces.command(number, &path());
            command.env("LAB_NATS_TOKEN", AGENT).args(["agent", "--jobs", "1", "--allow-host", "10.77.0.1", "--name"]);
            Started(started(command.arg(format!("g{number}")).args(there).stdout(Stdio::null())))
        })
        .collect();
    let mut command = namespaces.command(0, &path());
    command.env("LAB_NATS_TOKEN", COORDINATOR).current_dir(at).env("LAB_CACHE", at.join("cache"));
    command.args(["run", "far.yaml", "--no-tui", "--agents", "4", "--listen", SERVICE, "--out", "whole"]);
    assert_ended(&command.args(there).output().expect("lab runs"));
    let whole = arm_of(at, "whole");
    let one = program::json(&at.join("one/summary.json"))["arms"][0].clone();
    for phase in 0..2 {
        for count in ["planned", "sent"] {
            assert_eq!(one["phases"][phase][count], whole["phases"][phase][count], "{count}");
        }
    }
    assert_eq!(whole["server"]["requests_read"], sum(&whole["phases"], "sent"));
    assert!(
        whole["parts"].as_array().is_some_and(|parts| parts.len() == 4 && parts.iter().all(|part| part["sent"] != 0))
    );
    assert_agrees(&whole);
}

const THERE: Duration = Duration::from_millis(5);
const BACK: Duration = Duration::from_millis(35);

/// The port of a way to a server that takes its time.
fn relay(to: String) -> u16 {
    let address = at_each(move |near| {
        let far = TcpStream::connect(&to).expect("it listens");
        for stream in [&near, &far] {
            stream.set_nodelay(true).expect("set");
        }
        let [from_near, from_far] = [&near, &far].map(|stream| stream.try_clone().expect("a descriptor"));
        thread::scope(|scope| {
            scope.spawn(|| passes(from_near, &far, THERE));
            scope.spawn(|| passes(from_far, &near, BACK));
        });
    });
    address.port()
}

/// Passes bytes on, each so long after it came.
fn passes(mut from: TcpStream, mut to: &TcpStream, later: Duration) {
    thread::scope(|scope| {
        let (sender, pieces) = channel::<(Instant, Vec<u8>)>();
        scope.spawn(move || {
            for (due, piece) in pieces {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                if to.write_all(&piece).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        });
        let mut piece = [0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            if sender.send((Instant::now() + later, piece[..count].to_vec())).is_err() {
                break;
            }
        }
    });
}

/// A service that tells when it is asked.
fn service(tell: Sender<Instant>) -> String {
    let address = at_each(move |stream| {
        let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
        while lines.next().is_some() {
            let _ = tell.send(Instant::now());
            lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
            if (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
                return;
            }
        }
    });
    format!("http://{address}/")
}

#[test]
fn a_clock_behind_a_lopsided_way_is_off_by_no_more_than_is_said() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    let _near = server.agent("near");
    let relay = relay(server.url().trim_start_matches("nats://").to_owned());
    let mut far = program::lab_in(at);
    let nats = format!("nats://127.0.0.1:{relay}");
    far.env("LAB_NATS_TOKEN", AGENT).args(["agent", "--jobs", "1", "--name", "other", "--nats", &nats]);
    let _far = Started(far.stdout(Stdio::null()).spawn().expect("lab starts"));
    let (tell, asked) = channel();
    let url = service(tell);
    // Request after request, each 50 ms after that of the other agent.
    let args = ["load", &url, "--no-tui", "--agents", "2", "-R", "20", "--deadline"];
    let sent = |deadline: &str, lasts: &str, out: &str| {
        let more = [deadline, "-d", lasts, "--out", out];
        assert_ended(&server.coordinator(&[&args[..], &more].concat()).output().expect("lab runs"));
        arm_of(at, out)
    };
    let arm = sent("1s", "6s", "run");
    assert_eq!(sum(&arm["parts"], "sent"), 120);
    let manifest = program::json(&at.join("run/manifest.json"));
    let stated = |agent: usize| manifest["agents"][agent]["clock_error_ms"].as_f64().expect("a time");
    assert!((20.0..40.0).contains(&stated(1)) && stated(0) < stated(1), "{manifest:#}");
    assert_eq!(arm["parts"][1]["clock_error_ms"].as_f64().map(f64::round), Some(stated(1).round()), "{arm:#}");

    let asked: Vec<Instant> = asked.try_iter().collect();
    assert_eq!(asked.len(), 120);
    // Whoever is late now and then is not late by the median.
    let mut late: Vec<f64> = asked
        .windows(3)
        .step_by(2)
        .map(|three| {
            let [first, second, third] = three else { unreachable!() };
            (second.duration_since(*first).as_secs_f64() - third.duration_since(*second).as_secs_f64()) * 500.0
        })
        .collect();
    late.sort_by(f64::total_cmp);
    let error = late[late.len() / 2].abs();
    assert!(error > 8.0 && error <= stated(0) + stated(1), "{error} ms, and {} ms are stated", stated(1));
    // Two clocks may be off by twice as much, and by 5 % of a promise: 50, 20 and 500 ms.
    let skew = |arm: &Value| {
        let found =
            arm["reasons"].as_array().and_then(|reasons| reasons.iter().find(|reason| reason["code"] == "SKEW"));
        found.and_then(|found| found["verdict"].as_str()).map(str::to_owned)
    };
    assert_eq!(skew(&arm).as_deref(), Some(if 2.0 * stated(1) > 50.0 { "INVALID" } else { "WARN" }), "{arm:#}");
    assert_eq!(skew(&sent("400ms", "1s", "strict")).as_deref(), Some("INVALID"));
    assert_eq!(skew(&sent("10s", "1s", "loose")), None);
}
