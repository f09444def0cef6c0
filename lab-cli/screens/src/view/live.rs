//! A run.

use ratatui::prelude::*;

use super::{form, widgets::hints};
use crate::{Palette, app::Replay, panel::Panel, state::State};

mod agents;
mod arms;
mod charts;
mod front_doors;
mod gauges;
mod groups;
mod health;
mod log;
mod outcomes;
mod preparing;
mod stages;
mod status_bar;
mod tiles;

/// Heights from which tiles have frames, and from which types and arms are beside the rest.
const TALL: u16 = 35;
const HIGH: u16 = 50;
/// Widths from which outcomes are beside the stages, and from which users are beside the other plots.
const WIDE: u16 = 110;
const BROAD: u16 = 160;
/// The height from which a front door has all of its lines.
const LOW: u16 = 22;
/// Lines of a front door, and of agents, that stand beside all else.
const MOST_AT_DOOR: u16 = 8;

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) -> Line<'static> {
    let places = places(area, state);
    status_bar::draw(frame, places.head, state, palette);
    tiles::draw(frame, places.tiles, state, palette);
    if places.steps.height > 0 {
        preparing::draw(frame, places.steps, state, palette);
    }
    for (panel, place) in places.panels {
        draw_panel(frame, place, panel, state, palette);
    }
    health::draw(frame, places.health, state, palette);
    if let Some(wanted) = &state.form {
        form::draw(frame, area, wanted, palette);
    }
    hint(state, area.width, palette)
}

/// An arm of a saved run, at the second that is looked at.
pub(super) fn draw_saved(frame: &mut Frame<'_>, area: Rect, replay: &Replay, palette: Palette) -> Line<'static> {
    let _ = draw(frame, area, &replay.state, palette);
    let speed = replay.speed;
    let (word, play) = if replay.playing { ("PLAYING", "stand still") } else { ("SAVED RUN", "play") };
    let at = format!("{word} at {} s, {speed}x", replay.second() + 1);
    let keys = format!("space: {play}; Tab: next arm; left right: a second; +-: speed; 1-9: panel; Esc: back; ?: help");
    let mut line = Line::styled(format!("{at}   "), palette.warn());
    let room = area.width.saturating_sub(u16::try_from(line.width()).unwrap_or(u16::MAX));
    line.spans.extend(hints(&keys, room, palette).spans);
    line
}

/// Places of the screen's parts.
struct Places {
    head: Rect,
    tiles: Rect,
    /// Steps of a preparation, in place of plots.
    steps: Rect,
    panels: Vec<(Panel, Rect)>,
    health: Rect,
}

fn places(area: Rect, state: &State) -> Places {
    let tall = area.height >= TALL;
    let preparing = state.is_preparing();
    let tile_rows = match (preparing, tall) {
        (true, _) => 0,
        (false, true) => tiles::FRAMED,
        (false, false) => tiles::BARE,
    };
    let log_rows = if state.enlarged.is_some() { 0 } else { ((area.height + 1) / 12).clamp(1, 6) + 1 };
    let [head, tiles, body, health, log] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(tile_rows),
        Constraint::Fill(1),
        Constraint::Length(2),
        Constraint::Length(log_rows),
    ])
    .areas(area);
    let mut places = Places { head, tiles, steps: Rect::default(), panels: vec![(Panel::Log, log)], health };
    match state.enlarged {
        Some(panel) => places.panels = vec![(panel, body)],
        None if preparing => {
            let over = if state.finished.is_empty() { 0 } else { 1 };
            let [steps, arms] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(over)]).areas(body);
            places.steps = steps;
            places.panels.push((Panel::Arms, arms));
        }
        None => places.panels.extend(panels(body, area.height, state)),
    }
    places
}

