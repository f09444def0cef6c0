//! The program under test. `LAB_PROGRAM`, an absolute path, names another build of `lab`: so a test is seen to fail with the build before a
//! change.

use std::{env, process::Command};

/// Where the program is.
#[allow(dead_code, reason = "some tests start it through a shell or a terminal, others directly")]
pub fn path() -> String {
    env::var("LAB_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_lab").to_owned())
}

/// The program, about to be started.
#[allow(dead_code, reason = "some tests start it through a shell or a terminal, others directly")]
pub fn lab() -> Command {
    Command::new(path())
}
