//! Answers in time under the capacity, a percentile of response times against the target, and users by what they do, each over
//! the time of the arm, with the arms that are over beside them.

use std::collections::BTreeSet;

use analysis::{chart::Point, live::TimelineSecond, series::value::Value, text, text::scrubbed};
use ratatui::prelude::*;

use super::super::{
    plot::{Plot, Series, Upright, decades, from_zero},
    widgets::titled,
};
use crate::{
    Palette,
    column::Column,
    state::{Running, State},
};

/// Answers in time as an area, under the capacity.
pub(super) fn rates(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let end = span(state)[1];
    let capacity = (0..=end as u32).map(|at| (f64::from(at), state.capacity_at(at).map(Value::known))).collect();
    let mut series = vec![Series {
        name: "in time".to_owned(),
        filled: true,
        ..now(state, Column::Goodput, palette.admitted(), '+')
    }];
    if state.capacity_per_s().is_some() {
        series.push(Series { points: capacity, ..Series::level("capacity", 0.0, [0.0, end], palette) });
    }
    series.extend(yardsticks(state, Column::Goodput, palette));
    let up = up_to_all(&series, "/s");
    Plot { front: Some(0), ..plot(["[1]", "requests"], state, up, series) }.draw(frame, area, palette);
}

/// Response times on a logarithmic axis: without control they are a hundred times the target.
pub(super) fn response_time(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let target = state.objective_ms().unwrap_or(1000.0);
    let percentile = state.percentile();
    let now = now(state, percentile, palette.good(), 'o');
    let mut series = vec![Series::level(&format!("target {}", text::time(target)), target, span(state), palette)];
    series.extend(yardsticks(state, percentile, palette));
    let [over, within] = judged(&now.points, target);
    series.push(Series {
        points: over,
        style: palette.bad(),
        name: "over".to_owned(),
        ..Series { mark: 'X', ..Series::default() }
    });
    series.push(Series { points: within, name: percentile.name().to_owned(), ..now });
    series.retain(|series| series.name != "over" || series.points.iter().any(|(_, value)| value.is_some()));
    let up =
        decades(series.iter().flat_map(|series| &series.points).filter_map(|(_, value)| Some((*value)?.at)), target);
    plot(["[2]", "response time"], state, up, series).draw(frame, area, palette);
}

/// A line in two: what is over the target, with its way there and back, and what is not.
fn judged(points: &[Point], target: f64) -> [Vec<Point>; 2] {
    let is_over = |point: &Point| point.1.is_some_and(|value| value.at > target);
    let near = |n: usize| points[n.saturating_sub(1)..(n + 2).min(points.len())].iter().any(is_over);
    let over = points.iter().enumerate().map(|(n, (x, value))| (*x, value.filter(|_| near(n))));
    let within = points.iter().map(|(x, value)| (*x, value.filter(|value| value.at <= target)));
    [over.collect(), within.collect()]
}

/// The arm that runs.
fn now(state: &State, column: Column, style: Style, mark: char) -> Series {
    let points = state.running.as_ref().map_or_else(Vec::new, |running| points(running, |second| column.at(second)));
    Series { style, mark, points, ..Series::default() }
}

/// Arms that are over, up to the second that is shown.
fn yardsticks(state: &State, column: Column, palette: Palette) -> impl Iterator<Item = Series> {
    let now = state.running.as_ref();
    let until = now.and_then(|running| running.until).unwrap_or(u32::MAX);
    let others = state.curves.iter().filter(move |curve| now.is_none_or(|now| now.name != curve.name));
    others.enumerate().map(move |(n, curve)| {
        let points = curve.of_column(column, until);
        Series {
            name: scrubbed(&curve.name),
            style: palette.faint(),
            mark: palette.line(n).1,
            points,
            ..Series::default()
        }
    })
}

/// Users by what they do, as far as anybody does.
pub(super) fn users(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return frame.render_widget(titled(" [6] users ", palette), area) };
    let busy = |second: &TimelineSecond| -> Vec<String> {
        second.users_by_state.iter().filter(|(_, n)| **n > 0).map(|(state, _)| state.clone()).collect()
    };
    let states: BTreeSet<String> = running.shown().flat_map(busy).collect();
    let series: Vec<Series> = states
        .iter()
        .enumerate()
        .map(|(n, state)| {
            let (style, mark) = palette.line(n);
            let of = |second: &TimelineSecond| {
                Some(Value::known(f64::from(second.users_by_state.get(state).copied().unwrap_or(0))))
            };
            Series { name: scrubbed(state), style, mark, points: points(running, of), ..Series::default() }
        })
        .collect();
    let up = up_to_all(&series, "");
    plot(["[6]", "users"], state, up, series).draw(frame, area, palette);
}

fn points(running: &Running, read: impl Fn(&TimelineSecond) -> Option<Value>) -> Vec<(f64, Option<Value>)> {
    running.shown().map(|second| (f64::from(second.second) + 0.5, read(second))).collect()
}

fn highest<'a>(points: impl Iterator<Item = &'a (f64, Option<Value>)>) -> f64 {
    points.filter_map(|(_, value)| Some((*value)?.at)).fold(0.0, f64::max)
}

fn up_to_all(series: &[Series], unit: &str) -> Upright {
    from_zero(highest(series.iter().flat_map(|s| &s.points)).max(1.0) * 1.05, unit)
}

/// Seconds of the arm that have room on an axis: the whole arm, or what is kept of it.
pub(super) fn span(state: &State) -> [f64; 2] {
    let seconds = state.running.as_ref().map(|running| &running.seconds);
    let start = seconds.and_then(|seconds| seconds.front()).map_or(0.0, |second| f64::from(second.second));
    let so_far = seconds.and_then(|seconds| seconds.back()).map_or(0.0, |second| f64::from(second.second) + 1.0);
    [start, state.planned_seconds().max(so_far).max(1.0)]
}

pub(super) fn plot([key, title]: [&'static str; 2], state: &State, up: Upright, series: Vec<Series>) -> Plot<'static> {
    let marks = state.running.iter().flat_map(|running| &running.marks).copied().collect();
    Plot { key, title, span: span(state), unit: "s", up, phases: state.phase_ends(), marks, series, ..Plot::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_target_is_a_line_of_its_own_with_its_way_there() {
        let at = |values: &[Option<f64>]| -> Vec<Point> {
            values.iter().enumerate().map(|(n, value)| (n as f64, value.map(Value::known))).collect()
        };
        let line = [Some(1.0), Some(2.0), Some(9.0), None, Some(3.0), Some(1.0)];
        let [over, within] = judged(&at(&line), 5.0);
        assert_eq!(over, at(&[None, Some(2.0), Some(9.0), None, None, None]));
        assert_eq!(within, at(&[Some(1.0), Some(2.0), None, None, Some(3.0), Some(1.0)]));
    }
}
