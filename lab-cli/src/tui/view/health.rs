//! Can the figures be believed so far? The generator's health against its limits, and the target's.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
};

use super::both_ends;
use crate::{
    judge::gates::limits,
    text,
    tui::{Palette, state::State},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let [rule, strip] = Layout::vertical([Constraint::Length(1), Constraint::Length(1)]).areas(area);
    frame.render_widget(Line::styled("─".repeat(area.width.into()), palette.faint()), rule);
    let Some(second) = state.running.as_ref().and_then(|running| running.latest()) else { return };
    let objective = state.objective_ms().unwrap_or(1000.0);
    let generator = &second.generator;
    let lag = limits::lag_ms(objective);
    let mut spans = vec![Span::styled("generator ", palette.faint())];
    let mut show = |name: &str, value: String, over: bool| {
        let style = if over { palette.bad() } else { Style::new() };
        let mark = if over { "!" } else { "" };
        spans.push(Span::styled(format!("{name} "), palette.faint()));
        spans.push(Span::styled(format!("{value}{mark}  "), style));
    };
    show("CPU", text::percent(generator.cpu), generator.cpu > limits::CPU);
    show("send lag p99", text::time(generator.send_lag_p99_ms), generator.send_lag_p99_ms > lag);
    show("gap", text::time(generator.loop_gap_ms), generator.loop_gap_ms > limits::hiccup_ms(objective));
    if area.width >= 100 {
        show("files", generator.open_files.to_string(), false);
    }
    let target = second.target.as_ref().map_or_else(String::new, |target| {
        let connections =
            if area.width >= 100 { format!("  {} connections", target.connections) } else { String::new() };
        format!("service CPU {}  {}{connections}", text::percent(target.cpu), text::bytes(target.rss_bytes))
    });
    both_ends(frame, strip, Line::from(spans), Line::styled(target, palette.faint()));
}
