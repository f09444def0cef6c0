//! The frame: a pure function of the state.

use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    text::Line,
    widgets::Paragraph,
};

use super::{Palette, state::State};

mod arms;
mod charts;
mod head;
mod health;
mod help;
mod stages;

/// Below this nothing useful fits.
const LEAST: (u16, u16) = (60, 16);

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text =
            format!("{} x {} is too small for the live view; the run goes on. q stops it.", area.width, area.height);
        frame.render_widget(Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true }), area);
        return;
    }
    // Charts and log get what is left, as does the table of stages once it has its rows.
    let log_lines = (area.height / 12).clamp(1, 6);
    let arms = (u16::try_from(state.finished.len()).unwrap_or(u16::MAX) + 2).clamp(3, area.height / 5);
    let [head, charts, middle, arms, health, log, keys] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Fill(3),
        Constraint::Fill(2),
        Constraint::Length(arms),
        Constraint::Length(2),
        Constraint::Length(log_lines),
        Constraint::Length(1),
    ])
    .areas(area);
    head::draw(frame, head, state, palette);
    charts::draw(frame, charts, state, palette);
    stages::draw(frame, middle, state, palette);
    arms::draw(frame, arms, state, palette);
    health::draw(frame, health, state, palette);
    log_and_keys(frame, log, keys, state, palette);
    if state.help {
        help::draw(frame, area, palette);
    }
}

fn log_and_keys(frame: &mut Frame<'_>, log: Rect, keys: Rect, state: &State, palette: Palette) {
    let lines: Vec<Line<'_>> = state
        .log
        .iter()
        .skip(state.log.len().saturating_sub(log.height.into()))
        .map(|line| Line::styled(line.as_str(), palette.faint()))
        .collect();
    frame.render_widget(Paragraph::new(lines), log);
    let left = match (state.stopping, state.paused) {
        (true, _) => Line::styled("STOPPING: saving what was measured. q again: end at once", palette.warn()),
        (_, true) => Line::styled("PAUSED: the run goes on. p: draw again", palette.warn()),
        _ => Line::styled("q stop and save   p pause   ? help", palette.faint()),
    };
    frame.render_widget(Paragraph::new(left), keys);
}

/// A line with something at its right end, which gives way if there is no room.
fn both_ends(frame: &mut Frame<'_>, area: Rect, left: Line<'_>, right: Line<'_>) {
    let wanted = u16::try_from(right.width()).unwrap_or(u16::MAX);
    let [left_area, right_area] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(wanted.min(area.width / 2))]).areas(area);
    frame.render_widget(Paragraph::new(left), left_area);
    frame.render_widget(Paragraph::new(right).alignment(Alignment::Right), right_area);
}
