//! Mix of requests: how often each page was asked for, how long it took, how large the answers were, and what became of
//! it.

use analysis::text::{percent, scrubbed, time};
use ratatui::{prelude::*, widgets::*};
use traces::{inspect::ActionSummary, model::fitted::Quantiles};

use super::super::widgets::{bar, table, titled};
use crate::{Palette, app::Trace};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let actions = &trace.seen.actions;
    let all: u64 = actions.iter().map(|action| action.count).sum();
    let room = usize::from(area.height.saturating_sub(2));
    let title = match actions.len().saturating_sub(room) {
        0 => format!(" [2] {all} requests "),
        hidden => format!(" [2] {all} requests; {hidden} more actions (2: all) "),
    };
    let rows = actions.iter().take(room).map(|action| row(action, all, palette));
    let heads = ["action", "count", "share", "", "p50", "p99", "bytes p50", "not ok"];
    let table = table(heads, [0, 8, 6, BAR as u16, 7, 7, 9, 0], rows, palette);
    frame.render_widget(table.block(titled(&title, palette)), area);
}

/// Width of the bar of an action that has all requests.
const BAR: usize = 10;

fn row(action: &ActionSummary, all: u64, palette: Palette) -> Row<'static> {
    let share = action.count as f64 / all.max(1) as f64;
    let lasted =
        |of: fn(&Quantiles) -> u64| action.durations.as_ref().map_or("-".to_owned(), |d| time(of(d) as f64 / 1e3));
    let bytes = action.sizes.as_ref().map_or("-".to_owned(), |sizes| sizes.p50.to_string());
    let not_ok: Vec<String> = action.not_ok.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let right = |text: String| Line::raw(text).right_aligned();
    Row::new([
        Line::raw(scrubbed(&action.action)),
        right(action.count.to_string()),
        right(percent(share)),
        Line::styled(bar(share, BAR), palette.offered()),
        right(lasted(|d| d.p50)),
        right(lasted(|d| d.p99)),
        right(bytes),
        Line::styled(not_ok.join(", "), palette.warn()),
    ])
}
