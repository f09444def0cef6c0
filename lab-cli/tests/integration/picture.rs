//! The picture of a live run in the README: made here, and pasted there.

use std::time::Duration;

use crate::{program, terminal::Tmux};

#[test]
#[ignore = "three minutes of a whole machine, for a picture; docs/benchmarks.md: cargo test --release -p lab-cli --test integration picture:: -- --ignored --nocapture"]
fn a_flash_crowd_under_two_policies() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let Some(tmux) = Tmux::start(120, 40) else { return };
    let lab = program::path();
    let run = format!("cd {} && {lab} run flash-crowd --policy none --policy seda --out run", scratch.path().display());
    tmux.enter(&run);
    let longest = Duration::from_secs(600);
    tmux.wait_up_to(longest, &["arm 2 of 2: seda", " 25 s of 52 s"]);
    tmux.type_in("c");
    tmux.wait_for(&["less capacity"]);
    tmux.type_in("Enter");
    let picture = tmux.wait_up_to(longest, &["arm 2 of 2: seda", " 40 s of 52 s"]);
    println!("{}", picture.trim_end());
}
