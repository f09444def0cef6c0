//! Arms that know what no policy can: the best fixed limit, and the oracle.

use std::{fs, path::Path};

use serde_json::Value;

use crate::program;

const OPEN: &str = "
name: open
target: {app: emulated, service: {exponential: 20ms}, servers: 1, workers: 1, queue: 1000}
objective: {percentile: 90, response_time: 500ms}
users:
  model: url
  timeout: 5s
  on_reject: {then: leave}
  on_failure: {then: leave}
  phases:
    - {name: calm, requests: 10/s, for: 10s}
    - {name: crowd, requests: 100/s, for: 20s}
seed: 3
";

const CLOSED: &str = "
name: closed
target: {app: emulated, service: {exponential: 20ms}, servers: 1, workers: 1, queue: 1000}
objective: {percentile: 90, response_time: 500ms}
users:
  model: url
  think: {exponential: 200ms}
  timeout: 5s
  on_reject: {wait: 1s, then: login}
  phases: [{name: crowd, users: 100, for: 20s}]
seed: 3
declares: [closed-overload]
";

/// A front that asks the back twice for each request, which has room for 100 of these calls a second at two tasks.
const TREE: &str = "
name: tree
target:
  app: tree
  services:
    front: {service: {exponential: 1ms}, servers: 8, workers: 256, calls: [{to: back, times: 2}]}
    back: {service: {exponential: 20ms}, servers: 1, workers: 1, batch: 1, tasks: 2, balancer: least-loaded}
objective: {percentile: 90, response_time: 500ms}
users:
  model: url
  timeout: 5s
  on_reject: {then: leave}
  on_failure: {then: leave}
  phases:
    - {name: calm, requests: 10/s, for: 10s}
    - {name: crowd, requests: 100/s, for: 20s}
seed: 3
";

fn lab(folder: &Path, experiment: &str, arms: &str, more: &[&str]) -> std::process::Output {
    fs::write(folder.join("experiment.yaml"), format!("{experiment}arms: {arms}\n")).expect("written");
    let mut command = program::lab();
    command.args(["run", "experiment.yaml", "--out", "out"]).args(more).current_dir(folder);
    command.output().expect("lab runs")
}

