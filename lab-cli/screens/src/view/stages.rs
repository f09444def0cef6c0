//! The target's stages with what their policies do, and what the users do.

use analysis::{
    live::{StageSecond, TimelineSecond},
    text::{self, scrubbed},
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Paragraph, Row, Table},
};

use super::gauges;
use crate::{Palette, front_doors::is_room, state::State};

/// Gauges that have a column of their own; others are named in the last one.
const ADMISSION_RATE: &str = "admission_rate_per_s";
const P90: &str = "p90_ms";

/// The width from which batches have a column: the fourth.
const WIDE: u16 = 66;
const BATCH: usize = 3;

/// The stages, and the users beside them.
pub(super) fn halves(area: Rect) -> [Rect; 2] {
    let users_width = if area.width >= 110 { 30 } else { 22 };
    Layout::horizontal([Constraint::Fill(1), Constraint::Length(users_width)]).areas(area)
}

/// `door`: the front door in place of the stages behind it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, door: bool, palette: Palette) {
    let [left, right] = halves(area);
    let latest = state.running.as_ref().and_then(|running| running.latest());
    if door {
        super::front_doors::draw(frame, left, state, palette);
    } else {
        stages(frame, left, state, latest, false, palette);
    }
    users(frame, right, latest, palette);
}

/// The stages with the whole width: everything that a policy shows.
pub(super) fn alone(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let latest = state.running.as_ref().and_then(|running| running.latest());
    let rows = u16::try_from(state.stages()).unwrap_or(u16::MAX).saturating_add(2);
    let [table, plots] =
        Layout::vertical([Constraint::Length(rows.min(area.height / 2).max(3)), Constraint::Fill(1)]).areas(area);
    stages(frame, table, state, latest, true, palette);
    gauges::draw(frame, plots, state, palette);
}

/// `rooms`: waiting rooms too, which have a panel of their own.
fn stages(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &State,
    latest: Option<&TimelineSecond>,
    rooms: bool,
    palette: Palette,
) {
    let block = Block::new().borders(Borders::TOP).title(" [5] stages of the service ");
    let Some(target) = latest.and_then(|second| second.target.as_ref()) else {
        let text = if latest.is_some() { " the service did not answer in time" } else { "" };
        frame.render_widget(Paragraph::new(text).style(palette.faint()).block(block), area);
        return;
    };
    // Names of stages matter more than the size of batches.
    let batch = area.width >= WIDE;
    let wide = |cells: Vec<Cell<'static>>| -> Row<'static> {
        Row::new(cells.into_iter().enumerate().filter(|(n, _)| batch || *n != BATCH).map(|(_, cell)| cell))
    };
    let names = ["stage", "queue", "busy", "batch", "in/s", "refused", "rate/s", "p90", ""];
    let header = wide(names.map(Cell::new).to_vec()).style(palette.faint());
    let widths = [14, 6, 5, 5, 5, 7, 7, 7].into_iter().enumerate().filter(|(n, _)| batch || *n != BATCH);
    let widths = widths.map(|(_, width)| Constraint::Length(width)).chain([Constraint::Fill(1)]);
    // Two rows are the title and the header; if not all fit, those that have something to do come first.
    let room = usize::from(area.height.saturating_sub(2));
    let stages: Vec<&StageSecond> = target.stages.iter().filter(|stage| rooms || !is_room(stage)).collect();
    let looked_at = target.stages.get(state.stage).filter(|_| rooms).map(|stage| stage.name.as_str());
    let rows = shown(&stages, room).into_iter().map(|stage| {
        let here = looked_at == Some(stage.name.as_str());
        let row = wide(row(stage, state.objective_ms(), palette));
        if here { row.style(palette.strong()) } else { row }
    });
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), area);
}

/// Stages that are shown, `room` at most, in the order of the graph; the idle ones are left out first.
fn shown<'a>(stages: &[&'a StageSecond], room: usize) -> Vec<&'a StageSecond> {
    let mut by_work: Vec<usize> = (0..stages.len()).collect();
    let work = |stage: &StageSecond| (stage.refused, u64::from(stage.queue), stage.offered);
    by_work.sort_by_key(|&i| std::cmp::Reverse(work(stages[i])));
    by_work.truncate(room);
    by_work.sort_unstable();
    by_work.into_iter().map(|i| stages[i]).collect()
}

/// Columns of a stage before its gauges.
const BEFORE_GAUGES: usize = 8;

fn row(stage: &StageSecond, objective: Option<f64>, palette: Palette) -> Vec<Cell<'static>> {
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
        Cell::new(stage.queue.to_string()),
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

fn users(frame: &mut Frame<'_>, area: Rect, latest: Option<&TimelineSecond>, palette: Palette) {
    let mut lines = Vec::new();
    if let Some(second) = latest {
        let answered = second.rejected + second.served + second.served_late;
        let rejected = if answered == 0 { 0.0 } else { second.rejected as f64 / answered as f64 };
        let style = if rejected > 0.0 { palette.warn() } else { palette.faint() };
        lines.push(Line::styled(format!("{:>7} rejected", text::percent(rejected)), style));
        for (state, count) in second.users_by_state.iter().filter(|(_, count)| **count > 0) {
            lines.push(Line::from(vec![
                Span::raw(format!("{count:>7} ")),
                Span::styled(scrubbed(state), palette.faint()),
            ]));
        }
        if second.timed_out + second.connect_failed > 0 {
            let text = format!("{:>7} timed out/s", second.timed_out + second.connect_failed);
            lines.push(Line::styled(text, palette.bad()));
        }
    }
    let title = latest.map_or_else(|| " [6] users ".to_owned(), |second| format!(" [6] {} users ", second.users));
    frame.render_widget(Paragraph::new(lines).block(Block::new().borders(Borders::TOP).title(title)), area);
}
