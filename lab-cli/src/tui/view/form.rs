//! The form for a change, over everything else.

use analysis::text::scrubbed;
use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::{Line, Span},
    widgets::{Block, Clear, Paragraph, Wrap},
};

use crate::tui::{Palette, form::Form};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, form: &Form, palette: Palette) {
    let mut lines: Vec<Line<'_>> = form
        .fields
        .iter()
        .enumerate()
        .map(|(n, field)| {
            let here = n == form.at;
            let cursor = if here { "_" } else { "" };
            let style = if here { palette.strong() } else { palette.faint() };
            Line::from(vec![
                Span::styled(format!(" {:<10} ", field.name), style),
                Span::raw(format!("{}{cursor}", scrubbed(&field.line.text))),
            ])
        })
        .collect();
    lines.push(Line::default());
    lines.push(match &form.problem {
        Some(problem) => Line::styled(format!(" {}", scrubbed(problem)), palette.bad()),
        None => Line::styled(format!(" {}", form.help()), palette.faint()),
    });
    lines.push(Line::default());
    lines.push(Line::styled(" Enter: do it (the run is TOUCHED then)   Tab: next field   Esc: leave", palette.faint()));
    // Help and problems may take a line more.
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(3);
    let place = area.centered(Constraint::Length(76), Constraint::Length(height));
    frame.render_widget(Clear, place);
    let block = Block::bordered().title(format!(" {} ", form.title()));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), place);
}
