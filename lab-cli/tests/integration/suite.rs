//! `lab suite`: scores to the last digit, pages, and a suite that goes on.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use experiment::{Changes, Library, read};
use serde_json::Value;

use crate::program::{done, json, printed, ran, told};

/// Scenarios that have few requests, and between them all that a score is made of: retries, faults, classes, customers, a tree, and one
/// without a bound.
const FEW: [&str; 8] = [
    "retry-storm",
    "half-capacity",
    "priorities",
    "greedy-customer",
    "many-clients",
    "pauses",
    "slow-service",
    "slow-dependency",
];

fn put(folder: &Path, scenarios: &[&str]) {
    fs::create_dir_all(folder).expect("made");
    for (number, name) in scenarios.iter().enumerate() {
        let entry = Library::find(&format!("suite/{name}")).unwrap_or_else(|| panic!("no {name}"));
        fs::write(folder.join(format!("{number}-{name}.yaml")), entry.text).expect("written");
    }
}

/// Cells, a line each.
fn lines(matrix: &Value) -> String {
    let mut text = String::new();
    for row in matrix["rows"].as_array().expect("rows") {
        let _ = writeln!(text, "{}: {} {} {}", row["policy"], row["geometric_mean"], row["min"], row["min_scenario"]);
        for scenario in matrix["scenarios"].as_array().expect("names") {
            let _ = writeln!(text, "  {scenario}: {}", row["cells"][scenario.as_str().expect("a name")]);
        }
    }
    text
}

#[test]
fn eight_scenarios_have_these_scores_and_pages_and_are_not_run_again() {
    let folder = tempfile::tempdir().expect("a folder");
    put(&folder.path().join("few"), &FEW);
    let few = ["suite", "few", "--policy", "gradient2", "--policy", "seda", "--repeat", "1", "--out", "out"];
    let json_of = |args: &[&str]| printed(&ran(folder.path(), &[&few[..], args].concat()));
    let found = json_of(&["--output", "json"]);
    insta::assert_snapshot!(lines(&found));

    let written =
        |name: &str| fs::metadata(folder.path().join("out").join(name)).expect("there").modified().expect("a time");
    let before = FEW.map(|name| written(&format!("{name}/digests.json")));
    let page = done(folder.path(), &[&few[..], &["--output", "html"]].concat());
    assert_eq!(page.trim(), "out/index.html");
    assert_eq!(FEW.map(|name| written(&format!("{name}/digests.json"))), before, "what is there is not run again");
    let page = fs::read_to_string(folder.path().join("out/index.html")).expect("a page");
    let links: BTreeSet<&str> = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let files: Vec<&&str> = links.iter().filter(|link| !link.starts_with('#')).collect();
    assert_eq!(files.len(), FEW.len(), "{links:?}");
    assert!(files.iter().all(|file| folder.path().join("out").join(file).is_file()), "{files:?}");

    // A run that was stopped is run again, and comes to the same.
    fs::remove_file(folder.path().join("out/pauses/digests.json")).expect("there");
    assert_eq!(json_of(&["--output", "json"]), found);

    // One repetition has no range but itself: what was better by more than the noise is worse now.
    let mut old = json(&folder.path().join("out/suite.json"));
    old["rows"][0]["cells"]["pauses"]["score"] = 2.0.into();
    old["rows"][0]["cells"]["pauses"]["range"] = [2.0, 2.0].into_iter().collect();
    fs::write(folder.path().join("old.json"), old.to_string()).expect("written");
    let compared = ran(folder.path(), &[&few[..], &["--compare", "old.json"]].concat());
    assert_eq!(compared.status.code(), Some(4), "{}", told(&compared));
    assert_eq!(told(&compared).matches("worse: ").count(), 1, "{}", told(&compared));
    let same = ran(folder.path(), &[&few[..], &["--compare", "out/suite.json"]].concat());
    assert_eq!(same.status.code(), Some(0), "{}", told(&same));
    let other = ran(folder.path(), &[&few[..], &["--seed", "2"]].concat());
    assert_eq!(other.status.code(), Some(2), "{}", told(&other));
}

/// Two doors leave connections in the kernel, and an autoscaler gives tasks by what is let in.
#[test]
fn policies_at_accept_of_a_service_and_before_an_autoscaler_have_scores() {
    let folder = tempfile::tempdir().expect("a folder");
    put(&folder.path().join("few"), &["two-doors", "diurnal"]);
    let few = ["suite", "few", "--policy", "connections", "--repeat", "1", "--out", "out", "--output", "json"];
    let found = printed(&ran(folder.path(), &few));
    for row in found["rows"].as_array().expect("rows") {
        for scenario in ["two-doors", "diurnal"] {
            let cell = &row["cells"][scenario];
            assert!(cell["score"].is_number() && cell["verdict"] != "INVALID", "{scenario}: {cell}");
        }
    }
}

#[test]
fn every_file_of_the_suite_comes_with_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/suite");
    let mut files: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|file| fs::read_to_string(file.expect("readable").path()).expect("text"))
        .collect();
    let mut known: Vec<&str> = Library::suite().iter().map(|entry| entry.text).collect();
    files.sort();
    known.sort_unstable();
    assert_eq!(files, known);
    for entry in Library::suite() {
        let experiment =
            read(entry.text, &Changes::default()).unwrap_or_else(|found| panic!("{}: {found:?}", entry.id));
        assert_eq!(format!("suite/{}", experiment.name), entry.id);
        assert!(!experiment.about.is_empty() && experiment.thresholds.is_empty(), "{}", entry.id);
    }
}
