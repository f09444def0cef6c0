//! Experiments on a service that is not the lab's, as a person runs them: shape, never speed.

mod carried;
mod pages;
mod proxies;
mod secure;
mod service;
mod there_already;
mod ticket;

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

use self::there_already::Running;
use crate::program::{self, json, lab_in as lab, wait_until};

fn ran(command: &mut Command) -> (Output, String, String) {
    let output = command.output().expect("lab runs");
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output, out, err)
}

/// An experiment on this service, under these arms.
fn experiment(folder: &Path, target: &str, arms: &str) {
    let text = format!(
        "name: mine\ntarget: {{{target}}}\nobjective: {{percentile: 90, response_time: 200ms}}\nusers:\n  model: url\n  \
         paths: [{{name: page, path: /page, weight: 9}}, {{name: order, method: POST, path: /order, body: secret=1}}]\n  \
         timeout: 500ms\n  drain: 1s\n  on_reject: {{then: backoff, attempts: 3}}\n  on_failure: {{then: backoff, attempts: 3}}\n  \
         phases: [{{name: calm, requests: 40/s, for: 1s}}, {{name: overload, requests: 400/s, for: 3s}}]\narms: {arms}\n"
    );
    fs::write(folder.join("mine.yaml"), text).expect("written");
}

/// These findings say that other programs took processor time.
fn busy(findings: &str) -> bool {
    ["CROWDED", "NOISE", "STARVED", "HICCUP", "STEAL", "THROTTLED"].iter().any(|code| findings.contains(code))
}

/// Processes with this word among their arguments.
fn marked(mark: &str) -> Vec<u32> {
    let has = |pid: &u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == mark.as_bytes())
    };
    let all = fs::read_dir("/proc").expect("Linux").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(has).collect()
}

#[test]
fn arms_are_compared_on_a_service_that_is_started_for_each_and_gone_after_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = format!("mark-a-{}", std::process::id());
    let metrics = "metrics: {read: {queue: 'pool_waiting{pool=\"pages\"}', pages_per_s: pages_total, idle: pool_idle}}";
    let target = format!(
        "command: \"{}\", ready: /health, reset: \"touch reset\", concurrency: 4, {metrics}",
        service::command(&mark)
    );
    experiment(folder.path(), &target, "[none, gradient2, codel, {none: {as: direct, direct: true}}]");
    let (output, out, err) =
        ran(lab(folder.path()).args(["run", "mine.yaml", "--no-tui", "--out", "run", "--output", "json"]));
    // A busy machine may make it INVALID: its figures are not the point.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    let arms = summary["arms"].as_array().expect("arms");
    assert_eq!(arms.iter().map(|arm| &arm["name"]).collect::<Vec<_>>(), ["none", "gradient2", "codel", "direct"]);
    for arm in arms {
        let direct = arm["name"] == "direct";
        assert_eq!(arm["parameters"]["scope"], "proxy", "{arm}");
        assert!(arm["service"]["cpu"].is_number() && arm["service"]["memory_mb"].as_f64() > Some(1.0), "{arm}");
        assert_eq!((arm["server"].is_null(), arm["service"]["proxy_cpu"].is_null()), (direct, direct), "{arm}");
        assert!(arm["phases"][1]["by_type"]["order"]["sent"].as_u64() > Some(0), "{arm}");
        // Where other programs hold the proxy's processor up, requests time out before it has read them.
        let reasons = arm["reasons"].to_string();
        assert!(busy(&reasons) || !reasons.contains("LEDGER"), "{arm}");
    }
    // Figures are the point where the run says that they can be trusted.
    let trusted = summary["verdict"] != "INVALID";
    assert!(trusted || busy(&out), "{out}");
    let wanted = |what: f64, least: f64| if trusted { what > least } else { what > 0.0 };
    // What the service exports stands beside what clients see, with and without a proxy.
    let timeline = fs::read_to_string(folder.path().join("run/timeline.jsonl")).expect("written");
    let rows = |arm: &str| -> Vec<Value> {
        let seconds = timeline.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let stages = seconds.filter(|second| second["arm"] == arm).map(|second| second["target"]["stages"].clone());
        let all = stages.flat_map(|stages| stages.as_array().cloned().unwrap_or_default());
        all.filter(|stage| stage["name"] == "service").collect()
    };
    let most = |arm: &str, of: &str| rows(arm).iter().filter_map(|row| row["gauges"][of].as_f64()).fold(0.0, f64::max);
    for arm in ["none", "gradient2", "direct"] {
        assert!(wanted(most(arm, "pages_per_s"), 10.0), "{arm}: {timeline}");
    }
    // A proxy that gets no processor passes too little on for a queue.
    assert!(!trusted || most("none", "queue").max(most("direct", "queue")) > 4.0, "{timeline}");
    assert!(err.contains("idle: no series pool_idle so far (there are: pages_total, pool_waiting)"), "{err}");
    assert!(err.contains("never exported: pool_idle"), "{err}");
    let in_time = |at: usize| arms[at]["phases"][1]["goodput_per_s"].as_f64().expect("a rate");
    let refused = |at: usize| arms[at]["phases"][1]["rejected"].as_u64();
    let keeps = in_time(1) > 2.0 * in_time(0) && refused(1) > Some(0);
    assert!(keeps || !trusted, "the limit keeps what nobody's does not: {out}");
    assert_eq!(refused(0), Some(0));
    assert!(folder.path().join("reset").exists());
    assert_eq!(marked(&mark), [0; 0], "it ended with its arm");
    let log = fs::read_to_string(folder.path().join("run/service.log")).expect("kept");
    assert_eq!(log.matches("listening on").count(), 4, "{log}");
    // What a manifest must not say, and that the run can be computed again without the service.
    let manifest = fs::read_to_string(folder.path().join("run/manifest.json")).expect("written");
    for secret in [&mark, "secret=1", "--exact", env!("CARGO_MANIFEST_DIR")] {
        assert!(!manifest.contains(secret), "{secret} in {manifest}");
    }
    let (output, out, err) = ran(lab(folder.path()).args(["recheck", "run"]));
    assert!(output.status.success(), "{out}{err}");
    let (_, text, _) = ran(lab(folder.path()).args(["report", "run", "--format", "md"]));
    assert!(text.contains("gradient2"), "{text}");
}

