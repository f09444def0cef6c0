//! A look at the machine before a long live run.

use std::{
    fs,
    process::{Child, Command},
};

use crate::{live_view::EXPERIMENT, program, terminal::Tmux};

/// A program that uses a processor until it is dropped.
struct Busy(Child);

impl Busy {
    fn begin() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn minutes() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    fs::write(scratch.path().join("mine.yaml"), EXPERIMENT.replace("for: 50s", "for: 300s")).expect("written");
    scratch
}

#[test]
fn a_person_is_asked_before_minutes_beside_a_busy_program() {
    let (_one, _two) = (Busy::begin(), Busy::begin());
    let scratch = minutes();
    let Some(tmux) = Tmux::start(140, 34) else { return };
    tmux.enter(&format!("cd {}; lab={}; $lab run mine.yaml; echo code=$?", scratch.path().display(), program::path()));
    tmux.wait_for(&["other programs use", "would be INVALID (NOISE)", "go on all the same? [y/N]"]);
    tmux.type_in("n");
    tmux.type_in("Enter");
    tmux.wait_for(&["nothing was run", "code=1"]);
    assert!(!scratch.path().join("runs").exists(), "nothing is kept of what was not run");
    tmux.enter("clear; $lab run mine.yaml; echo code=$?");
    tmux.wait_for(&["go on all the same? [y/N]"]);
    tmux.dialog(&[("y Enter", &["arm 1 of 1: none", "generator CPU"]), ("q", &["code=130"])]);
}

#[test]
fn a_run_of_the_screens_says_it_among_what_happened() {
    let (_one, _two) = (Busy::begin(), Busy::begin());
    let scratch = minutes();
    let Some(tmux) = Tmux::start(180, 40) else { return };
    tmux.lab(scratch.path(), "");
    tmux.wait_for(&["which setting keeps", "mine.yaml"]);
    tmux.dialog(&[
        ("/ mine.yaml Enter", &["1 found"]),
        ("Tab", &["1 arm x 1"]),
        // Live, in place of virtual time.
        ("v Enter", &["generator CPU"]),
        ("8", &["other programs use"]),
        ("q", &["y copy command"]),
        ("q", &["code=0"]),
    ]);
}
