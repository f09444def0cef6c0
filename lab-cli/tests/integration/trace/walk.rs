//! Users who draw what their pages do not offer: how much of the walk was another one is told.

use std::fs;

use super::{done, json};

/// A third of what these users draw after a message is another message, which no page of Arashi offers there.
const OTHERWISE: &str = "
name: otherwise
source: a test
start: login
transitions:
  login: {list folders: 1.0}
  list folders: {list messages: 1.0}
  list messages: {show message: 0.7, login: 0.3}
  show message: {show message: 0.9, list messages: 0.1}
think: {}
";

fn run(experiment: &str) -> (String, serde_json::Value) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("otherwise.yaml"), OTHERWISE).expect("written");
    fs::write(at.join("run.yaml"), experiment).expect("written");
    let said = done(at, &["run", "run.yaml", "--virtual", "--out", "out"]);
    done(at, &["recheck", "out"]);
    (said, json(&fs::read_to_string(at.join("out/summary.json")).expect("a summary")))
}

fn reasons(summary: &serde_json::Value) -> Vec<String> {
    let reasons = summary["reasons"].as_array().expect("reasons").iter().filter(|reason| reason["code"] == "WALK");
    reasons.map(|reason| reason["value"].as_str().expect("a value").to_owned()).collect()
}

#[test]
fn what_pages_do_not_offer_is_a_caution_and_nothing_made_has_no_chance() {
    let (said, summary) = run("
name: otherwise
target: {app: arashi, work: 0}
objective: {percentile: 90, response_time: 1s}
users: {model: otherwise.yaml, think: 100ms, phases: [{name: all, users: 5, for: 10s, steady: false}]}
arms: [none]
");
    assert!(said.contains("WARN WALK"), "{said}");
    let found = reasons(&summary);
    assert!(found.len() == 1 && found[0].contains("show message after show message"), "{found:?}");
    let rows = summary["arms"][0]["walk"].as_array().expect("a walk");
    let row = |from: &str| rows.iter().find(|row| row["from"] == from).expect("a row");
    assert_eq!((&row("show message")["made"], row("show message").get("p")), (&0.into(), None));
    assert!(row("list messages")["p"].as_f64() > Some(0.0), "{rows:?}");
}

#[test]
fn mailboxes_that_run_empty_are_a_caution_with_how_much_they_changed_the_walk() {
    let experiment = |inbox: u32| {
        format!(
            "
name: empty
target: {{app: arashi, work: 0, mail: {{folders: generated, accounts: 5, inbox: {inbox}}}}}
objective: {{percentile: 90, response_time: 1s}}
users: {{model: arashi, think: 400ms, phases: [{{name: all, users: 10, for: 4min, steady: false}}]}}
arms: [none]
"
        )
    };
    let (said, summary) = run(&experiment(60));
    let found = reasons(&summary);
    assert!(found.iter().any(|value| value.contains("at first, and")), "{said}");
    let minutes = summary["arms"][0]["offered"].as_array().expect("minutes");
    let share =
        |minute: &serde_json::Value| minute["not_offered"].as_f64().unwrap() / minute["drawn"].as_f64().unwrap();
    assert!(minutes.len() >= 4 && share(&minutes[3]) > share(&minutes[0]) + 0.05, "{minutes:?}");
    // With mail enough nothing is said.
    let (said, summary) = run(&experiment(5000));
    assert_eq!(reasons(&summary), [""; 0], "{said}");
}
