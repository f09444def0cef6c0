//! Live runs of seconds, as a person starts them: shape, never speed.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use serde_json::Value;

use crate::{
    program::{self, found, json, signal, wait_until},
    proxy::proxied::get,
    served::Kept,
};

const EXPERIMENT: &str = "
name: short
about: an emulated service with one server
target: {app: emulated, service: 5ms, servers: 1}
objective: {percentile: 90, response_time: 5s}
users:
  model: url
  think: 20ms
  timeout: 20s
  phases:
    - {name: calm, users: 2, for: 1s}
    - {name: busy, users: 40, for: 2s}
arms: [none, {concurrency: {max: 4}}]
declares: [closed-overload]
thresholds:
  - none.busy.rejected == 0
  - concurrency.busy.rejected > 0
";

/// A folder with the experiment in it.
struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("short.yaml"), EXPERIMENT).expect("written");
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn lab(&self) -> Command {
        program::lab_in(self.path())
    }

    fn run(&self, args: &[&str]) -> Output {
        program::ran(self.path(), args)
    }

    /// Runs it to its end, and gives its summary. A crowded machine may make the measurement INVALID; that the run is whole does not depend
    /// on it.
    #[track_caller]
    fn ran(&self, out: &str, args: &[&str]) -> Value {
        found(&self.run(&[&["run", "short.yaml", "--output", "json", "--out", out], args].concat()))
    }

    /// Starts a run whose second phase lasts so long, and waits until its first second is on disk.
    fn started(&self, out: &str, busy: &str) -> Child {
        let mut command = self.lab();
        command.args(["run", "short.yaml", "--out", out, "--set", &format!("users.phases.busy.for={busy}")]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("lab starts");
        let timeline = self.path().join(out).join("timeline.jsonl");
        wait_until("the first second is recorded", || fs::read(&timeline).is_ok_and(|bytes| bytes.contains(&b'\n')));
        child
    }

    /// Process ids of targets that this scratch's lab process started.
    fn targets_of(parent: u32) -> Vec<u32> {
        let children = format!("/proc/{parent}/task/{parent}/children");
        let text = fs::read_to_string(children).unwrap_or_default();
        text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Every process that lives on this scratch's cache, whoever its parent is now.
    fn processes(&self) -> Vec<u32> {
        let mark = format!("LAB_CACHE={}\0", self.path().join("cache").display());
        let is_ours = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            // The last one has its zero as well. A zombie has no environment any more.
            environment.windows(mark.len()).any(|part| part == mark.as_bytes())
        };
        let listed = fs::read_dir("/proc").expect("readable").flatten();
        listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
    }

    fn json(&self, file: &str) -> Value {
        json(&self.path().join(file))
    }
}

fn exists(pid: u32) -> bool {
    // A zombie that init has not reaped yet is gone for us.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_run_leaves_a_folder_whose_ledgers_agree() {
    let scratch = Scratch::new();
    let printed = scratch.ran("run", &[]);
    assert_eq!(printed, scratch.json("run/summary.json"));
    assert_eq!(printed["partial"], false);
    let arms = printed["arms"].as_array().expect("arms");
    assert_eq!(arms.len(), 2);
    for arm in arms {
        let sum = |key: &str| sum(arm, key);
        let parts = ["served", "served_late", "rejected", "timed_out", "failed", "abandoned", "in_flight"];
        assert_eq!(sum("sent"), parts.iter().map(|part| sum(part)).sum::<u64>());
        let written = sum("sent") + sum("hops");
        assert_eq!(written, arm["server"]["requests_read"].as_u64().expect("a count"));
        assert_eq!(arm["requests"]["written"], written);
        assert_eq!((&arm["server"]["unread"], &arm["requests"]["strange"]), (&0.into(), &0.into()), "{arm}");
        assert!(sum("served") > 10, "{arm}");
    }
    for threshold in printed["thresholds"].as_array().expect("thresholds") {
        // Of an INVALID run nothing is judged, and what was found is there.
        assert_eq!(threshold["held"], printed["valid"], "{threshold}");
        let block = &threshold["blocks"][0];
        assert_eq!(block["held"], printed["valid"], "{threshold}");
        assert!(block["found"].as_str().expect("text").starts_with("found "), "{threshold}");
    }
    let timeline = fs::read_to_string(scratch.path().join("run/timeline.jsonl")).expect("there");
    assert!(timeline.lines().count() >= 6, "a line a second and arm");
    for file in ["none-1.hlog", "concurrency-1.hlog", "events.jsonl", "manifest.json"] {
        assert!(scratch.path().join("run").join(file).is_file(), "{file}");
    }
    let home = std::env::var("HOME").unwrap_or_default();
    let manifest = fs::read_to_string(scratch.path().join("run/manifest.json")).expect("there");
    for secret in [scratch.path().to_str().expect("text"), home.as_str()] {
        assert!(secret.len() < 2 || !manifest.contains(secret), "no absolute path in the manifest: {secret}");
    }
}

