//! Rates on one axis, a percentile of response times against the target, and users by what they do, each over the time of the arm.

use std::collections::BTreeSet;

use analysis::{
    live::TimelineSecond,
    series::value::Value,
    text::{self, scrubbed},
};
use ratatui::{
    Frame,
    layout::Rect,
    widgets::{Block, Borders},
};

use super::plot::{Plot, Series, Upright, decades, from_zero};
use crate::{
    Palette,
    state::{Running, State},
};

/// Rates. Goodput is named first and drawn last, over all else: it is what the lab is about.
pub(super) fn rates(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return empty(frame, area, " [1] requests a second ") };
    let of = |name: &str, style, mark, read: fn(&TimelineSecond) -> u64| Series {
        name: name.to_owned(),
        style,
        mark,
        points: points(running, |second| Some(Value::known(read(second) as f64))),
        filled: name == "in time",
    };
    let admitted = |s: &TimelineSecond| s.planned.saturating_sub(s.rejected + s.connect_failed);
    let series = vec![
        of("in time", palette.good(), '+', |s| s.served),
        of("offered", palette.offered(), '.', |s| s.planned),
        of("admitted", palette.admitted(), '-', admitted),
        of("rejected", palette.bad(), 'x', |s| s.rejected),
    ];
    let top = |series: &[Series]| highest(series.iter().flat_map(|s| &s.points));
    let in_time = top(&series[..1]);
    let lost = top(&series) > LOST * in_time.max(1.0);
    let up = if lost { rate_decades(top(&series)) } else { up_to_all(&series, "/s") };
    let plot = plot(["[1]", "requests"], String::new(), state, running, up, series);
    Plot { front: Some(0), ..plot }.draw(frame, area, palette);
}

/// The multiple of goodput from which the axis is logarithmic: on an even one, goodput would lie in the lowest part,
/// under a peak of retries.
const LOST: f64 = 4.0;

/// Whole decades from one a second up to the highest rate. One a second and nothing are one place: both are at the foot.
fn rate_decades(highest: f64) -> Upright {
    let high = libm::log10(highest).ceil().max(1.0);
    let label = |at: u32| match at {
        0 => "<= 1".to_owned(),
        at if f64::from(at) < high => text::rate(libm::pow(10.0, f64::from(at))),
        at => format!("{}/s", text::rate(libm::pow(10.0, f64::from(at)))),
    };
    Upright { ends: [0.0, high], labels: (0..=high as u32).map(label).collect(), log: true }
}

/// Response times on a logarithmic axis: without control they are a hundred times the target.
pub(super) fn response_time(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return empty(frame, area, " [2] response time ") };
    let target = state.objective_ms().unwrap_or(1000.0);
    let percentile = state.percentile();
    let name = percentile.name();
    let measured = |second: &TimelineSecond| percentile.at(second);
    let axis = decades(running.shown().filter_map(measured).map(|value| value.at), target);
    let end = x_end(state, running);
    let newest = running.latest().and_then(measured);
    let late = newest.is_some_and(|value| value.at > target);
    let series = vec![
        Series::level("target", target, [0.0, end], palette),
        Series {
            name: name.to_owned(),
            style: if late { palette.bad() } else { palette.good() },
            mark: 'o',
            points: points(running, |second| measured(second)),
            ..Series::default()
        },
    ];
    let latest = match newest {
        // A bound below the target: the value may be on either side.
        Some(value) if value.at_least && !late => format!(" {name} {} ", value.shown(text::time)),
        Some(value) => {
            format!(" {name} {} {} {} ", value.shown(text::time), if late { ">" } else { "<=" }, text::time(target))
        }
        None => format!(" {name}: too few answers "),
    };
    plot(["[2]", "response time"], latest, state, running, axis, series).draw(frame, area, palette);
}

/// Users by what they do, as far as anybody does.
pub(super) fn users(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return empty(frame, area, " [6] users ") };
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
    plot(["[6]", "users"], String::new(), state, running, up, series).draw(frame, area, palette);
}

fn empty(frame: &mut Frame<'_>, area: Rect, title: &'static str) {
    frame.render_widget(Block::new().borders(Borders::TOP).title(title), area);
}

fn points(running: &Running, read: impl Fn(&TimelineSecond) -> Option<Value>) -> Vec<(f64, Option<Value>)> {
    running.shown().map(|second| (f64::from(second.second) + 0.5, read(second))).collect()
}

fn highest<'a>(points: impl Iterator<Item = &'a (f64, Option<Value>)>) -> f64 {
    points.filter_map(|(_, value)| Some((*value)?.at)).fold(0.0, f64::max)
}

pub(super) fn up_to_all(series: &[Series], unit: &str) -> Upright {
    from_zero(highest(series.iter().flat_map(|s| &s.points)).max(1.0) * 1.05, unit)
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
    up: Upright,
    series: Vec<Series>,
) -> Plot<'static> {
    let marks = running.marks.iter().copied().collect();
    Plot {
        key,
        title,
        latest,
        span: span(state, running),
        unit: "s",
        up,
        places: Vec::new(),
        phases: state.phase_ends(),
        cursor: None,
        marks,
        series,
        front: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_rates_goes_by_factors_of_ten_from_one_a_second() {
        let up = rate_decades(1100.0);
        assert_eq!((up.ends, &up.labels.join(" ")[..]), ([0.0, 4.0], "<= 1 10 100 1000 10000/s"));
        assert_eq!([0.0, 1.0, 100.0].map(|rate| up.at(rate)), [0.0, 0.0, 2.0]);
    }
}
