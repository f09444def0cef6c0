//! Preview of an experiment: goodput and the 90th percentile of its arms in virtual time, as they are computed.

use analysis::{series::value::Value, text::scrubbed};
use experiment::Experiment;
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::Line,
    widgets::{Block, Borders, Paragraph, Wrap},
};

use super::super::plot::{PhaseEnd, Plot, Series, decades, from_zero};
use crate::{
    Palette,
    app::{Choice, Preview, Progress},
    messages::PreviewPoint,
};

/// Columns from which on two pictures have room beside each other, and rows from which on below each other.
const WIDE: u16 = 84;
const TALL: u16 = 16;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, preview: &Preview, choice: &Choice, palette: Palette) {
    let Some(experiment) = choice.found().map(|found| &found.experiment) else { return };
    if let Progress::Refused(why) = &preview.progress {
        let block = Block::new().borders(Borders::TOP).border_style(palette.faint()).title(" what it shows ");
        let why = Line::styled(format!(" not in virtual time: {}", scrubbed(why)), palette.faint());
        frame.render_widget(Paragraph::new(why).wrap(Wrap { trim: false }).block(block), area);
        return;
    }
    let goodput = goodput(preview, experiment, palette);
    if area.width >= WIDE || area.height >= TALL {
        let layout = if area.width >= WIDE { Layout::horizontal } else { Layout::vertical };
        let [first, second] = layout([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
        goodput.draw(frame, first, palette);
        response_time(preview, experiment, palette).draw(frame, second, palette);
    } else {
        goodput.draw(frame, area, palette);
    }
}

fn goodput(preview: &Preview, experiment: &Experiment, palette: Palette) -> Plot<'static> {
    let series = series(preview, palette, |point| Some(Value::known(point.goodput)));
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
    let series = limit.into_iter().chain(series).collect();
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

fn response_time(preview: &Preview, experiment: &Experiment, palette: Palette) -> Plot<'static> {
    let target = experiment.objective.response_time_ms;
    let values = preview.arms.iter().flat_map(|(_, points)| points).filter_map(|point| Some(point.p90?.at));
    let up = decades(values, target);
    let span = span(experiment);
    let limit = Series::level("target", target, span, palette);
    let lines = series(preview, palette, |point| point.p90)
        .into_iter()
        // The legend stands in the other picture.
        .map(|series| Series { name: String::new(), ..series });
    let series = std::iter::once(limit).chain(lines).collect();
    Plot { title: "p90", span, unit: "s", up, phases: phases(experiment), series, ..Plot::default() }
}

fn series(preview: &Preview, palette: Palette, read: impl Fn(&PreviewPoint) -> Option<Value>) -> Vec<Series> {
    let of = |(n, (name, points)): (usize, &(String, Vec<PreviewPoint>))| {
        let (style, mark) = palette.line(n);
        let points = points.iter().map(|point| (f64::from(point.second) + 0.5, read(point))).collect();
        Series { name: scrubbed(name), style, mark, points, ..Series::default() }
    };
    preview.arms.iter().enumerate().map(of).collect()
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
