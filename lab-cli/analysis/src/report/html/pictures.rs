//! Pictures of a run: over time, the percentile spectrum, and over the load. One legend is for all of them.

use maud::{Markup, html};

use super::palette::legend;
use crate::report::RunFiles;

mod drawn;
mod heat;
mod internals;
mod load;
mod over_time;
mod spectrum;
mod strips;

use drawn::Drawn;

/// All pictures.
pub fn sections(run: &RunFiles) -> Markup {
    let drawn = Drawn::of(run);
    html! {
        section.pictures id="pictures" {
            h2 { "Pictures" }
            (legend(&drawn.arms))
            (over_time::pictures(&drawn))
            (internals::pictures(&drawn))
            (spectrum::picture(&drawn))
            (heat::pictures(&drawn))
            (load::pictures(&drawn))
        }
    }
}
