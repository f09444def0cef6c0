//! What a live run does as one in virtual time does. Runs in virtual time alone are in `cases`.

use crate::program::{found, lab_with, printed};

#[test]
fn retry_after_of_the_service_spaces_retries_live_as_in_virtual_time() {
    let folder = tempfile::tempdir().expect("a folder");
    // A tenth of the requests is let in. Who is refused asks again at once, up to five times, or after the seconds that the service says.
    let file = "
name: advice
target: {app: emulated, service: 1ms, servers: 4}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  timeout: 5s
  retry_after: 30s
  on_reject: {then: retry, attempts: 5}
  phases: [{name: all, requests: 50/s, for: 3s}]
arms:
  - fixed-rate: {as: plain, rate: 5/s}
  - fixed-rate: {as: advised, rate: 5/s, target: {retry_after: 2s}}
";
    for mode in [&["--virtual"][..], &[]] {
        let args = [&["run", "x.yaml", "--no-tui", "--output", "json"], mode].concat();
        let summary = found(&lab_with(folder.path(), file, &args));
        let retries = |arm: usize| summary["arms"][arm]["phases"][0]["retries"].as_u64().expect("a count");
        // Within three seconds one retry after two is left of five.
        assert!(retries(0) > 3 * retries(1) && retries(1) > 10, "{mode:?}: {} and {}", retries(0), retries(1));
    }
}

const CLASSES: &str = "
name: plans
target: {app: emulated, service: 2ms, servers: 2, workers: 2, class: {header: X-Plan}, class_work: {1: 40}}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  timeout: 20s
  phases: [{name: all, for: 3s, loads: [{requests: 10/s}, {requests: 4/s, class: 1}]}]
arms: [none]
";

/// A request of class 1 is forty times the work: its times show which class the service took it for.
#[test]
fn users_say_their_class_in_the_header_that_the_service_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    for world in [&["--virtual"][..], &[]] {
        let out = format!("out-{}", world.len());
        let command = [&["run", "x.yaml", "--output", "json", "--out", &out], world].concat();
        let summary = printed(&lab_with(folder.path(), CLASSES, &command));
        let p50 = |class: &str| summary["arms"][0]["phases"][0]["by_class"][class]["response_time_ms"]["p50"].as_f64();
        let (plain, paying) = (p50("0").expect("answers"), p50("1").expect("answers"));
        // 80 ms of work against 2: the same on a machine that is slow to both.
        assert!(paying - plain > 50.0, "{world:?}: {plain} ms and {paying} ms");
    }
}
