//! A service that runs on from arm to arm, and that works on what its users have given up.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::Stdio,
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{lab, ran};
use crate::served::{at_each, head};

/// 50 pages a second, one after the other.
const TAKES: Duration = Duration::from_millis(20);

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

/// It answers in the order of arrival, whoever has left meanwhile.
fn one_by_one() -> SocketAddr {
    let (queue, waiting) = mpsc::channel::<TcpStream>();
    thread::spawn(move || {
        for mut stream in waiting {
            thread::sleep(TAKES);
            let _ = stream.write_all(OK);
        }
    });
    at_each(move |mut stream| {
        let head = head(&mut stream).unwrap_or_default();
        // Its health is no matter of its queue.
        let _ = if head.starts_with("GET /page ") { queue.send(stream).is_ok() } else { stream.write_all(OK).is_ok() };
    })
}

#[test]
fn an_arm_begins_when_the_backlog_of_the_one_before_is_gone() {
    // A page that has a way of its own, and one that waits in the queue like all others.
    thread::scope(|scope| {
        for (ready, paths) in [
            ("/health", "[{path: /page}]"),
            ("/page", "[{path: /page}]"),
            ("/health", "[{path: /at-once}, {path: /page}]"),
        ] {
            scope.spawn(move || a_backlog_is_waited_for(ready, paths));
        }
    });
}

fn a_backlog_is_waited_for(ready: &str, paths: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "name: mine\ntarget: {{url: \"http://{}\", ready: {ready}}}\nobjective: {{percentile: 90, response_time: 200ms}}\nusers:\n  \
         model: url\n  paths: {paths}\n  timeout: 300ms\n  drain: 300ms\n  phases: [{{name: overload, requests: 400/s, for: 2s}}]\n\
         arms: [{{none: {{as: first, direct: true}}}}, {{none: {{as: second, direct: true}}}}]\n",
        one_by_one()
    );
    fs::write(folder.path().join("mine.yaml"), text).expect("written");
    let run = ["run", "mine.yaml", "--no-tui", "--output", "json", "--out", "kept"];
    let (output, said, err) = ran(lab(folder.path()).args(run));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&said).expect("JSON");
    assert!(summary["arms"][0]["conditions"]["carried"].is_null(), "it is the first: {said}");
    let carried = &summary["arms"][1]["conditions"]["carried"];
    // 800 pages were asked for in two seconds, and take sixteen: longer than a service is given that has not answered yet.
    assert!(carried["settled"] == true && carried["waited_s"].as_f64() > Some(1.0), "{carried}");
    assert!(err.contains("the service still works on what the load before has left"), "{err}");
    assert!(err.contains("the service answers as it did at first"), "{err}");
    let answered = |arm: usize| summary["arms"][arm]["phases"][0]["served"].as_u64().expect("a count");
    assert!(answered(0) > 0 && answered(1) > 0, "both began with an empty queue: {said}");
}

#[test]
fn a_trial_of_a_search_begins_when_the_backlog_of_the_one_before_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    // A generator that cannot keep up on a busy machine ends its search: it is asked again.
    let keeps_up = |said: &Vec<String>| !said.iter().any(|line| line.contains("could not keep up"));
    let said = (0..5).map(|_| first_trials(folder.path())).find(keeps_up);
    let said = said.expect("the generator keeps up once");
    let waits = said.iter().position(|line| line.contains("the service still works on what the load before has left"));
    let goes_on = said.iter().position(|line| line.contains("the service answers as it did at first"));
    // 800 requests in two seconds take sixteen, and ten are the longest pause.
    assert!(waits.is_some() && goes_on > waits, "{said:#?}");
}

/// What a search of a service of its own says until its second trial.
fn first_trials(folder: &Path) -> Vec<String> {
    let url = format!("http://{}/page", one_by_one());
    let search = ["-R", "400", "--find-rate", "p50 < 200ms", "--try-for", "2s..3s", "--timeout", "300ms", "--no-save"];
    let mut command = lab(folder);
    command.args(["load", &url]).args(search).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut searching = command.spawn().expect("it starts");
    let said = BufReader::new(searching.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    // The second trial is told after the wait; what comes next is of no interest.
    let said = said
        .scan(0, |trials, line| {
            *trials += usize::from(line.contains("p50 < 200ms"));
            (*trials < 2).then_some(line)
        })
        .collect();
    searching.kill().expect("it runs");
    searching.wait().expect("it has ended");
    said
}
