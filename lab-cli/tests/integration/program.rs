//! The program under test. `LAB_PROGRAM`, an absolute path, names another build of `lab`: so a test is seen to fail with the build before a
//! change.

use std::{
    env, fs,
    path::Path,
    process::{Command, Output},
};

/// Where the program is.
pub fn path() -> String {
    env::var("LAB_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_lab").to_owned())
}

/// The program, about to be started.
pub fn lab() -> Command {
    Command::new(path())
}

/// Runs the program in this folder, which has this experiment as `x.yaml`.
pub fn lab_with(folder: &Path, experiment: &str, command: &[&str]) -> Output {
    fs::write(folder.join("x.yaml"), experiment).expect("written");
    let mut lab = lab();
    lab.args(command).current_dir(folder).env("LAB_CACHE", folder.join("cache"));
    lab.output().expect("lab runs")
}

/// All that it printed.
pub fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
