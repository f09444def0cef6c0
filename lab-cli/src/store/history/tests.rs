use std::{fs, path::PathBuf};

use analysis::summary::{Arm, RunSummary, SCHEMA, ThresholdResult, Validity};
use serde_json::json;

use super::{
    past_run::{listed, read, stamp},
    *,
};

/// A run with two arms, of which one is named otherwise than its policy.
fn put(runs: &Path, name: &str, experiment: &str, policy: &str, verdict: Validity) -> PathBuf {
    let folder = runs.join(name);
    fs::create_dir_all(&folder).expect("made");
    let manifest = json!({
        "lab": "0.1.0", "mode": "virtual", "capacity": null, "blocks": [{"block": 1, "seed": 1, "order": [], "plan": null}],
        "experiment": {
            "name": experiment, "objective": {"percentile": 90.0, "response_time_ms": 1000.0}, "thresholds": [],
            "compare": {}, "arms": [{"label": "none"}, {"label": "mine"}]
        }
    });
    fs::write(folder.join("manifest.json"), manifest.to_string()).expect("written");
    let arm = |name: &str, policy: &str| Arm { name: name.to_owned(), policy: policy.to_owned(), ..Arm::default() };
    let threshold = |held| ThresholdResult {
        text: "x".to_owned(),
        held,
        judged: true,
        why: String::new(),
        values: Vec::new(),
        blocks: Vec::new(),
        aborted: None,
    };
    let summary = RunSummary {
        schema: SCHEMA,
        experiment: experiment.to_owned(),
        verdict,
        arms: vec![arm("none", "none"), arm("mine", policy)],
        thresholds: vec![threshold(true), threshold(false)],
        ..RunSummary::default()
    };
    fs::write(folder.join("summary.json"), serde_json::to_vec(&summary).expect("JSON")).expect("written");
    folder
}

fn ask(runs: &Path, question: &Question<'_>) -> Vec<String> {
    let (found, kept) = super::ask(runs, false, question).expect("a folder");
    assert!(kept);
    found.into_iter().map(|run| run.name).collect()
}

const ALL: Question<'_> = Question { words: &[], experiment: None, policy: None, since: None, until: None, limit: 10 };

fn three() -> tempfile::TempDir {
    let runs = tempfile::tempdir().expect("a folder");
    put(runs.path(), "flash-20261120T100000Z", "flash", "seda", Validity::Valid);
    put(runs.path(), "flash-20261122T100000Z-2", "flash", "codel", Validity::Invalid);
    put(runs.path(), "ramp-20261121T235959Z", "ramp", "seda", Validity::Warn);
    fs::create_dir(runs.path().join("no-run")).expect("made");
    runs
}

#[test]
fn runs_are_found_by_experiment_policy_day_and_words() {
    let runs = three();
    let [old, new, ramp] = ["flash-20261120T100000Z", "flash-20261122T100000Z-2", "ramp-20261121T235959Z"];
    assert_eq!(ask(runs.path(), &ALL), [new, ramp, old], "the newest first");
    assert_eq!(ask(runs.path(), &Question { limit: 1, ..ALL }), [new]);
    assert_eq!(ask(runs.path(), &Question { experiment: Some("flash"), ..ALL }), [new, old]);
    assert_eq!(ask(runs.path(), &Question { policy: Some("seda"), ..ALL }), [ramp, old]);
    assert_eq!(ask(runs.path(), &Question { policy: Some("mine"), ..ALL }).len(), 3, "an arm's own name");
    assert_eq!(ask(runs.path(), &Question { since: Some("20261121"), ..ALL }), [new, ramp]);
    assert_eq!(ask(runs.path(), &Question { until: Some("20261121"), ..ALL }), [ramp, old], "to the end of the day");
    assert_eq!(ask(runs.path(), &Question { words: &["FLASH".to_owned(), "invalid".to_owned()], ..ALL }), [new]);
    assert_eq!(ask(runs.path(), &Question { words: &["%".to_owned()], ..ALL }), [""; 0], "no pattern");
}

