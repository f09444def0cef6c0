//! Parts of a run, sweep and suite, put together: what one machine would have had, and nothing else.

mod namespaces;
mod users;

use std::{fs, path::Path};

use serde_json::Value;

use super::program::{done, json, path, ran, told};

/// Refusals and retries, in five blocks of a second for each arm.
const FILE: &str = "
name: parts
about: two arms, a moment of overload
target: {app: emulated, servers: 2, service: {exponential: 10ms}}
objective: {response_time: 100ms}
users:
  model: url
  on_reject: {then: retry, attempts: 2}
  phases: [{name: calm, requests: 100/s, for: 500ms}, {name: peak, requests: 500/s, for: 500ms}]
arms: [none, concurrency: {max: 8}]
repeat: 5
";

fn with_file() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("parts.yaml"), FILE).expect("written");
    folder
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn parts_of_a_run_are_the_whole_byte_by_byte() {
    let scratch = with_file();
    let at = scratch.path();
    done(at, &["run", "parts.yaml", "--virtual", "--out", "one"]);
    for part in ["1/3", "2/3", "3/3"] {
        let out = format!("part-{}", &part[..1]);
        done(at, &["run", "parts.yaml", "--virtual", "--shard", part, "--shard-by", "block", "--out", &out]);
    }
    assert_eq!(json(&at.join("part-2/manifest.json"))["shard"], "2/3");
    assert_eq!(json(&at.join("part-2/summary.json"))["partial"], true);
    let again = done(at, &["recheck", "part-2"]);
    assert!(again.contains("it is a part of a run"), "{again}");
    done(at, &["report", "part-3"]);
    done(at, &["merge", "part-3", "part-1", "part-2", "-o", "whole"]);
    assert_eq!(files(&at.join("whole")), files(&at.join("one")));
    for name in files(&at.join("one")) {
        let [one, whole] = ["one", "whole"].map(|run| fs::read(at.join(run).join(&name)).expect("there"));
        match name.as_str() {
            "manifest.json" | "digests.json" => {}
            _ => assert!(one == whole, "{name}"),
        }
    }
    let [mut one, mut whole] = ["one", "whole"].map(|run| json(&at.join(run).join("manifest.json")));
    let parts = whole["host"]["parts"].as_array().expect("a list").len();
    [&mut one, &mut whole].iter_mut().for_each(|manifest| manifest["host"] = Value::Null);
    assert_eq!((parts, &one), (3, &whole));
    let again = done(at, &["recheck", "whole"]);
    assert!(again.contains("all the same"), "{again}");
}

