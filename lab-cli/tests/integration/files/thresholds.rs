use super::*;

/// Without control the 90th percentile leaves 200 ms in the second phase.
fn with(threshold: &str) -> Scratch {
    let scratch = Scratch::new();
    let (before, _) = EXPERIMENT.split_once("thresholds:").expect("thresholds");
    let text = format!("{before}thresholds:\n  - {threshold}\n").replace("for: 4s", "for: 12s");
    fs::write(scratch.path().join("short.yaml"), text).expect("written");
    scratch
}

fn ended(summary: &Value, lasts: f64) {
    assert_eq!((&summary["partial"], &summary["thresholds"][0]["held"]), (&Value::from(true), &Value::from(false)));
    let why = summary["thresholds"][0]["aborted"].as_str().expect("it says why");
    assert!(why.starts_with("ended the run after second ") && why.contains("2 s in a row"), "{why}");
    assert_eq!(summary["arms"].as_array().map(Vec::len), Some(1), "no other arm");
    let planned = summary["arms"][0]["phases"][1]["planned"].as_f64().expect("a count");
    assert!(planned > 0.0 && planned < 200.0 * lasts, "{planned}: it went on to its end");
}

const CHECK: &str = "{check: none.busy.response_time.p90 < 200ms, abort: true, grace: 2s}";

#[test]
fn one_that_fails_for_its_grace_time_ends_the_run_in_virtual_time() {
    let scratch = with(CHECK);
    let output = scratch.lab(&["run", "short.yaml", "--virtual", "--out", "run", "--repeat", "3"]);
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    ended(&json(&scratch.path().join("run/summary.json")), 10.0);
    let recheck = scratch.lab(&["recheck", "run"]);
    assert_eq!(recheck.status.code(), Some(0), "{}", told(&recheck));
}

#[test]
fn and_a_live_run() {
    let scratch = with(CHECK);
    let output = scratch.lab(&["run", "short.yaml", "--out", "run"]);
    let summary = json(&scratch.path().join("run/summary.json"));
    let code = if summary["verdict"] == "INVALID" { 3 } else { 4 };
    assert_eq!(output.status.code(), Some(code), "{}", told(&output));
    ended(&summary, 10.0);
    let recheck = scratch.lab(&["recheck", "run"]);
    assert_eq!(recheck.status.code(), Some(0), "{}", told(&recheck));
}

#[test]
fn one_that_holds_does_not() {
    let scratch = with("{check: none.busy.response_time.p90 < 100s, abort: true}");
    let output = scratch.lab(&["run", "short.yaml", "--virtual", "--out", "run"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let summary = json(&scratch.path().join("run/summary.json"));
    assert_eq!((&summary["partial"], summary["arms"].as_array().map(Vec::len)), (&Value::from(false), Some(2)));
}

#[test]
fn what_cannot_be_watched_is_told_before_anything_runs() {
    for (threshold, problem) in [
        ("{check: none.busy.served > 1, abort: true}", "only these can be watched"),
        ("{check: none.busy.goodput > 1, grace: 2s}", "a grace time without abort"),
        ("{abort: true}", "check"),
        ("{check: []}", "check"),
        ("{check: [none.busy.goodput > 1, 7]}", "unexpected 7"),
        ("{claim: A, check: none.busy.goodput > 1}", "\"A\" is no letter of a claim"),
        ("{claim: [a, bc], check: none.busy.goodput > 1}", "\"bc\" is no letter of a claim"),
        ("{variant: as coded, check: none.busy.goodput > 1}", "a variant of no claim"),
        ("{check: none.busy.goodput > 1, abrot: true}", "did you mean abort?"),
    ] {
        let output = with(threshold).lab(&["check", "short.yaml"]);
        assert_eq!(output.status.code(), Some(2), "{threshold}: {}", told(&output));
        assert!(told(&output).contains(problem), "{threshold}: {}", told(&output));
    }
}

#[test]
fn one_over_no_samples_fails() {
    let scratch = with("none.calm.response_time.p999 < 100s");
    let output = scratch.lab(&["run", "short.yaml", "--virtual", "--out", "run"]);
    assert_eq!(output.status.code(), Some(4), "{}", told(&output));
    assert!(told(&output).contains("too few samples"), "{}", told(&output));
}
