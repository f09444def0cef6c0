//! Preview of an experiment: its arms in virtual time, as they are computed. Bars say how much of what could be answered in time is,
//! in the phase with the most load; under them is goodput over time.

use analysis::{
    series::value::Value,
    text::{self, scrubbed},
};
use experiment::{Experiment, plan::PhasePlan};
use ratatui::{prelude::*, widgets::*};

use super::super::{
    plot::{PhaseEnd, Plot, Series, from_zero},
    widgets::{bar, nothing, titled},
};
use crate::{
    Palette,
    app::{Choice, Preview, Progress},
    messages::PreviewPoint,
};

/// Columns of the longest bar, and rows that a plot has at least.
const MOST_BAR: u16 = 30;
const LEAST_PLOT: u16 = 6;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, preview: &Preview, choice: &Choice, palette: Palette) {
    let Some(experiment) = choice.found().map(|found| &found.experiment) else { return };
    let title = " at the most load: in time, median p90 ";
    let block = titled(title, palette);
    if let Progress::Refused(why) = &preview.progress {
        let why = match experiment.has_no_plant() {
            true => "m measures what its requests cost (two minutes); then it is computed here".to_owned(),
            false => format!("not in virtual time: {}", scrubbed(why)),
        };
        return nothing(frame, area, block, &why, palette);
    }
    let rows = bars(preview, experiment, area.width, palette);
    let most = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(1);
    let [above, below] =
        Layout::vertical([Constraint::Max(most.min(area.height.saturating_sub(LEAST_PLOT))), Constraint::Fill(1)])
            .areas(area);
    frame.render_widget(Paragraph::new(rows).block(block), above);
    goodput(preview, experiment, palette).draw(frame, below, palette);
}

/// A row an arm, the one with the most answers in time first: their number a second in the phase with the most load, and the
/// 90th percentile of the second in its middle.
fn bars(preview: &Preview, experiment: &Experiment, width: u16, palette: Palette) -> Vec<Line<'static>> {
    let capacity = experiment.nominal_capacity();
    let load = |phase: &PhasePlan| -> f64 {
        phase.loads.iter().map(|load| load.span(capacity)).map(|[from, to]| from.max(to)).sum()
    };
    let ends = phases(experiment);
    let begins = std::iter::once(0.0).chain(ends.iter().map(|(end, _)| *end));
    let busiest = experiment.users.phases.iter().zip(begins).max_by(|(a, _), (b, _)| load(a).total_cmp(&load(b)));
    let Some((phase, from)) = busiest else { return Vec::new() };
    let within = from as u32..(from + phase.duration.as_secs_f64()) as u32;
    let of_arm = |(name, points): &(String, Vec<PreviewPoint>)| {
        let points: Vec<&PreviewPoint> = points.iter().filter(|point| within.contains(&point.second)).collect();
        let sum = points.iter().map(|point| point.goodput).sum::<f64>();
        let mean = (!points.is_empty()).then(|| sum / points.len() as f64);
        let mut times: Vec<Value> = points.iter().filter_map(|point| point.p90).collect();
        times.sort_by(|a, b| a.at.total_cmp(&b.at));
        (scrubbed(name), mean, times.get(times.len() / 2).copied())
    };
    let mut arms: Vec<_> = preview.arms.iter().map(of_arm).collect();
    arms.sort_by(|a, b| b.1.unwrap_or(0.0).total_cmp(&a.1.unwrap_or(0.0)));
    let most = arms.iter().filter_map(|(_, mean, _)| *mean).fold(capacity.unwrap_or(1.0), f64::max);
    let names = arms.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).clamp(4, 20);
    let room = usize::from(width.saturating_sub(names as u16 + 26).min(MOST_BAR));
    let target = experiment.objective.response_time_ms;
    let row = |(name, mean, p90): (String, Option<f64>, Option<Value>)| {
        let style = match p90 {
            Some(value) if value.at > target => palette.bad(),
            Some(_) => palette.good(),
            None => palette.faint(),
        };
        let none = || "-".to_owned();
        let (rate, time) = (mean.map_or_else(none, text::rate), p90.map_or_else(none, |value| value.shown(text::time)));
        Line::from(vec![
            Span::raw(format!(" {name:<names$.names$} ")),
            Span::styled(bar(mean.unwrap_or(0.0) / most, room), palette.admitted()),
            Span::styled(format!("{rate:>6}/s"), palette.strong()),
            Span::styled(format!("  p90 {time}"), style),
        ])
    };
    arms.into_iter().map(row).collect()
}

fn goodput(preview: &Preview, experiment: &Experiment, palette: Palette) -> Plot<'static> {
    let arms = preview.arms.iter().enumerate().map(|(n, (name, points))| {
        let (style, mark) = palette.line(n);
        let point = |point: &PreviewPoint| (f64::from(point.second) + 0.5, Some(Value::known(point.goodput)));
        Series { name: scrubbed(name), style, mark, points: points.iter().map(point).collect(), ..Series::default() }
    });
    let capacity = experiment.nominal_capacity();
    let top = preview.arms.iter().flat_map(|(_, points)| points).map(|point| point.goodput).fold(1.0, f64::max);
    let top = capacity.map_or(top, |capacity| top.max(capacity)) * 1.05;
    let up = from_zero(top, "/s");
    let span = span(experiment);
    let limit = capacity.map(|capacity| Series {
        points: steps(experiment, capacity, span).map(|(x, at)| (x, Some(Value::known(at)))).collect(),
        ..Series::level("capacity", capacity, span, palette)
    });
    let latest = progress(preview, experiment);
    let series = limit.into_iter().chain(arms).collect();
    Plot { title: "goodput/s", latest, span, unit: "s", up, phases: phases(experiment), series, ..Plot::default() }
}

/// The capacity from the beginning to the end, before and after each moment at which a fault changes it.
fn steps(experiment: &Experiment, usual: f64, [from, to]: [f64; 2]) -> impl Iterator<Item = (f64, f64)> {
    let changes = experiment.capacity_changes(Some(usual), true).into_iter();
    let hindered = changes.flat_map(move |change| {
        [(change.from, usual), (change.from, change.per_s), (change.to, change.per_s), (change.to, usual)]
    });
    [(from, usual)].into_iter().chain(hindered).chain([(to, usual)])
}

fn span(experiment: &Experiment) -> [f64; 2] {
    let end: f64 = experiment.users.phases.iter().map(|phase| phase.duration.as_secs_f64()).sum();
    [0.0, end.max(1.0)]
}

fn phases(experiment: &Experiment) -> Vec<PhaseEnd> {
    let end = |at: &mut f64, phase: &experiment::plan::PhasePlan| {
        *at += phase.duration.as_secs_f64();
        Some((*at, scrubbed(&phase.name)))
    };
    experiment.users.phases.iter().scan(0.0, end).collect()
}

/// Progress in percent; and what the preview leaves out.
fn progress(preview: &Preview, experiment: &Experiment) -> String {
    if preview.progress == Progress::Whole {
        return match &preview.left_out[..] {
            [] => String::new(),
            left_out => format!(" without {} ", scrubbed(&left_out.join(", "))),
        };
    }
    let whole = span(experiment)[1] * preview.arms.len().max(1) as f64;
    let done: usize = preview.arms.iter().map(|(_, points)| points.len()).sum();
    format!(" computing {:.0} % ", (100.0 * done as f64 / whole).min(100.0))
}
