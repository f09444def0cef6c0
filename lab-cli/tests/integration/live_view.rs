//! The program in a real terminal (tmux): screens to choose from, a run as it happens, the terminal given back when it is left.

mod crowded;
mod leaving;
mod stopping;
mod typing;

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::{program, terminal::Tmux};

/// An emulated service: nothing to prepare, so that the view is up at once.
const EXPERIMENT: &str = "
name: quick
about: a service of one millisecond
target: {app: emulated, service: 1ms}
objective: {percentile: 90, response_time: 100ms}
users:
  model: url
  path: /
  think: 20ms
  drain: 1s
  phases: [{name: steady, users: 4, for: 50s}]
arms: [none]
";

#[test]
fn the_view_is_drawn_while_a_run_goes_on_and_q_stops_it() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    fs::write(scratch.path().join("quick.yaml"), EXPERIMENT).expect("written");
    let Some(tmux) = Tmux::start(100, 30) else { return };
    tmux.lab(scratch.path(), "run quick.yaml --out result");
    tmux.wait_for(&["arm 1 of 1: none", "steady: 4 users", "in time", "generator CPU", "p freeze"]);
    tmux.type_in("?");
    tmux.wait_for(&["this help"]);
    tmux.type_in("q");
    let after = tmux.wait_for(&["code=130"]);
    assert!(!after.contains("p freeze"), "the view is still there:\n{after}");
    // On a busy machine the verdict has so many codes that its line is broken.
    assert!(after.replace('\n', "").contains("PARTIAL"), "what was measured is not shown:\n{after}");
    let summary = fs::read_to_string(scratch.path().join("result/summary.json")).expect("saved");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(summary["partial"], true);
    // In time or late is the machine's affair.
    let answered = ["served", "served_late"].map(|how| summary["arms"][0]["phases"][0][how].as_u64().expect("a count"));
    assert!(answered.iter().sum::<u64>() > 0, "{answered:?}");
    assert!(Path::new(&scratch.path().join("result/timeline.jsonl")).exists());
}

/// From `lab` to a comparison of two policies, by keys alone: first in virtual time, then live, then past runs.
#[test]
fn from_a_choice_to_a_comparison() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let short = EXPERIMENT.replace("for: 50s", "for: 3s").replace("service: 1ms", "service: {exponential: 5ms}");
    fs::write(scratch.path().join("mine.yaml"), short).expect("written");
    let Some(tmux) = Tmux::start(110, 34) else { return };
    tmux.lab(scratch.path(), "");
    tmux.wait_for(&["which setting keeps", "mine.yaml", "flash-crowd"]);
    // The file of this folder comes first.
    tmux.dialog(&[
        ("/ mine.yaml Enter", &["1 found", "a service of one millisecond"]),
        ("Tab", &["[x] none", "[ ] codel", "1 arm x 1 = seconds"]),
        // A second policy: the one below.
        ("Down Space", &["2 arms x 1"]),
        ("Enter", &["who wins in ", "y copy command"]),
        ("Down", &[": what it did "]),
        // The same, live.
        ("Escape", &["2 arms x 1"]),
        ("v", &["[live]"]),
        ("Enter", &["arm 1 of 2", "generator CPU"]),
    ]);
    tmux.wait_for(&["who wins in ", "y copy command"]);
    // One at a time: two that arrive together are another key (Alt-Esc).
    tmux.dialog(&[
        ("Escape", &["2 arms x 1"]),
        ("Escape", &["which setting keeps"]),
        ("r", &["2 in runs/", "virtual", "live"]),
    ]);
    tmux.type_in("q");
    let after = tmux.wait_for(&["code=0"]);
    assert!(!after.contains("in runs/"), "the screen is still there:\n{after}");
}

/// A trace on a terminal: its ways and their pauses, by keys; as text for who wants that.
#[test]
fn a_trace_is_shown_until_it_is_left() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let lab = program::path();
    let made = ["trace", "generate", "arashi", "--sessions", "100", "-o", "made.jsonl.zst"];
    assert!(
        std::process::Command::new(&lab).args(made).current_dir(scratch.path()).status().expect("it runs").success()
    );
    let Some(tmux) = Tmux::start(100, 34) else { return };
    tmux.lab(scratch.path(), "trace inspect made.jsonl.zst");
    tmux.wait_for(&["100 sessions of 10 users", "list messages > show message", "p50 20 ms"]);
    tmux.dialog(&[
        ("Up", &["list folders > show message: 0 of 100"]),
        ("6", &["it was generated, not imported"]),
        ("Escape", &["over time"]),
    ]);
    tmux.type_in("q");
    let after = tmux.wait_for(&["code=0"]);
    assert!(!after.contains("over time"), "the screen is still there:\n{after}");
    tmux.enter(&format!("{lab} trace inspect --no-tui made.jsonl.zst | tail -3"));
    tmux.wait_for(&["search "]);
}

