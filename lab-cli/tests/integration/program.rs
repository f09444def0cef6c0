//! The program under test. `LAB_PROGRAM`, an absolute path, names another build of `lab`: so a test is seen to fail with the build before a
//! change.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Where the program is.
pub fn path() -> String {
    env::var("LAB_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_lab").to_owned())
}

/// The program, about to be started.
pub fn lab() -> Command {
    Command::new(path())
}

/// The same in this folder, where its cache is too; nobody types.
pub fn lab_in(folder: &Path) -> Command {
    let mut command = lab();
    command.current_dir(folder).env("LAB_CACHE", folder.join("cache")).stdin(Stdio::null());
    command
}

/// Runs it in this folder.
pub fn ran(folder: &Path, args: &[&str]) -> Output {
    lab_in(folder).args(args).output().expect("lab runs")
}

/// Runs it in this folder, which has this experiment as `x.yaml`.
pub fn lab_with(folder: &Path, experiment: &str, args: &[&str]) -> Output {
    fs::write(folder.join("x.yaml"), experiment).expect("written");
    ran(folder, args)
}

/// Runs it in this folder; gives all that it printed, once it has succeeded.
#[track_caller]
pub fn done(folder: &Path, args: &[&str]) -> String {
    let output = ran(folder, args);
    assert!(output.status.success(), "{args:?}: {}", told(&output));
    told(&output)
}

/// All that it printed.
pub fn told(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}{err}")
}

/// A file of JSON.
#[track_caller]
pub fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).expect("JSON")
}

/// JSON on standard output.
#[track_caller]
pub fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", told(output)))
}

/// What a live run with `--output json` has found. On a crowded machine it may be INVALID (3); it is whole all the same.
#[track_caller]
pub fn found(output: &Output) -> Value {
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {}", output.status, told(output));
    printed(output)
}

/// Waits a minute at most.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited for a minute: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal by its name.
pub fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(sent.expect("kill runs").success());
}
