//! The mail service against what people and disks do to it: a program of its own each time, a few seconds each.

mod disk_full;
mod files;
mod hostile_mail;
mod logins;
mod signals;

use std::path::{Path, PathBuf};

use crate::arashi::{Mail, Program};

/// Starts it on a new database with one message of alice's, whose password is `secret`.
fn of_alice(home: &Path, database: &Path) -> Program {
    Program::serve(home, database, Some(Mail { path: &one_message(home), user: "alice" }))
}

fn one_message(home: &Path) -> PathBuf {
    let path = home.join("hello.mbox");
    std::fs::write(&path, "From a Mon Jan  1 00:00:00 2024\nFrom: a@example.org\nSubject: hello\n\nHello\n")
        .expect("writes");
    path
}
