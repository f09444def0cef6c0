//! Keys and pasted text.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use crate::{live_view::EXPERIMENT, terminal::Tmux};

/// `lab` in an empty folder, with its list of experiments on the screen.
fn at_home(tmux: &Tmux, folder: &std::path::Path) {
    tmux.lab(folder, "");
    tmux.wait_for(&["which setting keeps"]);
}

#[test]
fn what_is_pasted_is_text_in_a_field_and_nothing_anywhere_else() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let Some(tmux) = Tmux::start(100, 30) else { return };
    at_home(&tmux, scratch.path());
    // As keys it would open the past runs, and leave.
    tmux.paste("requests\n");
    tmux.type_in("Down");
    thread::sleep(Duration::from_secs(1));
    let screen = tmux.screen();
    assert!(screen.contains("which setting keeps") && !screen.contains("code="), "{screen}");
    tmux.type_in("/");
    tmux.paste("sre-quotas\n");
    tmux.wait_for(&["find: sre-quotas_", " found "]);
    tmux.dialog(&[("Enter Tab", &["[x]", "parameters"]), ("q", &["code=0"])]);
}

/// In a live run each letter would change it, and the run would be TOUCHED for good.
#[test]
fn what_is_pasted_does_not_touch_a_run() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    fs::write(scratch.path().join("quick.yaml"), EXPERIMENT).expect("written");
    let Some(tmux) = Tmux::start(110, 44) else { return };
    tmux.lab(scratch.path(), "run quick.yaml --out result");
    tmux.wait_for(&["generator CPU"]);
    tmux.paste("a");
    // A form takes it.
    tmux.type_in("s");
    tmux.wait_for(&["more users"]);
    tmux.paste("37\n");
    tmux.wait_for(&["37_"]);
    tmux.type_in("Escape");
    // One at a time: two that arrive together are another key (Alt-q).
    tmux.wait_until_gone("more users");
    tmux.type_in("q");
    tmux.wait_for(&["code=130"]);
    let events = fs::read_to_string(scratch.path().join("result/events.jsonl")).expect("events");
    assert!(!events.contains("touched"), "{events}");
}

/// A list follows keys that come one after the other: each has a picture of its own. How soon it is drawn is a matter of
/// `tui::terminal::pace`, which is tested where time is a number.
#[test]
fn a_list_is_drawn_for_every_key() {
    const KEYS: usize = 20;
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let Some(tmux) = Tmux::start(100, 40) else { return };
    at_home(&tmux, scratch.path());
    let follows = |key: &str| {
        let begun = Instant::now();
        let before = tmux.screen();
        tmux.type_in(key);
        while tmux.screen() == before {
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not move:\n{before}");
        }
    };
    // There and back, at the end of which all is drawn that comes late.
    ["j"; KEYS].into_iter().chain(["k"; KEYS]).for_each(follows);
    thread::sleep(Duration::from_millis(500));
    let first = tmux.screen();
    ["j"; KEYS].into_iter().chain(["k"; KEYS]).for_each(follows);
    let begun = Instant::now();
    while tmux.screen() != first {
        assert!(begun.elapsed() < Duration::from_secs(60), "not back at:\n{first}\nbut at:\n{}", tmux.screen());
    }
}
