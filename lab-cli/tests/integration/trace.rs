//! `lab trace` on recordings: those that lie in `traces/small`, the steps of the documentation, and logs that are large or broken. Small ones are in
//! `cases`.

mod guide;
mod uneven;

use std::{fs, io::Read as _, path::Path};

use crate::program::{self, done};

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
fn the_schema_of_traces_is_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let schema = done(folder.path(), &["schema", "trace"]);
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    assert!(schema["anyOf"].as_array().is_some_and(|lines| lines.len() == 3), "{schema}");
}
