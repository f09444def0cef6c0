//! Golden series: what each policy makes of a flash crowd, second by second in whole numbers. A change of a policy, of the
//! plant or of a draw shows as a difference here; it is looked at and taken over with `cargo insta review`, or with
//! `INSTA_UPDATE=always cargo test -p lab-cli --test integration golden::`.

use std::{fs, path::Path};

use crate::program;

/// Twice the capacity for twenty seconds, before and after that half of it.
const OPEN: &str = "
name: crowd
target: {app: emulated, service: {exponential: 50ms}, servers: 1, workers: 1, queue: 1000}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  timeout: 10s
  on_reject: {then: leave}
  on_failure: {then: leave}
  phases:
    - {name: before, requests: 10/s, for: 5s}
    - {name: crowd, requests: 40/s, for: 20s}
    - {name: after, requests: 10/s, for: 15s}
seed: 7
";

/// Users that come back: refused ones after 5 s, and a retry budget or a throttle of their own.
const CLOSED: &str = "
name: users
target: {app: emulated, service: {exponential: 50ms}, servers: 1, workers: 1, queue: 1000}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  think: {exponential: 500ms}
  timeout: 10s
  on_reject: {then: backoff, base: 100ms, cap: 2s, attempts: 3}
  phases:
    - {name: before, users: 4, for: 5s}
    - {name: crowd, users: 60, for: 20s}
    - {name: after, users: 4, for: 10s}
seed: 7
declares: [closed-overload]
";

/// The series of all arms.
fn series(experiment: &str, arms: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let arms: String = arms.iter().map(|arm| format!("  - {arm}\n")).collect();
    fs::write(folder.path().join("scenario.yaml"), format!("{experiment}arms:\n{arms}")).expect("written");
    let run = |out: &str| {
        let output = program::lab()
            .args(["run", "scenario.yaml", "--virtual", "--out", out, "--series", &format!("{out}.txt")])
            .args(["--svg", &format!("{out}.svg")])
            .current_dir(folder.path())
            .output()
            .expect("lab runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = |form: &str| fs::read_to_string(folder.path().join(format!("{out}.{form}"))).expect(form);
        (read("txt"), read("svg"))
    };
    let (first, picture) = run("first");
    let (again, same_picture) = run("again");
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"), "{picture}");
    assert!((&first, &picture) == (&again, &same_picture), "one seed, the same bytes");
    first
}

/// Arms by their label, which is the first line of each section.
fn check(name: &str, experiment: &str, arms: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/golden");
    let all = series(experiment, arms);
    assert_eq!(all.split("\n\n").count(), arms.len());
    insta::with_settings!({ snapshot_path => folder, prepend_module_to_snapshot => false, omit_expression => true }, {
        for section in all.split("\n\n") {
            let label = section.lines().next().unwrap_or_default();
            insta::assert_snapshot!(format!("{name}-{label}"), section);
        }
    });
}

#[test]
fn an_open_crowd_meets_every_kind_of_policy() {
    let arms = [
        "none",
        "seda: {rate_initial: 20/s}",
        "concurrency: {max: 10}",
        "aimd",
        "vegas",
        "gradient2",
        "codel",
        "folly",
        "lifo",
        "dagor",
        "sentry: {policing: batch}",
        "utilization",
    ];
    check("open", OPEN, &arms);
}

#[test]
fn users_that_come_back_meet_policies_on_both_sides() {
    let arms = [
        "none",
        "seda: {rate_initial: 20/s}",
        "none: {as: throttle, client: throttle}",
        "none: {as: retry-budget, client: retry-budget}",
    ];
    check("closed", CLOSED, &arms);
}
