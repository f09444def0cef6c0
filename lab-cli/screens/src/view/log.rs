//! Log of events, newest last.

use ratatui::{
    Frame,
    layout::Rect,
    text::Line,
    widgets::{Block, Borders, Paragraph, Wrap},
};

use crate::{Palette, state::State};

/// The newest lines, as many as there is room for.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    frame.render_widget(Paragraph::new(newest(state, area.height, palette)), area);
}

/// The log with a title, and lines whole.
pub(super) fn alone(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let block = Block::new().borders(Borders::TOP).title(" [8] what happened ");
    let lines = newest(state, area.height.saturating_sub(1), palette);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), area);
}

fn newest(state: &State, room: u16, palette: Palette) -> Vec<Line<'_>> {
    let first = state.log.len().saturating_sub(room.into());
    state.log.iter().skip(first).map(|line| Line::styled(line.as_str(), palette.faint())).collect()
}
