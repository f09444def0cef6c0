//! A run.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::Line,
    widgets::Paragraph,
};

use super::{arms, charts, head, health, stages};
use crate::tui::{Palette, state::State};

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) -> Line<'static> {
    // Charts and log get what is left, as does the table of stages once it has its rows.
    let log_lines = ((area.height + 1) / 12).clamp(1, 6);
    let arms = (u16::try_from(state.finished.len()).unwrap_or(u16::MAX) + 2).clamp(3, (area.height + 1) / 5);
    let [head, charts, middle, arms, health, log] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Fill(3),
        Constraint::Fill(2),
        Constraint::Length(arms),
        Constraint::Length(2),
        Constraint::Length(log_lines),
    ])
    .areas(area);
    head::draw(frame, head, state, palette);
    charts::draw(frame, charts, state, palette);
    stages::draw(frame, middle, state, palette);
    arms::draw(frame, arms, state, palette);
    health::draw(frame, health, state, palette);
    let lines: Vec<Line<'_>> = state
        .log
        .iter()
        .skip(state.log.len().saturating_sub(log.height.into()))
        .map(|line| Line::styled(line.as_str(), palette.faint()))
        .collect();
    frame.render_widget(Paragraph::new(lines), log);
    match (state.stopping, state.paused) {
        (true, _) => Line::styled("STOPPING: saving what was measured. q again: end at once", palette.warn()),
        (_, true) => Line::styled("PAUSED: the run goes on. p: draw again", palette.warn()),
        _ => Line::styled("q stop and save   p pause   ? help", palette.faint()),
    }
}
