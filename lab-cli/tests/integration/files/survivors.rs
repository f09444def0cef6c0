//! Percentiles of those that an arm lets through, and of all: a run as a person makes it.

use super::*;

/// Half as much again as the service has time for: `none` lets everybody wait, `concurrency` refuses a third of them.
const REFUSES: &str = "
name: refuses
target: {app: emulated, service: {exponential: 10ms}, servers: 1, workers: 1, batch: 1}
objective: {percentile: 90, response_time: 500ms}
users:
  model: url
  timeout: 30s
  drain: 30s
  on_reject: {then: leave}
  on_failure: {then: leave}
  phases: [{name: crowd, requests: 150/s, for: 10s}]
seed: 3
compare: {metric: p90-all, phase: crowd}
arms: [none, {concurrency: {max: 4}}]
thresholds:
  - concurrency.crowd.response_time.p90 < none.crowd.response_time.p90
  - concurrency.crowd.response_time_answered.p90 < none.crowd.response_time_answered.p90
  - none.crowd.response_time_all.p90 < concurrency.crowd.response_time_all.p90
";

#[test]
fn an_arm_that_refuses_a_third_is_no_better_by_the_times_of_the_others() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("short.yaml"), REFUSES).expect("written");
    let output = scratch.lab(&["run", "short.yaml", "--virtual", "--repeat", "8", "--out", "runs/refuses"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    let summary = json(&scratch.path().join("runs/refuses/summary.json"));
    let found = |metric: &str| {
        let mut all = summary["comparisons"].as_array().expect("a list").iter();
        all.find(|found| found["metric"] == metric).unwrap_or_else(|| panic!("no {metric}")).clone()
    };
    let (answered, all) = (found("response_time_ms.p90"), found("response_time_all_ms.p90"));
    assert!(answered["ratio"].as_f64() < Some(0.1) && answered["verdict"] == "undecided", "{answered:#}");
    assert_eq!((&all["verdict"], &all["primary"], &all["bound"]), (&"worse".into(), &true.into(), &true.into()));
    // Nothing of it is a number, and the shares stand beside it.
    let times = |name: &str| {
        let arm = summary["arms"].as_array().expect("arms").iter().find(|arm| arm["policy"] == name).expect("it ran");
        arm["phases"][0]["response_time_all_ms"].clone()
    };
    let (none, limit) = (times("none"), times("concurrency"));
    assert!(none["p90"].is_f64() && none["censored"] == 0, "{none:#}");
    assert!(
        limit["p90"].is_null() && limit["p50"].is_f64() && limit["p90_at_least"].as_f64() >= Some(30_000.0),
        "{limit:#}"
    );
    let (served, unanswered) =
        (limit["count"].as_u64().expect("so many"), limit["censored"].as_u64().expect("so many"));
    assert_eq!(served + unanswered, none["count"].as_u64().expect("as many"), "the same requests");
    assert!(unanswered * 4 > served, "{limit:#}");
    let thresholds = summary["thresholds"].as_array().expect("a list").iter();
    assert_eq!(thresholds.filter_map(|found| found["held"].as_bool()).collect::<Vec<_>>(), [false, true, true]);
    assert!(said.contains("percentiles of different requests"), "{said}");
    assert!(said.contains("verdict on p90 of all requests in crowd") && said.contains("; answers 6"), "{said}");
    for format in [&["md"][..], &["html"], &["text", "--details"]] {
        let written = text(&scratch.lab(&[&["report", "refuses", "-o", "-", "--format"][..], format].concat()));
        assert!(written.contains("p90 of all") && written.contains(" not served"), "{format:?}: {written}");
    }
    let compared = text(&scratch.lab(&["compare", "refuses"]));
    let first = compared.lines().next().expect("a line");
    assert!(first.contains("has a p90 of all requests at least ") && first.contains("; answers 6"), "{compared}");
    assert!(scratch.lab(&["recheck", "refuses"]).status.success());
}

/// The least p90 of what is answered has the setting that refuses the most.
#[test]
fn a_search_for_the_least_percentile_is_of_all_requests() {
    let scratch = Scratch::new();
    let calm = REFUSES.split("thresholds").next().expect("the rest").replace("150/s", "80/s");
    fs::write(scratch.path().join("short.yaml"), calm).expect("written");
    let best = |measure: &str, out: &str| {
        let sweep =
            ["sweep", "short.yaml", "--policy", "concurrency", "--set", "max=1..32", "--points", "3", "--repeat", "2"];
        let output = scratch.lab(&[&sweep[..], &["--for", measure, "--output", "json", "--out", out]].concat());
        assert!(output.status.success(), "{}", told(&output));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let settings = |found: &Value| found["best"].to_string();
    let (all, answered) = (best("p90", "all"), best("response_time.p90", "answered"));
    assert_eq!(
        (&all["goal"], &answered["goal"]),
        (&"least response_time_all.p90".into(), &"least response_time.p90".into())
    );
    assert_ne!(settings(&all), settings(&answered), "{all:#} {answered:#}");
}
