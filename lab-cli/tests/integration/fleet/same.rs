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
