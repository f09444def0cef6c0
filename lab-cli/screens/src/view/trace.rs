//! Pictures of a trace: rate over time, mix, the ways from page to page as a heat map, pauses, sessions, and what its
//! import left out.

use analysis::text::{scrubbed, time};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph, Wrap},
};
use traces::trace::Names;

use super::widgets::both_ends;
use crate::{Palette, app::Trace, panel::Part};

mod matrix;
mod mix;
mod over_time;
mod pauses;
mod sessions;

/// The size from which there is room for all panels.
const LARGE: (u16, u16) = (150, 40);
/// The height from which the pauses have room beside the matrix.
const TALL: u16 = 30;

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) -> Line<'static> {
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    title(frame, head, trace, palette);
    match trace.alone {
        Some(part) => one(frame, body, part, trace, palette),
        None if area.width >= LARGE.0 && area.height >= LARGE.1 => all(frame, body, trace, palette),
        None => some(frame, body, trace, palette),
    }
    Line::styled("1-6 panel   arrows another way   Esc back   ? help   q leave", palette.faint())
}

fn title(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let seen = &trace.seen;
    let name = Span::styled(format!(" {} ", scrubbed(&seen.header.name)), palette.title());
    let source = Span::raw(format!(" {}", scrubbed(&seen.header.source)));
    let length = time(seen.length.as_secs_f64() * 1000.0);
    let sessions = format!(" {} sessions of {} users in {length}", seen.sessions, seen.users);
    both_ends(frame, area, Line::from(vec![name, source]), Line::styled(sessions, palette.strong()));
}

fn one(frame: &mut Frame<'_>, area: Rect, part: Part, trace: &Trace, palette: Palette) {
    match part {
        Part::Time => over_time::draw(frame, area, trace, palette),
        Part::Mix => mix::draw(frame, area, trace, palette),
        Part::Matrix => matrix::draw(frame, area, trace, palette),
        Part::Think => pauses::draw(frame, area, trace, palette),
        Part::Sessions => sessions::draw(frame, area, trace, palette),
        Part::Account => account(frame, area, trace, palette),
    }
}

/// Few panels, where there is little room: the rate, the matrix, and, if it is not too little, pauses. The rest has the
/// screen for itself.
fn some(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let pauses = if area.height >= TALL { Constraint::Fill(1) } else { Constraint::Length(0) };
    let rows = Constraint::Length(matrix::height(trace).min(area.height / 2 + 1));
    let [above, middle, below] = Layout::vertical([Constraint::Fill(1), rows, pauses]).areas(area);
    over_time::draw(frame, above, trace, palette);
    matrix::draw(frame, middle, trace, palette);
    if below.height > 0 {
        pauses::draw(frame, below, trace, palette);
    }
}

fn all(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let [above, middle, below] =
        Layout::vertical([Constraint::Fill(1), Constraint::Length(matrix::height(trace)), Constraint::Fill(1)])
            .areas(area);
    let halves = |area| Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas::<2>(area);
    let [[time, sessions], [ways, mix], [pauses, import]] = [halves(above), halves(middle), halves(below)];
    over_time::draw(frame, time, trace, palette);
    sessions::draw(frame, sessions, trace, palette);
    matrix::draw(frame, ways, trace, palette);
    mix::draw(frame, mix, trace, palette);
    pauses::draw(frame, pauses, trace, palette);
    account(frame, import, trace, palette);
}

/// The account of its import: entries read, merged, dropped and not understood.
fn account(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let block =
        Block::new().borders(Borders::TOP).title(" [6] its import: what was read, merged, dropped, not understood ");
    if trace.account.is_empty() {
        let text = match trace.seen.header.names {
            Names::Generated => " it was generated, not imported: there was nothing to leave out",
            _ => " no account of an import came with it",
        };
        frame.render_widget(Paragraph::new(text).style(palette.faint()).block(block), area);
        return;
    }
    let lines: Vec<Line<'_>> = trace.account.iter().map(|line| account_line(line, palette)).collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}

/// A line of the account; entries that were not understood stand out.
fn account_line(line: &str, palette: Palette) -> Line<'_> {
    if line.contains("NOT understood") || line.contains("could not be read") {
        Line::styled(line, palette.warn())
    } else {
        Line::raw(line)
    }
}
