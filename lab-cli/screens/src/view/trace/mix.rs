//! Mix of requests: how often each page was asked for, how long it took, how large the answers were, and what became of
//! it.

use analysis::text::{percent, scrubbed, time};
use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Row, Table},
};
use traces::{inspect::ActionSummary, model::fitted::Quantiles};

use crate::{Palette, app::Trace};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let actions = &trace.seen.actions;
    let all: u64 = actions.iter().map(|action| action.count).sum();
    let room = usize::from(area.height.saturating_sub(2));
    let title = match actions.len().saturating_sub(room) {
        0 => format!(" [2] {all} requests "),
        hidden => format!(" [2] {all} requests; {hidden} more actions (2: all) "),
    };
    let block = Block::new().borders(Borders::TOP).title(title);
    let header = ["action", "count", "share", "", "p50", "p99", "bytes p50", "not ok"];
    let header = Row::new(header).style(palette.faint());
    let widths = [
        Constraint::Fill(2),
        Constraint::Length(8),
        Constraint::Length(6),
        Constraint::Length(BAR as u16),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(9),
        Constraint::Fill(1),
    ];
    let rows = actions.iter().take(room).map(|action| row(action, all, palette));
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), area);
}

/// Width of the bar of an action that has all requests.
const BAR: usize = 10;

fn row(action: &ActionSummary, all: u64, palette: Palette) -> Row<'static> {
    let share = action.count as f64 / all.max(1) as f64;
    let lasted =
        |of: fn(&Quantiles) -> u64| action.durations.as_ref().map_or("-".to_owned(), |d| time(of(d) as f64 / 1e3));
    let bytes = action.sizes.as_ref().map_or("-".to_owned(), |sizes| sizes.p50.to_string());
    let not_ok: Vec<String> = action.not_ok.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let bar = "=".repeat((share * BAR as f64).ceil() as usize);
    Row::new([
        Cell::new(scrubbed(&action.action)),
        Cell::new(Line::raw(action.count.to_string()).right_aligned()),
        Cell::new(Line::raw(percent(share)).right_aligned()),
        Cell::new(Span::styled(bar, palette.offered())),
        Cell::new(Line::raw(lasted(|d| d.p50)).right_aligned()),
        Cell::new(Line::raw(lasted(|d| d.p99)).right_aligned()),
        Cell::new(Line::raw(bytes).right_aligned()),
        Cell::new(Span::styled(not_ok.join(", "), palette.warn())),
    ])
}
