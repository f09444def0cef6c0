//! Log of events, newest first.

use ratatui::{prelude::*, widgets::*};

use super::super::widgets::titled;
use crate::{
    Palette,
    state::{State, TimelineNote, YOU},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let line = |note: &TimelineNote| {
        let at = note.second.map_or_else(String::new, |second| format!("{second:.0} s"));
        let style = if note.who == YOU { palette.warn() } else { palette.faint() };
        Line::styled(format!("{at:>6}  {:<7} {}", note.who, note.text), style)
    };
    let lines: Vec<Line<'_>> = state.log.iter().rev().take(area.height.into()).map(line).collect();
    let block = titled(" [8] what happened, newest first ", palette);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}
