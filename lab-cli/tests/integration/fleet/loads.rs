//! Loads that agents send: what one generator plans, sends and is served, and books that agree.

use std::{fs, path::Path, process::Output};

use serde_json::{Value, json};

use super::{
    super::{
        load::service::{Behaves, Service},
        program::{self, done, ran, told},
    },
    server::Server,
};

/// The one arm of a run, and its folder agrees with itself.
#[track_caller]
pub fn arm_of(at: &Path, run: &str) -> Value {
    let again = done(at, &["recheck", run]);
    assert!(again.contains("all the same"), "{again}");
    program::json(&at.join(run).join("summary.json"))["arms"][0].clone()
}

/// The sum of a count over phases or parts.
pub fn sum(of: &Value, count: &str) -> u64 {
    of.as_array().expect("a list").iter().map(|one| one[count].as_u64().expect("a count")).sum()
}

pub fn codes(arm: &Value) -> Vec<&str> {
    arm["reasons"].as_array().expect("a list").iter().filter_map(|reason| reason["code"].as_str()).collect()
}

/// On a crowded machine a run may be INVALID; it is whole all the same.
#[track_caller]
pub fn assert_ended(output: &Output) {
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {}", output.status, told(output));
}

/// Seconds of agents have all that was sent, but for what was late and left after the last whole second.
#[track_caller]
pub fn assert_told(at: &Path, run: &str, sent: u64) {
    let timeline = fs::read_to_string(at.join(run).join("timeline.jsonl")).expect("written");
    let seconds = timeline.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told: u64 = seconds.map(|second| sum(&second["agents"], "sent")).sum();
    assert!((sent - 10..=sent).contains(&told), "{told} of {sent}");
}

/// Nothing says that books or parts disagree.
#[track_caller]
pub fn assert_agrees(arm: &Value) {
    let found = codes(arm);
    assert!(!found.iter().any(|code| ["LEDGER", "BOOKS", "SHARES", "SKEW", "ARRIVALS"].contains(code)), "{arm:#}");
}

#[test]
fn four_agents_send_what_one_generator_sends() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    let service = Service::start(Behaves::Well);
    let load = ["load", &service.url(), "--no-tui"];
    let open = ["-R", "120", "-d", "3s", "--arrivals", "poisson"];
    ran(at, &[&load[..], &open, &["--out", "one"]].concat());
    let agents = server.agents("a b c d");
    let read = service.requests();
    let sent = |more: &[&str], agents: &str, out: &str| {
        let output = server.coordinator(&[&load[..], more, &["--agents", agents, "--out", out]].concat()).output();
        assert_ended(&output.expect("lab runs"));
        arm_of(at, out)
    };
    let whole = sent(&open, "4", "whole");
    let one = arm_of(at, "one");
    for count in ["planned", "sent", "served"] {
        assert_eq!(one["phases"][0][count], whole["phases"][0][count], "{count}");
    }
    assert_eq!(service.requests() - read, sum(&whole["phases"], "sent"));
    assert_agrees(&whole);
    for count in ["planned", "sent"] {
        assert_eq!(sum(&whole["parts"], count), sum(&one["phases"], count), "{count}");
    }
    let names: Vec<&Value> = whole["parts"].as_array().expect("parts").iter().map(|part| &part["agent"]).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let manifests = ["one", "whole"].map(|run| program::json(&at.join(run).join("manifest.json")));
    assert_eq!(manifests[0]["blocks"][0]["plan"], manifests[1]["blocks"][0]["plan"], "one plan");
    for (member, shard) in manifests[1]["agents"].as_array().expect("a list").iter().zip(["1/4", "2/4", "3/4", "4/4"]) {
        assert_eq!(member["shard"], shard);
        assert!(member["offset_ms"].is_f64() && member["clock_error_ms"].as_f64() > Some(0.0), "{member}");
    }
    assert!(manifests[1]["approximations"].is_array() && manifests[1]["shard"].is_null());
    assert_told(at, "whole", sum(&whole["phases"], "sent"));
    assert!(done(at, &["report", "whole", "--format", "text", "--details"]).contains("4/4"));

    // As many users, and as many requests, in all.
    let closed = sent(&["-c", "6", "-d", "1s"], "3", "closed");
    assert!(sum(&closed["phases"], "served") > 0 && closed["parts"].as_array().is_some_and(|parts| parts.len() == 3));
    let read = service.requests();
    let counted = sent(&["-c", "5", "-n", "25"], "2", "counted");
    assert_eq!((sum(&counted["phases"], "served"), service.requests() - read), (25, 25));
    drop(agents);
}