#[test]
fn what_a_stage_sends_elsewhere_is_counted_by_its_name_in_both_books() {
    let scratch = Scratch::new();
    let stages = "target.stages={work: {queue: 2, workers: 1, on_refuse: {redirect: http://127.0.0.1:9}}}";
    let arm = &scratch.ran("run", &["--policy", "none", "--set", stages, "--set", "thresholds=[]"])["arms"][0];
    let sum = |key: &str| sum(arm, key);
    let refused = arm["server"]["refused"].as_object().expect("reasons").values();
    let refused: u64 = refused.map(|count| count.as_u64().expect("a count")).sum();
    assert!(refused > 10, "{arm}");
    assert_eq!((sum("elsewhere"), sum("failed"), sum("rejected")), (refused, refused, 0), "{arm}");
    assert_eq!((sum("sent"), sum("hops")), (arm["server"]["requests_read"].as_u64().expect("a count"), 0), "{arm}");
}

#[test]
fn what_a_policy_on_the_users_side_refuses_is_never_sent_and_counted_apart() {
    let scratch = Scratch::new();
    let arms = "arms=[{none: {as: free, client: none}}, {none: {as: own}}, {concurrency: {max: 1, as: sre, client: sre-client}}]";
    let args = [
        "--set",
        "thresholds=[]",
        "--set",
        arms,
        "--set",
        "users.client={concurrency: {max: 2, scope: {group: 20}}}",
        "--set",
        "users.on_reject={then: backoff, base: 10ms, cap: 100ms, attempts: 3}",
        "--set",
        "users.criticality={0: SHEDDABLE}",
    ];
    let summary = scratch.ran("run", &args);
    let arms: BTreeMap<&str, &Value> = summary["arms"]
        .as_array()
        .expect("arms")
        .iter()
        .map(|arm| (arm["name"].as_str().expect("text"), arm))
        .collect();
    let (free, own, sre) = (arms["free"], arms["own"], arms["sre"]);
    assert_eq!((&free["client"], &own["client"]["scope"]), (&Value::Null, &"group of 20".into()));
    assert_eq!((&own["client"]["parameters"]["max"], &sre["client"]["policy"]), (&2.into(), &"sre-client".into()));
    for (arm, refuses) in [(free, false), (own, true), (sre, true)] {
        let sum = |key: &str| sum(arm, key);
        assert_eq!(sum("refused_locally") > 10, refuses, "{arm}");
        let parts = ["unsent", "refused_locally", "connect_failed", "sent"];
        assert_eq!(sum("planned"), parts.iter().map(|part| sum(part)).sum::<u64>(), "{arm}");
        assert_eq!(sum("sent") + sum("hops"), arm["server"]["requests_read"].as_u64().expect("a count"), "{arm}");
    }
    assert_eq!(sum(own, "rejected"), 0);
    assert!(sum(sre, "rejected") > 10, "{sre}");
    let lines = fs::read_to_string(scratch.path().join("run/timeline.jsonl")).expect("there");
    let seconds = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let of_own: u64 = seconds.filter(|s| s["arm"] == "own").filter_map(|s| s["refused_locally"].as_u64()).sum();
    assert_eq!(of_own, sum(own, "refused_locally"));
    let manifest = scratch.json("run/manifest.json");
    assert_eq!(manifest["experiment"]["arms"][1]["client"]["scope"]["group"], 20);
    assert_eq!(manifest["experiment"]["users"]["marks"]["criticality"]["0"], "SHEDDABLE");
}

