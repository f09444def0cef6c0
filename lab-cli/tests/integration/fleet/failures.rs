//! Whoever dies, nothing is lost; and what cannot be done, or is done twice with other results, is said.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use analysis::summary::Arm;
use serde_json::json;

use super::{
    super::program::{done, told, wait_until},
    server::{AGENT, Server, Started, assert_same, runs},
};

const FILE: &str = "
name: crowd
target: {app: emulated, servers: 2, service: {exponential: 10ms}}
objective: {response_time: 100ms}
users:
  model: url
  phases: [{name: peak, requests: 250/s, for: 200s}]
arms: [concurrency: {max: 8}]
";
const SWEEP: [&str; 10] =
    ["sweep", "crowd.yaml", "--policy", "concurrency", "--set", "max=2..20", "--points", "4", "--repeat", "5"];

fn sweep(server: &Server, out: &str) -> Started {
    let mut command = server.lab(&[&SWEEP[..], &["--out", out]].concat());
    Started(command.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("lab starts"))
}

/// `lasts`: seconds of virtual time.
fn with_file(server: &Server, lasts: u32) -> PathBuf {
    let file = FILE.replace("for: 200s", &format!("for: {lasts}s"));
    fs::write(server.folder().join("crowd.yaml"), file).expect("written");
    server.folder()
}

#[track_caller]
fn assert_whole(at: &Path, out: &str, mut search: Started) {
    assert!(search.0.wait().expect("it ends").success());
    done(at, &[&SWEEP[..], &["--out", "here"]].concat());
    assert_same(&at.join("here"), &at.join(out));
}

#[test]
fn a_killed_agent_loses_nothing() {
    let Some(server) = Server::start() else { return };
    let at = with_file(&server, 200);
    let mut search = sweep(&server, "there");
    let mut killed = server.agent("killed");
    wait_until("a run", || runs(&at.join("there")) > 0 || search.ended());
    killed.kill();
    assert!(!search.ended(), "it was too late");
    let _other = server.agent("other");
    assert_whole(&at, "there", search);
}

#[test]
fn an_agent_that_is_asked_to_end_gives_back_at_once() {
    let Some(server) = Server::start() else { return };
    with_file(&server, 3000);
    let two =
        ["sweep", "crowd.yaml", "--policy", "concurrency", "--set", "max=2..20", "--points", "2", "--repeat", "1"];
    let mut command = server.lab(&two);
    let mut search = Started(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("lab starts"));
    let mut asked = server.agent("asked");
    std::thread::sleep(Duration::from_secs(1));
    asked.signal("INT");
    assert_eq!(asked.0.wait().expect("it ends").code(), Some(130));
    assert!(!search.ended(), "it was too late");
    // Both pieces of work are there for others; one that was kept would come after ten seconds.
    let other = server.connected("other", AGENT);
    let source = other.work(&lab_cli::workers::version(), &|| false).expect("there is work");
    let _both = [0, 1].map(|_| source.next(Duration::from_secs(4)).expect("an answer").expect("work"));
}

#[test]
fn a_killed_server_and_a_killed_coordinator_lose_nothing() {
    let Some(mut server) = Server::start() else { return };
    let at = with_file(&server, 200);
    let mut search = sweep(&server, "there");
    let _agents = [server.agent("a"), server.agent("b")];
    wait_until("a run", || runs(&at.join("there")) > 0 || search.ended());
    server.kill();
    std::thread::sleep(Duration::from_secs(1));
    server.again();
    let before = runs(&at.join("there"));
    wait_until("another run", || runs(&at.join("there")) > before + 1 || search.ended());
    search.kill();
    assert!(runs(&at.join("there")) < 20, "it was too late");
    let search = sweep(&server, "there");
    assert_whole(&at, "there", search);
}

#[test]
fn two_machines_that_compute_differently_are_an_error() {
    let Some(server) = Server::start() else { return };
    let at = with_file(&server, 10);
    let mut command = server.lab(&[&SWEEP[..], &["--out", "there"]].concat());
    let search = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("lab starts");
    let forger = server.connected("forger", AGENT);
    let began = Instant::now();
    let late = || began.elapsed() > Duration::from_secs(60);
    let source = forger.work(&lab_cli::workers::version(), &late).expect("there is work");
    let work = source.next(Duration::from_secs(20)).expect("an answer").expect("work");
    // A result without its phases; and the work is on the queue again, as after a lost acknowledgement.
    let arm = json!({"arm": Arm { name: "concurrency".to_owned(), block: 1, ..Arm::default() }}).to_string();
    work.store(arm.as_bytes(), arm.as_bytes(), &late).expect("stored");
    drop(work);
    let _honest = server.agent("honest");
    let output = search.wait_with_output().expect("it ends");
    let text = told(&output);
    let said = "two machines compute differently: forger and honest have other results of concurrency of";
    assert!(output.status.code() == Some(1) && text.contains(said), "{:?}: {text}", output.status);
    assert!(at.join("there/runs.jsonl").exists());
}

#[test]
fn work_that_nobody_finishes_is_given_up_and_the_rest_is_done() {
    let Some(server) = Server::start() else { return };
    let at = with_file(&server, 10);
    let mut command = server.lab(&[&SWEEP[..], &["--out", "there"]].concat());
    let search = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("lab starts");
    let clumsy = server.connected("clumsy", AGENT);
    let began = Instant::now();
    let late = || began.elapsed() > Duration::from_secs(60);
    let source = clumsy.work(&lab_cli::workers::version(), &late).expect("there is work");
    for _ in 0..5 {
        drop(source.next(Duration::from_secs(20)).expect("an answer").expect("the same work once more"));
    }
    let _agent = server.agent("able");
    let output = search.wait_with_output().expect("it ends");
    let text = told(&output);
    let said = ["given up: it went to agents 5 times", "1 run without a result"];
    assert!(output.status.code() == Some(1) && said.iter().all(|said| text.contains(said)), "{text}");
    assert_eq!(runs(&at.join("there")), 19);
    // Once more, with an agent that can.
    assert_whole_but_order(&at, sweep(&server, "there"));
}

/// What was missing comes last in the file of runs.
#[track_caller]
fn assert_whole_but_order(at: &Path, mut search: Started) {
    assert!(search.0.wait().expect("it ends").success());
    done(at, &[&SWEEP[..], &["--out", "here"]].concat());
    let [here, there] = ["here", "there"].map(|folder| fs::read(at.join(folder).join("result.json")).expect("there"));
    assert!(here == there);
}