#[test]
fn a_recording_is_replayed_where_it_may_be_sent() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    let lines: String = (0..12)
        .map(|second| format!("192.0.2.{second} - - [21/Nov/2026:01:39:{second:02} +0000] \"GET /list?folderid={second} HTTP/1.1\" 200 5\n"))
        .collect();
    fs::write(at.join("access.log"), lines).expect("written");
    done(at, &["trace", "import", "access.log", "-o", "web.jsonl"]);
    let service = Service::start(Behaves::Well);
    let url = format!("{}{{action}}", service.url());
    let replay = ["replay", "web.jsonl", "--target", &url, "--speed", "8", "--agents", "2", "--out", "replayed"];
    let agents = server.agents("a b");
    let refused = server.coordinator(&replay).output().expect("lab runs");
    let text = told(&refused);
    assert!(refused.status.code() == Some(2) && text.contains("--send-recording"), "{text}");
    assert_eq!((text.lines().count(), service.requests()), (1, 0), "{text}");
    assert!(!at.join("replayed").exists());
    let output = server.coordinator(&[&replay[..], &["--send-recording"]].concat()).output().expect("lab runs");
    assert_ended(&output);
    let arm = arm_of(at, "replayed");
    assert_eq!((sum(&arm["phases"], "sent"), service.requests()), (12, 12));
    assert_agrees(&arm);
    drop(agents);
}

/// Two arms, two blocks, and two phases of which one refuses.
const FILE: &str = "
name: shared
target: {app: emulated, servers: 4, service: {exponential: 5ms}}
objective: {response_time: 500ms}
users:
  model: url
  phases: [{name: calm, requests: 60/s, for: 1s}, {name: peak, requests: 120/s, for: 1s}]
arms: [none, concurrency: {max: 4}]
repeat: 2
";

#[test]
fn an_experiment_with_a_service_of_the_lab_has_books_that_agree() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    fs::write(at.join("shared.yaml"), FILE).expect("written");
    let agents = server.agents("a b");
    let run = ["run", "shared.yaml", "--no-tui", "--agents", "2", "--out", "run"];
    let output = server.coordinator(&run).output().expect("lab runs");
    assert_ended(&output);
    arm_of(at, "run");
    done(at, &["run", "shared.yaml", "--virtual", "--out", "virtual"]);
    let [run, alone] = ["run", "virtual"].map(|run| program::json(&at.join(run).join("summary.json"))["arms"].clone());
    let (run, alone) = (run.as_array().expect("arms"), alone.as_array().expect("arms"));
    assert_eq!(run.len(), 4);
    for arm in run {
        assert_agrees(arm);
        let same = |alone: &&Value| (&arm["name"], &arm["block"]) == (&alone["name"], &alone["block"]);
        let alone = alone.iter().find(same).expect("the same in virtual time");
        for phase in 0..2 {
            assert_eq!(arm["phases"][phase]["planned"], alone["phases"][phase]["planned"]);
        }
        assert_eq!(arm["server"]["requests_read"], sum(&arm["phases"], "sent"));
        assert_eq!(sum(&arm["parts"], "sent"), sum(&arm["phases"], "sent"));
    }
    let manifest = program::json(&at.join("run/manifest.json"));
    assert_eq!(manifest["agents"].as_array().map(Vec::len), Some(2), "{}", manifest["agents"]);
    assert_ne!(manifest["agents"], json!(null));
    drop(agents);
}
