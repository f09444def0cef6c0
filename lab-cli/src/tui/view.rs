//! The frame: a pure function of the state.

use analysis::text::scrubbed;
use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    text::Line,
    widgets::{Paragraph, Wrap},
};

use super::{Palette, app::App, panel::Screen};

mod arms;
mod charts;
mod compare;
mod computing;
mod doors;
pub(super) mod figure;
mod findings;
mod form;
mod groups;
mod head;
mod health;
mod help;
mod home;
mod live;
mod log;
mod outcomes;
mod past;
mod plot;
mod setup;
mod stages;
mod trace;

/// Below this nothing useful fits.
const LEAST: (u16, u16) = (60, 16);

pub(super) fn draw(frame: &mut Frame<'_>, app: &App, palette: Palette) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let what = if app.screen == Screen::Live { "; the run goes on. q stops it." } else { ". q leaves." };
        let text = format!("{} x {} is too small{what}", area.width, area.height);
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
        return;
    }
    let [body, keys] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    let hint = match app.screen {
        Screen::Live => live::draw(frame, body, &app.live, palette),
        Screen::Home => home::draw(frame, body, &app.home, palette),
        Screen::Past => past::draw(frame, body, &app.past, palette),
        Screen::Compare => compare::draw(frame, body, &app.compare, palette),
        Screen::Trace => app.trace.as_ref().map_or_else(Line::default, |seen| trace::draw(frame, body, seen, palette)),
        Screen::Setup => {
            app.setup.as_ref().map_or_else(Line::default, |setup| setup::draw(frame, body, setup, palette))
        }
    };
    let hint = match &app.said {
        Some(said) => Line::styled(scrubbed(said), palette.bad()),
        None => hint,
    };
    frame.render_widget(hint, keys);
    if app.help {
        help::draw(frame, area, app.screen, palette);
    }
}

/// A line with something at its right end, which gives way if there is no room.
fn both_ends(frame: &mut Frame<'_>, area: Rect, left: Line<'_>, right: Line<'_>) {
    let wanted = u16::try_from(right.width()).unwrap_or(u16::MAX);
    let [left_area, right_area] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(wanted.min(area.width / 2))]).areas(area);
    frame.render_widget(Paragraph::new(left), left_area);
    frame.render_widget(Paragraph::new(right).alignment(Alignment::Right), right_area);
}

/// Which rows of `count` are shown, if not all are: at the right end of a list's title.
fn part_shown(first: usize, room: usize, count: usize, palette: Palette) -> Line<'static> {
    if count <= room {
        return Line::default();
    }
    Line::styled(format!(" {} to {} of {count} ", first + 1, (first + room).min(count)), palette.faint())
        .right_aligned()
}

/// The first of `count` rows that is shown, so that the one at `at` is among `room`.
fn first_shown(at: usize, count: usize, room: usize) -> usize {
    (at + 1).saturating_sub(room).min(count.saturating_sub(room))
}
