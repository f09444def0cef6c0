//! `lab replay`, run as a person runs it.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

fn lab(folder: &Path, args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_lab")).args(args).current_dir(folder).output().expect("lab runs")
}

/// A folder with a trace of 60 sessions.
fn with_trace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let made =
        lab(folder.path(), &["trace", "generate", "arashi", "-o", "t.trace.zst", "--sessions", "60", "--rate", "5"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    folder
}

fn replayed(folder: &Path, args: &[&str]) -> Value {
    let all = [&["replay", "t.trace.zst", "--virtual", "--no-tui", "--output", "json"], args].concat();
    let output = lab(folder, &all);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn count(summary: &Value, arm: usize, what: &str) -> f64 {
    summary["arms"][arm]["phases"][0][what].as_f64().expect(what)
}

#[test]
fn a_trace_is_replayed_at_its_own_speed_and_faster() {
    let folder = with_trace();
    let own = replayed(folder.path(), &["--out", "own"]);
    let fast = replayed(folder.path(), &["--speed", "10", "--out", "fast"]);
    assert!(count(&own, 0, "planned") > 200.0, "{own}");
    // What is under way when the time is over ends there: a faster replay may lose a few requests at its end, and no more.
    assert!(count(&fast, 0, "planned") > 0.9 * count(&own, 0, "planned"));
    let ratio = count(&own, 0, "seconds") / count(&fast, 0, "seconds");
    // Each has a second more, for the answer to the last request.
    assert!((4.0..10.0).contains(&ratio), "{ratio}");
    let twice = replayed(folder.path(), &["--copies", "2", "--out", "twice"]);
    assert!(count(&twice, 0, "planned") > 1.8 * count(&own, 0, "planned"));
}

#[test]
fn policies_are_compared_on_the_same_trace() {
    let folder = with_trace();
    let args =
        ["--speed", "20", "--capacity", "100", "--policy", "none", "--policy", "queue-length", "--policy", "seda"];
    let first = replayed(folder.path(), &[&args[..], &["--out", "a"]].concat());
    let again = replayed(folder.path(), &[&args[..], &["--out", "b"]].concat());
    assert_eq!(first["arms"].as_array().map(Vec::len), Some(3));
    assert_eq!(first["arms"], again["arms"], "the same trace, the same run");
    // The manifest names the trace by its last name and digest: no folders.
    let manifest = fs::read_to_string(folder.path().join("a/manifest.json")).expect("there is one");
    assert!(manifest.contains("t.trace.zst") && manifest.contains("sha256"), "{manifest}");
    assert!(!manifest.contains(folder.path().to_str().expect("text")));
}

#[test]
fn what_is_no_trace_is_said_and_nothing_is_run() {
    let folder = with_trace();
    fs::write(folder.path().join("x"), "hello\n").expect("written");
    for (args, word) in [
        (&["x"][..], "lab trace import"),
        (&["nowhere"][..], "nowhere"),
        (&["t.trace.zst", "--from", "9h"][..], "no session in this window"),
        (&["t.trace.zst", "--speed", "0"][..], "0.1"),
        (&["t.trace.zst", "--target", "http://example.com/{action}"][..], "--allow-host"),
    ] {
        let output = lab(folder.path(), &[&["replay"], args].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: {said}");
        assert!(!folder.path().join("runs").exists());
    }
}
