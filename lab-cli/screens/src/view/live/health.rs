//! Can the figures be believed so far? The generator's health against its limits, and the target's.

use analysis::{judge::gates::limits, live::TimelineSecond, text};
use ratatui::prelude::*;

use super::super::{agents, widgets::both_ends};
use crate::{
    Palette,
    state::{Running, State},
};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let [rule, strip] = Layout::vertical([Constraint::Length(1), Constraint::Length(1)]).areas(area);
    frame.render_widget(Line::styled("─".repeat(area.width.into()), palette.faint()), rule);
    let Some(running) = &state.running else { return };
    let Some(second) = running.latest() else { return };
    let found = so_far(running);
    let (words, style) = match found.as_slice() {
        [] => ("nothing against it".to_owned(), palette.good()),
        // A change by a person makes a run WARN, no more.
        [touched] if touched == TOUCHED => (touched.clone(), palette.warn()),
        found => (found.join("  "), palette.bad()),
    };
    let mut so_far = vec![Span::styled(" so far ", palette.faint()), Span::styled(format!("{words} "), style)];
    if let Some(share) = state.own_cpu {
        so_far.push(Span::styled(format!("─ this screen {} of a core ", text::percent(share)), palette.faint()));
    }
    let so_far = Line::from(so_far);
    let place = Rect { width: u16::try_from(so_far.width()).unwrap_or(u16::MAX).min(rule.width), ..rule };
    frame.render_widget(so_far, place);

    let generator = &second.generator;
    let mut spans = vec![Span::styled("generator ", palette.faint())];
    let mut show = |name: &str, value: String, over: bool| {
        let style = if over { palette.bad() } else { Style::new() };
        let mark = if over { "!" } else { "" };
        spans.push(Span::styled(format!("{name} "), palette.faint()));
        spans.push(Span::styled(format!("{value}{mark}  "), style));
    };
    show("CPU", text::percent(generator.cpu), is_busy(second));
    show("send lag p99", text::time(generator.send_lag_p99_ms), is_late(second));
    show("gap", text::time(generator.loop_gap_ms), has_gap(second));
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

const TOUCHED: &str = "TOUCHED";

/// Faults of the arm so far: in how many of its seconds. The verdict is made of the whole arm, when it is over.
fn so_far(running: &Running) -> Vec<String> {
    let seconds = |over: &dyn Fn(&TimelineSecond) -> bool| running.shown().filter(|second| over(second)).count();
    let found = [
        ("CPU", seconds(&is_busy)),
        ("LAG", seconds(&is_late)),
        ("GAP", seconds(&has_gap)),
        ("no word from the service", seconds(&|second| second.target.is_none())),
    ];
    let mut words: Vec<String> = agents::loss(running.agents()).into_iter().collect();
    let found =
        found.iter().filter(|(_, seconds)| *seconds > 0).map(|(what, seconds)| format!("{what} in {seconds} s"));
    words.extend(found);
    words.extend((!running.marks.is_empty()).then(|| TOUCHED.to_owned()));
    words
}

fn is_busy(second: &TimelineSecond) -> bool {
    second.generator.cpu > limits::CPU
}

fn is_late(second: &TimelineSecond) -> bool {
    agents::is_late(second.generator.send_lag_p99_ms, shown_time(second))
}

/// The response time that lag is held against.
pub(super) fn shown_time(second: &TimelineSecond) -> Option<f64> {
    second.p99_ms.or(second.p90_ms).or(second.p50_ms)
}

/// A tenth of it.
fn has_gap(second: &TimelineSecond) -> bool {
    second.generator.loop_gap_ms > limits::MOVED.1 * 1000.0
}
