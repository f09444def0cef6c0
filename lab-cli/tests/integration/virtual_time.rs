//! `lab run --virtual`, run as a person runs it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;

use crate::program;

fn lab(folder: &Path, args: &[&str]) -> Output {
    program::lab().args(args).current_dir(folder).output().expect("lab runs")
}

/// A spike of 300 users, on a service of 100 requests a second.
const SHORT: [&str; 6] =
    ["--set", "users.phases.before.for=3s", "--set", "users.phases.spike.users=300", "--set", "thresholds=[]"];

fn run(folder: &Path, out: &str, more: &[&str]) -> (Value, PathBuf) {
    let args = [&["run", "flash-crowd", "--virtual", "--out", out, "--output", "json"], &SHORT[..], more].concat();
    let output = lab(folder, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).expect("JSON"), folder.join(out))
}

#[test]
fn one_seed_gives_the_same_bytes_and_another_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (summary, first) = run(folder.path(), "a", &["--seed", "3"]);
    let (_, second) = run(folder.path(), "b", &["--seed", "3"]);
    let (_, other) = run(folder.path(), "c", &["--seed", "4"]);
    for file in ["summary.json", "timeline.jsonl", "events.jsonl", "manifest.json", "seda-1.hlog"] {
        let read = |folder: &Path| fs::read(folder.join(file)).expect(file);
        assert!(read(&first) == read(&second), "{file} differs between two runs of one seed");
        assert!(file == "events.jsonl" || read(&first) != read(&other), "{file} does not depend on the seed");
    }
    assert_eq!((&summary["mode"], &summary["verdict"]), (&Value::from("virtual"), &Value::from("VALID")));
    assert_eq!(summary["arms"].as_array().map(Vec::len), Some(4));
    for arm in summary["arms"].as_array().expect("arms") {
        let read = arm["server"]["requests_read"].as_u64().expect("a count");
        let sent: u64 =
            arm["phases"].as_array().expect("phases").iter().map(|p| p["sent"].as_u64().expect("sent")).sum();
        let unread = arm["server"]["unread"].as_u64().expect("a count");
        assert_eq!(read + unread, sent, "{}: both ledgers", arm["policy"]);
    }
}

#[test]
fn without_control_the_crowd_waits_and_with_it_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (summary, _) = run(folder.path(), "run", &["--policy", "none", "--policy", "seda"]);
    let spike = |arm: usize| summary["arms"][arm]["phases"][1].clone();
    let p90 = |phase: &Value| phase["response_time_ms"]["p90"].as_f64().expect("known");
    let (none, seda) = (spike(0), spike(1));
    assert!(p90(&none) > 2.0 * p90(&seda), "{} against {}", p90(&none), p90(&seda));
    assert!(seda["reject_fraction"].as_f64() > Some(0.2), "{}", seda["reject_fraction"]);
    assert_eq!(none["rejected"], 0);
}

#[test]
fn a_plant_of_a_debug_build_is_said_to_be_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let plant = "measured: \"2026-11-25, debug build, of no use: lab calibrate shop.yaml\"\n\
                 service: {servers: 4, requests: [{path: /, ms: 20}]}\n";
    fs::write(folder.path().join("plant.yaml"), plant).expect("written");
    let file = "name: shop\ntarget: {url: \"http://127.0.0.1:9\", concurrency: 4}\nobjective: {response_time: 1s}\n\
                users: {model: url, phases: [{name: calm, requests: 0.5x, for: 5s}]}\narms: [none]\nvirtual: {plant: plant.yaml}\n";
    fs::write(folder.path().join("shop.yaml"), file).expect("written");
    let output = lab(folder.path(), &["run", "shop.yaml", "--virtual", "--out", "run"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("PLANT") && text.contains("calibrate"), "{text}");
    let summary = fs::read_to_string(folder.path().join("run/summary.json")).expect("written");
    assert!(serde_json::from_str::<Value>(&summary).is_ok_and(|whole| whole["verdict"] == "WARN"), "{summary}");
    assert!(lab(folder.path(), &["recheck", "run"]).status.success(), "the record has it too");
}

