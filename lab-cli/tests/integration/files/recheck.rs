use serde_json::json;

use super::*;

fn rechecked(scratch: &Scratch, run: &str) -> (Option<i32>, String) {
    let output = scratch.lab(&["recheck", run]);
    (output.status.code(), told(&output))
}

#[test]
fn a_run_in_virtual_time_is_made_again_bit_for_bit_and_anywhere() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &["--repeat", "2"]);
    let (code, said) = rechecked(&scratch, "one");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("computed again from 4 records: all the same"), "{said}");
    // Every threshold found what it asked for, parts and shares too.
    let summary = json(&run.join("summary.json"));
    for threshold in summary["thresholds"].as_array().expect("thresholds") {
        assert_eq!(threshold["held"], true, "{threshold:#}");
    }
    // Under another name, in another place, with nothing else there.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let copy = elsewhere.path().join("copied");
    fs::create_dir(&copy).expect("made");
    for entry in fs::read_dir(&run).expect("listed").flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
    }
    let output = crate::program::lab().arg("recheck").arg(&copy).current_dir("/").output();
    let output = output.expect("lab runs");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_live_run_is_made_again_bit_for_bit() {
    let scratch = Scratch::new();
    let output = scratch.lab(&["run", "short.yaml", "--out", "live", "--set", "users.phases.busy.for=2s"]);
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}", told(&output));
    let (code, said) = rechecked(&scratch, "live");
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_changed_figure_is_found_and_named() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    let path = run.join("summary.json");
    let whole = json(&path);
    let goodput = whole["arms"][1]["phases"][1]["goodput_per_s"].as_f64().expect("a number");
    // The next number that there is.
    let next = f64::from_bits(goodput.to_bits() + 1);
    let changes = [
        ("/arms/1/phases/1/goodput_per_s", json!(next)),
        ("/arms/0/phases/1/by_class/1/served", json!(1_000_000)),
        ("/verdict", json!("WARN")),
        ("/arms/0/server/requests_read", json!(1)),
        ("/arms/0/generator/cpu", json!(0.5)),
        ("/thresholds/0/held", json!(false)),
        ("/comparisons/0/ratio", json!(1.0)),
        ("/experiment", json!("other")),
    ];
    for (place, value) in changes {
        let mut changed = whole.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = value;
        fs::write(&path, changed.to_string()).expect("written");
        let (code, said) = rechecked(&scratch, "one");
        assert_eq!(code, Some(4), "{place}: {said}");
        assert!(said.contains(&format!("DIFFERS summary.json {place}: ")), "{place}: {said}");
    }
    let mut longer = whole.clone();
    longer["arms"][0]["score"] = json!(100);
    fs::write(&path, longer.to_string()).expect("written");
    assert!(rechecked(&scratch, "one").1.contains("/arms/0/score: 100 there, nothing by the records"));
    // Values that are the same, written otherwise: the file was touched, and no figure is wrong.
    fs::write(&path, whole.to_string()).expect("written");
    let (code, said) = rechecked(&scratch, "one");
    assert!(code == Some(4) && said.contains("DIFFERS summary.json is not as long as the run wrote it"), "{said}");
    fs::remove_file(run.join("digests.json")).expect("removed");
    let (code, said) = rechecked(&scratch, "one");
    assert!(code == Some(0) && said.contains("there is no digests.json"), "{said}");
}

#[test]
fn a_changed_byte_of_any_file_is_noticed() {
    let scratch = Scratch::new();
    let output = scratch.lab(&["run", "short.yaml", "--out", "runs/one", "--set", "users.phases.busy.for=2s"]);
    assert!(matches!(output.status.code(), Some(0 | 3 | 4)), "{}", told(&output));
    let run = scratch.path().join("runs/one");
    // What is made of a run later is no part of it.
    assert!(scratch.lab(&["report", "one"]).status.success());
    let (code, said) = rechecked(&scratch, "one");
    assert!(code == Some(0) && said.contains(" files as the run wrote them"), "{said}");
    let names =
        fs::read_dir(&run).expect("listed").flatten().map(|entry| entry.file_name().into_string().expect("text"));
    let names: Vec<String> = names.filter(|name| !["report.html", "digests.json"].contains(&name.as_str())).collect();
    assert!(names.len() >= 10 && names.contains(&"target.log".to_owned()), "{names:?}");
    for name in names {
        let path = run.join(&name);
        let whole = fs::read(&path).expect("readable");
        let mut changed = whole.clone();
        // A target that had nothing to say left nothing that could be changed but its length.
        match changed.len() / 2 {
            0 => changed.push(b' '),
            middle => changed[middle] ^= 1,
        }
        fs::write(&path, changed).expect("written");
        let (code, said) = rechecked(&scratch, "one");
        assert!(matches!(code, Some(1 | 4)) && said.contains(&format!("{name} is not ")), "{name}: {code:?} {said}");
        fs::remove_file(&path).expect("removed");
        let (code, said) = rechecked(&scratch, "one");
        // A folder without a manifest is no run at all.
        let codes = if name == "manifest.json" { [2, 2] } else { [1, 4] };
        assert!(
            code.is_some_and(|code| codes.contains(&code)) && (said.contains(&name) || code == Some(2)),
            "{name}: {code:?} {said}"
        );
        fs::write(&path, whole).expect("written");
    }
    assert_eq!(rechecked(&scratch, "one").0, Some(0), "all is as it was");
}

