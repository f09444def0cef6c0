//! How far a run in virtual time is: there are no seconds of it to be shown yet.

use analysis::text::percent;
use ratatui::{
    Frame,
    layout::Rect,
    text::Line,
    widgets::{Block, Borders, Paragraph},
};

use crate::tui::Palette;

/// `done_s` seconds of `of_s`.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, (done_s, of_s): (f64, f64), palette: Palette) {
    let share = if of_s > 0.0 { (done_s / of_s).clamp(0.0, 1.0) } else { 0.0 };
    let room = usize::from(area.width.saturating_sub(2));
    let full = (share * room as f64) as usize;
    let bar = format!(" {}{}", "#".repeat(full), ".".repeat(room - full));
    let lines = vec![
        Line::default(),
        Line::styled(bar, palette.admitted()),
        Line::styled(
            format!(" {}, {done_s:.0} s of {of_s:.0} s of virtual time over all arms", percent(share)),
            palette.strong(),
        ),
        Line::styled(" Arms are computed side by side; when the last one is done, they are compared.", palette.faint()),
    ];
    let block = Block::new().borders(Borders::TOP).title(" computing ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
