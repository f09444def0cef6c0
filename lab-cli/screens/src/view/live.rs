//! A run.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Position, Rect},
    text::Line,
};

use super::{
    arm_grid, arms, charts, computing, form, front_doors, groups, health, log, outcomes, stages, status_bar,
    widgets::hints,
};
use crate::{Palette, app::Replay, panel::Panel, state::State};

/// The height from which there is room for outcomes and types beside the rest.
const TALL: u16 = 39;

/// The height from which a front door has all of its lines.
const LOW: u16 = 22;

/// Lines of a front door that stands beside all else.
const MOST_AT_DOOR: u16 = 8;

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) -> Line<'static> {
    match state.enlarged {
        None => all(frame, area, state, palette),
        Some(panel) => {
            let [above, body, below] =
                Layout::vertical([Constraint::Length(2), Constraint::Fill(1), Constraint::Length(2)]).areas(area);
            status_bar::draw(frame, above, state, palette);
            alone(frame, body, panel, state, palette);
            health::draw(frame, below, state, palette);
        }
    }
    if let Some(wanted) = &state.form {
        form::draw(frame, area, wanted, palette);
    }
    hint(state, (area.width, area.height), palette)
}

/// An arm of a saved run, at the second that is looked at.
pub(super) fn draw_saved(frame: &mut Frame<'_>, area: Rect, replay: &Replay, palette: Palette) -> Line<'static> {
    let _ = draw(frame, area, &replay.state, palette);
    let speed = replay.speed;
    let (word, play) = if replay.playing { ("PLAYING", "stand still") } else { ("SAVED RUN", "play") };
    let at = format!("{word} at {} s, {speed} s a second", replay.second() + 1);
    let keys = [
        ("space", play),
        ("left right", "a second"),
        ("+ -", "speed"),
        ("Tab", "next arm"),
        ("v", side_by_side(&replay.state)),
        ("1-9", "panel"),
        ("Esc", "back"),
        ("?", "help"),
    ];
    let mut line = Line::styled(format!("{at}   "), palette.warn());
    let room = area.width.saturating_sub(u16::try_from(line.width()).unwrap_or(u16::MAX));
    line.spans.extend(hints(&keys, room, palette).spans);
    line
}

/// Places of the panels.
struct Places {
    head: Rect,
    charts: Rect,
    more: Rect,
    door: Rect,
    middle: Rect,
    arms: Rect,
    health: Rect,
    log: Rect,
    tall: bool,
    at_door: u16,
}

fn places(area: Rect, state: &State) -> Places {
    // Charts and log get what is left, as does the table of stages once it has its rows.
    let log_lines = ((area.height + 1) / 12).clamp(1, 6);
    let arms = (u16::try_from(state.finished.len()).unwrap_or(u16::MAX) + 2).clamp(3, (area.height + 1) / 5);
    let tall = area.height >= TALL;
    let more = if tall { Constraint::Fill(2) } else { Constraint::Length(0) };
    let at_door = front_doors::lines(state).min(MOST_AT_DOOR);
    let [head, charts, more, door, middle, arms, health, log] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Fill(3),
        more,
        Constraint::Length(if tall { at_door } else { 0 }),
        if !tall && at_door > 0 && area.height >= LOW { Constraint::Length(at_door) } else { Constraint::Fill(2) },
        Constraint::Length(arms),
        Constraint::Length(2),
        Constraint::Length(log_lines),
    ])
    .areas(area);
    Places { head, charts, more, door, middle, arms, health, log, tall, at_door }
}