#[test]
fn a_plan_is_made_again_from_the_manifest() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &["--repeat", "2"]);
    fs::remove_file(run.join("digests.json")).expect("removed");
    let path = run.join("manifest.json");
    let whole = json(&path);
    let changes = [
        ("/experiment/users/timeout", json!(2001.0), "/blocks/1/plan: "),
        ("/experiment/users/phases/1/loads/0/users/to", json!(41), "/blocks/0/plan: "),
        ("/experiment/seed", json!(2), "/blocks/0/seed: "),
        ("/blocks/1/seed", json!(7), "/blocks/1/seed: 7 there"),
        ("/blocks/0/plan", json!("0123"), "/blocks/0/plan: \"0123\" there"),
    ];
    for (place, value, says) in changes {
        let mut changed = whole.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("{place} in {whole:#}")) = value;
        fs::write(&path, changed.to_string()).expect("written");
        let (code, said) = rechecked(&scratch, "one");
        assert!(code == Some(4) && said.contains(&format!("DIFFERS manifest.json {says}")), "{place}: {said}");
    }
}

/// Writes a run's digests anew: they are no signature.
fn seal(run: &Path) {
    let digests = analysis::digests::Digests::of(run).expect("readable");
    fs::write(run.join("digests.json"), serde_json::to_vec_pretty(&digests).expect("JSON")).expect("written");
}

#[test]
fn a_forgery_in_virtual_time_is_found_though_its_digests_are_new() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    let (code, said) = rechecked(&scratch, "one");
    assert!(code == Some(0) && said.contains("; run again in virtual time: "), "{said}");
    let found = |file: &str, what: &str, forged: Vec<u8>| {
        let path = run.join(file);
        let whole = fs::read(&path).expect("readable");
        assert_ne!(whole, forged, "{file} {what}");
        fs::write(&path, forged).expect("written");
        seal(&run);
        let (code, said) = rechecked(&scratch, "one");
        assert_eq!(code, Some(4), "{file} {what}: {said}");
        fs::write(&path, whole).expect("written");
    };
    let in_json = |file: &str, place: &str, value: Value| {
        let mut whole = json(&run.join(file));
        *whole.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = value;
        found(file, place, whole.to_string().into_bytes());
    };
    // A run of one policy that passes as another's, or with other settings.
    in_json("manifest.json", "/experiment/arms/0/policy/name", json!("vegas"));
    in_json("manifest.json", "/experiment/arms/1/policy/settings/max", json!(9.0));
    // Of another service.
    in_json("manifest.json", "/experiment/target/app/service/exponential/mean", json!(2.5));
    in_json("manifest.json", "/experiment/target/app/servers", json!(2));
    in_json("manifest.json", "/experiment/target/stage_defaults/workers", json!(9));
    in_json("manifest.json", "/experiment/target/stage_defaults/batch", json!(4));
    in_json("manifest.json", "/seed", json!(2));
    in_json("none-1.record.json", "/measured/objective_us", json!(900_000));
    in_json("none-1.record.json", "/measured/cells/0/ledger/resent", json!(7));
    in_json("none-1.record.json", "/seen/server/cpu", json!(0.01));
    // Figures of single seconds.
    let lines = |file: &str| fs::read_to_string(run.join(file)).expect("readable");
    let timeline: Vec<String> = lines("timeline.jsonl").lines().map(str::to_owned).collect();
    for key in ["goodput", "p50_ms", "p90_ms", "served"] {
        let mut forged = timeline.clone();
        let mut second: Value = serde_json::from_str(&forged[4]).expect("JSON");
        assert!(second[key].is_number(), "{key} in {second:#}");
        second[key] = match second[key].as_u64() {
            Some(count) => json!(count + 1),
            None => json!(second[key].as_f64().expect("a number") + 1.0),
        };
        forged[4] = second.to_string();
        found("timeline.jsonl", key, (forged.join("\n") + "\n").into_bytes());
    }
    found(
        "events.jsonl",
        "a line less",
        lines("events.jsonl").lines().skip(1).collect::<Vec<_>>().join("\n").into_bytes(),
    );
    // The column of maxima, which no histogram is read from.
    let log = lines("none-1.hlog");
    let row = log.lines().find(|line| line.starts_with("Tag=")).expect("a histogram");
    let mut columns: Vec<&str> = row.split(',').collect();
    columns[3] = "0.001";
    found("none-1.hlog", "Interval_Max", log.replacen(row, &columns.join(","), 1).into_bytes());
    // All is as it was; and whoever wants no second run has none.
    seal(&run);
    assert_eq!(rechecked(&scratch, "one").0, Some(0));
    let quick = told(&scratch.lab(&["recheck", "one", "--no-rerun"]));
    assert!(quick.contains("all the same") && !quick.contains("run again"), "{quick}");
    // A run of another edition is held against itself alone, and that is said.
    let mut older = json(&run.join("manifest.json"));
    older["world"] = json!(1);
    older["blocks"][0]["seed"] =
        json!(older["blocks"][0]["seed"].as_str().expect("text").parse::<u64>().expect("a number"));
    fs::write(run.join("manifest.json"), older.to_string()).expect("written");
    seal(&run);
    let (code, said) = rechecked(&scratch, "one");
    assert!(code == Some(0) && said.contains("it was not run again: "), "{said}");
}

