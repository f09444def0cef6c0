//! The frame: a pure function of the state.

use analysis::text::{scrubbed_lines, wrapped};
use ratatui::{prelude::*, widgets::*};

use super::{
    Palette,
    app::{App, Prompt},
    panel::Screen,
    requests::Export,
};

mod agents;
mod compare;
pub(super) mod figure;
mod findings;
mod form;
mod help;
mod hit_test;
mod home;
mod live;
mod load;
mod past;
mod plot;
mod setup;
mod trace;
mod widgets;

pub(super) use hit_test::mouse_target;
use widgets::{pane, prompt};

/// Below this nothing useful fits.
const LEAST: (u16, u16) = (60, 16);

pub(super) fn draw(frame: &mut Frame<'_>, app: &App, palette: Palette) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let goes_on = matches!(app.screen, Screen::Live | Screen::Load);
        let what = if goes_on { "; the run goes on. q stops it." } else { ". q leaves." };
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
        Screen::Load => app.load.as_ref().map_or_else(Line::default, |load| load::draw(frame, body, load, palette)),
        Screen::Home => home::draw(frame, body, app, palette),
        Screen::Past => past::draw(frame, body, &app.past, palette),
        Screen::Compare => compare::draw(frame, body, &app.compare, palette),
        Screen::Trace => app.trace.as_ref().map_or_else(Line::default, |seen| trace::draw(frame, body, seen, palette)),
        Screen::Setup => {
            app.setup.as_ref().map_or_else(Line::default, |setup| setup::draw(frame, body, setup, palette))
        }
    };
    let of_run = app.live.said.as_ref().filter(|_| app.screen == Screen::Live).map(|text| (text, palette.warn()));
    let said = app.said.as_ref().map(|said| (&said.text, if said.bad { palette.bad() } else { palette.good() }));
    let hint = match (&app.overlay.prompt, said.or(of_run)) {
        (Some(Prompt { label, line, .. }), _) => prompt(label, line, "Enter: do it   Esc: leave", area.width, palette),
        (None, Some((text, style))) => message(frame, body, text, style).unwrap_or(hint),
        (None, None) => hint,
    };
    frame.render_widget(hint, keys);
    if let Some(at) = app.overlay.menu {
        menu(frame, body, at, palette);
    }
    if let Some(from) = app.help {
        help::draw(frame, area, app.screen, from, palette);
    }
}

/// Message in place of the keys; `None`: it has more than a line, and stands in a box above them until the next key.
fn message(frame: &mut Frame<'_>, above: Rect, text: &str, style: Style) -> Option<Line<'static>> {
    let text = scrubbed_lines(text);
    if !text.contains('\n') && text.chars().count() <= above.width.into() {
        return Some(Line::styled(text, style));
    }
    let room = usize::from(above.width.saturating_sub(2));
    let rows: Vec<Line<'_>> = text.lines().flat_map(|line| wrapped(line, room)).map(Line::raw).collect();
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(2).min(above.height);
    let place = Rect { y: above.bottom() - height, height, ..above };
    frame.render_widget(Clear, place);
    frame.render_widget(
        Paragraph::new(rows).block(Block::bordered().border_type(BorderType::Rounded)).style(style),
        place,
    );
    None
}

/// The menu of exports of a comparison.
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
