//! A capacity that is solved for with the users of a fitted model.

use std::fs;

use super::{done, json};

/// Users who pause for ten seconds between a page and the next.
const SLOW: &str = "
version: 2
name: slow
source: a test
start: login
transitions:
  login: {list folders: 1.0}
  list folders: {list messages: 1.0}
  list messages: {show message: 0.7, login: 0.3}
  show message: {list messages: 1.0}
think: {}
think_to:
  login: {list folders: {constant: 10s}}
  list folders: {list messages: {constant: 10s}}
  list messages: {show message: {constant: 10s}, login: {constant: 10s}}
  show message: {list messages: {constant: 10s}}
";

#[test]
fn a_capacity_is_solved_for_without_the_pauses_of_a_fitted_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("slow.yaml"), SLOW).expect("written");
    let experiment = "
name: slow
target: {app: arashi, capacity: 45/s}
objective: {percentile: 90, response_time: 1s}
users: {model: slow.yaml, phases: [{name: all, users: 10, for: 30s, steady: false}]}
arms: [none]
";
    fs::write(at.join("run.yaml"), experiment).expect("written");
    done(at, &["run", "run.yaml", "--virtual", "--out", "out"]);
    let summary = json(&fs::read_to_string(at.join("out/summary.json")).expect("a summary"));
    let capacity = &summary["capacity"];
    assert!(capacity["steps"][0]["measured_per_s"].as_f64() > Some(500.0), "{capacity}");
    assert!(capacity["operations"].as_f64() > Some(1.0), "{capacity}");
}
