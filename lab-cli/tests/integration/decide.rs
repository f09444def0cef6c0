//! Comparisons that run until they are decided, arms of all combinations, sweeps, and the search of parameters.

use std::{fs, path::Path};

use serde_json::Value;

use crate::program::{lab_with as lab, told};

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).expect("JSON")
}

/// Twice the load that the service can take: without a limit nearly all answers are late.
const OVERLOAD: &str = "
name: overload
target: {app: emulated, service: {exponential: 10ms}, servers: 2, workers: 64}
objective: {percentile: 90, response_time: 200ms}
users:
  model: url
  timeout: 5s
  on_reject: {then: leave}
  phases: [{name: rush, requests: 400/s, for: 5s}]
arms: [none, {concurrency: {max: 8}}, {concurrency: {max: 8, as: twin}}]
compare: {decide: true}
";

#[test]
fn a_comparison_runs_until_it_is_decided_and_recheck_repeats_the_rule() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lab(folder.path(), OVERLOAD, &["run", "x.yaml", "--virtual", "--out", "out"]);
    let said = told(&output);
    assert!(output.status.success(), "{said}");
    // 2 / 2^8 = 0.0078 is under 0.05 x ln(1 + 1.718 x 8 / 64) = 0.0097; with seven blocks 0.0156 is not.
    assert!(said.contains("decided after 8 blocks (looks after 8; at most 64)"), "{said}");
    let manifest = json(&folder.path().join("out/manifest.json"));
    let rule = &manifest["experiment"]["compare"]["until_decided"];
    assert_eq!((&rule["spending"], rule["looks"][1]["blocks"].as_u64()), (&"pocock".into(), Some(16)));
    assert_eq!((manifest["blocks"].as_array().map(Vec::len), &manifest["experiment"]["repeat"]), (Some(8), &64.into()));
    let summary = json(&folder.path().join("out/summary.json"));
    assert_eq!((&summary["decision"]["ended"], &summary["partial"]), (&"decided".into(), &false.into()));
    assert!(summary["comparisons"].as_array().expect("some").iter().all(|found| found["blocks"] == 8));
    let again = lab(folder.path(), OVERLOAD, &["recheck", "out"]);
    assert!(again.status.success() && told(&again).contains("all the same"), "{}", told(&again));
    // Eight blocks where the rule would have gone on: the run was not over.
    let path = folder.path().join("out/manifest.json");
    let text = fs::read_to_string(&path).expect("there");
    let mut other: Value = serde_json::from_str(&text).expect("JSON");
    other["experiment"]["compare"]["until_decided"]["looks"][0]["blocks"] = 7.into();
    fs::write(&path, other.to_string()).expect("written");
    let digests = folder.path().join("out/digests.json");
    let kept = fs::read(&digests).expect("there");
    fs::remove_file(&digests).expect("removed");
    let tampered = lab(folder.path(), OVERLOAD, &["recheck", "out", "--output", "json"]);
    assert!(tampered.status.code() == Some(4) && told(&tampered).contains("/partial"), "{}", told(&tampered));
    // And a block that the rule would not have run.
    other["experiment"]["compare"]["until_decided"]["looks"][0] = serde_json::json!({"blocks": 7, "share": 1.0});
    fs::write(&path, other.to_string()).expect("written");
    let tampered = lab(folder.path(), OVERLOAD, &["recheck", "out", "--output", "json"]);
    assert!(tampered.status.code() == Some(4) && told(&tampered).contains("/blocks, how many"), "{}", told(&tampered));
    fs::write(&digests, kept).expect("written");
    // One run against itself, by the same rule.
    fs::write(&path, text).expect("written");
    let compared = lab(folder.path(), OVERLOAD, &["compare", "out"]);
    assert!(compared.status.success(), "{}", told(&compared));
}

