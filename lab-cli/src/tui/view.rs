//! The frame: a pure function of the state.

use analysis::text::scrubbed;
use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, BorderType, Clear, Paragraph, Wrap},
};

use super::{
    Palette,
    app::{App, Export, Prompt},
    panel::Screen,
};

mod arms;
mod beside;
mod charts;
mod compare;
mod computing;
mod doors;
pub(super) mod figure;
mod findings;
mod form;
mod gauges;
mod groups;
mod head;
mod health;
mod help;
mod home;
mod live;
mod log;
mod outcomes;
mod past;
mod places;
mod plot;
mod setup;
mod shades;
mod stages;
mod trace;

pub(super) use places::pointed;

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
        Screen::Replay => {
            app.replay.as_ref().map_or_else(Line::default, |replay| live::draw_saved(frame, body, replay, palette))
        }
        Screen::Home => home::draw(frame, body, app, palette),
        Screen::Past => past::draw(frame, body, &app.past, palette),
        Screen::Compare => compare::draw(frame, body, &app.compare, palette),
        Screen::Trace => app.trace.as_ref().map_or_else(Line::default, |seen| trace::draw(frame, body, seen, palette)),
        Screen::Setup => {
            app.setup.as_ref().map_or_else(Line::default, |setup| setup::draw(frame, body, setup, palette))
        }
    };
    let hint = match (&app.desk.prompt, &app.said) {
        (Some(Prompt { label, line, .. }), _) => {
            Line::styled(format!("{label}: {}   Enter: write it   Esc: leave", line.shown()), palette.strong())
        }
        (None, Some(said)) => Line::styled(scrubbed(&said.text), if said.bad { palette.bad() } else { palette.good() }),
        (None, None) => hint,
    };
    frame.render_widget(hint, keys);
    if let Some(at) = app.desk.menu {
        menu(frame, body, at, palette);
    }
    if let Some(from) = app.help {
        help::draw(frame, area, app.screen, from, palette);
    }
}

/// What can be taken out of a comparison.
fn menu(frame: &mut Frame<'_>, area: Rect, at: usize, palette: Palette) {
    let line = |(n, (_, about)): (usize, &(Export, &'static str))| {
        Line::styled(format!(" {about}"), if n == at { palette.selected() } else { Style::new() })
    };
    let lines: Vec<Line<'_>> = Export::ALL.iter().enumerate().map(line).collect();
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let place = area.centered(Constraint::Length(78), Constraint::Length(height));
    frame.render_widget(Clear, place);
    let block = pane("write (Enter), Esc: back", true, palette);
    frame.render_widget(Paragraph::new(lines).block(block), place);
}

/// A line with something at its right end, which gives way if there is no room.
fn both_ends(frame: &mut Frame<'_>, area: Rect, left: Line<'_>, right: Line<'_>) {
    let wanted = u16::try_from(right.width()).unwrap_or(u16::MAX);
    let free = area.width.saturating_sub(u16::try_from(left.width()).unwrap_or(u16::MAX));
    // Two texts that touch are read as one.
    let given = if free > wanted { wanted } else { wanted.min(area.width / 2) };
    let [left_area, _, right_area] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(1), Constraint::Length(given)]).areas(area);
    frame.render_widget(Paragraph::new(left), left_area);
    frame.render_widget(Paragraph::new(right).alignment(Alignment::Right), right_area);
}

/// The keys that matter most here, each with its effect: as many as there is room for, the first ones first. The help, which is
/// the last, is always there.
fn hints(keys: &[(&str, &str)], width: u16, palette: Palette) -> Line<'static> {
    let wide = |(key, word): &(&str, &str)| key.chars().count() + word.chars().count() + 1;
    let last = keys.last().map_or(0, wide);
    let mut room = usize::from(width).saturating_sub(last);
    let mut shown: Vec<&(&str, &str)> = Vec::new();
    for key in &keys[..keys.len().saturating_sub(1)] {
        if wide(key) + 3 > room {
            break;
        }
        room -= wide(key) + 3;
        shown.push(key);
    }
    shown.extend(keys.last());
    let mut spans = Vec::new();
    for (n, (key, word)) in shown.into_iter().enumerate() {
        spans.extend((n > 0).then(|| Span::raw("   ")));
        spans.push(Span::styled((*key).to_owned(), palette.accent()));
        spans.push(Span::styled(format!(" {word}"), palette.faint()));
    }
    Line::from(spans)
}

/// A pane; the one that the keys move in stands out.
fn pane(title: &str, here: bool, palette: Palette) -> Block<'static> {
    let (border, style) = if here { (palette.accent(), palette.strong()) } else { (palette.faint(), palette.faint()) };
    let title = Line::styled(format!(" {title} "), style);
    Block::bordered().border_type(BorderType::Rounded).border_style(border).title(title)
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