#[test]
fn connections_that_the_service_ends_as_announced_cost_no_request() {
    let scratch = Scratch::new();
    let set = ["--set", "target.connection_requests=2", "--set", "thresholds=[]"];
    let arm = &scratch.ran("run", &[&["--policy", "none"], &set[..]].concat())["arms"][0];
    let sum = |key: &str| sum(arm, key);
    assert_eq!((sum("failed"), sum("connect_failed"), sum("served") + sum("in_flight")), (0, 0, sum("sent")), "{arm}");
    let connections = arm["server"]["connections_accepted"].as_u64().expect("a count");
    assert!(connections >= sum("sent") / 2, "{connections} connections for {} requests", sum("sent"));
}

#[test]
fn a_phase_that_asks_for_it_begins_with_a_policy_as_new() {
    let scratch = Scratch::new();
    // Response times are far below the target all the time, so the rate only climbs, unless the policy begins anew.
    let arms = "arms=[{seda: {increase_by: 100/s, timeout: 200ms}}]";
    let rates = |out: &str, fresh: bool| {
        let fresh = format!("users.phases.busy.fresh_policy={fresh}");
        let set = ["--set", arms, "--set", &fresh, "--set", "users.phases.calm.for=4s", "--set", "thresholds=[]"];
        scratch.ran(out, &set);
        let lines = fs::read_to_string(scratch.path().join(out).join("timeline.jsonl")).expect("there");
        let seconds = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let rate = |second: &Value| {
            let stages = second["target"]["stages"].as_array()?;
            stages.iter().find_map(|stage| stage["gauges"]["admission_rate_per_s"].as_f64())
        };
        let (mut calm, mut busy) = (Vec::new(), Vec::new());
        for second in seconds {
            match second["phase"].as_str() {
                Some("calm") => calm.extend(rate(&second)),
                Some("busy") => busy.extend(rate(&second)),
                _ => {}
            }
        }
        assert!(calm.len() >= 2 && !busy.is_empty(), "{calm:?} {busy:?}");
        // Gauges are up to a quarter of a second from the second's end: that of the last calm one may be of the new policy.
        (calm.into_iter().fold(0.0, f64::max), busy.into_iter().take(2).fold(f64::INFINITY, f64::min))
    };
    let (reached, kept) = rates("kept", false);
    assert!(reached > 500.0 && kept >= reached, "from {reached} to {kept}");
    let (reached, fresh) = rates("fresh", true);
    assert!(reached > 500.0 && fresh < reached / 2.0, "from {reached} to {fresh}");
}

#[test]
fn two_runs_with_one_seed_have_the_same_plan_and_another_seed_another() {
    let scratch = Scratch::new();
    let plan = |out: &str, seed: &str| {
        scratch.ran(out, &["--policy", "none", "--seed", seed, "--set", "users.phases.busy.for=200ms"]);
        let manifest = scratch.json(&format!("{out}/manifest.json"));
        manifest["blocks"][0]["plan"].as_str().expect("a digest").to_owned()
    };
    let (first, again, other) = (plan("a", "5"), plan("b", "5"), plan("c", "6"));
    assert_eq!(first.len(), 64);
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn an_interrupt_saves_what_was_measured() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let scratch = Scratch::new();
        let mut child = scratch.started("run", "50s");
        let targets = Scratch::targets_of(child.id());
        assert_eq!(targets.len(), 1, "one target at a time");
        signal(name, child.id());
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(code), "SIG{name}");
        let summary = scratch.json("run/summary.json");
        assert_eq!(summary["partial"], true);
        assert_eq!(summary["arms"].as_array().expect("arms").len(), 1);
        assert!(!exists(targets[0]), "the target has been stopped and reaped");
    }
}

