//! The figure under the cursor as a heat map: a row an arm, time from left to right. Shades and colours say the same.

use std::ops::Range;

use analysis::{series::value::Value, text::scrubbed};
use ratatui::{prelude::*, widgets::*};

use super::{
    super::widgets::{part_shown, titled},
    over_time,
};
use crate::{
    Palette,
    app::{ArmSeries, Compare},
    column::Column,
};

const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// Columns of a name.
const MOST_NAME: usize = 20;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) {
    let column = compare.column();
    let names: Vec<String> = compare.all_series.iter().map(|arm_series| scrubbed(&compare.name(*arm_series))).collect();
    let wide = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(MOST_NAME);
    let room = usize::from(area.width).saturating_sub(wide + 3);
    let [start, end] = over_time::span(compare);
    let rows: Vec<Vec<Option<Value>>> =
        compare.all_series.iter().map(|arm_series| cells(compare, *arm_series, column, [start, end], room)).collect();
    let scale = Scale::of(rows.iter().flatten().flatten().map(|value| value.at), column);
    let title = format!(" {} over time: {} ", column.name(), scale.in_words(column));
    let block = titled(&title, palette);
    let inside = usize::from(area.height.saturating_sub(2));
    let order = compare.order();
    let first = compare.first_row(true, inside);
    // Rows share the height that there is.
    let tall = (inside / order.len().max(1)).max(1);
    let part = part_shown(first, inside, order.len(), palette);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for &n in order.iter().skip(first).take(inside / tall) {
        let style = if n == compare.at { palette.selected() } else { Style::new() };
        let name: String = names[n].chars().take(wide).collect();
        let cells = rows[n].iter().map(|value| match value {
            None => Span::raw(" "),
            Some(value) => {
                let share = scale.share(value.at);
                let shade = SHADES[(share * 3.0).round() as usize];
                Span::styled(if value.at_least { '^' } else { shade }.to_string(), palette.warmth(share))
            }
        });
        let cells: Vec<Span<'_>> = cells.collect();
        for line in 0..tall {
            let name = if line == 0 { name.as_str() } else { "" };
            let mut spans = vec![Span::styled(format!(" {name:<wide$} "), style), Span::raw("│")];
            spans.extend(cells.iter().cloned());
            lines.push(Line::from(spans));
        }
    }
    let ends = ends([start, end], room);
    lines.push(Line::styled(format!(" {:<wide$}  {ends}", ""), palette.faint()));
    frame.render_widget(Paragraph::new(lines).block(block.title(part)), area);
}

/// The two ends of the time axis below `room` columns, in seconds.
fn ends([start, end]: [f64; 2], room: usize) -> String {
    let (start, end) = (format!("{start:.0}"), format!("{end:.0} s"));
    format!("{start}{end:>0$}", room.saturating_sub(start.len()))
}

/// The columns of `room` that a time covers, of an axis that shows this span; a time may be wider than a column.
fn columns([begin, end]: [f64; 2], [from, to]: [f64; 2], room: usize) -> Range<usize> {
    let column = |at: f64| ((at.clamp(from, to) - from) / (to - from) * room as f64) as usize;
    let first = column(begin);
    if begin >= to || end <= from { 0..0 } else { first..column(end).max(first + 1).min(room) }
}

/// For each column of the screen the worst of its seconds: the longest time, the lowest goodput.
fn cells(compare: &Compare, arm_series: ArmSeries, column: Column, span: [f64; 2], room: usize) -> Vec<Option<Value>> {
    let mut cells: Vec<Option<Value>> = vec![None; room];
    for second in compare.seconds(arm_series) {
        let at = f64::from(second.second);
        let Some(value) = column.at(second) else { continue };
        for cell in &mut cells[columns([at, at + 1.0], span, room)] {
            let worse =
                |known: &Value| if column == Column::Goodput { value.at < known.at } else { value.at > known.at };
            if cell.as_ref().is_none_or(worse) {
                *cell = Some(value);
            }
        }
    }
    cells
}

/// The scale from the least to the most that there is; of times by factors of ten.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>, column: Column) -> Self {
        let log = column.is_time();
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let low = if log { low.min(high).max(0.1) } else { 0.0 };
        Self { low, high: high.max(low), log }
    }

    fn share(&self, value: f64) -> f64 {
        let to = |value: f64| if self.log { libm::log10(value.max(0.1)) } else { value };
        let (low, high) = (to(self.low), to(self.high));
        if high > low { ((to(value) - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn in_words(&self, column: Column) -> String {
        let unit = if column == Column::Rejected { 100.0 } else { 1.0 };
        let shown = |value: f64| column.shown(Some(Value::known(value / unit)));
        format!("░ {} to █ {}{}", shown(self.low), shown(self.high), if self.log { ", by factors" } else { "" })
    }
}
