//! How far behind their recorded times requests were.

use maud::{Markup, html};

use super::shown;
use crate::report::{
    Whole,
    behind::{FIGURES, figures, replayed},
};

/// Phases that were replayed; nothing where there is none.
pub fn table(run: &Whole) -> Markup {
    if replayed(&run.summary).next().is_none() {
        return html! {};
    }
    html! {
        section id="behind" {
            h2 { "Behind the recording" }
            div.wide { table {
                caption {
                    "How long after their recorded times requests were wanted of the service, because their users were still at the one before"
                }
                thead { tr {
                    th scope="col" { "arm" } th scope="col" { "phase" }
                    @for figure in FIGURES { th.n scope="col" { (figure) } }
                } }
                tbody { @for (arm, phase, times) in replayed(&run.summary) { tr {
                    th scope="row" { (shown(&run.turn(arm))) }
                    td { (shown(&phase.name)) }
                    @for figure in figures(times) { td.n { (figure) } }
                } } }
            } }
        }
    }
}