#[test]
fn a_service_that_fails_is_told_with_its_last_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let failing = |target: &str, args: &[&str], wanted: &[&str]| {
        experiment(folder.path(), target, "[none]");
        let (output, _, err) = ran(lab(folder.path()).args(["run", "mine.yaml", "--no-tui"]).args(args));
        assert_eq!(output.status.code(), Some(1), "{err}");
        wanted.iter().for_each(|wanted| assert!(err.contains(wanted), "{wanted:?} in {err}"));
    };
    let dies = "command: \"sh -c 'echo no database here; exit 3' {port}\"";
    failing(dies, &[], &["sh: it ended with exit status: 3", "no database here", "start it by hand"]);
    failing("command: \"./nowhere {port}\"", &[], &["nowhere: ./nowhere", "No such file"]);
    failing("command: \"true {port}\"", &[], &["exit status: 0", "must stay in the foreground"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().map(|address| (address, taken)).expect("an address");
    let in_use = format!("command: \"sleep 60\", url: \"http://{}\"", taken.0);
    failing(&in_use, &[], &["listens on", "write {port} in its command"]);
    let reset = "command: \"sleep 60 {port}\", reset: \"sh -c 'echo no backup; exit 4'\"";
    failing(reset, &[], &["target.reset ended with exit status: 4", "no backup"]);
    let alive = format!("command: \"{}\", ready: /health", service::command("mark-b"));
    let dies = ["--set", "users.paths=[{path: /die}]", "--out", "died"];
    let when = "it ended during the run (exit status: 7), in arm none, block 1, second ";
    let log = "all that it said is in died/service.log; no arm had ended; what was seen of this one is in died/timeline.jsonl";
    failing(&alive, &dies, &[when, " of 4", "it was told to die", log]);
    let (output, _, err) = ran(lab(folder.path()).args(["report", "died"]));
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("died failed before its first arm ended: ") && err.contains(when), "{err}");
    assert!(err.contains("timeline.jsonl and service.log") && !err.contains("killed"), "{err}");
    let (output, _, err) = ran(lab(folder.path()).args(["recheck", "died"]));
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("it failed or was killed in its first arm"), "{err}");
}