fn summary(experiment: &str, arms: &str, more: &[&str]) -> (Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lab(folder.path(), experiment, arms, &[&["--virtual"], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = fs::read(folder.path().join("out/summary.json")).expect("read");
    (serde_json::from_slice(&read).expect("JSON"), String::from_utf8(output.stdout).expect("text"))
}

/// Goodput of the last phase of each arm, without the bound that stands beside the oracle's.
fn goodputs(summary: &Value) -> Vec<(String, f64)> {
    let arms = summary["arms"].as_array().expect("arms").iter().filter(|arm| arm["name"] != "blind");
    let last = |arm: &Value| arm["phases"].as_array().and_then(|phases| phases.last().cloned()).expect("a phase");
    arms.map(|arm| (arm["name"].to_string(), last(arm)["goodput_per_s"].as_f64().expect("a rate"))).collect()
}

#[test]
fn nobody_does_better_than_the_bound_and_it_is_labelled_as_one() {
    let (found, text) =
        summary(OPEN, "[none, seda, codel, folly, lifo, concurrency: {max: 5}, best-static, oracle]", &[]);
    let goodputs = goodputs(&found);
    let (_, bound) = goodputs.last().cloned().expect("the oracle");
    for (name, goodput) in &goodputs[..goodputs.len() - 1] {
        assert!(*goodput <= bound, "{name}: {goodput} of {bound}");
    }
    // Twice the capacity: no more than 50/s of the mean job, and the short ones add up to 81 % of 100 a second.
    assert!((75.0..85.0).contains(&bound), "{bound}");
    let oracle = &found["arms"][7];
    assert_eq!((&oracle["bound"], &oracle["policy"]), (&Value::from(true), &Value::from("oracle")));
    assert_eq!(oracle["phases"][1]["of_oracle"], 1.0);
    // A limit keeps the server busy with jobs as they come, 50 a second; SEDA's rate finds no balance within twenty seconds.
    let share = |arm: usize| found["arms"][arm]["phases"][1]["of_oracle"].as_f64().expect("a share");
    assert!((0.5..0.7).contains(&share(6)) && share(1) < share(6), "{} {}", share(6), share(1));
    assert!(text.contains("of oracle") && text.contains("oracle (a bound, not run)"), "{text}");
    // Who does not know sizes serves 50 a second: 20 s, and the objective's half second at the end; and nobody does more than that
    // and chance.
    let blind = &found["arms"][8];
    assert_eq!(
        (&blind["name"], &blind["bound"]),
        (&Value::from("blind"), &Value::from(true)),
        "beside the oracle, unasked"
    );
    let per_s = |key: &str| blind["phases"][1][key].as_f64().expect("a rate");
    let (mean, by_chance) = (per_s("goodput_per_s"), per_s("by_chance_per_s"));
    assert!((48.0..54.0).contains(&mean) && (2.0..6.0).contains(&by_chance), "{mean} {by_chance}");
    for (name, goodput) in &goodputs[..goodputs.len() - 1] {
        assert!(*goodput <= mean + by_chance, "{name}: {goodput} of {mean} and {by_chance}");
    }
    let of_blind = found["arms"][6]["phases"][1]["of_blind"].as_f64().expect("a share");
    assert!((0.85..1.1).contains(&of_blind), "{of_blind}");
    assert!(text.contains("of blind") && text.contains("chance may add"), "{text}");
    // In calm everything is in time, for everybody.
    assert!(found["arms"][0]["phases"][0]["of_oracle"].as_f64().is_some_and(|share| share > 0.95), "{text}");
}

#[test]
fn in_a_closed_loop_the_oracle_is_a_policy_that_was_told_and_outdoes_those_that_were_not() {
    let (found, text) = summary(CLOSED, "[none, seda, codel, gradient2, best-static, oracle]", &[]);
    let goodputs = goodputs(&found);
    let (_, oracle) = goodputs.last().cloned().expect("the oracle");
    for (name, goodput) in &goodputs[..goodputs.len() - 1] {
        assert!(*goodput < oracle, "{name}: {goodput} of {oracle}");
    }
    assert_eq!(found["arms"][5].get("bound"), None);
    assert!(found["arms"][5]["server"]["requests_read"].as_u64().is_some_and(|read| read > 1000));
    assert!(text.contains("of oracle"), "{text}");
    assert_eq!(found["verdict"], "VALID", "{text}");
}

#[test]
fn no_limit_that_is_set_by_hand_beats_the_one_that_was_found_on_the_same_seeds() {
    let by_hand = "concurrency: {as: c2, max: 2}, concurrency: {as: c4, max: 4}, concurrency: {as: c7, max: 7}, \
                   concurrency: {as: c12, max: 12}, concurrency: {as: c20, max: 20}, concurrency: {as: c40, max: 40}";
    let (found, _) = summary(CLOSED, &format!("[best-static, {by_hand}]"), &["--repeat", "3"]);
    let total = |name: &str| -> f64 {
        goodputs(&found).iter().filter(|(arm, _)| arm == &format!("\"{name}\"")).map(|(_, goodput)| goodput).sum()
    };
    for other in ["c2", "c4", "c7", "c12", "c20", "c40"] {
        assert!(total("best-static") >= total(other) - 1e-9, "{other}: {}", total(other));
    }
    let search = &found["searches"][0];
    let limit = search["limit"].as_u64().expect("a limit");
    assert_eq!(found["arms"][0]["parameters"]["max"], limit);
    assert_eq!(
        (&found["arms"][0]["policy"], &found["arms"][0]["name"]),
        (&"concurrency".into(), &"best-static".into())
    );
    let tried = search["tried"].as_array().expect("tries");
    let in_time = |at: &Value| at["in_time"].as_u64().expect("a count");
    let best = tried.iter().map(in_time).max().expect("some");
    let found_one = tried.iter().find(|at| at["limit"] == limit).expect("it was tried");
    assert_eq!(in_time(found_one), best);
    // What the search counted is what the arm then did, over all seeds.
    assert_eq!(best as f64, (total("best-static") * 20.0).round());
}

#[test]
fn several_services_have_a_bound_and_a_best_limit_too() {
    let arms = "[none, none: {as: codel, services: {back: codel}}, none: {as: c4, services: {back: {concurrency: {max: 4}}}}, \
                concurrency: {as: front, max: 8}, best-static: {service: back, most: 32}, best-static: {as: all, most: 32}, oracle]";
    let (found, text) = summary(TREE, arms, &[]);
    let goodputs = goodputs(&found);
    let (_, bound) = goodputs.last().cloned().expect("the oracle");
    for (name, goodput) in &goodputs[..goodputs.len() - 1] {
        assert!(*goodput <= bound, "{name}: {goodput} of {bound}\n{text}");
    }
    // Of two calls each: Erlang's law of two stages, 20 ms each. Those under 2.67 stages add up to half of all work, which is what
    // two servers can do, and are 1 - 3.67 / e^2.67 = 75 % of 100 a second; the objective's half second adds some at the end.
    assert!((74.0..80.0).contains(&bound), "{bound}");
    assert_eq!(found["arms"][6]["bound"], true);
    // The limit is the back's alone, and no worse than one that was written by hand.
    let at_back = &found["arms"][4];
    assert_eq!((&at_back["policy"], &at_back["name"]), (&"concurrency".into(), &"best-static".into()));
    assert_eq!(at_back["parameters"]["services.back.max"], found["searches"][0]["limit"]);
    assert!(goodputs[4].1 >= goodputs[2].1, "{goodputs:?}");
    assert_eq!(found["arms"][5]["parameters"]["max"], found["searches"][1]["limit"]);
}

#[test]
fn a_service_that_a_fault_makes_faster_has_a_bound_of_its_own() {
    let found = |hit: &str| {
        let faults = format!("virtual: {{faults: [{{at: 10s, for: 20s, capacity: 2, service: {hit}}}]}}\n");
        let arms = "[none, none: {as: codel, services: {back: codel}}, oracle]";
        let (found, text) = summary(&format!("{TREE}{faults}"), arms, &[]);
        let [_, (_, codel), (_, bound)] = &goodputs(&found)[..] else { panic!("{text}") };
        assert!(codel <= bound, "{codel} of {bound}\n{text}");
        (*codel, *bound)
    };
    // The front is not what there is too little of.
    let (_, bound) = found("front");
    assert!((74.0..80.0).contains(&bound), "{bound}");
    // Twice as fast the two servers of the back have room for all 200 calls a second, if they come evenly.
    let (codel, bound) = found("back");
    assert!(codel > 80.0 && bound > 90.0, "{codel} {bound}");
}

#[test]
fn at_several_services_that_retry_the_oracle_is_a_policy_at_each_of_them() {
    let stack = TREE.replace("times: 2", "times: 2, attempts: 3");
    let crowd = stack
        .replace("requests: 100/s, for: 20s", "users: 200, for: 20s")
        .replace("  timeout: 5s", "  think: 1s\n  timeout: 5s");
    let (found, text) =
        summary(&format!("{crowd}declares: [closed-overload]\n"), "[none, best-static: {most: 32}, oracle]", &[]);
    let goodputs = goodputs(&found);
    assert_eq!(found["arms"][2].get("bound"), None, "{text}");
    assert!(goodputs[2].1 > goodputs[0].1, "{goodputs:?}");
    assert!(text.contains("of oracle"), "{text}");
}

#[test]
fn neither_is_for_live_runs_and_slips_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arm, says) in [("oracle", "--virtual"), ("best-static", "concurrency: {as: best-static, max: N}")] {
        let output = lab(folder.path(), OPEN, &format!("[none, {arm}]"), &["--no-tui"]);
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(says), "{message}");
        assert!(!folder.path().join("out").exists(), "nothing was begun");
    }
    let served = program::lab().args(["serve", "--policy", "oracle"]).output().expect("lab runs");
    let told = String::from_utf8_lossy(&served.stderr).into_owned();
    assert_eq!(served.status.code(), Some(2), "{told}");
    assert!(told.contains("virtual time alone"), "{told}");
    let wrong_service = lab(folder.path(), TREE, "[best-static: {service: bakc}]", &["--virtual"]);
    let message = String::from_utf8(wrong_service.stderr).expect("text");
    assert_eq!(wrong_service.status.code(), Some(2), "{message}");
    assert!(message.contains("no service") && message.contains("front, back"), "{message}");
    let of_a_part = lab(folder.path(), TREE, "[none: {services: {back: oracle}}]", &["--virtual"]);
    let message = String::from_utf8(of_a_part.stderr).expect("text");
    assert_eq!(of_a_part.status.code(), Some(2), "{message}");
    assert!(message.contains("stands for an arm") && message.contains("{service: NAME}"), "{message}");
    let slips = [
        ("best-static: {service: back}", "several services"),
        ("best-static: {max: 5}", "looked for"),
        ("best-static: {of: codle}", "no limit to look for"),
        ("best-static: {scope: accept}", "scope"),
        ("oracle: {scope: single}", "there is no such key"),
        ("oracel", "oracle"),
        ("blind: {max: 5}", "there is no such key"),
    ];
    for (arm, says) in slips {
        let output = lab(folder.path(), OPEN, &format!("[{arm}]"), &["--virtual"]);
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{arm}: {message}");
        assert!(message.contains(says), "{arm}: {message}");
    }
}