#[test]
fn a_run_that_cannot_decide_says_why_and_ends_with_4() {
    let folder = tempfile::tempdir().expect("a folder");
    // No answer in time on either side, so that the 99th percentile is hidden in each block.
    let hidden = OVERLOAD
        .replace("requests: 400/s, for: 5s", "requests: 800/s, for: 2s")
        .replace("timeout: 5s", "timeout: 300ms")
        .replace(
            "arms: [none, {concurrency: {max: 8}}, {concurrency: {max: 8, as: twin}}]",
            "arms: [none, {none: {as: again}}]",
        )
        .replace("decide: true", "metric: p99");
    let output =
        lab(folder.path(), &hidden, &["run", "x.yaml", "--virtual", "--repeat", "until-decided", "--out", "out"]);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("no number of blocks decides the rest") && said.contains("again is not decided"), "{said}");
    assert_eq!(json(&folder.path().join("out/summary.json"))["decision"]["ended"], "never-decided");
    for form in ["md", "html"] {
        let report = lab(folder.path(), &hidden, &["report", "out", "--format", form, "--out", form]);
        let page = fs::read_to_string(folder.path().join(form)).unwrap_or_else(|_| panic!("{}", told(&report)));
        for part in ["Stopping rule: 0 of 1 comparison decided, and no number of blocks", "again is not decided: "] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}

#[test]
fn how_often_is_a_number_or_a_word_and_a_live_decision_says_how_long_it_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |text: &str| lab(folder.path(), text, &["check", "x.yaml"]);
    let said = told(&check(&OVERLOAD.replace("decide: true", "decide: true, most_blocks: 32")));
    assert!(said.contains("a decision takes at least 6 blocks of 3 arms and 15 s: 1 min 30 s"), "{said}");
    let until = format!("{OVERLOAD}repeat: until-decided\n");
    let said = told(&check(&until));
    assert!(said.contains("a decision takes 8 to 64 blocks of 3 arms and 15 s: 2 min to 16 min"), "{said}");
    for (text, why) in [
        (format!("{OVERLOAD}repeat: forever\n"), "\"forever\" is no number of repetitions"),
        (format!("{OVERLOAD}repeat: 0\n"), "repeat"),
        (until.replace("decide: true", "decide: true, most_blocks: 5"), "so few blocks cannot decide"),
        (
            until.replace("arms: [none, {concurrency: {max: 8}}, {concurrency: {max: 8, as: twin}}]", "arms: [none]"),
            "nothing to decide",
        ),
    ] {
        let output = check(&text);
        assert!(output.status.code() == Some(2) && told(&output).contains(why), "{why}: {}", told(&output));
    }
    let bad = lab(folder.path(), OVERLOAD, &["run", "x.yaml", "--virtual", "--repeat", "often"]);
    assert_eq!(bad.status.code(), Some(2), "{}", told(&bad));
    // A number holds, also where the run is there to decide.
    let fixed = lab(folder.path(), OVERLOAD, &["run", "x.yaml", "--virtual", "--repeat", "2", "--out", "fixed"]);
    assert_eq!(fixed.status.code(), Some(4), "{}", told(&fixed));
    assert_eq!(json(&folder.path().join("fixed/summary.json"))["decision"], Value::Null);
}

#[test]
fn lists_of_values_are_arms_with_labels_that_say_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = OVERLOAD
        .replace(
            "compare: {decide: true}",
            "thresholds: [concurrency-max-8.rush.goodput > concurrency-max-1.rush.goodput]",
        )
        .replace(
            "arms: [none, {concurrency: {max: 8}}, {concurrency: {max: 8, as: twin}}]",
            "arms: [{concurrency: {max: [1, 8]}}, none]",
        );
    let output = lab(folder.path(), &text, &["run", "x.yaml", "--virtual", "--out", "out"]);
    assert!(output.status.success(), "{}", told(&output));
    let summary = json(&folder.path().join("out/summary.json"));
    let arms: Vec<&str> =
        summary["arms"].as_array().expect("arms").iter().filter_map(|arm| arm["name"].as_str()).collect();
    assert_eq!(arms, ["concurrency-max-1", "concurrency-max-8", "none"]);
}