#[test]
fn each_arm_begins_with_a_reset_and_arms_before_a_failure_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = format!("mark-g-{}", std::process::id());
    // Its second start lives for three seconds, of the seven that an arm lasts.
    let dies = "if test -e once; then (sleep 3; kill -9 $$) & fi; touch once";
    let command = format!("sh -c '{dies}; exec {}' {mark}", service::command(&mark));
    let target = format!("command: \"{command}\", ready: /health, reset: \"sh -c 'echo reset >> resets'\"");
    experiment(folder.path(), &target, "[none, gradient2, codel]");
    let run = ["run", "mine.yaml", "--no-tui", "--out", "run", "--set", "users.phases.overload.for=6s"];
    let concurrency = ["--set", "target.concurrency=4"];
    let (output, _, err) = ran(lab(folder.path()).args(run).args(concurrency));
    assert_eq!(output.status.code(), Some(1), "{err}");
    let resets = fs::read_to_string(folder.path().join("resets")).expect("it was run");
    assert_eq!(resets.lines().count(), 2, "the third arm was not begun");
    assert!(err.contains("signal: 9") && err.contains(", block 1, second ") && err.contains(" of 7"), "{err}");
    assert!(err.contains("the arms before it are kept: lab report run"), "{err}");
    let kept = json(&folder.path().join("run/summary.json"));
    let arms = kept["arms"].as_array().expect("arms");
    assert_eq!((arms.len(), &arms[0]["name"], &kept["partial"]), (1, &"none".into(), &true.into()));
    assert!(arms[0]["phases"][0]["served"].as_u64() > Some(0), "{kept}");
}

#[test]
fn whatever_ends_the_lab_ends_the_service_and_what_it_has_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = format!("mark-c-{}", std::process::id());
    // A child in a session of its own, as daemons have it.
    let command = format!("sh -c 'setsid sleep 600 & exec {}' {mark}", service::command(&mark));
    experiment(folder.path(), &format!("command: \"{command}\", ready: /health"), "[none]");
    let slow = ["--set", "users.phases.calm.for=60s"];
    let sleeps = || marked("600").len();
    let others = sleeps();
    for signal in ["INT", "KILL"] {
        let run = lab(folder.path()).args(["run", "mine.yaml", "--no-tui"]).args(slow).stderr(Stdio::null()).spawn();
        let mut run = run.expect("lab runs");
        wait_until("it starts", || !marked(&mark).is_empty() && sleeps() > others);
        thread::sleep(Duration::from_millis(500));
        program::signal(signal, run.id());
        wait_until("it is gone", || marked(&mark).is_empty() && sleeps() == others);
        run.wait().expect("it ends");
    }
}

#[test]
fn a_service_of_several_processes_that_ignore_sigterm_is_measured_whole_and_gone_after_each_arm() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = format!("mark-t-{}", std::process::id());
    // Who answers is a child of the command, and a signal that is ignored stays so in children and over exec.
    let command = format!("sh -c 'trap \\\"\\\" TERM; {} & wait' {mark}", service::command(&mark));
    experiment(folder.path(), &format!("command: \"{command}\", ready: /health"), "[none, gradient2]");
    let short = ["--set", "users.phases.overload.for=3s", "--out", "run"];
    let (output, _, err) = ran(lab(folder.path()).args(["run", "mine.yaml", "--no-tui"]).args(short));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    assert_eq!(marked(&mark), [0; 0], "they ended with the last arm");
    let log = fs::read_to_string(folder.path().join("run/service.log")).expect("kept");
    assert_eq!(log.matches("listening on").count(), 2, "each arm has its own: {log}");
    let summary = json(&folder.path().join("run/summary.json"));
    // CPU time is told in ticks of 10 ms: three seconds of overload take some of them.
    for arm in summary["arms"].as_array().expect("arms") {
        let service = &arm["service"];
        assert!(service["cpu"].as_f64() > Some(0.0) && service["memory_mb"].as_f64() > Some(3.0), "{service}");
        assert!(arm["phases"][0]["served"].as_u64() > Some(0), "{arm}");
    }
}

