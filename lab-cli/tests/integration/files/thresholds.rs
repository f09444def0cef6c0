use super::*;

/// As in virtual time (`cases/thresholds.trycmd`): without control the 90th percentile leaves 200 ms in the second phase.
#[test]
fn one_that_fails_for_its_grace_time_ends_a_live_run() {
    let scratch = Scratch::new();
    let check = "thresholds=[{check: none.busy.response_time.p90 < 200ms, abort: true, grace: 2s}]";
    let output =
        scratch.lab(&["run", "short.yaml", "--out", "run", "--set", "users.phases.busy.for=12s", "--set", check]);
    let summary = json(&scratch.path().join("run/summary.json"));
    let code = if summary["verdict"] == "INVALID" { 3 } else { 4 };
    assert_eq!(output.status.code(), Some(code), "{}", told(&output));
    assert_eq!((&summary["partial"], &summary["thresholds"][0]["held"]), (&true.into(), &false.into()));
    let why = summary["thresholds"][0]["aborted"].as_str().expect("it says why");
    assert!(why.starts_with("ended the run after second ") && why.contains("2 s in a row"), "{why}");
    assert_eq!(summary["arms"].as_array().map(Vec::len), Some(1), "no other arm");
    let planned = summary["arms"][0]["phases"][1]["planned"].as_f64().expect("a count");
    assert!(planned > 0.0 && planned < 2000.0, "{planned}: it went on to its end");
    let recheck = scratch.lab(&["recheck", "run"]);
    assert_eq!(recheck.status.code(), Some(0), "{}", told(&recheck));
}
