//! Status bar of a run: its name, and how far it is.

use analysis::{
    live::{Shape, value_in_words},
    text::{rate, scrubbed},
};
use installed::catalogue;
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};

use super::widgets::both_ends;
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
            format!(
                " arm {} of {}: {}{}{block}",
                state.begun,
                state.turns(),
                scrubbed(&running.name),
                switched(running)
            )
        }
        None => format!(" {} of {} arms done", state.finished.len(), state.turns()),
    };
    both_ends(frame, first, Line::from(vec![name, about]), Line::styled(arm, palette.strong()));

    let now = state.running.as_ref().and_then(|running| running.latest()).map_or(0, |second| second.second + 1);
    let clock = match state.running {
        Some(_) => {
            let clock = format!(" {now} s of {:.0} s", state.planned_seconds());
            Line::from(vec![
                in_time(state, (usize::from(second.width) / 2).saturating_sub(clock.len()), palette),
                Span::raw(clock),
            ])
        }
        None => Line::default(),
    };
    let full = phases(state, shape, true, palette);
    let fits = full.width() + clock.width() <= usize::from(second.width);
    let line = if fits { full } else { phases(state, shape, false, palette) };
    both_ends(frame, second, line, clock);
}

/// `in time 84/s of 100/s`: of the last second that is shown, against what the service can serve, where that is known; shorter where
/// there is less room.
fn in_time(state: &State, room: usize, palette: Palette) -> Span<'static> {
    let Some(now) = state.running.as_ref().and_then(Running::latest) else { return Span::default() };
    let served = rate(now.served as f64);
    let words = match state.capacity_at(now.second).map(rate) {
        Some(capacity) => [format!(" in time {served}/s of {capacity}/s "), format!(" {served} of {capacity}/s ")],
        None => [format!(" in time {served}/s "), format!(" {served}/s ")],
    };
    let fits = words.into_iter().find(|words| words.len() <= room).unwrap_or_default();
    Span::styled(fits, palette.good().patch(palette.strong()))
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
