//! A service that is not the lab's: what its processes and the proxy before it used.

use maud::{Markup, html};

use super::markup::wide;
use crate::report::{RunFiles, processes};

/// A row for each arm; nothing where the service is the lab's.
pub fn table(run: &RunFiles) -> Markup {
    let used = processes::table(&run.summary, "arm", |arm| run.turn(arm));
    if used.rows.is_empty() {
        return html! {};
    }
    html! {
        (wide("CPU as a share of a core, and the most memory, of the service's processes and of the proxy before them", &used))
        @if let Some(why) = processes::unknown(&run.summary) { p.small { (why) } }
    }
}
