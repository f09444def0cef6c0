//! Rates on one axis, the 90th percentile against the target, and users by what they do, each over the time of the arm.

use std::collections::BTreeSet;

use ratatui::{
    Frame,
    layout::Rect,
    widgets::{Block, Borders},
};

use super::plot::{Plot, Series, decades, log};
use crate::{
    live::Second,
    text::{self, scrubbed},
    tui::{
        Palette,
        state::{Running, State},
    },
};

pub(super) fn rates(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return empty(frame, area, " [1] requests a second ") };
    let of = |name: &str, style, mark, read: fn(&Second) -> u64| Series {
        name: name.to_owned(),
        style,
        mark,
        points: points(running, |second| Some(read(second) as f64)),
    };
    let admitted = |s: &Second| s.planned.saturating_sub(s.rejected + s.connect_failed);
    let series = vec![
        of("offered", palette.offered(), '.', |s| s.planned),
        of("admitted", palette.admitted(), '-', admitted),
        of("in time", palette.good(), '+', |s| s.served),
        of("rejected", palette.bad(), 'x', |s| s.rejected),
    ];
    let (y, labels) = from_zero(&series, "/s");
    plot(["[1]", "requests"], String::new(), state, running, (y, labels), series).draw(frame, area, palette);
}

/// On a logarithmic axis: without control it is a hundred times the target.
pub(super) fn response_time(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return empty(frame, area, " [2] response time ") };
    let target = state.objective_ms().unwrap_or(1000.0);
    let measured = |second: &Second| second.p90_ms;
    let axis = decades(running.shown().filter_map(measured), target);
    let end = x_end(state, running);
    let newest = running.latest().and_then(measured);
    let late = newest.is_some_and(|p90| p90 > target);
    let series = vec![
        Series {
            name: "target".to_owned(),
            style: palette.target(),
            mark: '=',
            points: vec![(0.0, Some(log(target))), (end, Some(log(target)))],
        },
        Series {
            name: "p90".to_owned(),
            style: if late { palette.bad() } else { palette.good() },
            mark: 'o',
            points: points(running, |second| measured(second).map(log)),
        },
    ];
    let latest = match newest {
        Some(p90) => format!(" p90 {} {} {} ", text::time(p90), if late { ">" } else { "<=" }, text::time(target)),
        None => " p90: too few answers ".to_owned(),
    };
    plot(["[2]", "response time"], latest, state, running, axis, series).draw(frame, area, palette);
}

/// What they do, as far as anybody does.
pub(super) fn users(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return empty(frame, area, " [6] users ") };
    let busy = |second: &Second| -> Vec<String> {
        second.users_by_state.iter().filter(|(_, n)| **n > 0).map(|(state, _)| state.clone()).collect()
    };
    let states: BTreeSet<String> = running.shown().flat_map(busy).collect();
    let series: Vec<Series> = states
        .iter()
        .enumerate()
        .map(|(n, state)| {
            let (style, mark) = palette.line(n);
            let of = |second: &Second| Some(f64::from(second.users_by_state.get(state).copied().unwrap_or(0)));
            Series { name: scrubbed(state), style, mark, points: points(running, of) }
        })
        .collect();
    let (y, labels) = from_zero(&series, "");
    plot(["[6]", "users"], String::new(), state, running, (y, labels), series).draw(frame, area, palette);
}

fn empty(frame: &mut Frame<'_>, area: Rect, title: &'static str) {
    frame.render_widget(Block::new().borders(Borders::TOP).title(title), area);
}

fn points(running: &Running, read: impl Fn(&Second) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
    running.shown().map(|second| (f64::from(second.second) + 0.5, read(second))).collect()
}

fn from_zero(series: &[Series], unit: &str) -> ([f64; 2], Vec<String>) {
    let top = series.iter().flat_map(|s| &s.points).filter_map(|(_, y)| *y).fold(1.0, f64::max) * 1.05;
    ([0.0, top], vec!["0".to_owned(), text::rate(top / 2.0), format!("{}{unit}", text::rate(top))])
}

/// The whole arm, or what is kept of it.
fn x_end(state: &State, running: &Running) -> f64 {
    let so_far = running.seconds.back().map_or(0.0, |second| f64::from(second.second) + 1.0);
    state.planned_seconds().max(so_far).max(1.0)
}

/// Seconds of the arm that have room on an axis.
pub(super) fn span(state: &State, running: &Running) -> [f64; 2] {
    let start = running.seconds.front().map_or(0.0, |second| f64::from(second.second));
    [start, x_end(state, running)]
}

fn plot(
    [key, title]: [&'static str; 2],
    latest: String,
    state: &State,
    running: &Running,
    (y, labels): ([f64; 2], Vec<String>),
    series: Vec<Series>,
) -> Plot<'static> {
    let marks = running.marks.iter().copied().collect();
    Plot {
        key,
        title,
        latest,
        span: span(state, running),
        unit: "s",
        y,
        labels,
        walls: state.boundaries(),
        marks,
        series,
    }
}
