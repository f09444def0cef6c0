//! What a live run does as one in virtual time does. Runs in virtual time alone are in `cases`.

use serde_json::Value;

use crate::program::{found, lab_with, printed, told};

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

/// A service of tasks of two servers that do 100/s each, asked for 300/s: an arm of one of two services.
fn tasks(of_service: &str, arms: &str) -> String {
    format!(
        "
name: tasks
target: {{app: tree, batch: 1, queue: 100000, services: {{work: {{service: {{exponential: 20ms}}, servers: 2, workers: 2, tasks: 2{of_service}}}}}}}
objective: {{percentile: 90, response_time: 200ms}}
users:
  model: url
  timeout: 2s
  on_reject: {{then: leave}}
  on_failure: {{then: leave}}
  phases: [{{name: all, requests: 300/s, for: 60s}}]
arms: [{arms}]
"
    )
}

#[test]
fn what_an_autoscaled_arm_could_serve_is_what_its_own_tasks_can() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = ["run", "x.yaml", "--virtual", "--output", "json", "--out"];
    let of = |out: &str, service: &str, arms: &str| {
        printed(&lab_with(folder.path(), &tasks(service, arms), &[&command[..], &[out]].concat()))
    };
    let fixed = of("fixed", "", "none, blind");
    // Use is never over 1: no task comes or goes, and the bound is that of two tasks.
    let idle = of("idle", ", autoscale: {min: 2, max: 4, utilization: 1, start: 10s}", "none");
    let of_blind = |run: &Value| run["arms"][0]["phases"][0]["of_blind"].as_f64().expect("a share");
    assert_eq!(of_blind(&fixed), of_blind(&idle));
    assert_eq!(fixed["arms"][1]["phases"][0]["goodput_per_s"], idle["arms"][0]["blind_per_s"]["all"]);
    // Who lets all in has a third task from 20 s on, and a fourth from 40 s on; two at half of their use (each lets 50/s in) want no further one.
    let service = ", autoscale: {max: 4, utilization: 0.7, period: 5s, start: 10s}";
    let scaled = of("scaled", service, "none, fixed-rate: {rate: 50/s}");
    let bound = |arm: usize| scaled["arms"][arm]["blind_per_s"]["all"].as_f64().expect("a rate");
    assert!(bound(0) > 250.0 && (195.0..206.0).contains(&bound(1)), "{} and {}", bound(0), bound(1));
    let rechecked = lab_with(folder.path(), &tasks("", "none"), &["recheck", "scaled"]);
    assert_eq!(rechecked.status.code(), Some(0), "{}", told(&rechecked));
}
