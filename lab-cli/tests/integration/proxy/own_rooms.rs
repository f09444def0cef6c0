//! A waiting room before a service of the lab's own, in a live run: the lab starts both, and ends both.

use crate::program::{found, lab_with};

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
    let run = ["run", "x.yaml", "--no-tui", "--output", "json", "--out", "out"];
    let summary = found(&lab_with(folder.path(), EXPERIMENT, &run));
    let value = |number: usize| summary["thresholds"][number]["values"][0].as_f64().expect("a number");
    assert!(value(0) == 30.0 && value(1) > 5.0, "{}", summary["thresholds"]);
}
