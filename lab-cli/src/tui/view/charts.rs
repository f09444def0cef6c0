//! Rates on one axis, and the 90th percentile against the target, both over the time of the arm.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    widgets::{Block, Borders},
};

use super::plot::{Plot, Series, decades, log};
use crate::{
    live::Second,
    text,
    tui::{
        Palette,
        state::{Running, State},
    },
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let Some(running) = &state.running else {
        for (area, title) in [(left, " requests a second "), (right, " response time ")] {
            frame.render_widget(Block::new().borders(Borders::TOP).title(title), area);
        }
        return;
    };
    rates(state, running, palette).draw(frame, left, palette);
    response_time(state, running, palette).draw(frame, right, palette);
}

fn rates(state: &State, running: &Running, palette: Palette) -> Plot<'static> {
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
    let top = series.iter().flat_map(|s| &s.points).filter_map(|(_, y)| *y).fold(1.0, f64::max) * 1.05;
    let labels = vec!["0".to_owned(), text::rate(top / 2.0), format!("{}/s", text::rate(top))];
    plot("requests", String::new(), state, running, ([0.0, top], labels), series)
}

/// On a logarithmic axis: without control it is a hundred times the target.
fn response_time(state: &State, running: &Running, palette: Palette) -> Plot<'static> {
    let target = state.objective_ms().unwrap_or(1000.0);
    let measured = |second: &Second| second.p90_ms;
    let axis = decades(running.seconds.iter().filter_map(measured), target);
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
    plot("response time", latest, state, running, axis, series)
}

fn points(running: &Running, read: impl Fn(&Second) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
    running.seconds.iter().map(|second| (f64::from(second.second) + 0.5, read(second))).collect()
}

/// The whole arm, or what is kept of it.
fn x_end(state: &State, running: &Running) -> f64 {
    let so_far = running.latest().map_or(0.0, |second| f64::from(second.second) + 1.0);
    state.planned_seconds().max(so_far).max(1.0)
}

fn plot(
    title: &'static str,
    latest: String,
    state: &State,
    running: &Running,
    (y, labels): ([f64; 2], Vec<String>),
    series: Vec<Series>,
) -> Plot<'static> {
    let start = running.seconds.front().map_or(0.0, |second| f64::from(second.second));
    let span = [start, x_end(state, running)];
    Plot { title, latest, span, y, labels, walls: state.boundaries(), series }
}
