//! The program in a real terminal (tmux): screens to choose from, a run as it happens, gone when it is left.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

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
  phases: [{name: steady, users: 4, for: 60s}]
arms: [none]
";

/// A tmux server of its own, ended when dropped.
struct Tmux {
    socket: String,
}

impl Tmux {
    fn start(width: u16, height: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "tmux is missing");
            eprintln!("skipped: tmux is not installed");
            return None;
        }
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let tmux = Self { socket: format!("lab-live-view-{}-{number}", std::process::id()) };
        let (width, height) = (width.to_string(), height.to_string());
        let started = tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", &width, "-y", &height, "sh"]);
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        Some(tmux)
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new("tmux").arg("-L").arg(&self.socket).args(args).output().expect("tmux runs")
    }

    fn type_in(&self, text: &str) {
        assert!(self.run(&["send-keys", text]).status.success());
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Waits until the screen shows all of these.
    fn wait_for(&self, wanted: &[&str]) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if wanted.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no {wanted:?} on the screen:\n{screen}");
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
    }
}

#[test]
fn the_view_is_drawn_while_a_run_goes_on_and_q_stops_it() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    fs::write(scratch.path().join("quick.yaml"), EXPERIMENT).expect("written");
    let Some(tmux) = Tmux::start(100, 30) else { return };
    let lab = env!("CARGO_BIN_EXE_lab");
    let folder = scratch.path().display();
    tmux.type_in(&format!("cd {folder} && {lab} run quick.yaml --out result; echo code=$?"));
    tmux.type_in("Enter");
    // The clock stands still at "0 s" until seconds come in; a user is counted only in one that did.
    tmux.wait_for(&["arm 1 of 1: none", "[steady 60 s", "4 users", "in time", "generator CPU", "q stop and save"]);
    tmux.type_in("?");
    tmux.wait_for(&["this help"]);
    tmux.type_in("q");
    let after = tmux.wait_for(&["code=130"]);
    assert!(!after.contains("q stop and save"), "the view is still there:\n{after}");
    assert!(after.contains("PARTIAL"), "what was measured is not shown:\n{after}");
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
    let short = EXPERIMENT.replace("for: 60s", "for: 3s").replace("service: 1ms", "service: {exponential: 5ms}");
    fs::write(scratch.path().join("mine.yaml"), short).expect("written");
    let Some(tmux) = Tmux::start(110, 34) else { return };
    let lab = env!("CARGO_BIN_EXE_lab");
    let folder = scratch.path().display();
    tmux.type_in(&format!("cd {folder} && {lab}; echo code=$?"));
    tmux.type_in("Enter");
    tmux.wait_for(&["choose an experiment", "mine.yaml", "flash-crowd"]);
    // The file of this folder comes first.
    tmux.type_in("/");
    tmux.type_in("mine");
    tmux.type_in("Enter");
    tmux.wait_for(&["1 found", "a service of one millisecond"]);
    tmux.type_in("Enter");
    tmux.wait_for(&["[x] none", "[ ] codel", "1 arms x 1 = seconds"]);
    // A second policy: the one below.
    tmux.type_in("Down");
    tmux.type_in("Space");
    tmux.wait_for(&["2 arms x 1"]);
    tmux.type_in("Enter");
    tmux.wait_for(&["offered/s", "left right figure"]);
    tmux.type_in("Down");
    tmux.wait_for(&["fixed-rate, in time/s against none: ~ x"]);
    // The same, live.
    tmux.type_in("Escape");
    tmux.wait_for(&["2 arms x 1"]);
    tmux.type_in("v");
    tmux.wait_for(&["[live]"]);
    tmux.type_in("Enter");
    tmux.wait_for(&["arm 1 of 2", "generator CPU"]);
    tmux.wait_for(&["offered/s", "left right figure"]);
    tmux.type_in("Escape");
    tmux.type_in("Escape");
    tmux.wait_for(&["choose an experiment"]);
    tmux.type_in("r");
    tmux.wait_for(&["2 in runs/", "virtual", "live"]);
    tmux.type_in("q");
    let after = tmux.wait_for(&["code=0"]);
    assert!(!after.contains("in runs/"), "the screen is still there:\n{after}");
}

/// The terminal goes away (its window is closed): the program ends, and does not spin on a terminal that is not there.
#[test]
fn without_its_terminal_it_ends() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let Some(tmux) = Tmux::start(100, 30) else { return };
    let (lab, folder) = (env!("CARGO_BIN_EXE_lab"), scratch.path().display());
    tmux.type_in(&format!("cd {folder} && sh -c 'echo $$ > pid; exec {lab}'"));
    tmux.type_in("Enter");
    tmux.wait_for(&["choose an experiment"]);
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
