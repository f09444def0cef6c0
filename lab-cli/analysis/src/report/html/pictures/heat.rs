//! Response times over time as heat maps, one an arm: how many requests ended in which second after which time. Live runs log the
//! times of each second; runs in virtual time do not.

use maud::{Markup, html};

use super::drawn::Drawn;
use crate::{
    chart::layout::{PlotArea, Size, round},
    report::{ArmTimes, html::markup::shown},
    series::axis::Axis,
};

/// Cells in a factor of ten.
const PER_DECADE: f64 = 6.0;
/// Columns at most.
const COLUMNS: u32 = 150;
/// Shades, from none to most.
const SHADES: f64 = 8.0;

pub(super) fn pictures(drawn: &Drawn<'_>) -> Markup {
    let found: Vec<HeatMap> = drawn
        .arms
        .iter()
        .filter_map(|arm| {
            let times = drawn.run.times.iter().find(|times| times.arm == *arm)?;
            HeatMap::of(times)
        })
        .collect();
    if found.is_empty() {
        return html! {};
    }
    html! {
        h3 id="heat" { "Response times over time" }
        p.small {
            "A heat map an arm: the darker, the more requests ended in that moment after that time. Those that were given up count with the time \
             that they had waited."
        }
        @for map in &found { (map.drawn(drawn)) }
    }
}

/// An arm's times.
struct HeatMap {
    arm: String,
    /// Seconds in a column.
    step: u32,
    /// Column, row (of tenths of milliseconds, by factors of ten), and how many.
    cells: Vec<(u32, i32, u64)>,
}

impl HeatMap {
    fn of(times: &ArmTimes) -> Option<Self> {
        let last = times.seconds.iter().map(|(second, _)| *second).max()?;
        let step = last / COLUMNS + 1;
        let mut cells: std::collections::BTreeMap<(u32, i32), u64> = std::collections::BTreeMap::new();
        for (second, counts) in &times.seconds {
            let rows = counts.by_row(|seconds| libm::floor(libm::log10(seconds) * PER_DECADE) as i32);
            for (row, [answered, given_up]) in rows {
                *cells.entry((second / step, row)).or_default() += answered + given_up;
            }
        }
        let cells: Vec<_> = cells.into_iter().map(|((column, row), count)| (column, row, count)).collect();
        (!cells.is_empty()).then(|| Self { arm: times.arm.clone(), step, cells })
    }

    fn drawn(&self, drawn: &Drawn<'_>) -> Markup {
        html! {
            figure {
                figcaption { strong { (shown(&self.arm)) } ": response times, over time, s." }
                (self.drawn_in(&Size::WIDE, drawn))
                (self.drawn_in(&Size::NARROW, drawn))
            }
        }
    }

    fn drawn_in(&self, size: &'static Size, drawn: &Drawn<'_>) -> Markup {
        let place = |row: i32| libm::exp10(f64::from(row) / PER_DECADE);
        let rows = || self.cells.iter().map(|(_, row, _)| *row);
        let up = Axis::decades(place(rows().min().unwrap_or(0)), place(rows().max().unwrap_or(0) + 1));
        let across = drawn.across();
        let plot = PlotArea::new(size, up, &across);
        let most = self.cells.iter().map(|(_, _, count)| *count).max().unwrap_or(1) as f64;
        let body = html! {
            (plot.phases())
            (plot.faults())
            (plot.frame("seconds, log scale"))
            @for (column, row, count) in &self.cells {
                @let (from, to) = (plot.x(f64::from(column * self.step)), plot.x(f64::from((column + 1) * self.step)));
                @let (low, high) = (plot.y(place(*row)), plot.y(place(row + 1)));
                // By the root: single requests can be seen beside thousands.
                @let shade = (libm::sqrt(*count as f64 / most) * SHADES).ceil().clamp(1.0, SHADES);
                rect.{ "h" (shade) } x=(round(from)) y=(round(high)) width=(round(to - from)) height=(round(low - high)) {}
            }
        };
        size.svg(size.height(&across), &format!("Response times of {} over time.", self.arm), &body)
    }
}
