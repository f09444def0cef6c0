//! The form for a change, over everything else.

use analysis::text::scrubbed;
use ratatui::{prelude::*, widgets::*};

use super::widgets::pane;
use crate::{
    Palette,
    form::{Change, Form},
};

/// Columns of it.
const WIDTH: u16 = 76;
/// Choices that are listed at once, and fewer than which are none of use.
const MOST_CHOICES: usize = 9;
const LEAST_CHOICES: usize = 3;
/// Columns for what a choice is.
const ABOUT: usize = 53;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, form: &Form, palette: Palette) {
    let mut lines: Vec<Line<'_>> = form
        .fields
        .iter()
        .enumerate()
        .map(|(n, field)| {
            let here = n == form.at;
            let text = if here { field.line.shown(usize::from(WIDTH) - 15) } else { field.line.text.clone() };
            let style = if here { palette.strong() } else { palette.faint() };
            Line::from(vec![Span::styled(format!(" {:<10} ", field.name), style), Span::raw(scrubbed(&text))])
        })
        .collect();
    lines.push(Line::default());
    let (listed, chosen) = form.choices();
    // Title, help in two lines, keys, border.
    let room = usize::from(area.height).saturating_sub(lines.len() + 7).min(MOST_CHOICES);
    if chosen.is_some() && room >= LEAST_CHOICES {
        let at = chosen.unwrap_or(0);
        let first = (at + room / 2).saturating_sub(room - 1).min(listed.len().saturating_sub(room));
        for (n, (name, about)) in listed.iter().enumerate().skip(first).take(room) {
            let about: String = about.chars().take(ABOUT).collect();
            let style = if n == at { palette.selected() } else { Style::new() };
            lines.push(Line::styled(format!(" {name:<18} {about}"), style));
        }
        lines.push(Line::default());
    }
    let told = form.problem.as_ref().map_or_else(|| form.help(), |problem| scrubbed(problem));
    let told_rows = told.chars().count().div_ceil(usize::from(WIDTH) - 3).max(1);
    lines.push(match &form.problem {
        Some(_) => Line::styled(format!(" {told}"), palette.bad()),
        None => Line::styled(format!(" {told}"), palette.faint()),
    });
    lines.push(Line::default());
    let enter = if form.change == Change::Fault { "add it" } else { "do it (the run is TOUCHED then)" };
    lines.push(Line::styled(format!(" Enter: {enter}   Tab: next field   Esc: leave"), palette.faint()));
    let height = u16::try_from(lines.len() + told_rows).unwrap_or(u16::MAX).saturating_add(1);
    let place = area.centered(Constraint::Length(WIDTH), Constraint::Length(height));
    frame.render_widget(Clear, place);
    let block = pane(form.title(), true, palette);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), place);
}