/// An older lab did not know some figures: these are no differences, and what it did write is held against the records.
#[test]
fn a_run_of_an_older_lab_is_compared_as_far_as_it_goes() {
    fn without(value: &mut Value, name: &str) {
        match value {
            Value::Object(members) => {
                members.remove(name);
                members.values_mut().for_each(|member| without(member, name));
            }
            Value::Array(members) => members.iter_mut().for_each(|member| without(member, name)),
            _ => {}
        }
    }
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    let (manifest, summary) = (run.join("manifest.json"), run.join("summary.json"));
    let mut older = json(&summary);
    without(&mut older, "response_time_all_ms");
    fs::write(&summary, older.to_string()).expect("written");
    seal(&run);
    let (code, said) = rechecked(&scratch, "one");
    assert!(code == Some(4) && said.contains("DIFFERS"), "this lab writes it: {said}");
    let mut before = json(&manifest);
    without(&mut before, "world");
    fs::write(&manifest, before.to_string()).expect("written");
    seal(&run);
    let (code, said) = rechecked(&scratch, "one");
    assert!(code == Some(0) && !said.contains("DIFFERS"), "{said}");
    assert!(
        said.contains("with an older edition of virtual time ran it: ") && said.contains("were left out"),
        "{said}"
    );
    older["arms"][1]["phases"][1]["goodput_per_s"] = json!(1.0);
    fs::write(&summary, older.to_string()).expect("written");
    seal(&run);
    let (code, said) = rechecked(&scratch, "one");
    assert!(
        code == Some(4) && said.contains("/arms/1/phases/1/goodput_per_s") && said.contains("has changed since"),
        "{said}"
    );
}

/// A disk that is full while the run is made again says nothing about the run.
#[test]
fn a_second_run_that_cannot_be_written_is_no_difference() {
    let scratch = Scratch::new();
    scratch.run("one", &[]);
    let mut shell = Command::new("sh");
    let program = scratch.command(&["recheck", "one"]);
    // No file may have more than a kilobyte.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" recheck one"]).arg(program.get_program());
    shell.current_dir(scratch.path()).env("LAB_CACHE", scratch.path().join("cache")).stdin(Stdio::null());
    let output = shell.output().expect("sh runs");
    let said = told(&output);
    assert!(output.status.code() == Some(1) && !said.contains("DIFFERS"), "{said}");
    assert!(said.contains("the second run, in ") && said.contains("--no-rerun leaves it out"), "{said}");
}

#[test]
fn a_second_run_is_stopped_by_control_c_and_leaves_nothing() {
    let scratch = Scratch::new();
    scratch.run("one", &["--set", "users.phases.busy.for=900s"]);
    let temporary = scratch.path().join("temporary");
    fs::create_dir(&temporary).expect("made");
    let mut command = scratch.command(&["recheck", "one"]);
    let child =
        command.env("TMPDIR", &temporary).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("lab runs");
    let begun = || {
        let mut folders = fs::read_dir(&temporary).expect("listed").flatten();
        folders.any(|folder| folder.path().join("run/manifest.json").exists())
    };
    program::wait_until("the second run has begun", begun);
    program::signal("INT", child.id());
    let output = child.wait_with_output().expect("it ends");
    let said = told(&output);
    assert!(output.status.code() == Some(130) && said.contains("it was stopped"), "{said}");
    assert_eq!(fs::read_dir(&temporary).expect("listed").count(), 0, "its folder is gone");
}

