//! `lab replay`, run as a person runs it.

use std::{fs, path::Path};

use serde_json::Value;

use crate::program;

fn lab(folder: &Path, args: &[&str]) -> std::process::Output {
    program::lab().args(args).current_dir(folder).output().expect("lab runs")
}

/// A folder with a trace of 60 sessions.
fn with_trace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    done(folder.path(), &["trace", "generate", "arashi", "-o", "t.trace.zst", "--sessions", "60", "--rate", "5"]);
    folder
}

fn done(folder: &Path, args: &[&str]) -> String {
    let output = lab(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
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

/// Requests of a trace that is not packed, and seconds until the last of them.
fn extent(trace: &Path) -> (f64, f64) {
    let text = fs::read_to_string(trace).expect("a trace");
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let requests = records.filter(|record| record["t"].is_u64() && record["a"] != "leave");
    requests.fold((0.0, 0.0), |(count, _), record| (count + 1.0, record["t"].as_f64().expect("a number") / 1e6))
}

#[test]
fn a_speed_divides_all_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    // Two minutes and more, so that what a page takes is small against it at any speed.
    done(at, &["trace", "generate", "arashi", "-o", "t.trace.zst", "--sessions", "60", "--rate", "0.5"]);
    done(at, &["trace", "generate", "arashi", "-o", "t.jsonl", "--sessions", "60", "--rate", "0.5"]);
    let (requests, last) = extent(&at.join("t.jsonl"));
    assert!(requests > 200.0 && last > 60.0, "{requests} in {last} s");
    let mut own = None;
    for speed in ["1", "10", "50"] {
        let summary = replayed(at, &["--speed", speed, "--out", speed]);
        // A second more than the recording, for the answer to its last request.
        let wanted = last / speed.parse::<f64>().expect("a number") + 1.0;
        let seconds = count(&summary, 0, "seconds");
        assert!((seconds - wanted).abs() < 0.01, "{speed}: {seconds} s, not {wanted}");
        // Of every first attempt it is told how late its user was for it.
        let behind = &summary["arms"][0]["phases"][0]["behind_ms"];
        let first = count(&summary, 0, "planned") - count(&summary, 0, "retries");
        assert_eq!(behind["count"].as_f64(), Some(first), "{speed}: {behind}");
        // All are asked for in that time: they come faster too. What is under way at the end may keep a few back; what a page does
        // not offer costs a list more (a message again after one was deleted).
        let planned = count(&summary, 0, "planned") / requests;
        assert!((0.97..1.2).contains(&planned), "{speed}: {planned} of {requests}");
        own.get_or_insert(planned);
        assert!(
            own.is_some_and(|own| (planned / own - 1.0).abs() < 0.02),
            "{speed}: {planned}, and {own:?} at its own"
        );
    }
    done(at, &["recheck", "10"]);
    let twice = replayed(at, &["--copies", "2", "--out", "twice"]);
    let planned = count(&twice, 0, "planned") / requests;
    assert!(own.is_some_and(|own| (planned / own - 2.0).abs() < 0.1), "{planned} for {own:?}");
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
fn what_was_recorded_asked_and_cut_off_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for out in ["t.trace.zst", "t.jsonl"] {
        done(at, &["trace", "generate", "arashi", "-o", out, "--sessions", "60", "--rate", "5"]);
    }
    let (requests, _) = extent(&at.join("t.jsonl"));
    let of = |summary: &Value| {
        let found = &summary["arms"][0]["replayed"];
        let count = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("{key}: {found}"));
        let [recorded, asked, passed_over, cut_off] = ["recorded", "asked", "passed_over", "cut_off"].map(count);
        assert_eq!((recorded, asked + passed_over + cut_off), (requests, requests), "{found}");
        let first = self::count(summary, 0, "planned") - self::count(summary, 0, "retries");
        assert!(asked <= first, "{found}: {first} first attempts");
        (asked, cut_off)
    };
    let (asked, cut_off) = of(&replayed(at, &["--out", "own"]));
    assert!(asked > 0.9 * requests && cut_off < 0.05 * requests, "{asked} asked, {cut_off} cut off, of {requests}");
    // The window ends long before a slow service has let its users get on: that is no load that was left unsent.
    let slow = ["--speed", "20", "--capacity", "20"];
    let summary = replayed(at, &[&slow[..], &["--out", "slow"]].concat());
    let (asked, cut_off) = of(&summary);
    assert_eq!(count(&summary, 0, "unsent"), 0.0);
    assert!(asked < 0.5 * requests && cut_off > 0.5 * requests, "{asked} asked, {cut_off} cut off, of {requests}");
    done(at, &["recheck", "slow"]);
    for form in ["md", "html"] {
        let report = done(at, &["report", "slow", "--format", form, "-o", "-"]);
        assert!(report.contains("cut off") && report.contains(&format!("{requests:.0}")), "{form}");
    }
    let said = done(at, &["report", "slow", "--format", "text", "--details", "-o", "-"]);
    let row = said.lines().skip_while(|line| !line.starts_with("recording ")).nth(1).expect("a table");
    assert!(row.contains(&format!("  {requests:.0}  {asked:.0} (")), "{said}");
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

#[test]
fn a_place_that_is_not_known_is_said_and_nothing_is_sent() {
    let folder = with_trace();
    let output = lab(folder.path(), &["replay", "t.trace.zst", "--target", "http://127.0.0.1:9/{objekt}"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("{objekt}") && said.contains("{object}"), "{said}");
}
