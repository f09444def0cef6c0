//! A run that a person stops: its comparison does not look like that of a whole one.

use std::fs;

use crate::{live_view::EXPERIMENT, terminal::Tmux};

#[test]
fn a_comparison_of_a_part_of_the_blocks_says_so() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    // In virtual time: minutes of it, for any machine.
    let long = EXPERIMENT.replace("think: 20ms", "think: 2ms").replace(
        "arms: [none]",
        "arms: [none, codel]\nrepeat: 999\nthresholds: [none.steady.served > 0, codel.steady.served > 0]",
    );
    fs::write(scratch.path().join("mine.yaml"), long).expect("written");
    let Some(tmux) = Tmux::start(140, 34) else { return };
    tmux.lab(scratch.path(), "");
    tmux.wait_for(&["which setting keeps", "mine.yaml"]);
    tmux.dialog(&[("/ mine.yaml Enter", &["1 found"]), ("Tab", &["2 arms x 999"]), ("Enter", &["arm codel is over"])]);
    tmux.type_in("q");
    let screen = tmux.wait_for(&["y copy command"]);
    let head = screen.lines().next().expect("a line");
    assert!(head.contains("PARTIAL: ") && head.contains(" of 999 blocks ran to their end"), "{screen}");
    assert!(head.contains("stopped after") && head.contains("none of 2 claims was judged"), "{screen}");
    tmux.type_in("Enter");
    let behind = tmux.wait_for(&["behind the verdict (up"]);
    assert!(behind.contains("PARTIAL: ") && behind.contains(" of 999 blocks of every arm"), "{behind}");
    tmux.type_in("q");
    tmux.wait_for(&["code=0"]);
}
