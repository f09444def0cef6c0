//! `lab trace`, run as a person runs it: from a log to a model that an experiment takes, and back.

mod capacity;
mod guide;
mod sites;
mod uneven;
mod walk;

use std::{fs, io::Read as _, path::Path};

use crate::program;

/// A session of Dovecot's events: list folders, list messages, show, delete, show again, out.
fn session(number: u32) -> String {
    let second = 10 + number;
    let event = |millis: u32, name: &str, args: &str| {
        format!(
            "{{\"event\":\"imap_command_finished\",\"start_time\":\"2026-11-21T01:{:02}:{:02}.{millis:03}Z\",\
             \"end_time\":\"2026-11-21T01:{:02}:{:02}.{:03}Z\",\"fields\":{{\"user\":\"joe\",\"session\":\"S{number}\",\
             \"cmd_name\":\"{name}\",\"cmd_args\":\"{args}\",\"tagged_reply_state\":\"OK\",\"bytes_out\":99}}}}\n",
            second / 60,
            second % 60,
            second / 60,
            second % 60,
            millis + 2
        )
    };
    [
        event(0, "LIST", "\\\"\\\" *"),
        event(100, "SELECT", "INBOX"),
        event(110, "FETCH", "1:10 (BODY.PEEK[HEADER])"),
        event(200, "FETCH", "4 (RFC822)"),
        event(300, "STORE", "4 +FLAGS (\\\\Deleted)"),
        event(310, "EXPUNGE", ""),
        event(400, "FETCH", "4 (RFC822)"),
        event(900, "LOGOUT", ""),
    ]
    .concat()
}

fn lab(folder: &Path, args: &[&str]) -> std::process::Output {
    program::lab().args(args).current_dir(folder).output().expect("lab runs")
}

fn done(folder: &Path, args: &[&str]) -> String {
    let output = lab(folder, args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).expect("text") + &said
}

#[test]
fn from_a_log_to_a_model_that_an_experiment_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let log: String = (0..50).map(session).collect();
    fs::write(at.join("events.jsonl"), log).expect("written");

    let said = done(at, &["trace", "import", "events.jsonl", "-o", "mail.jsonl.zst"]);
    assert!(said.contains("300 actions in 50 sessions"), "{said}");
    assert!(said.contains("50 sessions without their login"), "{said}");
    let seen = done(at, &["trace", "inspect", "mail.jsonl.zst"]);
    assert!(seen.contains("50 sessions (0 cut) of 1 users"), "{seen}");

    let fitted = done(at, &["trace", "fit", "mail.jsonl.zst", "-o", "mail.yaml"]);
    assert!(fitted.contains("after delete users go back: 50 of 50 times"), "{fitted}");
    let experiment = "
name: fitted
target: {app: arashi}
objective: {percentile: 90, response_time: 1s}
users:
  model: mail.yaml
  phases: [{name: all, users: 10, for: 5s}]
arms: [none]
";
    fs::write(at.join("fitted.yaml"), experiment).expect("written");
    done(at, &["check", "fitted.yaml"]);
    done(at, &["run", "fitted.yaml", "--virtual", "--out", "run"]);

    done(at, &["trace", "generate", "mail.yaml", "--sessions", "40", "-o", "made.jsonl"]);
    let again = done(at, &["trace", "fit", "made.jsonl"]);
    assert!(again.contains("40 sessions (0 cut, 0 without a login)"), "{again}");
    done(at, &["trace", "anonymize", "made.jsonl", "-o", "clean.jsonl.gz"]);
    let seen = done(at, &["trace", "inspect", "clean.jsonl.gz", "--output", "json"]);
    assert!(seen.contains("\"names\": \"pseudonyms\""), "{seen}");
}