#[test]
fn an_arm_may_change_the_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let phases = "users.phases=[{name: over, requests: 200/s, for: 20s}]";
    let arms =
        "arms=[queue-length: {max: 10}, queue-length: {as: slower, max: 10, target: {service: {exponential: 20ms}}}]";
    let args = ["run", "overload-sweep", "--virtual", "--set", phases, "--set", arms, "--set", "thresholds=[]"];
    let output = lab(folder.path(), &[&args[..], &["--out", "run", "--output", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let count = |arm: usize, what: &str| summary["arms"][arm]["phases"][0][what].as_f64().expect("a count");
    let served = |arm: usize| count(arm, "served") + count(arm, "served_late");
    // Work of twice the length on the same arrivals: half is served, but for the few jobs that wait at the end.
    let ratio = served(1) / served(0);
    assert!((0.47..0.53).contains(&ratio), "{ratio}");
    assert_eq!(summary["arms"][1]["parameters"]["target.service"]["exponential"], "20ms");
    assert!(summary["noise_floor"].is_null(), "the two arms are no twins: {}", summary["noise_floor"]);
}

/// The experiment as it is written, with seed 1: the claims by whether they hold.
fn claims(id: &str, more: &[&str]) -> Vec<(String, bool)> {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lab(folder.path(), &[&["run", id, "--virtual", "--output", "json"], more].concat());
    assert!(matches!(output.status.code(), Some(0 | 4)), "{id}: {}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(summary["valid"], true, "{id}: {}", summary["reasons"]);
    let thresholds = summary["thresholds"].as_array().expect("claims");
    let held = |claim: &Value| (claim["text"].as_str().expect("words").to_owned(), claim["held"] == true);
    thresholds.iter().map(held).collect()
}

#[test]
fn stages_that_ask_for_less_are_heard_at_dispatch_and_back_pressure_is_seen_there() {
    for (claim, held) in claims("upstream", &["--set", "users.phases.crowd.for=5s"]) {
        let at_dispatch = claim.contains("dispatch.refused.sum > 0") || claim.contains("dispatch.queue");
        assert!(held || !at_dispatch, "{claim}");
    }
}

#[test]
fn a_monitor_of_the_cpu_is_heard_by_the_stage() {
    // What does not hold is told in docs/experiments.md.
    let failed: Vec<_> = claims("monitor", &[]).into_iter().filter(|(_, held)| !held).collect();
    assert_eq!(failed.len(), 2, "{failed:#?}");
}

#[test]
fn arrivals_that_their_own_policy_refuses_are_not_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let phases = "users.phases=[{name: over, requests: 200/s, for: 30s}]";
    let arms = "arms=[none: {client: {fixed-rate: {rate: 20, depth: 1}}}]";
    let args = ["run", "overload-sweep", "--virtual", "--set", phases, "--set", arms, "--set", "thresholds=[]"];
    let output = lab(folder.path(), &[&args[..], &["--out", "run", "--output", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let arm = &summary["arms"][0];
    let count = |what: &str| arm["phases"][0][what].as_u64().expect("a count");
    assert!(count("refused_locally") > 5 * count("sent") && count("sent") > 400, "{}", arm["phases"][0]);
    let found = &arm["phases"][0]["measures"]["arrivals"];
    assert!(found["per_window"].as_f64().is_some_and(|mean| (18.0..22.0).contains(&mean)), "{found}");
    let reasons = arm["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().all(|reason| reason["code"] != "ARRIVALS"), "{reasons:?}");
}

#[test]
fn repetitions_have_seeds_of_their_own_and_come_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let (summary, out) = run(folder.path(), "run", &["--repeat", "4", "--policy", "none", "--policy", "seda"]);
    let arms = summary["arms"].as_array().expect("arms");
    let order: Vec<(u64, &str)> = arms
        .iter()
        .map(|arm| (arm["block"].as_u64().expect("a block"), arm["policy"].as_str().expect("a name")))
        .collect();
    let wanted: Vec<(u64, &str)> = (1..=4).flat_map(|block| [(block, "none"), (block, "seda")]).collect();
    assert_eq!(order, wanted);
    let manifest: Value = serde_json::from_slice(&fs::read(out.join("manifest.json")).expect("read")).expect("JSON");
    let plans: std::collections::BTreeSet<_> =
        manifest["blocks"].as_array().expect("blocks").iter().map(|block| block["plan"].to_string()).collect();
    assert_eq!(plans.len(), 4, "each block has a plan of its own");
    assert_eq!(manifest["mode"], "virtual");
}

#[test]
fn a_pause_of_the_service_shows_and_a_slip_in_it_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let pause = ["--policy", "none", "--set", "virtual.faults=[{at: 1s, for: 1500ms, capacity: 0}]"];
    let (with, _) = run(folder.path(), "with", &pause);
    let (without, _) = run(folder.path(), "without", &["--policy", "none"]);
    let slowest = |summary: &Value| summary["arms"][0]["phases"][0]["response_time_ms"]["max"].as_f64().expect("known");
    assert!(slowest(&with) > 1400.0 && slowest(&without) < 1000.0, "{} {}", slowest(&with), slowest(&without));
    let slip = ["run", "flash-crowd", "--virtual", "--set", "virtual.faults=[{at: 1s, for: 1s, capasity: 0}]"];
    let output = lab(folder.path(), &slip);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).expect("text");
    assert!(message.contains("capasity") && message.contains("capacity"), "{message}");
}

/// Two services in a chain, the second of which can do 50 requests a second and lets five wait.
const CHAIN: &str = "
name: chain
target:
  app: tree
  services:
    front: {service: 1ms, workers: 64, servers: 8, calls: [{to: back, attempts: 2}]}
    back: {service: 20ms, workers: 1, batch: 1, tasks: 1}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  on_reject: {then: leave}
  phases: [{name: calm, requests: 0.5x, for: 10s}, {name: much, requests: 4x, for: 10s}]
arms: [none: {as: chain, services: {back: {queue-length: {max: 5}}}}]
thresholds:
  - chain.much.gauge.\"front/calls back\".retries.sum > 100
  - chain.calm.response_time.p50 between 21ms and 60ms
  - chain.much.reject_fraction > 0.5
";

#[test]
fn services_that_call_each_other_run_in_virtual_time_and_their_books_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("chain.yaml"), CHAIN).expect("written");
    let run = |out: &str| {
        let args = ["run", "./chain.yaml", "--virtual", "--out", out, "--output", "json"];
        let output = lab(folder.path(), &args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let (first, second) = (run("a"), run("b"));
    assert!(first == second, "two runs differ");
    let summary: Value = serde_json::from_slice(&first).expect("JSON");
    assert_eq!(summary["verdict"], "VALID");
    let services = summary["arms"][0]["server"]["services"].as_array().expect("services").clone();
    let made = &services[0]["calls"][0];
    assert_eq!(made["to"], "back");
    assert_eq!(made["written"], services[1]["calls_read"]);
    assert!(made["retries"].as_u64() > Some(100), "{made}");
}

#[test]
fn a_fault_of_one_service_leaves_the_others_alone_and_a_slip_in_it_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let calm = CHAIN
        .split("thresholds:")
        .next()
        .expect("before them")
        .replace("0.5x, for: 10s}, {name: much, requests: 4x", "0.5x");
    let try_out = |target: &str, hit: &str| {
        let faults = format!("virtual: {{faults: [{{at: 0s, for: 10s, capacity: 0.5{hit}}}]}}\n");
        fs::write(folder.path().join("chain.yaml"), format!("{target}{faults}")).expect("written");
        lab(folder.path(), &["run", "./chain.yaml", "--virtual", "--output", "json"])
    };
    let p50 = |hit: &str| {
        let output = try_out(&calm, hit);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        summary["arms"][0]["phases"][0]["response_time_ms"]["p50"].as_f64().expect("known")
    };
    // 1 ms and 20 ms, where half of what the back can do is asked for: at half its speed all of it is.
    let (all, front, back) = (p50(""), p50(", service: front"), p50(", service: back"));
    assert!(front < 40.0 && back > 2.0 * front && all > back, "{all} {front} {back}");
    for (target, hit, says) in [
        (calm.as_str(), "bakc", "one of front, back"),
        (
            "name: one\ntarget: {app: emulated, service: 10ms}\nobjective: {response_time: 1s}\n\
          users: {model: url, path: /, phases: [{name: all, users: 1, for: 1s}]}\narms: [none]\n",
            "back",
            "app: tree",
        ),
    ] {
        let output = try_out(target, &format!(", service: {hit}"));
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("virtual.faults.service: ") && message.contains(&format!("{hit:?}")), "{message}");
        assert!(message.contains(says) && message.contains("chain.yaml:"), "{message}");
    }
}

#[test]
fn what_only_virtual_time_can_do_is_refused_live() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("chain.yaml"), format!("{CHAIN}virtual: {{only: true}}\n")).expect("written");
    for args in [["run", "./chain.yaml"], ["run", "sre-throttle"]] {
        let output = lab(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let message = String::from_utf8(output.stderr).expect("text");
        assert!(message.contains("--virtual"), "{message}");
    }
    let slip = CHAIN.replace("to: back", "to: bakc");
    fs::write(folder.path().join("slip.yaml"), slip).expect("written");
    let output = lab(folder.path(), &["check", "./slip.yaml"]);
    let message = String::from_utf8(output.stderr).expect("text") + &String::from_utf8_lossy(&output.stdout);
    assert!(message.contains("no service below this one is called \"bakc\"") && message.contains("back"), "{message}");
}

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
    fs::write(folder.path().join("advice.yaml"), file).expect("written");
    for mode in [&["--virtual"][..], &[]] {
        let args = [&["run", "advice.yaml", "--no-tui", "--output", "json"], mode].concat();
        let output = lab(folder.path(), &args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{mode:?}: {said}");
        let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let retries = |arm: usize| summary["arms"][arm]["phases"][0]["retries"].as_u64().expect("a count");
        // Within three seconds one retry after two is left of five.
        assert!(retries(0) > 3 * retries(1) && retries(1) > 10, "{mode:?}: {} and {}", retries(0), retries(1));
    }
}

