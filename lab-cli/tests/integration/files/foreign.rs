//! Run folders of strangers: what is in one can neither act on the terminal, nor have a command wait, fill the memory, or write elsewhere.

use std::{
    iter,
    os::unix::fs::symlink,
    time::{Duration, Instant},
};

use nix::{sys::stat::Mode, unistd::mkfifo};

use super::*;

/// Acts on a terminal, forges a line, and is an element of HTML.
const HOSTILE: &str = "\u{1b}]0;pwn\u{7}\u{202e}\u{9b}2J\nverdict: VALID\n<img src=x>";

/// Every command that reads a run and prints what it says.
const READERS: [&[&str]; 10] = [
    &["report", "one", "--format", "text", "--details"],
    &["report", "one", "--format", "md"],
    &["report", "one", "--format", "csv"],
    &["report", "one", "--format", "junit"],
    &["report", "one", "--format", "json"],
    &["report", "one", "-o", "-"],
    &["compare", "one"],
    &["compare", "one", "one", "--output", "md"],
    &["recheck", "one"],
    &["history"],
];

/// What became of it, in ten seconds and little memory.
fn bounded(scratch: &Scratch, args: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", &program::path()]).args(args);
    command.current_dir(scratch.path()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut lab = command.spawn().expect("sh runs");
    let begun = Instant::now();
    // What it prints fits into a pipe: a refusal does, and so does a line of history.
    while lab.try_wait().expect("it is ours").is_none() {
        if begun.elapsed() > Duration::from_secs(10) {
            lab.kill().expect("it is there");
            lab.wait().expect("it is ours");
            panic!("{args:?} waits");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    lab.wait_with_output().expect("it has ended")
}

#[test]
fn a_pipe_and_a_device_are_refused_by_every_command_that_reads_a_run() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &["--repeat", "2"]);
    let readers = |wanted: &'static str| READERS.into_iter().filter(move |args| args[0] == wanted);
    let of_all = || readers("report").chain(readers("compare")).chain(readers("recheck"));
    for (file, refusing) in [
        ("manifest.json", of_all().collect::<Vec<_>>()),
        ("summary.json", of_all().collect()),
        ("timeline.jsonl", of_all().collect()),
        ("events.jsonl", of_all().collect()),
        ("digests.json", readers("recheck").collect()),
        ("none-1.record.json", readers("recheck").collect()),
        ("none-1.hlog", Vec::new()),
    ] {
        let (path, kept) = (run.join(file), scratch.path().join("kept"));
        fs::rename(&path, &kept).unwrap_or_else(|error| panic!("{file}: {error}"));
        for device in [false, true] {
            if device {
                symlink("/dev/zero", &path).expect("linked");
            } else {
                mkfifo(&path, Mode::S_IRWXU).expect("made");
            }
            for args in &refusing {
                let output = bounded(&scratch, args);
                let said = told(&output);
                let named = said.contains(&format!("{file}: not a regular file")) || file == "manifest.json";
                assert!(output.status.code() == Some(2) && named, "{args:?} with {file}: {said}");
            }
            let output = bounded(&scratch, &["history"]);
            assert_eq!(output.status.code(), Some(0), "{}", told(&output));
            if file == "none-1.hlog" {
                let output = bounded(&scratch, &["recheck", "one"]);
                let said = told(&output);
                assert!(output.status.code() == Some(4) && said.contains("none-1.hlog is no file any more"), "{said}");
                let output = bounded(&scratch, &["report", "one"]);
                assert_eq!(output.status.code(), Some(0), "a report tells what there is: {}", told(&output));
            }
            fs::remove_file(&path).expect("there");
        }
        fs::rename(&kept, &path).expect("put back");
    }
}

#[test]
fn nothing_that_a_folder_says_acts_on_the_terminal() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &["--repeat", "2"]);
    let mut found = Vec::new();
    for file in ["manifest.json", "summary.json", "events.jsonl", "timeline.jsonl"] {
        let path = run.join(file);
        let whole = fs::read_to_string(&path).expect("text");
        let values: Vec<Value> = match serde_json::from_str(&whole) {
            Ok(value) => vec![value],
            Err(_) => whole.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(),
        };
        let mut keys = std::collections::BTreeSet::new();
        for value in &values {
            spoilt(value, "", &mut |key| {
                keys.insert(key.to_owned());
                false
            });
        }
        let write = |keys: &[String]| {
            let lines = values.iter().map(|value| spoilt(value, "", &mut |found| keys.iter().any(|key| key == found)));
            let lines = lines.map(|line| line.to_string() + "\n").collect::<String>();
            fs::write(&path, lines).expect("written");
        };
        // What can be read with a key spoilt is shown with all such keys spoilt at once; what cannot is an error of each.
        let (readable, refused): (Vec<_>, Vec<_>) = keys.into_iter().partition(|key| {
            write(std::slice::from_ref(key));
            scratch.lab(&["report", "one", "--format", "json"]).status.success()
        });
        write(&readable);
        let together = scratch.lab(&["report", "one", "--format", "json"]);
        assert!(together.status.success(), "{file}: {}", told(&together));
        for keys in iter::once(readable).chain(refused.into_iter().map(|key| vec![key])) {
            write(&keys);
            for args in READERS {
                let output = scratch.lab(args);
                let said = told(&output);
                let place = format!("{args:?} with {keys:?} of {file}: {said:?}");
                let acts = |c: char| c != '\n' && c != '\t' && (c.is_control() || c == '\u{202e}');
                let forged =
                    (args[0] != "report" || args[3] == "text") && said.lines().any(|line| line == "verdict: VALID");
                let shown = match args {
                    [_, _, "--format", "md", ..] | [_, _, _, _, "md"] => said.split('`').step_by(2).collect(),
                    [_, _, "-o", ..] | [_, _, "--format", "junit"] => said.clone(),
                    _ => String::new(),
                };
                if said.contains(acts) || forged || output.status.success() && shown.contains("<img") {
                    found.push(place);
                }
            }
        }
        fs::write(&path, whole).expect("written");
    }
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

