//! Progress of a run in virtual time: there are no seconds of it to be shown yet.

use analysis::text::{percent, scrubbed};
use ratatui::{
    Frame,
    layout::Rect,
    text::Line,
    widgets::{Block, Borders, Paragraph},
};

use super::widgets::rounded;
use crate::{Palette, state::State};

/// A shorter time says nothing about the rest.
const LEAST_SHARE: f64 = 0.05;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let room = usize::from(area.width.saturating_sub(2));
    let mut lines = vec![Line::default()];
    match state.computing {
        Some((done_s, of_s)) => {
            let share = if of_s > 0.0 { (done_s / of_s).clamp(0.0, 1.0) } else { 0.0 };
            let full = (share * room as f64) as usize;
            let left = state.computing_for.filter(|_| share >= LEAST_SHARE).map_or_else(String::new, |so_far| {
                format!(", about {} left", rounded(so_far.mul_f64((1.0 - share) / share)))
            });
            let so_far = format!("{done_s:.0} s of {of_s:.0} s of virtual time over all arms");
            lines.push(Line::styled(format!(" {}{}", "#".repeat(full), ".".repeat(room - full)), palette.admitted()));
            lines.push(Line::styled(format!(" {}, {so_far}{left}", percent(share)), palette.strong()));
            let note = " Arms are computed side by side; when the last one is done, they are compared.";
            lines.push(Line::styled(note, palette.faint()));
        }
        // Before the first arm begins: a capacity is solved for, or a bound is searched.
        None => {
            let doing = state.log.back().map_or("preparing the arms", String::as_str);
            let waited = state.computing_for.map_or_else(String::new, |so_far| format!(", for {}", rounded(so_far)));
            lines.push(Line::styled(format!(" {}{waited}", scrubbed(doing)), palette.strong()));
        }
    }
    let block = Block::new().borders(Borders::TOP).border_style(palette.faint()).title(" computing ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