#[test]
fn what_is_not_each_part_of_one_run_once_is_refused() {
    let scratch = with_file();
    let at = scratch.path();
    let part = |part: &str, out: &str, more: &[&str]| {
        let args = [
            "run",
            "parts.yaml",
            "--virtual",
            "--policy",
            "none",
            "--shard",
            part,
            "--shard-by",
            "block",
            "--out",
            out,
        ];
        done(at, &[&args[..], more].concat());
    };
    part("1/2", "a", &[]);
    part("2/2", "b", &[]);
    part("2/2", "other", &["--seed", "9"]);
    done(at, &["run", "parts.yaml", "--virtual", "--policy", "none", "--out", "one"]);
    let copy = |from: &str, to: &str| {
        fs::create_dir(at.join(to)).expect("made");
        for name in files(&at.join(from)) {
            fs::copy(at.join(from).join(&name), at.join(to).join(&name)).expect("copied");
        }
    };
    copy("b", "edited");
    let record = at.join("edited/none-2.record.json");
    fs::write(&record, fs::read_to_string(&record).expect("read").replacen("\"served\":", "\"served\": ", 1))
        .expect("written");
    copy("b", "killed");
    fs::remove_file(at.join("killed/digests.json")).expect("there");
    copy("b", "copy");
    for (parts, said) in [
        (&["a"][..], "of 2 parts these are missing: 2"),
        (&["a", "other"], "other has another seed than a"),
        (&["a", "b", "other"], "b and other are both part 2/2, and differ"),
        (&["a", "edited"], "edited: none-2.record.json is not as long as the run wrote it"),
        (&["a", "killed"], "killed has no digests.json: part 2/2 was not run to its end"),
        (&["a", "one"], "one is a whole run, and no part of one"),
        (&["a", "nowhere"], "nowhere"),
    ] {
        let output = ran(at, &[&["merge", "-o", "whole"][..], parts].concat());
        let text = told(&output);
        assert!(output.status.code() == Some(2) && text.contains(said), "{parts:?}: {text}");
        assert!(!at.join("whole").exists(), "{parts:?} left something");
    }
    let output = ran(at, &["merge", "a", "b", "copy", "-o", "whole"]);
    assert!(output.status.success() && told(&output).contains("copy is a copy of b"), "{}", told(&output));
    for (args, said) in [
        (&["--shard", "0/2"][..], "parts are numbered from 1: 1/2 to 2/2"),
        (&["--shard", "6/7"], "parts has 5 blocks"),
        (&["--shard", "1/2", "--repeat", "until-decided"], "runs until it is decided"),
    ] {
        let output = ran(at, &[&["run", "parts.yaml", "--virtual", "--shard-by", "block"][..], args].concat());
        assert!(output.status.code() == Some(2) && told(&output).contains(said), "{args:?}: {}", told(&output));
    }
}

#[test]
fn parts_of_a_sweep_and_of_a_suite_are_judged_as_one() {
    let scratch = with_file();
    let at = scratch.path();
    let sweep =
        ["sweep", "parts.yaml", "--policy", "concurrency", "--set", "max=2..20", "--points", "3", "--repeat", "3"];
    done(at, &[&sweep[..], &["--out", "one"]].concat());
    for part in ["1/2", "2/2"] {
        let out = format!("s{}", &part[..1]);
        done(at, &[&sweep[..], &["--shard", part, "--out", &out]].concat());
    }
    assert_eq!(fs::read_to_string(at.join("s1/runs.jsonl")).expect("there").lines().count(), 5, "of nine");
    let merged = done(at, &["merge", "s1", "s2", "-o", "whole"]);
    assert!(merged.starts_with("9 runs in whole"), "{merged}");
    done(at, &[&sweep[..], &["--out", "whole"]].concat());
    let [one, whole] = ["one", "whole"].map(|folder| fs::read(at.join(folder).join("result.json")).expect("there"));
    assert!(one == whole);

    fs::create_dir(at.join("scenarios")).expect("made");
    for name in ["first", "second", "third"] {
        let scenario = FILE.replace("name: parts", &format!("name: {name}"));
        let scenario = scenario.replace("arms: [none, concurrency: {max: 8}]", "arms: [none]");
        fs::write(at.join("scenarios").join(format!("{name}.yaml")), scenario).expect("written");
    }
    let suite = ["suite", "scenarios", "--policy", "codel", "--repeat", "1", "--output", "json"];
    let one = done(at, &[&suite[..], &["--out", "suite"]].concat());
    for part in ["1/2", "2/2"] {
        done(at, &[&suite[..], &["--shard", part, "--out", &format!("t{}", &part[..1])]].concat());
    }
    let record = at.join("t2/second/none-1.record.json");
    let kept = fs::read(&record).expect("there");
    fs::write(&record, [&kept[..], b" "].concat()).expect("written");
    let edited = ran(at, &["merge", "t1", "t2", "-o", "suites"]);
    assert!(
        edited.status.code() == Some(2) && told(&edited).contains("none-1.record.json is not as long"),
        "{}",
        told(&edited)
    );
    fs::write(&record, kept).expect("written");
    done(at, &["merge", "t1", "t2", "-o", "suites"]);
    assert_eq!(done(at, &[&suite[..], &["--out", "suites"]].concat()), one);
}