const SWEEP: [&str; 8] = ["sweep", "x.yaml", "--policy", "concurrency", "--set", "max=1..64", "--points", "5"];

#[test]
fn a_sweep_finds_the_region_and_goes_on_where_it_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = OVERLOAD.replace("{concurrency: {max: 8, as: twin}}", "seda");
    let command = [&SWEEP[..], &["--repeat", "2", "--under", "p99 < 1s", "--out", "found"]].concat();
    let output = lab(folder.path(), &text, &command);
    let said = told(&output);
    assert!(output.status.success(), "{said}");
    let found = folder.path().join("found");
    let first = fs::read_to_string(found.join("result.json")).expect("there");
    let result: Value = serde_json::from_str(&first).expect("JSON");
    assert_eq!(
        (&result["goal"], &result["phase"]),
        (&"most goodput with response_time.p99 < 1s".into(), &"rush".into())
    );
    let values = &result["axes"][0];
    assert_eq!((&values["key"], &values["log"]), (&"arms.concurrency.max".into(), &true.into()));
    assert_eq!(values["values"], serde_json::json!(["1", "3", "8", "23", "64"]));
    let points = result["points"].as_array().expect("points");
    assert!(points.len() == 5 && points.iter().all(|point| point["arm"] == "concurrency"), "{result}");
    let mean = |at: usize| points[at]["mean"].as_f64().expect("a goodput");
    // One at a time leaves a server idle.
    assert!(mean(0) < 0.7 * mean(2), "{result}");
    assert!(said.contains("best: arms.concurrency.max=") && said.contains("within 5 % of it"), "{said}");
    assert!(fs::read_to_string(found.join("curve.svg")).expect("there").starts_with("<svg"));
    // Killed after four of its ten runs, in the middle of a line.
    let runs = fs::read_to_string(found.join("runs.jsonl")).expect("there");
    assert_eq!(runs.lines().count(), 10);
    let four: usize = runs.lines().take(4).map(|line| line.len() + 1).sum();
    fs::write(found.join("runs.jsonl"), &runs[..four + 20]).expect("written");
    let again = lab(folder.path(), &text, &command);
    assert!(again.status.success() && told(&again).contains("4 runs are there already"), "{}", told(&again));
    assert_eq!(fs::read_to_string(found.join("result.json")).expect("there"), first, "to the last digit");
    let other = [&SWEEP[..], &["--repeat", "3", "--out", "found"]].concat();
    let refused = lab(folder.path(), &text, &other);
    assert!(refused.status.code() == Some(2) && told(&refused).contains("another plan"), "{}", told(&refused));
}

#[test]
fn a_sweep_of_anything_else_runs_all_arms_and_values_that_clash_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = OVERLOAD.replace("{concurrency: {max: 8, as: twin}}", "{gradient2: {limit_initial: 20}}");
    let command = [
        "sweep",
        "x.yaml",
        "--set",
        "users.phases.rush.requests=100/s..400/s",
        "--points",
        "2",
        "--repeat",
        "1",
        "--output",
        "json",
        "--for",
        "p90",
    ];
    let output = lab(folder.path(), &text, &command);
    assert!(output.status.success(), "{}", told(&output));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (result["points"].as_array().map(Vec::len), &result["goal"]),
        (Some(6), &"least response_time_all.p90".into())
    );
    // A least limit above the first one is not allowed.
    let clash = [
        "sweep",
        "x.yaml",
        "--policy",
        "gradient2",
        "--set",
        "limit_min=10..40",
        "--points",
        "4",
        "--repeat",
        "1",
        "--out",
        "clash",
    ];
    let output = lab(folder.path(), &text, &clash);
    assert!(output.status.success() && told(&output).contains("not allowed"), "{}", told(&output));
    // Nothing is as fast as that: a condition that fails.
    let fails = [&SWEEP[..], &["--repeat", "1", "--under", "p99 < 0.1ms", "--out", "fails"]].concat();
    let output = lab(folder.path(), &text, &fails);
    assert!(
        output.status.code() == Some(4) && told(&output).contains("no value meets the condition"),
        "{}",
        told(&output)
    );
    for (bad, why) in [
        (&["sweep", "x.yaml", "--set", "users.timeout=5s"][..], "no --set has a range"),
        (&["sweep", "x.yaml", "--set", "arms.gradient2.limit=2..9"], "no such parameter"),
        (&["sweep", "x.yaml", "--set", "arms.gradient2.limit_min=9..2"], "the first end must be less"),
        (&["sweep", "x.yaml", "--set", "arms.gradient2.limit_min=2..9", "--for", "goodputt"], "--for"),
        (&["sweep", "x.yaml", "--set", "arms.gradient2.limit_min=2..9", "--under", "p99"], "--under"),
    ] {
        let output = lab(folder.path(), &text, bad);
        assert!(output.status.code() == Some(2) && told(&output).contains(why), "{why}: {}", told(&output));
    }
}

