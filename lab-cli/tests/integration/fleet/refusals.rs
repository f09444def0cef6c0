//! Servers, agents and experiments that will not do.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, TcpListener},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use super::{
    super::program::{lab_in, ran, told, wait_until},
    server::{AGENT, Server, Started},
};

const SWEEP: [&str; 6] = ["sweep", "flash-crowd", "--policy", "concurrency", "--set", "max=2..20"];

#[test]
fn a_server_that_will_not_do_is_named() {
    let scratch = tempfile::tempdir().expect("a folder");
    let at = scratch.path();
    let greeting = |info: &'static str| {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let url = format!("nats://{}", listener.local_addr().expect("known"));
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                writeln!(stream, "INFO {info}\r").expect("sent");
                for line in BufReader::new(stream.try_clone().expect("a stream")).lines().map_while(Result::ok) {
                    if line.starts_with("PING") {
                        write!(stream, "PONG\r\n").expect("sent");
                    }
                }
            }
        });
        url
    };
    let old = greeting(r#"{"server_id":"x","version":"2.9.10","max_payload":1048576,"headers":true,"jetstream":true}"#);
    let bare = greeting(r#"{"server_id":"x","version":"2.10.0","max_payload":1048576,"headers":true}"#);
    for (url, code, said) in [
        (&*old, 2, "nats-server 2.9.10 is older than 2.10"),
        (&*bare, 2, "runs without JetStream"),
        ("nats://127.0.0.1:1", 1, "nobody answers at nats://127.0.0.1:1"),
        ("nats://nats.example:4222", 2, "neither TLS nor this machine"),
        ("nats://me:hush@127.0.0.1:1", 2, "names a secret"),
    ] {
        for args in [&["agent", "--nats", url][..], &[&SWEEP[..], &["--workers", "--nats", url]].concat()] {
            let output = ran(at, args);
            let text = told(&output);
            assert!(output.status.code() == Some(code) && text.contains(said), "{args:?}: {text}");
            assert!(!text.contains("hush"), "{text}");
        }
    }
    assert_eq!(fs::read_dir(at).expect("read").count(), 0, "something was written");
}

#[test]
fn agents_of_another_version_get_nothing_and_are_named() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    let sweep = server.lab(&[&SWEEP[..], &["--points", "2", "--repeat", "1", "--out", "s"]].concat());
    let mut sweep = Started({ sweep }.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("lab starts"));
    let other = server.connected("old", AGENT);
    let (version, program) = ("0123456789abcdef".to_owned(), "0.0.1".to_owned());
    let note = fleet::AgentNote { name: "old".to_owned(), version, program, jobs: 1 };
    let began = Instant::now();
    let late = || began.elapsed() > Duration::from_secs(30);
    let _lease = other.announce(&note, &late).expect("it is let in");
    let too_soon = || began.elapsed() > Duration::from_secs(2);
    assert!(other.work(&note.version, &too_soon).is_err(), "there is no work of that version");
    let mut lines = BufReader::new(sweep.0.stderr.take().expect("piped")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("no agent of lab") && line.contains("old (lab 0.0.1)")));
    let _agent = server.agent("young");
    assert!(sweep.0.wait().expect("it ends").success());
    assert!(at.join("s/result.json").exists());
}

#[test]
fn two_agents_of_one_name_and_strangers_are_refused() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    let stranger = ran(at, &["agent", "--nats", &server.url()]);
    assert!(stranger.status.code() == Some(2) && told(&stranger).contains("does not let us in"), "{}", told(&stranger));
    let _first = server.agent("twin");
    // It is there for sure once it has worked.
    let search = server.lab(&[&SWEEP[..], &["--points", "2", "--repeat", "1"]].concat()).output().expect("lab runs");
    assert!(search.status.success(), "{}", told(&search));
    let mut second = lab_in(at);
    second.env("LAB_NATS_TOKEN", AGENT);
    let second = second.args(["agent", "--nats", &server.url(), "--name", "twin"]).stderr(Stdio::piped());
    let mut second = Started(second.spawn().expect("lab starts"));
    wait_until("it is refused", || second.ended());
    let mut said = String::new();
    second.0.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert!(second.0.wait().is_ok_and(|end| end.code() == Some(2)) && said.contains("twin is there already"), "{said}");
}

#[test]
fn what_is_not_to_leave_the_machine_is_not_sent() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    let file = "
name: with-secrets
target: {app: emulated, servers: 2, service: {exponential: 10ms}}
objective: {response_time: 100ms}
users:
  model: url
  paths: [{path: /a, headers: {Authorization: hush}}]
  phases: [{requests: 100/s, for: 500ms}]
arms: [concurrency]
";
    fs::write(at.join("secret.yaml"), file).expect("written");
    let sweep = ["sweep", "secret.yaml", "--policy", "concurrency", "--set", "max=2..20", "--points", "2"];
    let output = server.lab(&sweep).output().expect("lab runs");
    let text = told(&output);
    assert!(output.status.code() == Some(2) && text.contains("do not leave this machine"), "{text}");
}
