//! Arms to tick, their parameters with the catalogue's descriptions, and how they will be run.

use analysis::text::{counted, scrubbed};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Paragraph, Row, Table, Wrap},
};

use super::{first_shown, home::rounded, part_shown};
use crate::tui::{
    Palette,
    app::{Pane, Setup},
};

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, setup: &Setup, palette: Palette) -> Line<'static> {
    let [title, how, body] =
        Layout::vertical([Constraint::Length(1), Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let words = Line::from(vec![
        Span::styled(format!(" {} ", scrubbed(&setup.name)), palette.title()),
        Span::raw(format!(" {}", scrubbed(&setup.experiment.about))),
    ]);
    frame.render_widget(words, title);
    frame.render_widget(world(setup, palette), how);
    let width = if area.width >= 120 { 36 } else { 28 };
    let [left, right] = Layout::horizontal([Constraint::Length(width), Constraint::Fill(1)]).areas(body);
    arms(frame, left, setup, palette);
    parameters(frame, right, setup, palette);
    match (&setup.editing, setup.pane) {
        (Some(line), _) => match &setup.refused {
            Some(why) => {
                Line::styled(format!("new value: {}_   NOT TAKEN: {}", line.text, scrubbed(why)), palette.bad())
            }
            None => Line::styled(
                format!("new value: {}_   Enter: take it (nothing: as in the file)   Esc: keep the old one", line.text),
                palette.strong(),
            ),
        },
        (None, Pane::Arms) => Line::styled(
            "Enter RUN   space tick   Tab parameters   v virtual or live   ? help   + - repeat   Esc back   q leave",
            palette.faint(),
        ),
        (None, Pane::Parameters) => {
            Line::styled("Enter change   Tab arms   Esc back   ? help   q leave", palette.faint())
        }
    }
}

fn world(setup: &Setup, palette: Palette) -> Line<'static> {
    let [live, simulated] = if setup.virtual_time { ["  live  ", "[virtual]"] } else { [" [live] ", " virtual "] };
    let time = if setup.virtual_time { "seconds".to_owned() } else { format!("about {}", rounded(setup.live_time())) };
    let live = if setup.only_virtual { Span::raw("") } else { Span::raw(live) };
    Line::from(vec![
        Span::styled(simulated, palette.strong()),
        live,
        Span::raw(format!("   {} x {} = {time}", counted(setup.ticked(), "arm"), setup.repeat)),
    ])
}

fn arms(frame: &mut Frame<'_>, area: Rect, setup: &Setup, palette: Palette) {
    let room = usize::from(area.height.saturating_sub(1));
    let first = first_shown(setup.at, setup.candidates.len(), room);
    let rows = setup.candidates.iter().enumerate().skip(first).take(room).map(|(n, candidate)| {
        let tick = if candidate.on { "[x]" } else { "[ ]" };
        let edited = if candidate.edits.is_empty() { "" } else { "*" };
        let style = match (n == setup.at, setup.pane) {
            (true, Pane::Arms) => palette.title(),
            (true, Pane::Parameters) => palette.strong(),
            (false, _) => Style::new(),
        };
        Row::new([tick.to_owned(), format!("{}{edited}", scrubbed(&candidate.label))]).style(style)
    });
    let part = part_shown(first, room, setup.candidates.len(), palette);
    let block = Block::new().borders(Borders::TOP).title(" arms ").title(part);
    let widths = [Constraint::Length(3), Constraint::Fill(1)];
    frame.render_widget(Table::new(rows, widths).column_spacing(1).block(block), area);
}

fn parameters(frame: &mut Frame<'_>, area: Rect, setup: &Setup, palette: Palette) {
    let Some(candidate) = setup.candidate() else { return };
    let [about, table, help] =
        Layout::vertical([Constraint::Length(5), Constraint::Fill(1), Constraint::Length(4)]).areas(area);
    let lines = match candidate.entry {
        Some(entry) => vec![
            Line::raw(entry.about),
            Line::styled(entry.caution, palette.faint()),
            Line::styled(format!("{}, {}", entry.source.title, entry.source.place), palette.faint()),
        ],
        None => vec![Line::raw("Decided by what the experiment file says of it.")],
    };
    let block = Block::new().borders(Borders::TOP | Borders::LEFT).title(format!(" {} ", scrubbed(&candidate.label)));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), about);

    let found = setup.parameters();
    let room = usize::from(table.height.saturating_sub(2));
    let first = first_shown(setup.parameter, found.len(), room);
    let in_it = setup.pane == Pane::Parameters;
    let rows = found.iter().enumerate().skip(first).take(room).map(|(n, parameter)| {
        let style = if in_it && n == setup.parameter { palette.title() } else { Style::new() };
        let value = format!("{}{}", scrubbed(&parameter.value), if parameter.edited { "*" } else { "" });
        let value = if parameter.edited { Span::styled(value, palette.strong()) } else { Span::raw(value) };
        Row::new([Cell::new(parameter.row.name), Cell::new(value), Cell::new(parameter.row.unit)]).style(style)
    });
    let part = part_shown(first, room, found.len(), palette);
    let block = Block::new().borders(Borders::TOP | Borders::LEFT).title(" parameters ").title(part);
    let header = Row::new(["name", "value", "unit"]).style(palette.faint());
    let widths = [Constraint::Fill(2), Constraint::Fill(2), Constraint::Length(10)];
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), table);

    let lines = match found.get(setup.parameter) {
        Some(parameter) => vec![
            Line::raw(parameter.row.about),
            Line::raw(format!(
                "now {}; allowed {}; default {}",
                scrubbed(&parameter.value),
                parameter.row.range,
                parameter.row.default
            )),
            Line::styled(format!("from: {}", parameter.row.source), palette.faint()),
        ],
        None => vec![Line::styled("it has none", palette.faint())],
    };
    let block = Block::new().borders(Borders::TOP | Borders::LEFT);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }).block(block), help);
}
