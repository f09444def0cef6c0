//! Agents that send the load. The panel is there where they are.

use ratatui::{prelude::*, widgets::*};

use super::{
    super::{
        agents,
        widgets::{nothing, titled},
    },
    health::shown_time,
};
use crate::{
    Palette,
    state::{Running, State},
};

/// Lines that the whole panel takes, its title and heads included; 0: there are no agents.
pub(super) fn lines(state: &State) -> u16 {
    let count = state.running.as_ref().map_or(0, |running| running.agents().len());
    if count == 0 { 0 } else { u16::try_from(count + 2).unwrap_or(u16::MAX) }
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let found = state.running.as_ref().map_or(&[][..], Running::agents);
    if found.is_empty() {
        let text = "this process sends the load (agents: lab run --agents 4 --nats URL)";
        return nothing(frame, area, titled(" [0] agents ", palette), text, palette);
    }
    let title = format!(" [0] agents, {} there ", agents::there(found));
    let shown = state.running.as_ref().and_then(Running::latest).and_then(shown_time);
    let lines = agents::rows(found, (area.height.saturating_sub(1).into(), area.width), shown, palette);
    frame.render_widget(Paragraph::new(lines).block(titled(&title, palette)), area);
}
