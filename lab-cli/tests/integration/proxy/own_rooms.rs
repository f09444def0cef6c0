//! A waiting room before a service of the lab's own, in a live run: the lab starts both, and ends both.

use std::{fs, process::Stdio};

use serde_json::Value;

/// Thirty requests a second for a second, of which ten are let in each second; nobody is turned away.
const EXPERIMENT: &str = "
name: room
about: a waiting room before an emulated service
target: {app: emulated, service: 5ms, servers: 4, workers: 4, waiting_room: {capacity: 10/s, skew: 1s}}
objective: {percentile: 99, response_time: 10s}
users:
  model: url
  timeout: 20s
  drain: 10s
  on_reject: {then: leave}
  on_failure: {then: leave}
  phases:
    - {name: burst, for: 1s, requests: 30/s, law: constant}
    - {name: calm, for: 4s, requests: 1/s, law: constant}
arms: [none]
thresholds:
  - none.burst.served + none.burst.served_late == none.burst.planned
  - none.burst.gauge.\"waiting room\".refused.sum + none.calm.gauge.\"waiting room\".refused.sum > 5
declares: [kernel-backlog]
";

#[test]
fn a_waiting_room_stands_before_a_service_of_the_labs_own() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("room.yaml"), EXPERIMENT).expect("written");
    let ran = crate::program::lab()
        .current_dir(folder.path())
        .env("LAB_CACHE", folder.path().join("cache"))
        .args(["run", "room.yaml", "--no-tui", "--output", "json", "--out", "out"])
        .stdin(Stdio::null())
        .output()
        .expect("lab runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    // A crowded machine may make the run invalid (3): what it found is there all the same.
    assert!(matches!(ran.status.code(), Some(0 | 3)), "{:?}: {said}", ran.status);
    let summary: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let found = |number: usize| summary["thresholds"][number]["values"][0].as_f64().expect("a number");
    assert!(found(0) == 30.0 && found(1) > 5.0, "{}", summary["thresholds"]);
}
