//! What agents compute is what threads compute, byte by byte.

use std::fs;

use super::{
    super::program::{done, json, told},
    server::{Server, assert_same},
};

const FILE: &str = "
name: crowd
target: {app: emulated, servers: 2, service: {exponential: 10ms}}
objective: {response_time: 100ms}
users:
  model: url
  on_reject: {then: retry, attempts: 2}
  phases: [{name: calm, requests: 100/s, for: 500ms}, {name: peak, requests: 500/s, for: 500ms}]
arms: [none, concurrency: {max: 8}]
";

#[test]
fn searches_on_two_agents_are_those_of_threads() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    fs::write(at.join("crowd.yaml"), FILE).expect("written");
    fs::create_dir(at.join("scenarios")).expect("made");
    for name in ["first", "second", "third"] {
        let scenario = FILE.replace("name: crowd", &format!("name: {name}"));
        let scenario = scenario.replace("arms: [none, concurrency: {max: 8}]", "arms: [none]");
        fs::write(at.join("scenarios").join(format!("{name}.yaml")), scenario).expect("written");
    }
    let _agents = [server.agent("a"), server.agent("b")];
    let sweep = "sweep crowd.yaml --policy concurrency --set max=2..20 --points 3 --repeat 3";
    let tune = "tune crowd.yaml --policy concurrency --set max=2..40 --evaluations 8 --training 2 --held-out 2";
    let suite = "suite scenarios --policy codel --repeat 2";
    for (name, command) in [("sweep", sweep), ("tune", tune), ("suite", suite)] {
        let args: Vec<&str> = command.split(' ').collect();
        let (here, there) = (format!("{name}-here"), format!("{name}-there"));
        done(at, &[&args[..], &["--out", &here]].concat());
        let output = server.lab(&[&args[..], &["--out", &there]].concat()).output().expect("lab runs");
        assert!(output.status.success(), "{name}: {}", told(&output));
        assert_same(&at.join(&here), &at.join(&there));
    }
    assert_eq!(
        json(&at.join("suite-there/second/manifest.json"))["world"],
        json(&at.join("suite-here/second/manifest.json"))["world"]
    );
    done(at, &["recheck", "suite-there/second"]);
}

#[test]
fn a_recording_goes_to_agents_where_that_is_asked_for() {
    let Some(server) = Server::start() else { return };
    let at = &server.folder();
    let numbers = ["--sessions", "20", "--users", "20", "--rate", "1"];
    done(at, &[&["trace", "generate", "arashi", "-o", "t.trace.zst"], &numbers[..]].concat());
    let file = "
name: replayed
target: {app: arashi, mail: {accounts: 20}}
objective: {percentile: 90, response_time: 5s}
users:
  trace: {file: t.trace.zst, speed: 10}
arms: [concurrency]
";
    fs::write(at.join("replayed.yaml"), file).expect("written");
    let sweep = "sweep replayed.yaml --policy concurrency --set max=2..20 --points 2 --repeat 1";
    let args = |out| sweep.split(' ').chain(["--out", out]).collect::<Vec<&str>>();
    done(at, &args("here"));
    let refused = server.lab(&args("refused")).output().expect("lab runs");
    assert!(refused.status.code() == Some(2) && told(&refused).contains("--send-recording"), "{}", told(&refused));
    let _agent = server.agent("a");
    let output = server.lab(&[&args("there")[..], &["--send-recording"]].concat()).output().expect("lab runs");
    assert!(output.status.success(), "{}", told(&output));
    assert_same(&at.join("here"), &at.join("there"));
}
