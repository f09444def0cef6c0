//! Pictures of a trace: rate over time, mix, the ways from page to page as a heat map, pauses, sessions, and what its
//! import left out.

use analysis::text::{scrubbed, time};
use ratatui::{prelude::*, widgets::*};
use traces::trace::Names;

use super::widgets::{both_ends, hints, nothing, titled};
use crate::{Palette, app::Trace, panel::Part};

mod matrix;
mod mix;
mod over_time;
mod pauses;
mod sessions;
mod shades;

/// The size from which there is room for all panels.
const LARGE: (u16, u16) = (150, 40);
/// The height from which the pauses have room beside the matrix.
const TALL: u16 = 30;

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) -> Line<'static> {
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    title(frame, head, trace, palette);
    for (part, place) in places(body, trace) {
        let draw = match part {
            Part::Time => over_time::draw,
            Part::Mix => mix::draw,
            Part::Matrix => matrix::draw,
            Part::Think => pauses::draw,
            Part::Sessions => sessions::draw,
            Part::Account => account,
        };
        draw(frame, place, trace, palette);
    }
    hints("1-6: panel; arrows: another way; q: leave; Esc: back; ?: help", area.width, palette)
}

fn title(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let seen = &trace.seen;
    let name = Span::styled(format!(" {} ", scrubbed(&seen.header.name)), palette.title());
    let source = Span::raw(format!(" {}", scrubbed(&seen.header.source)));
    let length = time(seen.length.as_secs_f64() * 1000.0);
    let sessions = format!(" {} sessions of {} users in {length}", seen.sessions, seen.users);
    both_ends(frame, area, Line::from(vec![name, source]), Line::styled(sessions, palette.strong()));
}

/// Panels with their places: one alone; all, where there is room for them; else the rate, the matrix, and, if there is not too
/// little, pauses.
fn places(area: Rect, trace: &Trace) -> Vec<(Part, Rect)> {
    if let Some(part) = trace.alone {
        return vec![(part, area)];
    }
    let (is_large, rows) = (area.width >= LARGE.0 && area.height + 1 >= LARGE.1, matrix::height(trace));
    let rows = if is_large { rows } else { rows.min(area.height / 2 + 1) };
    let below = Constraint::Fill(u16::from(area.height >= TALL));
    let above = Layout::vertical([Constraint::Fill(1), Constraint::Length(rows), below]).areas::<3>(area);
    let pairs = [[Part::Time, Part::Sessions], [Part::Matrix, Part::Mix], [Part::Think, Part::Account]];
    let of_row = |(area, parts): (Rect, [Part; 2])| {
        let halves = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(u16::from(is_large))]).areas::<2>(area);
        parts.into_iter().zip(halves)
    };
    above.into_iter().zip(pairs).flat_map(of_row).filter(|(_, place)| !place.is_empty()).collect()
}

/// The account of its import: entries read, merged, dropped and not understood.
fn account(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let block = titled(" [6] its import: what was read, merged, dropped, not understood ", palette);
    if trace.account.is_empty() {
        let text = match trace.seen.header.names {
            Names::Generated => "it was generated, not imported: there was nothing to leave out",
            _ => "no account of an import came with it",
        };
        return nothing(frame, area, block, text, palette);
    }
    // Entries that were not understood stand out.
    let is_bad = |line: &String| line.contains("NOT understood") || line.contains("could not be read");
    let style = |line| if is_bad(line) { palette.warn() } else { Style::new() };
    let lines: Vec<Line<'_>> = trace.account.iter().map(|line| Line::styled(line.as_str(), style(line))).collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}
