//! A run that is stopped in the middle: every form of its result says how far it came, and judges nothing.

use std::{fs, process::Stdio};

use super::{Scratch, json, text, told};
use crate::program::{signal, wait_until};

/// Its third phase is never reached, and its second lasts a minute.
const EXPERIMENT: &str = "
name: cut
target: {app: emulated, service: 2ms}
objective: {percentile: 90, response_time: 100ms}
users:
  model: url
  think: 20ms
  drain: 1s
  phases: [{name: before, users: 4, for: 1s}, {name: spike, users: 8, for: 60s}, {name: after, users: 4, for: 5s}]
arms: [none, {concurrency: {max: 4}}]
declares: [closed-overload]
thresholds:
  - none.before.served > 0
  - none.spike.goodput > 1
  - none.spike[50%..].goodput > 1
  - none.after.recovery < 5s
  - concurrency.before.served > 0
";

#[test]
fn a_run_that_is_stopped_in_a_phase_says_so_and_nothing_of_it_is_judged() {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("cut.yaml"), EXPERIMENT).expect("written");
    let mut command = scratch.command(&["run", "cut.yaml", "--no-tui", "--details", "--out", "out"]);
    let lab = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let timeline = scratch.path().join("out/timeline.jsonl");
    let seconds = || fs::read_to_string(&timeline).unwrap_or_default().matches("\"phase\":\"spike\"").count();
    wait_until("some seconds of the second phase", || seconds() >= 3);
    signal("INT", lab.id());
    let output = lab.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", told(&output));
    let shown = text(&output);
    for wanted in [
        "spike (cut off)",
        "after (not begun)",
        "PARTIAL: 0 of 2 arms ran to their end",
        "not judged  none.before.served > 0",
        "not judged  none.spike.goodput > 1",
        "none.spike was cut off after ",
        "none.after did not begin",
        "concurrency.before did not run",
    ] {
        assert!(shown.contains(wanted), "no {wanted:?} in:\n{shown}");
    }

    let summary = json(&scratch.path().join("out/summary.json"));
    assert_eq!((&summary["partial"], &summary["stopped"]["turns_planned"]), (&true.into(), &2.into()));
    let phase = |n: usize| &summary["arms"][0]["phases"][n];
    assert_eq!((&phase(0)["cut_off"], phase(0)["seconds"].as_f64()), (&serde_json::Value::Null, Some(1.0)));
    let lasted = phase(1)["seconds"].as_f64().expect("a number");
    assert!(phase(1)["cut_off"] == true && lasted > 1.0 && lasted < 59.0, "{lasted}");
    // Of what it lasted, not of the minute that was planned.
    let (served, goodput) = (&phase(1)["served"], phase(1)["goodput_per_s"].as_f64().expect("a number"));
    let by_hand = served.as_f64().expect("a count") / lasted;
    assert!((goodput / by_hand - 1.0).abs() < 0.1, "{goodput}/s of {served} in {lasted} s");
    assert_eq!((&phase(2)["cut_off"], phase(2)["seconds"].as_f64()), (&true.into(), Some(0.0)));
    let judged: Vec<bool> = summary["thresholds"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|threshold| threshold["judged"].as_bool().unwrap_or(true))
        .collect();
    assert_eq!(judged, [false; 5], "nothing ran to its end");

    for (format, wanted) in [
        ("md", &["PARTIAL: 0 of 2 arms ran to their end", "| not judged |", "spike \\(cut off\\)"][..]),
        ("html", &["PARTIAL: 0 of 2 arms ran to their end", "<td>not judged</td>", "spike (cut off)"]),
        ("junit", &["name=\"PARTIAL\"", "<skipped message="]),
    ] {
        let written = scratch.lab(&["report", "out", "--format", format, "-o", "-"]);
        assert!(written.status.success(), "{}", told(&written));
        let shown = text(&written);
        for wanted in wanted {
            assert!(shown.contains(wanted), "no {wanted:?} in {format}:\n{shown}");
        }
    }
    let rechecked = scratch.lab(&["recheck", "out"]);
    assert!(rechecked.status.success(), "{}", told(&rechecked));
}
