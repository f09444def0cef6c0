//! Hit test: what a mouse points at. The layouts are those that are drawn.

use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};

use super::{
    compare,
    home::{self, ListRow},
    live, past, setup,
};
use crate::{
    app::{App, Compare, MouseTarget, Pane, Setup, View},
    panel::Screen,
};

/// The thing that is drawn at this place of a terminal of this size.
pub(crate) fn mouse_target(app: &App, screen: Rect, at: Position) -> Option<MouseTarget> {
    let [body, _] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(screen);
    match app.screen {
        Screen::Home => {
            let (row, room) = inside(home::places(body).list, at)?;
            let (rows, first) = home::list_rows(&app.home, room);
            match rows.get(first + row)? {
                ListRow::Choice(n) => Some(MouseTarget::Row(*n)),
                ListRow::Title(_) => None,
            }
        }
        Screen::Past => {
            let (row, room) = inside(past::list_place(body), at)?;
            let count = app.past.shown().len();
            // Under the heading.
            let row = row.checked_sub(1)? + app.past.window.first(app.past.at, count, room.saturating_sub(1));
            (row < count).then_some(MouseTarget::Row(row))
        }
        Screen::Setup => setting(app.setup.as_ref()?, body, at),
        Screen::Compare => figure(&app.compare, body, at),
        Screen::Live => live::panel_at(body, &app.live, at).map(MouseTarget::Panel),
        Screen::Replay => live::panel_at(body, &app.replay.as_ref()?.state, at).map(MouseTarget::Panel),
        Screen::Load | Screen::Trace => None,
    }
}

/// The row within a pane's border, and how many there are.
fn inside(pane: Rect, at: Position) -> Option<(usize, usize)> {
    let inner = pane.inner(Margin::new(1, 1));
    inner.contains(at).then(|| (usize::from(at.y - inner.y), usize::from(inner.height)))
}

fn setting(setup: &Setup, body: Rect, at: Position) -> Option<MouseTarget> {
    let places = setup::places(body, setup);
    if let Some((row, room)) = inside(places.arms, at) {
        let row = row + setup.first(Pane::Arms, setup.candidates.len(), room);
        return (row < setup.candidates.len()).then_some(MouseTarget::Setting(Pane::Arms, row));
    }
    [(Pane::Parameters, places.parameters), (Pane::Keys, places.keys)].into_iter().find_map(|(pane, place)| {
        let (row, room) = inside(place, at)?;
        let count = setup.listed(pane).len();
        let row = row.checked_sub(1)? + setup.first(pane, count, room.saturating_sub(1));
        (row < count).then_some(MouseTarget::Setting(pane, row))
    })
}

fn figure(compare: &Compare, body: Rect, at: Position) -> Option<MouseTarget> {
    if compare.behind.is_some() {
        return None;
    }
    let places = compare::places(body, compare);
    if places.picture.contains(at) && compare.look.view == View::OverTime {
        return compare::second_at(compare, places.picture, at.x).map(MouseTarget::Moment);
    }
    if places.tabs.contains(at) {
        return compare::tab_at(compare, places.tabs, at.x);
    }
    if !places.table.contains(at) {
        return None;
    }
    // Under the title and the heading.
    let row = usize::from(at.y - places.table.y).checked_sub(2)?;
    let order = compare.order();
    let arm = *order.get(row + compare::first_row(compare, places.table))?;
    Some(MouseTarget::Arm(arm))
}