#[test]
fn tuning_finds_a_better_arm_that_can_be_run() {
    let folder = tempfile::tempdir().expect("a folder");
    // One at a time, of two servers: half of the capacity is lost until the limit is raised.
    let text = OVERLOAD
        .replace("{concurrency: {max: 8}}, {concurrency: {max: 8, as: twin}}", "{concurrency: {as: mine, max: 1}}");
    let command = [
        "tune",
        "x.yaml",
        "--policy",
        "mine",
        "--set",
        "max=1..256",
        "--evaluations",
        "12",
        "--training",
        "2",
        "--held-out",
        "6",
        "--out",
        "found",
    ];
    let output = lab(folder.path(), &text, &command);
    let said = told(&output);
    assert!(output.status.success(), "{said}");
    let found = folder.path().join("found");
    let first = fs::read_to_string(found.join("result.json")).expect("there");
    let result: Value = serde_json::from_str(&first).expect("JSON");
    let held_out = &result["held_out"];
    assert_eq!(held_out["comparison"]["verdict"], "better", "{result}");
    let [regret, before] = ["regret", "regret_before"].map(|key| held_out[key].as_f64().expect("there is an oracle"));
    assert!((0.0..0.5).contains(&regret) && before > regret + 0.1, "{held_out}");
    let knob = &result["knobs"][0];
    assert_eq!((&knob["name"], &knob["before"]), (&"max".into(), &"1".into()));
    assert!(knob["slice"]["points"].as_array().is_some_and(|points| points.len() >= 9), "{knob}");
    assert!(found.join("slice-max.svg").is_file());
    // The winner is an arm.
    let winner = fs::read_to_string(found.join("winner.yaml")).expect("there");
    let arms = winner.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let with_winner = text.replace("arms: [none, {concurrency: {as: mine, max: 1}}]", &arms);
    let check = lab(folder.path(), &with_winner, &["check", "x.yaml"]);
    assert!(told(&check).contains("arms mine-tuned"), "{winner}\n{}", told(&check));
    // Killed, and again: the same search to the last digit.
    let runs = fs::read_to_string(found.join("runs.jsonl")).expect("there");
    fs::write(found.join("runs.jsonl"), &runs[..runs.len() / 2]).expect("written");
    let again = lab(folder.path(), &text, &command);
    assert!(again.status.success(), "{}", told(&again));
    assert_eq!(fs::read_to_string(found.join("result.json")).expect("there"), first);
    for (bad, why) in [
        (&["tune", "x.yaml", "--policy", "none"][..], "no number and no time to tune"),
        (&["tune", "x.yaml", "--policy", "mine", "--set", "max=0..10"], "beyond the declared range"),
        (&["tune", "x.yaml", "--policy", "mine", "--set", "most=1..10"], "has no such number or time"),
        (&["tune", "x.yaml", "--policy", "oracle"], "is a bound"),
    ] {
        let output = lab(folder.path(), &text, bad);
        assert!(output.status.code() == Some(2) && told(&output).contains(why), "{why}: {}", told(&output));
    }
}
