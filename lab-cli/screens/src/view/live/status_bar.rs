//! Status bar of a run: its name, and how far it is.

use analysis::{
    live::{Shape, value_in_words},
    text::scrubbed,
};
use installed::catalogue;
use ratatui::prelude::*;

use super::super::widgets::both_ends;
use crate::{
    Palette,
    state::{Running, State},
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
            let now = running.latest().map_or(0, |second| second.second + 1);
            let drain = if running.phase == "drain" { ", drain" } else { "" };
            format!(
                " arm {} of {}: {}{}{block}   {now} s of {:.0} s{drain}",
                state.begun,
                state.turns(),
                scrubbed(&running.name),
                switched(running),
                state.planned_seconds()
            )
        }
        None => format!(" {} of {} arms done", state.finished.len(), state.turns()),
    };
    both_ends(frame, first, Line::from(vec![name, about]), Line::styled(arm, palette.strong()));
    frame.render_widget(band(shape, state.running.as_ref(), second.width, palette), second);
}

/// The plan over the time of an arm: its phases with their loads, the second that is shown, and what a person changed (`!`).
fn band(shape: &Shape, running: Option<&Running>, width: u16, palette: Palette) -> Line<'static> {
    let end = shape.seconds().max(1.0);
    let column = |second: f64| ((second / end * f64::from(width)) as usize).min(usize::from(width.saturating_sub(1)));
    let mut cells = vec![('─', palette.faint()); usize::from(width)];
    let mut from = 0;
    for (phase, ends) in shape.phases.iter().zip(shape.ends()) {
        let is_current = running.is_some_and(|running| running.phase == phase.name);
        let style = if is_current { palette.strong() } else { palette.faint() };
        let to = if ends < end { column(ends) } else { cells.len() };
        let whole = scrubbed(&format!("┼ {}: {} ", phase.name, phase.load));
        let has_room = whole.chars().count() <= to - from + usize::from(from == 0);
        let text = if has_room { whole } else { scrubbed(&format!("┼ {} ", phase.name)) };
        for (cell, c) in cells[from..to].iter_mut().zip(text.chars().skip(usize::from(from == 0))) {
            *cell = (c, style);
        }
        from = to;
    }
    let now = running.and_then(Running::latest).map(|second| (f64::from(second.second), '▼', palette.accent()));
    let marks = running.iter().flat_map(|running| &running.marks).map(|second| (*second, '!', palette.warn()));
    for (second, mark, style) in now.into_iter().chain(marks).filter(|_| width > 0) {
        cells[column(second)] = (mark, style);
    }
    let runs = cells.chunk_by(|one, next| one.1 == next.1);
    runs.map(|run| Span::styled(run.iter().map(|(c, _)| *c).collect::<String>(), run[0].1)).collect()
}

/// ` > fixed-rate (rate 50)`: what decides since a person chose it, with what it is set to; of one with its defaults, the first.
fn switched(running: &Running) -> String {
    let (Some(policy), Some(at)) = (&running.policy, &running.switched) else { return String::new() };
    let mut set: Vec<String> =
        policy.settings.iter().map(|(name, value)| format!("{name} {}", value_in_words(value))).collect();
    if set.is_empty() {
        let rows = catalogue().resolve(&policy.name, &policy.settings).map(|(entry, _)| entry.rows(None));
        let first = rows.into_iter().flatten().next();
        set.extend(first.map(|row| format!("{} {}", row.name, row.default)));
    }
    let set = if set.is_empty() { String::new() } else { format!(" ({})", set.join(", ")) };
    let at = at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
    scrubbed(&format!(" > {}{set}{at}", policy.name))
}