#[test]
fn the_rows_follow_the_folders_and_can_be_made_anew_at_any_time() {
    let runs = three();
    let file = runs.path().join(FILE);
    let lines = || fs::read_to_string(&file).expect("there").lines().count();
    assert_eq!((ask(runs.path(), &ALL).len(), lines()), (3, 3));
    assert_eq!((ask(runs.path(), &ALL).len(), lines()), (3, 3), "nothing is read twice");
    // One changes, one goes, one comes.
    put(runs.path(), "ramp-20261121T235959Z", "ramp", "gradient2", Validity::Valid);
    fs::remove_dir_all(runs.path().join("flash-20261120T100000Z")).expect("removed");
    put(runs.path(), "elsewhere", "ramp", "seda", Validity::Valid);
    assert_eq!(ask(runs.path(), &Question { policy: Some("gradient2"), ..ALL }), ["ramp-20261121T235959Z"]);
    assert_eq!(ask(runs.path(), &Question { policy: Some("seda"), ..ALL }), ["elsewhere"]);
    assert_eq!(lines(), 5, "two are appended");
    // Gone, cut in the middle of a line, of another program: it comes again.
    let whole = fs::read_to_string(&file).expect("there");
    fs::remove_file(&file).expect("removed");
    assert_eq!((ask(runs.path(), &ALL).len(), lines()), (3, 3));
    for other in [&whole[..whole.len() - 7], "this is no row\n", "\u{0}\u{1}"] {
        fs::write(&file, other).expect("written");
        assert_eq!(ask(runs.path(), &ALL).len(), 3, "{other}");
        assert_eq!(ask(runs.path(), &ALL).len(), 3, "{other}");
    }
    // Runs that change a hundred times leave no hundred lines.
    for change in 0..300 {
        put(runs.path(), "elsewhere", &format!("ramp-{change}"), "seda", Validity::Valid);
        assert_eq!(ask(runs.path(), &ALL).len(), 3);
    }
    assert!(lines() < 2 * 3 + 103, "{}", lines());
    super::ask(runs.path(), true, &ALL).expect("a folder");
    assert_eq!(lines(), 3);
}

#[test]
fn a_run_that_was_killed_is_in_it_too() {
    let runs = tempfile::tempdir().expect("a folder");
    let folder = put(runs.path(), "flash-20261120T100000Z", "flash", "seda", Validity::Valid);
    fs::remove_file(folder.join("summary.json")).expect("removed");
    let run = read(runs.path(), "flash-20261120T100000Z").expect("a run");
    assert_eq!((run.verdict.as_str(), run.partial, run.arms.len(), run.thresholds), ("-", true, 2, 0));
    assert_eq!(ask(runs.path(), &ALL), ["flash-20261120T100000Z"]);
    assert_eq!(listed(&runs.path().join("nowhere")).expect("no folder, no runs"), []);
}

#[test]
fn thresholds_of_a_run_that_says_nothing_are_not_judged_whatever_its_summary_says() {
    let runs = tempfile::tempdir().expect("a folder");
    let counts = |verdict, partial: bool| {
        let folder = put(runs.path(), "flash", "flash", "seda", verdict);
        let path = folder.join("summary.json");
        let mut summary: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("there")).expect("JSON");
        summary["partial"] = partial.into();
        fs::write(&path, summary.to_string()).expect("written");
        let run = read(runs.path(), "flash").expect("a run");
        (run.held, run.judged, run.thresholds)
    };
    assert_eq!(counts(Validity::Valid, false), (1, 2, 2));
    assert_eq!(counts(Validity::Invalid, false), (0, 0, 2));
    assert_eq!(counts(Validity::Valid, true), (0, 0, 2));
}

#[test]
fn times_are_in_the_names() {
    assert_eq!(stamp("flash-crowd-20261122T065804Z").as_deref(), Some("20261122T065804Z"));
    assert_eq!(stamp("flash-crowd-20261122T065804Z-3").as_deref(), Some("20261122T065804Z"));
    assert_eq!(stamp("20261122T0658042-x"), None);
}
