//! A recording that was replayed: what became of its requests, and how far behind their recorded times they were.

use maud::{Markup, html};

use super::markup::wide;
use crate::report::{RunFiles, replay_lag, replayed};

/// Phases that were replayed; nothing where there is none.
pub fn tables(run: &RunFiles) -> Markup {
    let behind = replay_lag::table(&run.summary, "arm", |arm| run.turn(arm));
    if behind.rows.is_empty() {
        return html! {};
    }
    html! {
        (wide(
            "How long after their recorded times requests were wanted of the service, because their users were still at the one before",
            &behind,
        ))
        (wide(
            "Recorded requests, and what became of them: those cut off were not reached before the time was over or the user gave up",
            &replayed::table(&run.summary, "arm", |arm| run.turn(arm)),
        ))
    }
}
