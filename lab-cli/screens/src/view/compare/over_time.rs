//! Figures over time: one of all arms, or the percentiles of one arm.

use analysis::{chart::Point, live::TimelineSecond, text::scrubbed};

use super::super::plot::{Plot, Series, axis_of, decades};
use crate::{
    Palette,
    app::{ArmSeries, Compare},
    column::Column,
    state::phase_ends,
};

/// The figure under the cursor of all arms that are not hidden; that of the arm under the cursor is drawn over the others.
pub(super) fn figure(compare: &Compare, palette: Palette) -> Plot<'static> {
    let column = compare.column();
    let shown = compare.all_series.iter().enumerate().filter(|(n, _)| !compare.hidden.contains(n));
    let seconds = shown.flat_map(|(_, arm_series)| compare.seconds(*arm_series));
    let values = seconds.filter_map(|second| Some(column.at(second)?.at));
    let target = compare.objective_ms().unwrap_or(1000.0);
    let shape = compare.chosen().and_then(|arm_series| compare.runs[arm_series.run].shape.as_ref());
    let capacity = shape.and_then(|shape| shape.capacity_per_s).filter(|_| column == Column::Goodput);
    let up = axis_of(column, capacity.into_iter().chain(values), target);
    let line = |at: usize| line(compare, at, points(compare, compare.all_series[at], column), palette);
    // In the order of the table: names of the best have room first.
    let lines: Vec<usize> = compare.order().into_iter().filter(|at| !compare.hidden.contains(at)).collect();
    let span = span(compare);
    let level = match capacity {
        Some(capacity) => Some(Series::level("capacity", capacity, span, palette)),
        None => column.is_time().then(|| Series::level("target", target, span, palette)),
    };
    let front = lines.iter().position(|at| *at == compare.at).map(|at| at + usize::from(level.is_some()));
    let series = level.into_iter().chain(lines.into_iter().map(line)).collect();
    let latest = format!("{}{}", block(compare), changed(compare));
    Plot { title: column.name(), latest, up, series, front, names_at_ends: true, ..around(compare, span) }
}

/// The line of an arm: bright under the cursor.
pub(super) fn line(compare: &Compare, at: usize, points: Vec<Point>, palette: Palette) -> Series {
    let (style, mark) = palette.line(compare.colour(at));
    let name = scrubbed(&compare.name(compare.all_series[at]));
    Series { name, style, mark, points, faint: at != compare.at, ..Series::default() }
}

/// Median, 90th and 99th percentile of the arm under the cursor.
pub(super) fn percentiles(compare: &Compare, palette: Palette) -> Plot<'static> {
    let Some(arm_series) = compare.chosen() else { return Plot::default() };
    let columns =
        [(Column::P50, palette.good(), '.'), (Column::P90, palette.warn(), 'o'), (Column::P99, palette.bad(), '*')];
    let all = |second: &TimelineSecond| columns.map(|(column, ..)| column.at(second));
    let values = compare.seconds(arm_series).flat_map(all).flatten().map(|value| value.at);
    let target = compare.objective_ms().unwrap_or(1000.0);
    let up = decades(values, target);
    let span = span(compare);
    let lines = columns.map(|(column, style, mark)| {
        let points = points(compare, arm_series, column);
        let few = if points.iter().all(|(_, value)| value.is_none()) { ": too few answers a second" } else { "" };
        Series { name: format!("{}{few}", column.name()), style, mark, points, ..Series::default() }
    });
    let series = std::iter::once(Series::level("target", target, span, palette)).chain(lines).collect();
    let latest = format!(" {}{} ", scrubbed(&compare.name(arm_series)), block(compare));
    Plot { title: "response time", latest, up, series, ..around(compare, span) }
}

/// Axis, phases, marks: what does not depend on the figure.
fn around(compare: &Compare, span: [f64; 2]) -> Plot<'static> {
    let shown = compare.all_series.iter().enumerate().filter(|(n, _)| !compare.hidden.contains(n));
    // With several runs the marks of one would cross the lines of all.
    let run = compare.chosen().map(|arm_series| arm_series.run);
    let of_run = shown.filter(|(_, arm_series)| Some(arm_series.run) == run);
    let marks = of_run.flat_map(|(_, arm_series)| compare.touches(*arm_series)).map(|touched| touched.second).collect();
    let shape = run.and_then(|run| compare.runs.get(run)?.shape.as_ref());
    Plot {
        span,
        unit: "s",
        phases: shape.map_or_else(Vec::new, phase_ends),
        cursor: compare.look.moment.map(|at| at + 0.5),
        marks,
        ..Plot::default()
    }
}

/// The whole run, or the phase that is shown.
pub(super) fn span(compare: &Compare) -> [f64; 2] {
    let seconds = compare.all_series.iter().flat_map(|arm_series| compare.seconds(*arm_series));
    let end = seconds.map(|second| f64::from(second.second) + 1.0).fold(1.0, f64::max);
    let phase = compare.chosen().and_then(|arm_series| compare.phase_span(arm_series.run));
    phase.filter(|_| compare.look.zoomed).unwrap_or([0.0, end])
}

fn points(compare: &Compare, arm_series: ArmSeries, column: Column) -> Vec<Point> {
    let point = |second: &TimelineSecond| (f64::from(second.second) + 0.5, column.at(second));
    compare.seconds(arm_series).map(point).collect()
}

/// The block of the run under the cursor that is drawn, where there are several.
pub(super) fn block(compare: &Compare) -> String {
    let Some(arm_series) = compare.chosen() else { return String::new() };
    if compare.runs[arm_series.run].blocks() > 1 {
        format!(" block {} ", compare.drawn_block(arm_series.run))
    } else {
        String::new()
    }
}

/// Interventions in the arm under the cursor, or a hint that there is another in which there were some.
fn changed(compare: &Compare) -> String {
    let Some(arm_series) = compare.chosen() else { return String::new() };
    let own: Vec<_> = compare.touches(arm_series).collect();
    match &own[..] {
        [] if compare.all_series.iter().any(|arm_series| compare.touches(*arm_series).next().is_some()) => {
            " ! a person changed an arm ".to_owned()
        }
        [] => String::new(),
        [first, more @ ..] => {
            let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
            format!(" ! {:.0} s: {}{more} ", first.second, scrubbed(&first.what))
        }
    }
}
