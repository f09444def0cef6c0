//! The target's stages, with what their policies do.

use std::cmp::Reverse;

use analysis::{
    live::StageSecond,
    text::{self, scrubbed},
};
use ratatui::{prelude::*, widgets::*};

use super::{
    super::widgets::{bar, titled},
    gauges,
};
use crate::{Palette, front_doors::is_room, state::State};

/// Gauges that have a column of their own; others are named in the last one.
const ADMISSION_RATE: &str = "admission_rate_per_s";
const P90: &str = "p90_ms";

/// The width from which batches have a column: the fourth.
const WIDE: u16 = 66;
const BATCH: usize = 3;

/// Columns of the bar of a queue.
const BAR: usize = 8;

/// The stages that are at work, the one with the longest queue first.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let (stages, is_old) = latest(state);
    let mut busy: Vec<(usize, &StageSecond)> =
        stages.iter().enumerate().filter(|(_, stage)| !is_room(stage) && !is_idle(stage)).collect();
    busy.sort_by_key(|(_, stage)| Reverse((stage.queue, stage.refused, stage.offered)));
    let quiet = stages.iter().filter(|stage| !is_room(stage) && is_idle(stage)).count();
    let mut title = if quiet == 0 { " [5] stages ".to_owned() } else { format!(" [5] stages, {quiet} idle ") };
    title.push_str(is_old);
    table(frame, area, (&title, &busy), None, state, palette);
}

/// All of them with the whole width, in the order of the graph: everything that a policy shows.
pub(super) fn alone(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let (stages, is_old) = latest(state);
    let rows = u16::try_from(stages.len()).unwrap_or(u16::MAX).saturating_add(2);
    let [above, plots] =
        Layout::vertical([Constraint::Length(rows.min(area.height / 2).max(3)), Constraint::Fill(1)]).areas(area);
    // If not all have room, the one that is chosen is seen.
    let (at, room) = (state.stage_at(), usize::from(above.height.saturating_sub(2)));
    let all: Vec<(usize, &StageSecond)> = stages.iter().enumerate().skip((at + 1).saturating_sub(room)).collect();
    table(frame, above, (&format!(" [5] stages {is_old}"), &all), Some(at), state, palette);
    gauges::draw(frame, plots, state, palette);
}

/// The stages as the service showed them last, and a note if that is not the second that is shown.
fn latest(state: &State) -> (&[StageSecond], &'static str) {
    let mut seconds = state.running.iter().flat_map(|running| running.shown().rev()).enumerate();
    match seconds.find_map(|(age, second)| Some((age, second.target.as_ref()?))) {
        Some((0, target)) => (&target.stages, ""),
        Some((_, target)) => (&target.stages, "as they were: no word in the last second "),
        None => (&[], ""),
    }
}

fn is_idle(stage: &StageSecond) -> bool {
    !stage.is_exported() && stage.offered == 0 && stage.queue == 0 && stage.busy == 0
}

/// `chosen`: the number of the row that is marked.
fn table(
    frame: &mut Frame<'_>,
    area: Rect,
    (title, stages): (&str, &[(usize, &StageSecond)]),
    chosen: Option<usize>,
    state: &State,
    palette: Palette,
) {
    let block = titled(title, palette);
    // Names of stages matter more than the size of batches.
    let batch = area.width >= WIDE;
    let wide = |cells: Vec<Cell<'static>>| -> Row<'static> {
        Row::new(cells.into_iter().enumerate().filter(|(n, _)| batch || *n != BATCH).map(|(_, cell)| cell))
    };
    let names = ["stage", "queue", "busy", "batch", "in/s", "refused", "rate/s", "p90", ""];
    let header = wide(names.map(Cell::new).to_vec()).style(palette.faint());
    let widths = [14, BAR as u16 + 5, 5, 5, 5, 7, 7, 7].into_iter().enumerate().filter(|(n, _)| batch || *n != BATCH);
    let widths = widths.map(|(_, width)| Constraint::Length(width)).chain([Constraint::Fill(1)]);
    let longest = stages.iter().map(|(_, stage)| stage.queue).max().unwrap_or(0).max(1);
    let rows = stages.iter().map(|(n, stage)| {
        let row = wide(row(stage, longest, state.objective_ms(), palette));
        if chosen == Some(*n) { row.style(palette.selected()) } else { row }
    });
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), area);
}

/// Columns of a stage before its gauges.
const BEFORE_GAUGES: usize = 8;

fn row(stage: &StageSecond, longest: u32, objective: Option<f64>, palette: Palette) -> Vec<Cell<'static>> {
    let refused = if stage.offered == 0 { 0.0 } else { stage.refused as f64 / stage.offered as f64 };
    let p90 = gauge(stage, P90);
    let late = p90.iter().any(|p90| objective.is_some_and(|objective| *p90 > objective));
    let others: Vec<String> = stage
        .gauges
        .iter()
        .filter(|(name, _)| !is_gauge(name, ADMISSION_RATE) && !is_gauge(name, P90))
        .map(|(name, value)| format!("{} {}", scrubbed(name), short(*value)))
        .collect();
    if stage.is_exported() {
        let mut cells = vec![Cell::new("-"); BEFORE_GAUGES];
        cells[0] = Cell::new(scrubbed(&stage.name));
        cells.push(Cell::new(others.join("  ")));
        return cells;
    }
    vec![
        Cell::new(scrubbed(&stage.name)),
        Cell::new(format!("{}{:>5}", bar(f64::from(stage.queue) / f64::from(longest), BAR), stage.queue)),
        // Reading, sending and accepting have no workers of their own.
        Cell::new(if stage.workers == 0 { "-".to_owned() } else { format!("{}/{}", stage.busy, stage.workers) }),
        Cell::new(if stage.workers == 0 { "-".to_owned() } else { stage.batch.to_string() }),
        Cell::new(stage.offered.to_string()),
        Cell::new(Span::styled(text::percent(refused), if refused > 0.0 { palette.warn() } else { palette.faint() })),
        Cell::new(joined(&gauge(stage, ADMISSION_RATE), |rate| text::rate(*rate))),
        Cell::new(Span::styled(
            joined(&p90, |p90| text::time(*p90)),
            if late { palette.bad() } else { palette.good() },
        )),
        Cell::new(others.join("  ")),
    ]
}

/// The gauge, or that of each class.
fn gauge(stage: &StageSecond, name: &str) -> Vec<f64> {
    stage.gauges.iter().filter(|(key, _)| is_gauge(key, name)).map(|(_, value)| *value).collect()
}

/// `name` or `name[class]`.
fn is_gauge(key: &str, name: &str) -> bool {
    key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
}

fn joined(values: &[f64], show: impl Fn(&f64) -> String) -> String {
    if values.is_empty() { "-".to_owned() } else { values.iter().map(show).collect::<Vec<_>>().join("|") }
}

fn short(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 { format!("{value:.0}") } else { format!("{value:.2}") }
}