/// 5 ms, and 2 s for one in twenty, of which users wait 1 s, three times.
const HEAVY: &str = "
name: heavy
target: {app: emulated, service: {bimodal: {short: 5ms, long: 2s, long_share: 0.05}}, servers: 64, workers: 64}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  timeout: 1s
  on_failure: {then: retry, attempts: 3}
  phases: [{name: all, requests: 20/s, for: 300s}]
arms: [none]
";

#[test]
fn a_heavy_request_is_heavy_again_unless_each_attempt_draws_anew() {
    let amplification = |redraw: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("heavy.yaml"), HEAVY.replace("  timeout: 1s", &format!("  timeout: 1s{redraw}")))
            .expect("written");
        let mut command = program::lab();
        command.args(["run", "heavy.yaml", "--virtual", "--out", "out"]).current_dir(folder.path());
        assert!(command.output().expect("lab runs").status.code().is_some());
        let read = fs::read(folder.path().join("out/summary.json")).expect("read");
        let found: serde_json::Value = serde_json::from_slice(&read).expect("JSON");
        let all = &found["arms"][0]["phases"][0];
        (all["measures"]["amplification"].as_f64().expect("a number"), all["goodput_per_s"].as_f64().expect("a number"))
    };
    // One in twenty is tried three times, and never answered: 1 + 0.05 * 2.
    let (same, goodput) = amplification("");
    assert!((same - 1.1).abs() < 0.01 && (goodput - 19.0).abs() < 0.3, "{same} {goodput}");
    // Drawn anew, one in twenty of them is heavy again: 1 + 0.05 + 0.0025.
    let (anew, _) = amplification("\n  redraw: true");
    assert!((anew - 1.0525).abs() < 0.01, "{anew}");
}