/// The panel at this place; the one that is alone has it all.
pub(super) fn panel_at(area: Rect, state: &State, at: Position) -> Option<Panel> {
    if state.enlarged.is_some() {
        return state.enlarged.filter(|_| area.contains(at));
    }
    let places = places(area, state);
    let beside = |area: Rect, panels: [Panel; 2]| {
        halves(area).into_iter().zip(panels).find(|(area, _)| area.contains(at)).map(|(_, panel)| panel)
    };
    let [stages, users] = stages::halves(places.middle);
    let front = if !places.tall && places.at_door > 0 { Panel::Doors } else { Panel::Stages };
    let others = [
        (places.door, Panel::Doors),
        (stages, front),
        (users, Panel::Users),
        (places.arms, Panel::Arms),
        (places.log, Panel::Log),
    ];
    beside(places.charts, [Panel::Rates, Panel::Times])
        .or_else(|| beside(places.more, [Panel::Outcomes, Panel::Groups]))
        .or_else(|| others.into_iter().find(|(area, _)| area.contains(at)).map(|(_, panel)| panel))
}

fn all(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let Places { head, charts, more, door, middle, arms, health, log, tall, at_door } = places(area, state);
    status_bar::draw(frame, head, state, palette);
    match &state.running {
        None if state.is_virtual() => computing::draw(frame, charts, state, palette),
        _ => {
            let [left, right] = halves(charts);
            rates(frame, left, state, palette);
            response_time(frame, right, state, palette);
        }
    }
    if more.height > 0 {
        let [left, right] = halves(more);
        outcomes::draw(frame, left, state, palette);
        groups::draw(frame, right, state, palette);
    }
    if door.height > 0 {
        front_doors::draw(frame, door, state, palette);
    }
    stages::draw(frame, middle, state, !tall && at_door > 0, palette);
    arms::draw(frame, arms, state, palette);
    health::draw(frame, health, state, palette);
    log::draw(frame, log, state, palette);
}

fn rates(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let draw = if state.side_by_side { arm_grid::goodput } else { charts::rates };
    draw(frame, area, state, palette);
}

fn response_time(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let draw = if state.side_by_side { arm_grid::response_time } else { charts::response_time };
    draw(frame, area, state, palette);
}

fn halves(area: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area)
}

fn alone(frame: &mut Frame<'_>, area: Rect, panel: Panel, state: &State, palette: Palette) {
    match panel {
        Panel::Rates => rates(frame, area, state, palette),
        Panel::Times => response_time(frame, area, state, palette),
        Panel::Outcomes => outcomes::draw(frame, area, state, palette),
        Panel::Groups => groups::draw(frame, area, state, palette),
        Panel::Stages => stages::alone(frame, area, state, palette),
        Panel::Users => charts::users(frame, area, state, palette),
        Panel::Arms => arms::draw(frame, area, state, palette),
        Panel::Log => log::alone(frame, area, state, palette),
        Panel::Doors => front_doors::draw(frame, area, state, palette),
    }
}

/// The label of `v`.
fn side_by_side(state: &State) -> &'static str {
    if state.side_by_side { "this arm" } else { "all arms" }
}

fn hint(state: &State, (width, height): (u16, u16), palette: Palette) -> Line<'static> {
    let frozen = state.running.as_ref().and_then(|running| running.until);
    match (&state.said, state.stopping, frozen) {
        (Some(said), _, _) => Line::styled(analysis::text::scrubbed(said), palette.warn()),
        (_, true, _) => Line::styled("STOPPING: saving what was measured. q again: end at once", palette.warn()),
        (_, _, Some(second)) => {
            let seen = second + 1;
            Line::styled(format!("FROZEN at {seen} s: the run goes on. left right: look   p: go on"), palette.warn())
        }
        _ => {
            let panels = if front_doors::lines(state) > 0 { "1-9" } else { "1-8" };
            // What has no room beside the rest is named.
            let panel = if height < TALL { "panel (3 outcomes, 4 types)" } else { "panel" };
            let short = if width < 100 { "panel" } else { panel };
            let keys = [
                ("q", "stop and save"),
                ("p", "freeze"),
                (panels, short),
                ("s c l i a o m e", "change it"),
                ("v", side_by_side(state)),
                ("?", "help"),
            ];
            hints(&keys, width, palette)
        }
    }
}