/// What a foreign folder says does not act on the terminal, whichever command quotes it.
#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    let path = run.join("summary.json");
    let whole = fs::read_to_string(&path).expect("readable");
    let verdict = whole.lines().find(|line| line.contains("\"verdict\"")).expect("a verdict");
    let evil = verdict.replace(": \"", ": \"\\u001b]0;x\\u0007\\u009b2J\\u202e");
    let quiet = |args: &[&str]| {
        let output = scratch.lab(args);
        let said = told(&output);
        let acts = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
        let place = said.find(acts);
        assert_eq!(place, None, "{args:?}: {:?}", &said[place.unwrap_or(0)..].chars().take(40).collect::<String>());
    };
    fs::write(&path, whole.replace(verdict, &evil)).expect("written");
    for args in [&["recheck", "one"][..], &["report", "one", "--format", "md"], &["compare", "one"], &["history"]] {
        quiet(args);
    }
    // A name that is taken as it is, and goes into JSON.
    fs::write(&path, whole.replace("\"short\"", "\"\\u009b2J\\u202eshort\"")).expect("written");
    quiet(&["report", "one", "--format", "json"]);
    quiet(&["history", "--output", "json"]);
    quiet(&["recheck", "one", "--output", "json"]);
}

#[test]
fn changed_evidence_is_found_too() {
    let scratch = Scratch::new();
    let run = scratch.run("one", &[]);
    let changed = |file: &str, change: &dyn Fn(String) -> String, code: i32, says: &str| {
        let path = run.join(file);
        let whole = fs::read_to_string(&path).expect("readable");
        let other = change(whole.clone());
        assert_ne!(other, whole, "{file}");
        fs::write(&path, other).expect("written");
        let (found, said) = rechecked(&scratch, "one");
        assert_eq!(found, Some(code), "{file}: {said}");
        assert!(said.contains(says), "{file}: {said}");
        fs::write(&path, whole).expect("written");
    };
    // A histogram is another arm's.
    let other_log = fs::read_to_string(run.join("none-1.hlog")).expect("readable");
    changed("concurrency-1.hlog", &|_| other_log.clone(), 4, "concurrency-1.hlog its histograms are not those");
    changed(
        "timeline.jsonl",
        &|text| text.lines().skip(3).collect::<Vec<_>>().join("\n") + "\n",
        4,
        "timeline.jsonl how many follow on each other",
    );
    changed("timeline.jsonl", &|text| text.replacen("\"planned\":", "\"planned\":1", 1), 4, "timeline.jsonl planned");
    changed(
        "none-1.record.json",
        &|text| text.replacen("\"served_late\":", "\"served_late\":9", 1),
        1,
        "do not add up",
    );
    changed("none-1.record.json", &|text| text.replacen("\"total_us\":", "\"total_us\":9", 1), 4, "/mean");
    changed(
        "none-1.record.json",
        &|text| text.replace("\"response_time_ms\":200.0", "\"response_time_ms\":900.0"),
        1,
        "another objective",
    );
    changed(
        "none-1.record.json",
        &|text| text.replace("\"kernel_backlog_declared\":false", "\"kernel_backlog_declared\":true"),
        1,
        "other declarations",
    );
    changed("manifest.json", &|text| text.replace("busy.rejected > 0", "busy.rejected > 1"), 4, "/thresholds/0/text");
    changed("manifest.json", &|_| "{}".to_owned(), 1, "makes no sense");
    let records = ["none-1.record.json", "concurrency-1.record.json"];
    records.iter().for_each(|record| fs::remove_file(run.join(record)).expect("removed"));
    let (code, said) = rechecked(&scratch, "one");
    assert!(code == Some(1) && said.contains("no records of its arms"), "{said}");
    let (code, said) = rechecked(&scratch, "two");
    assert!(code == Some(2) && said.contains("there is no run \"two\""), "{said}");
}

#[test]
fn turns_that_a_person_changed_are_left_out_and_named() {
    let scratch = Scratch::new();
    let run = scratch.run("a", &["--repeat", "2"]);
    let mut summary = program::json(&run.join("summary.json"));
    assert_eq!(summary["arms"][1]["block"], 1);
    summary["arms"][1]["touches"] = json!([{"second": 1.0, "what": "30 more users for 10 s"}]);
    fs::write(run.join("summary.json"), summary.to_string()).expect("written");
    let found = program::printed(&scratch.lab(&["compare", "a", "--output", "json"]));
    assert_eq!(found["left_out"][0]["what"], "a:concurrency, block 1", "{found:#}");
    let primary = found["comparisons"].as_array().expect("comparisons").iter().find(|one| one["primary"] == true);
    assert_eq!(primary.expect("the primary metric")["turns"], json!([1, 2]));
    // Nobody did, by the events.
    let output = scratch.lab(&["recheck", "a"]);
    assert!(output.status.code() == Some(4) && told(&output).contains("/arms/1/touches"), "{}", told(&output));
}
