//! Parts of one load from network namespaces of their own, over links between them: the nearest that one machine has to several.

use std::{path::Path, process::Child, process::Command, time::Duration};

use serde_json::Value;

use super::{
    super::program::path,
    users::{after, ended},
    *,
};

/// Generators beside the one that has the service.
const GENERATORS: u32 = 3;
const SERVICE: &str = "10.77.0.1:8456";

/// Namespaces that go with it: one for the service, one for each generator, each with a link to the first.
struct Namespaces(Vec<String>);

impl Namespaces {
    /// `None` where nobody may make any.
    fn made() -> Option<Self> {
        let name = |number: u32| format!("lab-{}-{number}", std::process::id());
        let mut made = Self(Vec::new());
        for number in 0..=GENERATORS {
            if !ip(&["netns", "add", &name(number)]) {
                eprintln!("no network namespaces can be made here");
                return None;
            }
            made.0.push(name(number));
            assert!(made.inside(number, &["link", "set", "lo", "up"]));
        }
        assert!(made.inside(0, &["address", "add", "10.77.0.1/32", "dev", "lo"]));
        for number in 1..=GENERATORS {
            let [here, there] = ["a", "b"].map(|end| format!("lab{end}{number}"));
            let [ours, theirs] = [1, 2].map(|host| format!("10.77.{number}.{host}"));
            assert!(ip(&[
                "link",
                "add",
                &here,
                "netns",
                &name(0),
                "type",
                "veth",
                "peer",
                "name",
                &there,
                "netns",
                &name(number)
            ]));
            for (number, end, address) in [(0, &here, &ours), (number, &there, &theirs)] {
                assert!(made.inside(number, &["address", "add", &format!("{address}/24"), "dev", end]));
                assert!(made.inside(number, &["link", "set", end, "up"]));
            }
            assert!(made.inside(number, &["route", "add", "10.77.0.1", "via", &ours]));
        }
        Some(made)
    }

    fn inside(&self, number: u32, args: &[&str]) -> bool {
        ip(&[&["-n", &self.0[number as usize]], args].concat())
    }

    fn lab(&self, number: u32, folder: &Path, args: &[&str]) -> Child {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[number as usize], &path()]).args(args).current_dir(folder);
        command.spawn().expect("lab starts")
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            ip(&["netns", "delete", name]);
        }
    }
}

fn ip(args: &[&str]) -> bool {
    Command::new("ip").args(args).output().is_ok_and(|output| output.status.success())
}

#[test]
fn parts_in_networks_of_their_own_send_what_one_sends() {
    let Some(namespaces) = Namespaces::made() else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let at = scratch.path();
    // Nobody is refused, and nobody asks again.
    let file = FILE
        .replace("servers: 2", "servers: 8, workers: 8")
        .replace("on_reject: {then: retry, attempts: 2}", "timeout: 10s");
    fs::write(at.join("parts.yaml"), file).expect("written");
    done(at, &["run", "parts.yaml", "--virtual", "--policy", "none", "--repeat", "1", "--out", "one"]);
    let start = after(Duration::from_secs(16));
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
            namespaces.lab(number, at, &[&arm[..], &part, place].concat())
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
