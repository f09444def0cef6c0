//! Pictures of a run: over time, the percentile spectrum, and over the load. One legend is for all of them.

use maud::{Markup, html};

use super::markup::shown;
use crate::{
    chart::{Chart, palette::swatch},
    report::RunFiles,
};

mod drawn;
mod heat;
mod internals;
mod load;
mod over_time;
mod spectrum;
mod strips;
#[cfg(test)]
mod tests;

use drawn::Drawn;

/// All pictures.
pub fn sections(run: &RunFiles) -> Markup {
    let drawn = Drawn::of(run);
    html! {
        section.pictures id="pictures" {
            h2 { "Pictures" }
            ul.legend aria-label="Arms" { @for (number, arm) in drawn.arms.iter().enumerate() {
                li { (swatch(number)) span { (shown(arm)) } }
            } }
            (over_time::pictures(&drawn))
            (internals::pictures(&drawn))
            (spectrum::picture(&drawn))
            (heat::pictures(&drawn))
            (load::pictures(&drawn))
        }
    }
}

/// Chart of a run over time.
pub fn chart_over_time(run: &RunFiles) -> Chart {
    let blocks = run.manifest.blocks.len();
    let of_blocks = if blocks > 1 { format!(", block {} of {blocks}", run.drawn_block()) } else { String::new() };
    let planned = &run.manifest.experiment;
    let mut chart = over_time::chart(&Drawn::of(run));
    chart.title = format!("{}: {}{of_blocks}", planned.name, planned.about);
    chart
}

/// Chart of a run over the planned load; `None` if it has no curves (fewer than three loads).
pub fn chart_over_load(run: &RunFiles) -> Option<Chart> {
    let points = run.summary.curves.iter().flat_map(|curve| &curve.points);
    let blocks = points.map(|point| point.blocks).max()?;
    let of_blocks = if blocks > 1 { format!(", medians of {blocks} blocks") } else { String::new() };
    let mut chart = load::chart(&Drawn::of(run));
    chart.title = format!("{}: figures over the load{of_blocks}", run.summary.experiment);
    Some(chart)
}
