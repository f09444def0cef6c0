//! The live view, in a real terminal.

use service::{Behaves, Service};

use super::*;
use crate::terminal::Tmux;

#[test]
fn a_load_is_drawn_while_it_goes_on_and_q_stops_it() {
    let service = Service::start(Behaves::Well);
    let scratch = tempfile::tempdir().expect("a folder");
    let Some(tmux) = Tmux::start(100, 32) else { return };
    let go = format!("cd {} && {} load {}", scratch.path().display(), program::path(), service.url());
    tmux.enter(&format!("{go} -R 50 -d 60s --deadline 1s --out run; echo code=$?"));
    tmux.wait_for(&["50 requests/s, open loop", "s of 60 s", "percentiles", "p99.9", "in 1.00 s", " 200 ", "q stop"]);
    assert!(tmux.is_on_the_other_screen());
    tmux.type_in("q");
    let after = tmux.wait_for(&["code=130"]);
    assert!(!tmux.is_on_the_other_screen() && tmux.shows_its_cursor(), "{after}");
    assert!(after.contains("saved in run"), "{after}");
}

#[test]
fn without_the_view_nothing_is_drawn() {
    let service = Service::start(Behaves::Well);
    let Some(tmux) = Tmux::start(100, 40) else { return };
    let go = format!("{} load {} -R 20 -d 3s --no-save --no-tui; echo code=$?", program::path(), service.url());
    tmux.enter(&go);
    thread::sleep(Duration::from_millis(1500));
    assert!(!tmux.is_on_the_other_screen());
    tmux.wait_for(&["answered", "code="]);
}
