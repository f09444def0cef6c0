//! Files that look right and would mislead: what they ask for is done, or said before anything runs.

use std::fs;

use serde_json::Value;

use crate::program::{lab_with as lab, told};

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
        let output = lab(folder.path(), CLASSES, &command);
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)));
        let p50 = |class: &str| summary["arms"][0]["phases"][0]["by_class"][class]["response_time_ms"]["p50"].as_f64();
        let (plain, paying) = (p50("0").expect("answers"), p50("1").expect("answers"));
        // 80 ms of work against 2: the same on a machine that is slow to both.
        assert!(paying - plain > 50.0, "{world:?}: {plain} ms and {paying} ms");
    }
}

#[test]
fn what_check_calls_good_can_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = "name: shop\nsource: made up\nstart: home\ntransitions: {home: {home: 1}}\nthink: {}\n";
    fs::write(folder.path().join("shop.yaml"), shop).expect("written");
    let own_pages = "
name: shop
target: {app: arashi}
objective: {response_time: 1s}
users: {model: shop.yaml, phases: [{name: all, users: 2, for: 1s}]}
arms: [none]
";
    let no_mailboxes = own_pages.replace("app: arashi", "app: emulated, service: 1ms").replace("shop.yaml", "arashi");
    for (text, says) in [(own_pages, "web-mail users start at `login`"), (&no_mailboxes, "no mailboxes to sign in to")]
    {
        for command in [&["check", "x.yaml"][..], &["run", "x.yaml", "--virtual", "--out", "out"]] {
            let output = lab(folder.path(), text, command);
            let said = told(&output);
            assert!(output.status.code() == Some(2) && said.contains(says), "{command:?}: {said}");
            assert!(said.contains("x.yaml:5:16: users.model"), "{command:?}: {said}");
            assert!(!folder.path().join("out").exists(), "{command:?} left a folder");
        }
    }
}

const BLOCKS: &str = "
name: blocks
target: {app: emulated, service: {exponential: 5ms}, servers: 1}
objective: {percentile: 90, response_time: 200ms}
users:
  model: url
  think: 20ms
  timeout: 2s
  phases: [{name: busy, users: 40, for: 3s}]
arms: [none, {concurrency: {max: 4}}, {concurrency: {max: 1000, as: unlimited}}, {concurrency: {max: 8, as: eight}}]
repeat: 2
";

/// Two-sided signs over n blocks have no p below 2/2^n, for any number of arms.
#[test]
fn too_few_blocks_to_decide_are_said_before_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = |text: &str| {
        let output = lab(folder.path(), text, &["check", "x.yaml"]);
        assert!(output.status.success(), "{}", told(&output));
        told(&output)
    };
    let said = good(BLOCKS);
    // 2 / 2^2; 2 / 2^5 = 0.0625; 2 / 2^6 = 0.031.
    assert!(said.contains("2 blocks cannot decide anything (the smallest p value is 0.500)"), "{said}");
    assert!(said.contains("repeat: 6 at least"), "{said}");
    assert!(!good(&BLOCKS.replace("repeat: 2", "repeat: 6")).contains("cannot decide"));
    assert!(good(&BLOCKS.replace("repeat: 2", "repeat: 5")).contains("the smallest p value is 0.062"));
    // One block is a description, unless it is there to decide.
    assert!(!good(&BLOCKS.replace("repeat: 2", "repeat: 1")).contains("cannot decide"));
    let decides = BLOCKS.replace("repeat: 2", "compare: {decide: true}");
    assert!(good(&decides).contains("1 block cannot decide"));
    // The same of a number that is typed, by the check and by the run.
    for words in [&["check", "x.yaml"][..], &["run", "x.yaml", "--virtual", "--out", "out"]] {
        let said = told(&lab(folder.path(), &decides, &[words, &["--repeat", "3"]].concat()));
        assert!(said.contains("3 blocks cannot decide anything"), "{said}");
        assert!(said.contains("repeat: 6 at least (--repeat 6)"), "{said}");
    }
}

#[test]
fn an_arm_that_did_what_another_did_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lab(folder.path(), BLOCKS, &["run", "x.yaml", "--virtual", "--out", "out"]);
    let said = told(&output);
    assert!(said.contains("unlimited did exactly what none did, request for request"), "{said}");
    assert!(!said.contains("eight did exactly") && !said.contains("concurrency did exactly"), "{said}");
    let summary: Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/summary.json")).expect("there")).expect("JSON");
    assert_eq!(summary["identical"], serde_json::json!([["none", "unlimited"]]));
    for format in ["md", "html"] {
        let report = lab(folder.path(), BLOCKS, &["report", "out", "--format", format, "-o", "-"]);
        assert!(told(&report).contains("unlimited did exactly what none did"), "{format}");
    }
    let recheck = lab(folder.path(), BLOCKS, &["recheck", "out"]);
    assert_eq!(recheck.status.code(), Some(0), "{}", told(&recheck));
}

const CHANGES: &str = "
name: changes
target: {app: emulated, service: {exponential: 10ms}, servers: 1, queue: 1000}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  timeout: 5s
  on_failure: {then: backoff, attempts: 3}
  phases:
    - {name: calm, requests: 30/s, for: 120s}
    - {name: spike, requests: 150/s, for: 60s}
    - {name: after, requests: 30/s, for: 180s}
    - {name: faulty, requests: 30/s, for: 60s}
virtual: {faults: [{at: 370s, for: 20s, capacity: 0}]}
arms: [none]
";

/// The first seconds of a recovery are what it is about: it takes some 90 s of its 180 here.
#[test]
fn no_warm_up_is_seen_in_a_spike_a_recovery_or_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let warm_ups = |text: &str, out: &str| -> Vec<String> {
        let output = lab(folder.path(), text, &["run", "x.yaml", "--virtual", "--output", "json", "--out", out]);
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)));
        let reasons = summary["reasons"].as_array().expect("reasons").iter();
        let warm_ups = reasons.filter(|reason| reason["code"] == "WARM-UP");
        warm_ups.map(|reason| reason["value"].as_str().expect("text").to_owned()).collect()
    };
    assert_eq!(warm_ups(CHANGES, "changes"), [""; 0]);
    // Where the file says that it is to be steady, it is looked at all the same.
    let steady = CHANGES.replace("{name: after,", "{name: after, steady: true,");
    assert!(warm_ups(&steady, "steady").iter().any(|found| found.starts_with("after: ")));
}