/// The small traces that lie in `traces/small`.
fn small(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/small").join(name).display().to_string()
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn the_recorded_trace_reads_as_it_lies_and_fits_the_matrix_that_was_walked() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let (log, trace) = (small("dovecot.log.gz"), small("dovecot.jsonl.zst"));
    let size = |path: &str| fs::metadata(path).expect("it is there").len();
    assert!(size(&log) + size(&trace) + size(&small("generated.jsonl.zst")) < 200_000, "they are to stay small");

    // The log gives the trace that lies beside it.
    let said = done(at, &["trace", "import", "--names", &log, "-o", "again.jsonl.zst"]);
    assert!(said.contains("921 actions in 120 sessions") && said.contains("1818 read, 1816 understood"), "{said}");
    assert!(!said.contains("NOT understood"), "{said}");
    let inspected = |trace: &str| json(&done(at, &["trace", "inspect", trace, "--output", "json"]));
    let (lies, again) = (inspected(&trace), inspected("again.jsonl.zst"));
    for part in ["sessions", "cut", "users", "length", "actions", "transitions", "pauses"] {
        assert_eq!(lies[part], again[part], "{part}");
    }
    assert_eq!((&lies["sessions"], &lies["cut"], &lies["users"]), (&120.into(), &0.into(), &10.into()));

    // Users walked figure 46; after delete and refile they went back to the list.
    let fitted = json(&done(at, &["trace", "fit", &trace, "-o", "fitted.yaml", "--output", "json"]));
    assert_eq!((&fitted["version"], &fitted["fitted"]["previous_page"]), (&2.into(), &"list".into()));
    let walked = workloads::mail::arashi();
    let cells = fitted["fitted"]["cells"].as_array().expect("cells");
    assert!(cells.len() >= 25, "{cells:?}");
    for cell in cells {
        let name = |key: &str| cell[key].as_str().expect("a name");
        let chance = walked.transitions[name("from")].get(name("to")).copied().unwrap_or(0.0);
        let end = |key: &str| cell[key].as_f64().expect("a number");
        assert!((end("low")..=end("high")).contains(&chance), "{chance} is not in {cell}");
    }
    // Pauses between a list and a message are those of the program that recorded it: exponential, 0.2 s and 0.4 s.
    for (from, to, mean) in [("list messages", "show message", 0.2), ("show message", "list messages", 0.4)] {
        let law = &fitted["think_to"][from][to];
        assert!(law.get("exponential").is_some(), "{law}");
        let cell = cells.iter().find(|cell| cell["from"] == from && cell["to"] == to).expect("a cell");
        let found = cell["think"]["mean"].as_str().expect("a time");
        let found = traces::span::parse(found).expect("a time").as_secs_f64();
        assert!((found / mean - 1.0).abs() < 0.2, "{from}: {found}");
    }
    // An experiment takes the model.
    let experiment = "
name: fitted
target: {app: arashi}
objective: {percentile: 90, response_time: 1s}
users: {model: fitted.yaml, phases: [{name: all, users: 10, for: 5s}]}
arms: [none]
";
    fs::write(at.join("fitted-run.yaml"), experiment).expect("written");
    done(at, &["check", "fitted-run.yaml"]);
    // Its users go back to the list, as those of the trace did, unless the file says otherwise.
    for (set, goes_back) in [(None, "list"), (Some("users.previous_page=literal"), "literal")] {
        let mut args = vec!["run", "fitted-run.yaml", "--virtual", "--out", goes_back];
        args.extend(set.iter().flat_map(|set| ["--set", *set]));
        done(at, &args);
        let manifest = fs::read_to_string(at.join(goes_back).join("manifest.json")).expect("a manifest");
        let manifest = json(&manifest);
        assert_eq!(manifest["experiment"]["users"]["model"]["mail"]["previous_page"], goes_back);
    }
}

#[test]
fn the_generated_trace_is_what_its_command_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    done(at, &["trace", "generate", "arashi", "--sessions", "200", "--seed", "5", "-o", "again.jsonl"]);
    let again = fs::read_to_string(at.join("again.jsonl")).expect("written");
    let (mut lies, _) =
        traces::pack::unpack(fs::File::open(small("generated.jsonl.zst")).expect("it is there")).expect("packed");
    let mut text = String::new();
    lies.read_to_string(&mut text).expect("whole");
    assert!(text == again, "the generator or the model has changed: see traces/small/README.md for the command");
    let fitted = json(&done(at, &["trace", "fit", "again.jsonl", "--output", "json"]));
    assert_eq!(fitted["think"]["list messages"], serde_json::json!({"constant": "20ms"}));
    assert_eq!(fitted["fitted"]["read"]["sessions"], 200);
}

#[test]
fn what_cannot_be_done_says_why_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("notes.txt"), "hello\n").expect("written");
    let fails = |args: &[&str], words: &str| {
        let output = lab(at, args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    };
    fails(&["trace", "import", "notes.txt", "-o", "t.jsonl"], "notes.txt: this is none of the formats");
    assert!(!at.join("t.jsonl").exists(), "half a trace helps nobody");
    fails(&["trace", "import", "gone.log", "-o", "t.jsonl"], "gone.log");
    fails(&["trace", "import", "notes.txt", "-o", "notes.txt"], "name another, or remove it");
    fails(&["trace", "inspect", "notes.txt"], "lab trace import");
    fails(&["trace", "import", "notes.txt", "-o", "t", "--zone", "CET"], "+01:00");
    fs::write(at.join("key"), "12").expect("written");
    fails(&["trace", "import", "notes.txt", "-o", "t", "--key", "key"], "32 hexadecimal digits");
    fs::write(at.join("cut.jsonl"), "{\"trace\":1,\"name\":\"x\",\"source\":\"y\",\"names\":\"source\"}\n")
        .expect("written");
    fails(&["trace", "fit", "cut.jsonl"], "cut.jsonl: line 2 (byte 53): the trace ends here");
}

#[test]
fn the_schema_of_traces_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let schema = done(folder.path(), &["schema", "trace"]);
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    assert!(schema["anyOf"].as_array().is_some_and(|lines| lines.len() == 3), "{schema}");
}