/// Panels of an arm that runs, on a screen of this height.
fn panels(body: Rect, height: u16, state: &State) -> Vec<(Panel, Rect)> {
    let at_door = front_doors::lines(state).min(MOST_AT_DOOR);
    let (tall, has_door) = (height >= TALL, at_door > 0);
    let of_agents = agents::lines(state).min(MOST_AT_DOOR);
    let [charts, door, senders, lower, more] = Layout::vertical([
        Constraint::Fill(3),
        Constraint::Length(if tall { at_door } else { 0 }),
        Constraint::Length(if tall { of_agents } else { 0 }),
        if !tall && has_door && height >= LOW { Constraint::Length(at_door) } else { Constraint::Fill(2) },
        Constraint::Fill(u16::from(height >= HIGH)),
    ])
    .areas(body);
    let beside = |area: Rect, panels: &[Panel]| -> Vec<(Panel, Rect)> {
        let places = Layout::horizontal(panels.iter().map(|_| Constraint::Fill(1))).spacing(1).split(area);
        panels.iter().copied().zip(places.iter().copied()).collect()
    };
    let plots = [Panel::Rates, Panel::Times, Panel::Users];
    let mut found = beside(charts, if body.width >= BROAD { &plots } else { &plots[..2] });
    let front = match tall {
        false if has_door => Panel::Doors,
        false if of_agents > 0 => Panel::Agents,
        _ => Panel::Stages,
    };
    if body.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Fill(2), Constraint::Fill(3)]).spacing(1).areas(lower);
        found.extend([(Panel::Outcomes, left), (front, right)]);
    } else if tall {
        let [above, below] = Layout::vertical([Constraint::Fill(1); 2]).areas(lower);
        found.extend([(Panel::Outcomes, above), (front, below)]);
    } else {
        found.push((front, lower));
    }
    found.extend([(Panel::Doors, door), (Panel::Agents, senders)]);
    found.extend(beside(more, &[Panel::Groups, Panel::Arms]));
    found.retain(|(_, place)| place.height > 0);
    found
}

/// The panel at this place.
pub(super) fn panel_at(area: Rect, state: &State, at: Position) -> Option<Panel> {
    places(area, state).panels.into_iter().find(|(_, place)| place.contains(at)).map(|(panel, _)| panel)
}

fn draw_panel(frame: &mut Frame<'_>, area: Rect, panel: Panel, state: &State, palette: Palette) {
    let draw = match panel {
        Panel::Rates => charts::rates,
        Panel::Times => charts::response_time,
        Panel::Outcomes => outcomes::draw,
        Panel::Groups => groups::draw,
        Panel::Stages if state.enlarged.is_some() => stages::alone,
        Panel::Stages => stages::draw,
        Panel::Users => charts::users,
        Panel::Arms => arms::draw,
        Panel::Log => log::draw,
        Panel::Doors => front_doors::draw,
        Panel::Agents => agents::draw,
    };
    draw(frame, area, state, palette);
}

/// Keys that change a live run.
const CHANGES: &str =
    "s: spike; c: capacity; l: delay; o: policy; a: arrivals; i: impatience; e: parameter; m: machines; ";

fn hint(state: &State, width: u16, palette: Palette) -> Line<'static> {
    let frozen = state.running.as_ref().and_then(|running| running.until);
    match (state.stopping, frozen) {
        (true, _) => Line::styled("STOPPING: saving what was measured. q again: end at once", palette.warn()),
        (_, Some(second)) => {
            let seen = second + 1;
            Line::styled(format!("FROZEN at {seen} s: the run goes on. left right: look   p: go on"), palette.warn())
        }
        _ => {
            let panels = match (front_doors::lines(state) > 0, agents::lines(state) > 0) {
                (_, true) => "0-9",
                (true, false) => "1-9",
                (false, false) => "1-8",
            };
            let changes = if state.is_virtual() { "" } else { CHANGES };
            hints(&format!("p: freeze; {panels}: panel; {changes}q: stop; ?: help"), width, palette)
        }
    }
}
