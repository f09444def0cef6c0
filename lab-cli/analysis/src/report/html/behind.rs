//! A recording that was replayed: what became of its requests, and how far behind their recorded times they were.

use maud::{Markup, html};

use super::shown;
use crate::report::{
    Whole,
    behind::{FIGURES, figures, replayed},
    replayed as steps,
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
            div.wide { table {
                caption { "Recorded requests, and what became of them: what was cut off was never come to, as the time was over or the user had given up" }
                thead { tr {
                    th scope="col" { "arm" }
                    @for figure in steps::FIGURES { th.n scope="col" { (figure) } }
                } }
                tbody { @for (arm, figures) in steps::replayed(&run.summary) { tr {
                    th scope="row" { (shown(&run.turn(arm))) }
                    @for figure in figures { td.n { (figure) } }
                } } }
            } }
        }
    }
}
