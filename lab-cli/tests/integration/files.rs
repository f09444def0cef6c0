//! What is made of a run's files, as a person asks for it: `lab recheck`, `compare`, `report`, `history`; and what a kill leaves.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::program::{self, json};

mod browser;
mod foreign;
mod kill;
mod pictures;
mod recheck;
mod report;
mod stopped;
mod thresholds;

/// An emulated service of 200 requests a second, and users of two classes that are too many for it.
const EXPERIMENT: &str = r#"
name: short
about: "an <emulated> service & one server"
target: {app: emulated, service: {exponential: 5ms}, servers: 1}
objective: {percentile: 90, response_time: 200ms}
users:
  model: url
  think: 20ms
  timeout: 2s
  phases:
    - {name: calm, users: 2, for: 2s}
    - {name: busy, for: 4s, loads: [{users: 40}, {users: 20, class: 1}]}
arms: [none, {concurrency: {max: 4}}]
declares: [closed-overload]
thresholds:
  - concurrency.busy.rejected > 0
  - concurrency.busy[50%..].response_time.p90 < 10s
  - share(concurrency.busy.response_time.p50 < 10s) >= 50%
  - share(concurrency.busy.gauge.work.busy >= 0) >= 50%
  - none.busy.class-1.served >= 0
"#;

/// A folder to work in, with the experiment in it.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("short.yaml"), EXPERIMENT).expect("written");
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn lab(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("lab runs")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = program::lab_in(self.path());
        command.args(args);
        command
    }

    /// A run in virtual time, below `runs/`.
    fn run(&self, name: &str, more: &[&str]) -> PathBuf {
        let out = format!("runs/{name}");
        let output = self.lab(&[&["run", "short.yaml", "--virtual", "--out", &out][..], more].concat());
        assert!(output.status.success(), "{}", told(&output));
        self.path().join(out)
    }
}

/// Its exit code, and everything that a program said.
fn told(output: &Output) -> String {
    format!("{:?}\n{}", output.status.code(), program::told(output))
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}