/// True if what is said before "at once" is near the four requests that the service works on: exact on a quiet machine, and what others take
/// of its processor is time in which it seems to work on more.
fn measured_near_4(said: &str) -> bool {
    let before = said.rsplit_once(" at once").map(|(before, _)| before);
    let number = before.and_then(|before| before.rsplit(' ').next()?.parse::<u32>().ok());
    number.is_some_and(|number| (2..=10).contains(&number))
}

#[test]
fn from_a_written_file_by_way_of_virtual_time_to_the_proxy() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = format!("mark-d-{}", std::process::id());
    let (output, out, err) = ran(lab(folder.path()).args(["init", &service::command(&mark), "-o", "new.yaml"]));
    assert!(output.status.success(), "{err}");
    let said = out.lines().next().unwrap_or_default();
    assert!(said.contains("/, /more") && measured_near_4(said), "{out}");
    assert_eq!(marked(&mark), [0; 0]);
    // Its first line names the schema that was written beside it.
    let written = fs::read_to_string(folder.path().join("new.yaml")).expect("written");
    assert!(!written.contains("ready:"), "its /health says what every page says: {written}");
    let schema = written.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema="));
    let schema = fs::read_to_string(folder.path().join(schema.expect("a line for editors"))).expect("beside it");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    assert!(schema["$id"].as_str().is_some_and(|id| id.starts_with("urn:")), "{}", schema["$id"]);
    assert_eq!(schema["properties"]["users"]["$ref"], "#/$defs/Users");
    let (output, out, err) = ran(lab(folder.path()).args(["check", "new.yaml"]));
    assert!(output.status.success() && out.contains("none, headway, concurrency, gradient2, vegas"), "{out}{err}");
    let (output, out, err) =
        ran(lab(folder.path()).args(["calibrate", "new.yaml", "--repeat", "1", "--for", "2s", "-o", "plant.yaml"]));
    // What else runs on this machine may make it INVALID (3); the plant is written, and says so.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{out}{err}");
    assert!(out.lines().any(|line| line.starts_with("it serves ") && measured_near_4(line)), "{out}");
    let set = ["--set", "virtual.plant=plant.yaml", "--output", "json"];
    let (output, out, err) = ran(lab(folder.path()).args(["run", "new.yaml", "--virtual", "--out", "v"]).args(set));
    assert!(output.status.success(), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    let in_time = |at: usize| summary["arms"][at]["phases"][1]["goodput_per_s"].as_f64().expect("a rate");
    assert!(in_time(3) > 50.0 && in_time(3) > 2.0 * in_time(0), "{out}");
    let (output, out, err) = ran(lab(folder.path()).args(["recheck", "v"]));
    assert!(output.status.success(), "{out}{err}");
    // The best settings again, live, and before the service for good.
    let short = ["--set", "users.phases.calm.for=1s", "--set", "users.phases.overload.for=3s", "--policy", "gradient2"];
    let (output, out, err) =
        ran(lab(folder.path()).args(["run", "new.yaml", "--no-tui", "--output", "json"]).args(short));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let summary: Value = serde_json::from_str(&out).expect("JSON");
    assert!(summary["arms"][0]["phases"][1]["served"].as_u64() > Some(0), "{out}");
    let service = Running::service(&mark);
    let to = format!("http://{}", service.address);
    let before = ["proxy", "--json", "--listen", "127.0.0.1:0", "--to", &to, "--policy", "gradient2"];
    let proxy = Running::proxy(lab(folder.path()).args(before).args(["--set", "limit_max=64"]));
    assert_eq!((proxy.status("/more"), proxy.status("/health")), (200, 200));
}

#[test]
fn the_services_that_come_with_the_lab_have_files_of_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["pool", "cpu"] {
        let file = format!("experiments/services/{name}.yaml");
        let text = fs::read_to_string(root.join(&file)).expect("readable");
        assert!(text.lines().count() <= 15, "{file}");
        let (output, out, err) = ran(lab(&root).env_remove("LAB_CACHE").args(["check", &file]));
        assert!(output.status.success() && out.contains("none, codel, gradient2, vegas"), "{out}{err}");
    }
    if Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let python = "python3 experiments/services/pool.py --port {port}";
        let (output, out, err) = ran(lab(&root).env_remove("LAB_CACHE").args(["init", python, "-o", "-"]));
        assert!(output.status.success() && out.contains("ready: \"/health\""), "{out}{err}");
    }
}
