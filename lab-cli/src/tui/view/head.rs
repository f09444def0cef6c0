//! What runs, and how far it is.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::both_ends;
use crate::{
    live::Shape,
    text::scrubbed,
    tui::{Palette, state::State},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let [first, second] = Layout::vertical([Constraint::Length(1), Constraint::Length(1)]).areas(area);
    let Some(shape) = &state.shape else {
        frame.render_widget(Line::styled("preparing", palette.faint()), first);
        return;
    };
    let name = Span::styled(format!(" {} ", scrubbed(&shape.experiment)), palette.title());
    let about = Span::raw(format!(" {}", scrubbed(&shape.about)));
    let arm = match &state.running {
        Some(running) => {
            let block = if shape.blocks > 1 { format!(", block {}", running.block) } else { String::new() };
            format!(" arm {} of {}: {}{block}", state.begun, state.turns(), scrubbed(&running.name))
        }
        None => format!(" {} of {} arms done", state.finished.len(), state.turns()),
    };
    both_ends(frame, first, Line::from(vec![name, about]), Line::styled(arm, palette.strong()));

    let now = state.running.as_ref().and_then(|running| running.latest()).map_or(0, |second| second.second + 1);
    let clock = match state.running {
        Some(_) => Line::raw(format!(" {now} s of {:.0} s", state.planned_seconds())),
        None => Line::default(),
    };
    let full = phases(state, shape, true, palette);
    let fits = full.width() + clock.width() <= usize::from(second.width);
    let line = if fits { full } else { phases(state, shape, false, palette) };
    both_ends(frame, second, line, clock);
}

/// `before 10 s (3 users) > [spike 30 s (1000 users)] > …`: the current one stands out.
fn phases(state: &State, shape: &Shape, loads: bool, palette: Palette) -> Line<'static> {
    let current = state.running.as_ref().map(|running| running.phase.as_str());
    let mut spans = Vec::new();
    let mut add = |text: String, current: bool| {
        if !spans.is_empty() {
            spans.push(Span::styled(" > ", palette.faint()));
        }
        let (text, style) = if current { (format!("[{text}]"), palette.strong()) } else { (text, palette.faint()) };
        spans.push(Span::styled(text, style));
    };
    for phase in &shape.phases {
        let load = if loads { format!(" ({})", scrubbed(&phase.load)) } else { String::new() };
        add(format!("{} {:.0} s{load}", scrubbed(&phase.name), phase.seconds), current == Some(phase.name.as_str()));
    }
    if current == Some("drain") {
        add("drain".to_owned(), true);
    }
    Line::from(spans)
}
