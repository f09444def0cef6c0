//! Runs that are over.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Paragraph, Row, Table},
};

use super::first_shown;
use crate::{
    text::scrubbed,
    tui::{
        Palette,
        app::{Past, PastRun},
    },
};

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, past: &Past, palette: Palette) -> Line<'static> {
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Line::from(vec![Span::styled(" past runs ", palette.title())]), title);
    let block = Block::new().borders(Borders::TOP).title(format!(" {} in runs/, newest first ", past.runs.len()));
    if past.runs.is_empty() {
        let text = " none in this folder yet: Esc, choose an experiment, run it";
        frame.render_widget(Paragraph::new(text).style(palette.faint()).block(block), body);
        return Line::styled("Esc back   q leave", palette.faint());
    }
    let room = usize::from(body.height.saturating_sub(2));
    let first = first_shown(past.at, past.runs.len(), room);
    let rows = past.runs.iter().enumerate().skip(first).take(room).map(|(n, run)| {
        let style = if n == past.at { palette.title() } else { Style::new() };
        row(run, past.ticked.contains(&run.folder), palette).style(style)
    });
    let header = Row::new(["", "run", "world", "verdict", "arms"]).style(palette.faint());
    let widths = [
        Constraint::Length(3),
        Constraint::Fill(3),
        Constraint::Length(7),
        Constraint::Length(16),
        Constraint::Fill(3),
    ];
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), body);
    Line::styled("Enter compare   space tick   Esc back   ? help   q leave", palette.faint())
}

fn row(run: &PastRun, ticked: bool, palette: Palette) -> Row<'static> {
    let tick = if ticked { "[x]" } else { "[ ]" };
    let name = run.folder.file_name().map_or_else(String::new, |name| scrubbed(&name.to_string_lossy()));
    match &run.summary {
        Some(summary) => Row::new([
            tick.to_owned(),
            name,
            if summary.virtual_time { "virtual" } else { "live" }.to_owned(),
            scrubbed(&summary.verdict),
            scrubbed(&summary.arms.join(", ")),
        ]),
        None => Row::new([
            Cell::new(""),
            Cell::new(name),
            Cell::new(""),
            Cell::new(Span::styled("no summary", palette.warn())),
            Cell::new(Span::styled("killed, or still running", palette.faint())),
        ]),
    }
}
