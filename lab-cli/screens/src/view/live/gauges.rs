//! Gauges of a policy over time: its limit or rate, the times that it believes, the queue before it.

use std::collections::BTreeSet;

use analysis::{
    live::{EXPORTED_ROW, StageSecond, TimelineSecond},
    series::value::Value,
    text::scrubbed,
};
use ratatui::prelude::*;

use super::{
    super::plot::{Plot, Series, decades, from_zero},
    charts,
};
use crate::{
    Palette,
    state::{Running, State},
};

/// Rows of a picture, at least.
const LEAST: u16 = 6;
/// Lines in a picture: more hide each other.
const MOST_LINES: usize = 8;

/// A kind of gauge: those of one kind share an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rates,
    Times,
    /// Processors kept busy.
    Cores,
    Counts,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Rates, Self::Times, Self::Counts, Self::Cores];

    /// Sorts by the unit in the gauge's name.
    fn of(name: &str) -> Self {
        let name = name.split('[').next().unwrap_or(name);
        let units = [("_per_s", Self::Rates), ("_ms", Self::Times), ("_us", Self::Cores)];
        units.into_iter().find(|(unit, _)| name.ends_with(unit)).map_or(Self::Counts, |(_, kind)| kind)
    }
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Some(running) = &state.running else { return };
    let latest = running.latest().and_then(|second| second.target.as_ref());
    let Some(stage) = latest.and_then(|target| target.stages.get(state.stage_at())) else { return };
    let names = names(running, &stage.name);
    let wanted = |kind: Kind| names.iter().filter(move |name| Kind::of(name) == kind).take(MOST_LINES);
    let plots: Vec<Plot<'_>> = Kind::ALL
        .into_iter()
        .filter_map(|kind| {
            let names: Vec<&str> = wanted(kind).map(String::as_str).collect();
            (!names.is_empty()).then(|| plot(state, running, (&stage.name, kind), &names, palette))
        })
        .collect();
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let words = format!(" {} over time (up down: another stage) ", scrubbed(&stage.name));
    frame.render_widget(Line::styled(words, palette.strong()), title);
    let room = usize::from(body.height / LEAST).clamp(1, plots.len().max(1));
    let areas = Layout::vertical(vec![Constraint::Fill(1); room]).split(body);
    for (plot, area) in plots.iter().zip(areas.iter()) {
        plot.draw(frame, *area, palette);
    }
}

/// Gauges that this stage has shown, and its queue; what never was anything is left out.
fn names(running: &Running, stage: &str) -> Vec<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for stage in running.shown().filter_map(|second| stage_second(second, stage)) {
        names.extend(stage.gauges.iter().filter(|(_, value)| **value != 0.0).map(|(name, _)| name.clone()));
    }
    let mut names: Vec<String> = names.into_iter().collect();
    // What decides comes first.
    names.sort_by_key(|name| {
        !(name.starts_with("limit") || name.starts_with("admission_rate") || name.starts_with("p90"))
    });
    if stage != EXPORTED_ROW {
        names.extend(["queue", "busy"].map(str::to_owned));
    }
    names
}

fn stage_second<'a>(second: &'a TimelineSecond, stage: &str) -> Option<&'a StageSecond> {
    second.target.as_ref()?.stages.iter().find(|found| found.name == stage)
}

fn plot(
    state: &State,
    running: &Running,
    (stage, kind): (&str, Kind),
    names: &[&str],
    palette: Palette,
) -> Plot<'static> {
    // Microseconds in a second.
    let unit = if kind == Kind::Cores { 1e-6 } else { 1.0 };
    let value = |second: &TimelineSecond, name: &str| Some(stage_second(second, stage)?.shows(name)? * unit);
    let series = |(n, name): (usize, &&str)| {
        let (style, mark) = palette.line(n);
        let point = |second: &TimelineSecond| (f64::from(second.second) + 0.5, value(second, name).map(Value::known));
        Series { name: scrubbed(name), style, mark, points: running.shown().map(point).collect(), ..Series::default() }
    };
    let all = || names.iter().flat_map(|name| running.shown().filter_map(move |second| value(second, name)));
    let target = state.objective_ms().unwrap_or(1000.0);
    let up = match kind {
        Kind::Times => decades(all(), target),
        Kind::Rates => from_zero(all().fold(1.0, f64::max) * 1.05, "/s"),
        Kind::Cores => from_zero(all().fold(0.1, f64::max) * 1.05, " cores"),
        Kind::Counts => from_zero(all().fold(1.0, f64::max) * 1.05, ""),
    };
    charts::plot(["", ""], state, up, names.iter().enumerate().map(series).collect())
}
