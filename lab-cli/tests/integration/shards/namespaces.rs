//! Parts of one load from network namespaces of their own.

use std::process::Child;

use serde_json::Value;

use super::{
    users::{after, ended},
    *,
};
use crate::namespaces::Namespaces;

/// Generators beside the one that has the service.
const GENERATORS: u32 = 3;
const SERVICE: &str = "10.77.0.1:8456";

#[test]
fn parts_in_networks_of_their_own_send_what_one_sends() {
    let Some(namespaces) = Namespaces::made(GENERATORS) else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let at = scratch.path();
    // Nobody is refused, and nobody asks again.
    let file = FILE
        .replace("servers: 2", "servers: 8, workers: 8")
        .replace("on_reject: {then: retry, attempts: 2}", "timeout: 10s");
    fs::write(at.join("parts.yaml"), file).expect("written");
    done(at, &["run", "parts.yaml", "--virtual", "--policy", "none", "--repeat", "1", "--out", "one"]);
    let start = after(std::time::Duration::from_secs(16));
    let parts: Vec<String> = (0..=GENERATORS).map(|number| format!("part-{number}")).collect();
    let begun: Vec<Child> = (0..=GENERATORS)
        .map(|number| {
            let shard = format!("{}/{}", number + 1, GENERATORS + 1);
            let url = format!("http://{SERVICE}");
            let place: &[&str] = match number {
                0 => &["--target", "here", "--listen", SERVICE],
                _ => &["--target-at", &url, "--allow-host", "10.77.0.1"],
            };
            let arm = ["run", "parts.yaml", "--no-tui", "--policy", "none", "--repeat", "1"];
            let part = ["--shard", &shard, "--start-at", &start, "--out", &parts[number as usize]];
            let mut command = namespaces.command(number, &path());
            command.args([&arm[..], &part, place].concat()).current_dir(at).spawn().expect("lab starts")
        })
        .collect();
    begun.into_iter().for_each(ended);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let merged = ran(at, &[&["merge", "-o", "whole"], &parts[..]].concat());
    assert!(matches!(merged.status.code(), Some(0 | 3)), "{}", told(&merged));
    let [one, whole] = ["one", "whole"].map(|run| json(&at.join(run).join("summary.json"))["arms"][0].clone());
    let sent = |arm: &Value, phase: usize| arm["phases"][phase]["sent"].as_u64().expect("a count");
    for phase in 0..2 {
        assert_eq!(sent(&one, phase), sent(&whole, phase));
        assert_eq!(one["phases"][phase]["planned"], whole["phases"][phase]["planned"]);
    }
    assert_eq!(whole["server"]["requests_read"], sent(&whole, 0) + sent(&whole, 1));
    assert!(
        whole["parts"].as_array().is_some_and(|parts| parts.len() == 4 && parts.iter().all(|part| part["sent"] != 0))
    );
    assert!(done(at, &["recheck", "whole"]).contains("all the same"));
}
