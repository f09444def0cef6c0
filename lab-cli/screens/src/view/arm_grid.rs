//! Arms side by side while they run: goodput and response times of each that is over under the one that runs.

use analysis::text::{self, scrubbed};
use ratatui::{Frame, layout::Rect};

use super::{
    charts::{span, up_to_all},
    plot::{Plot, Series, Upright, decades},
};
use crate::{
    Palette,
    column::Column,
    curve::ArmCurve,
    state::{Running, State},
};

/// A line an arm.
pub(super) fn goodput(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let series = series(state, Column::Goodput, palette);
    let axis = up_to_all(&series, "/s");
    plot(["[1]", "goodput"], state, axis, series).draw(frame, area, palette);
}

/// Response times on a logarithmic axis, with the target.
pub(super) fn response_time(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let percentile = state.percentile();
    let target = state.objective_ms().unwrap_or(1000.0);
    let mut series = series(state, percentile, palette);
    let axis =
        decades(series.iter().flat_map(|series| &series.points).filter_map(|(_, value)| Some((*value)?.at)), target);
    series.push(Series::level(&format!("target {}", text::time(target)), target, across(state), palette));
    plot(["[2]", percentile.name()], state, axis, series).draw(frame, area, palette);
}

/// The arm that runs, whose name has room for certain, then those that are over. Each keeps its colour.
fn series(state: &State, column: Column, palette: Palette) -> Vec<Series> {
    let until = state.running.as_ref().and_then(|running| running.until).unwrap_or(u32::MAX);
    let now = state.running.as_ref().map(|running| ArmCurve::of(&running.name, running.shown()));
    let curves = state.curves.iter().filter(|curve| now.as_ref().is_none_or(|now| now.name != curve.name));
    let order = |name: &str| -> usize {
        let arms = state.shape.iter().flat_map(|shape| &shape.arms);
        arms.into_iter().position(|arm| *arm == name).unwrap_or(state.curves.len())
    };
    now.iter()
        .chain(curves)
        .map(|curve| {
            let (style, mark) = palette.line(order(&curve.name));
            let name = scrubbed(&curve.name);
            Series { name, style, mark, points: curve.of_column(column, until), ..Series::default() }
        })
        .collect()
}

fn across(state: &State) -> [f64; 2] {
    let whole = || [0.0, state.planned_seconds().max(1.0)];
    state.running.as_ref().map_or_else(whole, |running: &Running| span(state, running))
}

fn plot([key, title]: [&'static str; 2], state: &State, up: Upright, series: Vec<Series>) -> Plot<'static> {
    // The arm that runs is drawn over the others.
    let front = state.running.as_ref().map(|_| 0);
    Plot {
        key,
        title,
        span: across(state),
        unit: "s",
        up,
        phases: state.phase_ends(),
        series,
        front,
        ..Plot::default()
    }
}