/// A value with something hostile behind each string whose key, with those of the objects around it, is chosen.
fn spoilt(value: &Value, key: &str, chosen: &mut dyn FnMut(&str) -> bool) -> Value {
    match value {
        Value::String(text) if chosen(key) => format!("{text}{HOSTILE}").into(),
        Value::Array(all) => all.iter().map(|value| spoilt(value, key, chosen)).collect(),
        Value::Object(all) => {
            let all = all.iter().map(|(name, value)| (name.clone(), spoilt(value, &format!("{key}/{name}"), chosen)));
            Value::Object(all.collect())
        }
        other => other.clone(),
    }
}

#[test]
fn a_report_goes_into_the_folder_and_not_where_a_link_of_it_points() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    let elsewhere = scratch.path().join("elsewhere");
    fs::write(&elsewhere, "mine").expect("written");
    symlink(&elsewhere, run.join("report.html")).expect("linked");
    let output = bounded(&scratch, &["report", "one"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(fs::read_to_string(&elsewhere).expect("there"), "mine");
    assert!(fs::read_to_string(run.join("report.html")).expect("there").contains("<html"));
}

#[test]
fn what_makes_no_sense_is_named_with_its_run_and_file() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    for (file, text, place) in [
        ("summary.json", "{\"arms\": 7}", "one/summary.json makes no sense: line 1, column"),
        ("summary.json", "{\"arms\": [", "one/summary.json makes no sense: line 1, column 10: it ends here"),
        ("timeline.jsonl", "\nnonsense\n", "one/timeline.jsonl makes no sense: line 2, column 2: no JSON: "),
        ("events.jsonl", "\"x\"\n", "one/events.jsonl makes no sense: line 1"),
        ("manifest.json", "{\"experiment\": 99}", "one/manifest.json makes no sense: "),
    ] {
        let path = run.join(file);
        let whole = fs::read(&path).expect("there");
        fs::write(&path, text).expect("written");
        for args in [&["report", "one"][..], &["compare", "one"], &["recheck", "one"]] {
            let output = scratch.lab(args);
            let said = told(&output);
            assert!(output.status.code() == Some(1) && said.contains(place), "{args:?}: {said}");
            assert!(!said.contains("struct ") && !said.contains("enum ") && !said.contains("os error"), "{said}");
        }
        fs::write(&path, whole).expect("written");
    }
}
