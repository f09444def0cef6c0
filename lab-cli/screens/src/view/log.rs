//! Log of events, newest first.

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph, Wrap},
};

use crate::{
    Palette,
    state::{State, TimelineNote, YOU},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let title = Span::raw(" [8] what happened, newest first ");
    let block = Block::new().borders(Borders::TOP).border_style(palette.faint()).title(title);
    let lines: Vec<Line<'_>> =
        state.log.iter().rev().take(area.height.into()).map(|note| line(note, palette)).collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

fn line(note: &TimelineNote, palette: Palette) -> Line<'_> {
    let at = note.second.map_or_else(String::new, |second| format!("{second:.0} s"));
    let style = if note.who == YOU { palette.warn() } else { palette.faint() };
    Line::from(vec![Span::styled(format!("{at:>6}  {:<7} ", note.who), style), Span::styled(note.text.as_str(), style)])
}