/// A person changes a live run: another policy, more users. Both are done, written down, and held against the run.
#[test]
fn a_live_run_is_touched_and_says_so() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    fs::write(scratch.path().join("mine.yaml"), EXPERIMENT).expect("written");
    let Some(tmux) = Tmux::start(110, 44) else { return };
    let lab = program::path();
    tmux.lab(scratch.path(), "");
    tmux.wait_for(&["which setting keeps", "mine.yaml"]);
    tmux.dialog(&[
        ("/ mine.yaml Enter", &["1 found"]),
        ("Tab", &["[x] none"]),
        ("v", &["[live]"]),
        ("Enter", &["arm 1 of 1: none", "generator CPU"]),
        ("o", &["another policy"]),
    ]);
    tmux.type_in("BSpace");
    tmux.erase(20);
    tmux.dialog(&[
        ("codel", &["codel_"]),
        // The headline says who decides now, and panel 1 what is in time of what can be.
        ("Enter", &["you     policy codel", "arm 1 of 1: none > codel (", " in time ", "/s of "]),
        ("m", &["other machines"]),
    ]);
    tmux.erase(20);
    tmux.enter("{thread-pool: {max: 30, threshold: 0, tick: 100ms}}");
    tmux.wait_for(&["you     machines thread-pool"]);
    tmux.type_in("o");
    tmux.wait_for(&["another policy"]);
    tmux.erase(20);
    tmux.type_in("concurrency");
    tmux.type_in("Tab");
    tmux.erase(20);
    tmux.dialog(&[
        ("client Enter", &["you     policy concurrency at client", "none > concurrency ("]),
        ("s", &["more users", "seconds"]),
    ]);
    tmux.erase(4);
    tmux.dialog(&[("30", &["30_"]), ("Enter", &["you     30 more users for 10 s"])]);
    let runs = fs::read_dir(scratch.path().join("runs")).expect("runs/");
    let run = runs.map(|entry| entry.expect("an entry").path()).next().expect("a run");
    // In its file: on a busy machine ten seconds may pass before the screen is looked at.
    let has_come =
        || fs::read_to_string(run.join("timeline.jsonl")).is_ok_and(|seconds| seconds.contains("\"users\":34,"));
    program::wait_until("a second has 34 users", has_come);
    tmux.dialog(&[
        // Whatever else speaks against it on this machine.
        ("q", &["TOUCHED", "y copy command"]),
        ("q", &["code=0"]),
    ]);
    let events = fs::read_to_string(run.join("events.jsonl")).expect("events");
    let events: Vec<serde_json::Value> = events.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let touches: Vec<&serde_json::Value> = events.iter().filter(|event| event["event"] == "touched").collect();
    assert_eq!(touches.len(), 4, "{events:#?}");
    assert_eq!((&touches[0]["touch"], &touches[0]["name"]), (&"policy".into(), &"codel".into()));
    assert_eq!((&touches[1]["touch"], &touches[1]["machines"][0]["name"]), (&"machines".into(), &"thread-pool".into()));
    assert_eq!((&touches[2]["name"], &touches[2]["at"]), (&"concurrency".into(), &"client".into()));
    assert_eq!((&touches[3]["touch"], &touches[3]["users"]), (&"spike".into(), &30.into()));
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(run.join(name)).expect("saved")).expect("JSON")
    };
    let arm = &read("summary.json")["arms"][0];
    assert_eq!(arm["touches"].as_array().expect("a list").len(), 4);
    assert!(arm["reasons"].as_array().expect("a list").iter().any(|reason| reason["code"] == "TOUCHED"));
    assert_eq!(read("manifest.json")["blocks"][0]["touched"][0], "none");
    let recheck = std::process::Command::new(lab).arg("recheck").arg(&run).output().expect("it runs");
    assert!(recheck.status.success(), "{}", String::from_utf8_lossy(&recheck.stdout));
    // The target was really switched: without a policy a stage shows nothing.
    let timeline = fs::read_to_string(run.join("timeline.jsonl")).expect("a timeline");
    let shown = |line: &str| {
        let second: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let stages = second["target"]["stages"].as_array().cloned().unwrap_or_default();
        stages.iter().any(|stage| stage["name"] == "work" && stage["gauges"].as_object().is_some_and(|g| !g.is_empty()))
    };
    assert!(!timeline.lines().next().is_some_and(shown) && timeline.lines().any(shown), "{timeline}");
}

/// The terminal goes away (its window is closed): the program ends, and does not spin on a terminal that is not there.
#[test]
fn without_its_terminal_it_ends() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let Some(tmux) = Tmux::start(100, 30) else { return };
    let (lab, folder) = (program::path(), scratch.path().display());
    tmux.enter(&format!("cd {folder} && sh -c 'echo $$ > pid; exec {lab}'"));
    tmux.wait_for(&["which setting keeps"]);
    let pid = fs::read_to_string(scratch.path().join("pid")).expect("written");
    let process = Path::new("/proc").join(pid.trim());
    assert!(process.exists());
    drop(tmux);
    let begun = Instant::now();
    while process.exists() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it lives on without a terminal");
        thread::sleep(Duration::from_millis(100));
    }
}
