//! One experiment with the policy in several hosts: in the service (tower layer), before it (`lab proxy`, Envoy), at the gate and in a stage of the lab's own service, and in
//! virtual time. The goodput of each live host is within the fidelity rule's bound of the virtual one (docs/fidelity.md).

#[allow(dead_code, reason = "its `main` is that of the example")]
#[path = "../../../controllers/tower/examples/workers.rs"]
mod workers;

use std::{fs, path::Path, process::Stdio};

use serde_json::Value;

use crate::{alone, program};

/// Live goodput over virtual goodput, at most, either way: the rule's 15 %.
const BOUND: f64 = 1.15;
const POLICY: &str = "vegas";

/// Runs one host, and says the goodput of its arms.
type Measure<'a> = Box<dyn Fn() -> Vec<f64> + 'a>;

/// No test but the example's service, where it is started with these words.
#[test]
fn the_service() {
    let words: Vec<String> = std::env::args().collect();
    if words.iter().any(|word| word.starts_with("port=")) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
        runtime.block_on(workers::serve(&words)).expect("it serves");
    }
}

/// A service whose users find the policy in it or before it.
fn own(policy_inside: &str) -> String {
    let program = std::env::current_exe().expect("this program");
    let words = format!("--exact many_hosts::the_service --nocapture port={{port}} policy={policy_inside}");
    format!("{{command: \"{} {words}\", ready: /health, concurrency: 8}}", program.display())
}

/// The arm with an Envoy of two workers that has the policy in it. `None`: there is no Envoy on this machine.
fn in_envoy(folder: &Path) -> Option<String> {
    let found = std::env::var_os("PATH")?;
    if !std::env::split_paths(&found).any(|folder| folder.join("envoy").is_file()) {
        eprintln!("skipped: envoy is not installed"); // it comes from PyPI, which not every machine reaches
        return None;
    }
    let shipped = include_str!("../../../packaging/envoy/envoy.yaml.in");
    let (policy, ours) = ("policy: headway, objective_ms: 500", format!("policy: {POLICY}, objective_ms: 200"));
    assert!(shipped.contains(policy), "{shipped}");
    fs::write(folder.join("envoy.yaml.in"), shipped.replace(policy, &ours)).expect("written");
    let modules = std::env::current_exe().expect("this program").with_file_name("");
    let command = format!(
        "env ENVOY_DYNAMIC_MODULES_SEARCH_PATH={} envoy -c {{config}} --concurrency 2 --log-level error --use-dynamic-base-id",
        modules.display()
    );
    Some(format!(
        "[{{proxy: {{as: envoy, command: \"{command}\", config: envoy.yaml.in, refused: {{header: x-refused}}}}}}]"
    ))
}

/// Goodput in overload of each arm, per second, in the order of the arms.
fn goodputs(folder: &Path, target: &str, arms: &str, args: &[&str]) -> Vec<f64> {
    let text = format!(
        "name: hosts\ntarget: {target}\nobjective: {{percentile: 90, response_time: 200ms}}\nusers:\n  model: url\n  timeout: 2s\n  drain: 1s\n  \
         on_reject: {{then: leave}}\n  on_failure: {{then: leave}}\n  \
         phases: [{{name: calm, requests: 100/s, for: 1s}}, {{name: overload, requests: 400/s, for: 4s}}]\narms: {arms}\n"
    );
    fs::write(folder.join("hosts.yaml"), text).expect("written");
    let mut command = program::lab();
    command.current_dir(folder).env("LAB_CACHE", folder.join("cache")).stdin(Stdio::null());
    let output =
        command.args(["run", "hosts.yaml", "--no-tui", "--output", "json"]).args(args).output().expect("lab runs");
    // A busy machine may make it INVALID; the bound of this test is wider than what that changes, or the run is done again.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let arms = summary["arms"].as_array().expect("arms").iter();
    arms.map(|arm| arm["phases"][1]["goodput_per_s"].as_f64().expect("a rate")).collect()
}

#[test]
fn a_policy_gives_the_same_goodput_in_every_host() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let emulated = "{app: emulated, service: 40ms, servers: 8, workers: 8, batch: 1, answer: 5}";
    let in_the_lab =
        format!("[none, {{{POLICY}: {{as: gate, scope: single}}}}, {{{POLICY}: {{as: stage, scope: per-stage}}}}]");
    let virtually = goodputs(folder.path(), emulated, &in_the_lab, &["--virtual"]);
    let [none, gate, stage] = virtually[..] else { panic!("{virtually:?}") };
    assert!(gate > 3.0 * none && stage > 3.0 * none, "the policy decides over the goodput: {virtually:?}");

    let agrees = |live: f64, figure: f64| live <= figure * BOUND && live >= figure / BOUND;
    let at = folder.path();
    let before_the_service = |arms: String| -> Measure<'_> { Box::new(move || goodputs(at, &own("none"), &arms, &[])) };
    let mut hosts: Vec<(&str, Measure<'_>, Vec<f64>)> = vec![
        (
            "tower layer",
            Box::new(|| goodputs(at, &own(POLICY), "[{none: {as: layer, direct: true}}]", &[])),
            vec![gate],
        ),
        ("lab proxy", before_the_service(format!("[{POLICY}]")), vec![gate]),
        ("gate and stage", Box::new(|| goodputs(at, emulated, &in_the_lab, &[])[1..].to_vec()), vec![gate, stage]),
    ];
    hosts.extend(in_envoy(at).map(|arms| ("Envoy", before_the_service(arms), vec![gate])));
    for (host, measure, figures) in hosts {
        let all = |live: &[f64]| {
            live.len() == figures.len() && live.iter().zip(&figures).all(|(&live, &figure)| agrees(live, figure))
        };
        let mut live = measure();
        eprintln!("{host}: {live:?}, in virtual time {figures:?}");
        for _ in 0..2 {
            if !all(&live) {
                eprintln!("{host}: {live:?} instead of {figures:?}; once more");
                live = measure();
            }
        }
        assert!(all(&live), "{host}: {live:?} requests in time per second; in virtual time {figures:?}");
    }
}