#[test]
fn a_killed_run_leaves_no_process_and_readable_files_and_the_next_one_works() {
    let scratch = Scratch::new();
    let mut child = scratch.started("killed", "50s");
    assert_eq!(scratch.processes().len(), 2, "the lab and its target");
    signal("KILL", child.id());
    child.wait().expect("it ends");
    wait_until("no process is left", || scratch.processes().is_empty());
    let found = analysis::Recorded::read(&scratch.path().join("killed")).expect("readable");
    assert!(found.timeline.iter().any(|second| second.served > 0), "{:?}", found.timeline);
    assert!(found.summary.is_none(), "no arm was over");
    next_run_works(&scratch);
}

#[test]
fn a_run_that_is_killed_in_its_second_arm_keeps_the_first() {
    let scratch = Scratch::new();
    let mut command = scratch.lab();
    command.args(["run", "short.yaml", "--out", "killed", "--set", "users.phases.busy.for=500ms"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("lab starts");
    wait_until("the first arm is over", || scratch.path().join("killed/summary.json").exists());
    signal("KILL", child.id());
    child.wait().expect("it ends");
    wait_until("no process is left", || scratch.processes().is_empty());
    let found = analysis::Recorded::read(&scratch.path().join("killed")).expect("readable");
    let summary = found.summary.expect("written when the first arm was over");
    assert!(summary.partial);
    assert_eq!(summary.arms.len(), 1, "{:?}", summary.arms);
    assert!(summary.arms[0].phases.iter().all(|phase| phase.measured.served > 0));
    next_run_works(&scratch);
}

/// A run in the same place, to its end.
fn next_run_works(scratch: &Scratch) {
    let summary = scratch.ran("next", &["--policy", "none", "--set", "users.phases.busy.for=200ms"]);
    assert_eq!(summary["partial"], false);
    assert!(summary["arms"][0]["phases"][0]["served"].as_u64().expect("a count") > 0);
    assert_eq!(scratch.processes(), [0; 0], "nothing is left of it either");
}

#[test]
fn an_arm_whose_target_dies_is_kept_and_marked_and_the_next_one_runs() {
    let scratch = Scratch::new();
    let mut child = scratch.started("run", "3s");
    signal("KILL", Scratch::targets_of(child.id())[0]);
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let summary = scratch.json("run/summary.json");
    let arms = summary["arms"].as_array().expect("arms");
    assert_eq!((arms.len(), &summary["partial"]), (2, &Value::Bool(false)));
    let codes = |arm: &Value| {
        let reasons = arm["reasons"].as_array().expect("reasons").iter();
        reasons.map(|reason| reason["code"].as_str().expect("a code").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((&arms[0]["valid"], &arms[0]["server"]), (&Value::Bool(false), &Value::Null));
    assert!(codes(&arms[0]).contains(&"LEDGER".to_owned()), "{:?}", codes(&arms[0]));
    assert!(arms[1]["server"]["requests_read"].as_u64().expect("a ledger") > 0);
}

#[test]
fn a_failed_threshold_ends_with_4_and_a_folder_that_is_there_with_2() {
    let scratch = Scratch::new();
    let set = ["--set", "users.phases.busy.for=200ms", "--set", "thresholds=[none.busy.rejected > 5]"];
    let args = [&["run", "short.yaml", "--policy", "none", "--out", "run"], &set[..]].concat();
    let output = scratch.run(&args);
    assert!(matches!(output.status.code(), Some(4 | 3)), "{:?} {}", output.status, stderr(&output));
    let again = scratch.run(&args);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("--out"), "{}", stderr(&again));
}

/// A served Arashi, and its URL.
fn served(scratch: &Scratch, args: &[&str]) -> (Kept, String) {
    let mut command = scratch.lab();
    command.arg("serve").args(args).args(["--port", "0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut served = Kept(command.spawn().expect("lab starts"));
    let line = served.first_line();
    let url = line.trim().strip_prefix("serving ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
    (served, url)
}

/// Two mboxes with a message each.
fn two_mboxes(scratch: &Scratch) {
    for n in 1..=2 {
        let mail = format!(
            "From a@example.org Thu Jan  1 00:00:00 2026\nFrom: a@example.org\nTo: b@example.org\nSubject: hello\n\
             Date: Thu, 01 Jan 2026 00:00:00 +0000\nMessage-ID: <{n}@example.org>\n\nA line.\n\n"
        );
        fs::write(scratch.path().join(format!("{n}.mbox")), mail).expect("written");
    }
}

#[test]
fn a_refusal_says_when_to_come_back_and_speaks_to_a_person() {
    let scratch = Scratch::new();
    two_mboxes(&scratch);
    let (_served, url) = served(&scratch, &["--policy", "fixed-rate", "--mail", "1.mbox", "2.mbox"]);
    let address = url.trim_start_matches("http://").parse().expect("an address");
    let refused = (0..2000).map(|_| get(address, "/")).find(|answer| answer.status == 503).expect("a refusal");
    assert_eq!((refused.header("retry-after"), refused.header("x-refused")), (Some("5"), Some("rate")));
    assert!(refused.body.contains("wait for some seconds") && !refused.body.contains("rate"), "{refused:?}");
}

#[test]
fn mail_from_files_is_served_and_loaded() {
    let scratch = Scratch::new();
    two_mboxes(&scratch);
    let (_served, url) = served(&scratch, &["--mail", "1.mbox", "2.mbox"]);
    let output = scratch.run(&["load", &format!("{url}/"), "-c", "2", "-n", "200", "--output", "json"]);
    let found = found(&output);
    assert_eq!(found["served"], 200);
    assert_eq!(found["sent"], 200);

    let beyond = scratch.run(&["load", "http://192.0.2.1/"]);
    assert_eq!(beyond.status.code(), Some(2));
    assert!(stderr(&beyond).contains("--allow-host"), "{}", stderr(&beyond));
}

#[test]
fn serving_an_experiment_solves_for_its_capacity_or_says_why_not() {
    let scratch = Scratch::new();
    let experiment = "
name: mail
target: {app: arashi, mail: {accounts: 12}, capacity: 100000/s}
objective: {response_time: 1s}
users: {model: arashi, phases: [{name: all, users: 1, for: 1s}]}
arms: [none]
";
    fs::write(scratch.path().join("mail.yaml"), experiment).expect("written");
    let output = scratch.run(&["serve", "mail.yaml", "--port", "0"]);
    assert_eq!(output.status.code(), Some(1), "no machine serves that many");
    assert!(stderr(&output).contains("target.capacity"), "{}", stderr(&output));
    let unread = scratch.run(&["serve", "--password-stdin"]);
    assert_eq!(unread.status.code(), Some(2), "there is no account to give it to");
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let scratch = Scratch::new();
    let mut command = scratch.lab();
    let mut child = command
        .args(["policies", "--output", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("lab starts");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    assert_eq!((child.wait().expect("it ends").code(), said.as_str()), (Some(0), ""));
}

fn sum(arm: &Value, key: &str) -> u64 {
    let phases = arm["phases"].as_array().expect("phases");
    phases.iter().map(|phase| phase[key].as_u64().expect("a count")).sum()
}
