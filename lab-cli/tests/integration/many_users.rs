//! More users than a process has connections for.

use std::process::Command;

use crate::program::{self, found, lab_with, told};

const EXPERIMENT: &str = "
name: many
about: an emulated service
target: {app: emulated, service: 1ms}
objective: {percentile: 90, response_time: 1s}
users: {model: url, think: 500ms, phases: [{name: x, users: 1000, for: 2s}]}
arms: [none]
";

#[test]
fn a_connection_for_each_user_is_refused_before_the_start_with_the_number_that_is_needed() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("x.yaml"), EXPERIMENT).expect("written");
    let limited = |more: &str| {
        let command = format!("ulimit -n 600 && exec {} run x.yaml --out out {more}", program::path());
        Command::new("sh").current_dir(folder.path()).args(["-c", &command]).output().expect("sh runs")
    };
    let refused = limited("");
    let text = told(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(text.contains("many cannot start: 1000 connections would be kept open at once"), "{text}");
    assert!(text.contains("`ulimit -n 10") && text.contains("{shared: 4000}"), "{text}");
    assert!(!folder.path().join("out").exists(), "nothing is written");
    // In virtual time nothing is open.
    let computed = limited("--virtual");
    assert!(computed.status.success(), "{}", told(&computed));
}

#[test]
fn users_take_turns_on_connections_that_they_share() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |out: &str, more: &[&str]| {
        let shared = "users.connections={shared: 20}";
        let args = [&["run", "x.yaml", "--output", "json", "--out", out, "--set", shared], more].concat();
        found(&lab_with(folder.path(), EXPERIMENT, &args))
    };
    for (out, more) in [("live", &[][..]), ("computed", &["--virtual"])] {
        let summary = run(out, more);
        let arm = &summary["arms"][0];
        let answered = arm["requests"]["answered"].as_u64().expect("a count");
        assert!(answered > 500, "{summary}");
        let connections = arm["server"]["connections_accepted"].as_u64().expect("a count");
        assert!((1..=20).contains(&connections), "{connections}: {summary}");
    }
}
