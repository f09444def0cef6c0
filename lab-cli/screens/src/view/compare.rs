//! Arms and runs side by side: a picture of the figure under the cursor, and a table of them all.

use analysis::{
    judge::compare::words::in_words,
    summary::verdict_and_codes,
    text::{self, scrubbed},
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Paragraph, Row, Table},
};

use super::{
    findings,
    widgets::{first_shown, hints, part_shown},
};
use crate::{
    Palette,
    app::{ArmSeries, Compare, Rank, View, decides_nothing},
    messages::OpenRun,
};

mod answer;
mod heat;
mod latencies;
mod over_load;
mod over_time;

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) -> Line<'static> {
    if let Some(from) = compare.behind {
        findings::draw(frame, area, compare, from, palette);
        return hints(&[("up down", "the rest"), ("Enter", "or Esc back"), ("?", "help")], area.width, palette);
    }
    let Places { title, answer, picture, table } = places(area, compare);
    frame.render_widget(Paragraph::new(head(compare, palette)), title);
    frame.render_widget(Paragraph::new(answer::lines(compare, answer.width, answer.height, palette)), answer);
    match compare.look.view {
        View::OverTime => over_time::figure(compare, palette).draw(frame, picture, palette),
        View::Percentiles => over_time::percentiles(compare, palette).draw(frame, picture, palette),
        View::Latencies => latencies::draw(frame, picture, compare, palette),
        View::Heat => heat::draw(frame, picture, compare, palette),
        View::OverLoad => over_load::plot(compare, palette).draw(frame, picture, palette),
    }
    draw_table(frame, table, compare, palette);
    let mut keys = vec![
        ("Enter", "behind the verdict"),
        ("arrows", "arm, figure"),
        ("Tab", "phase"),
        ("o", "open it as it ran"),
        ("v", "another picture"),
        (". ,", "a second"),
        ("s", "sort"),
        ("b", "baseline"),
        ("w", "report, table"),
        ("x", "solo"),
        ("space", "hide"),
        ("z", "plot"),
        ("Esc", "back"),
        ("?", "help"),
    ];
    if compare.runs.len() == 2 {
        keys.insert(3, ("a", if compare.look.across { "each run for itself" } else { "B against A" }));
    }
    hints(&keys, area.width, palette)
}

/// Places of the screen's parts.
pub(super) struct Places {
    title: Rect,
    answer: Rect,
    pub picture: Rect,
    pub table: Rect,
}

pub(super) fn places(area: Rect, compare: &Compare) -> Places {
    let heads = u16::try_from(compare.runs.len()).unwrap_or(u16::MAX).clamp(1, MOST_HEADS);
    let said = if compare.look.enlarged { 0 } else { answer::height(compare, area) };
    let rows = u16::try_from(compare.all_series.len()).unwrap_or(u16::MAX).saturating_add(2);
    // The picture has at least half of what is below the heads: the answer takes its lines from the table.
    let half = (area.height.saturating_sub(heads) / 2).saturating_sub(said);
    let height = if compare.look.enlarged { 0 } else { rows.min(half).max(3) };
    let [title, answer, picture, table] = Layout::vertical([
        Constraint::Length(heads),
        Constraint::Length(said),
        Constraint::Fill(1),
        Constraint::Length(height),
    ])
    .areas(area);
    Places { title, answer, picture, table }
}

/// Lines for runs, one each.
const MOST_HEADS: u16 = 6;

/// The verdict first: figures of an INVALID run say nothing.
fn head(compare: &Compare, palette: Palette) -> Vec<Line<'static>> {
    let of = |(at, run): (usize, &OpenRun)| {
        let mut spans = Vec::new();
        let summary = &run.summary;
        let style = palette.verdict(summary.verdict);
        let verdict = verdict_and_codes(summary.verdict, summary.reasons.iter().map(|reason| reason.code.as_str()));
        spans.push(Span::styled(format!(" {} ", compare.run_name(at)), palette.title()));
        spans.push(Span::styled(format!(" {verdict}  "), style.patch(palette.strong())));
        if summary.partial {
            spans.push(findings::partial(summary, palette));
            spans.push(Span::raw("  "));
        }
        if let Some(took) = run.took {
            let how = if summary.partial { "stopped after" } else { "done in" };
            spans.push(Span::raw(format!("{how} {}  ", text::time(took.as_secs_f64() * 1e3))));
        }
        if !summary.thresholds.is_empty() {
            spans.push(Span::raw(format!("{} (Enter)", summary.held_in_words("claims"))));
        }
        Line::from(spans)
    };
    compare.runs.iter().enumerate().map(of).collect()
}

/// Width of a figure, and least width of what was found.
const FIGURE: u16 = 9;
const FOUND: u16 = 28;
/// Columns of figures that must be left beside the column of findings.
const LEAST_FIGURES: usize = 3;

/// The columns of the table: the width of names, and which figures there are, from which one on.
pub(super) struct Columns {
    pub names: u16,
    pub start: usize,
    pub count: usize,
    found: bool,
}

pub(super) fn columns(width: u16, compare: &Compare) -> Columns {
    let names =
        compare.all_series.iter().map(|arm_series| name(compare, *arm_series).chars().count()).max().unwrap_or(0);
    let names = u16::try_from(names.clamp(8, 30)).unwrap_or(30);
    // Whole columns: those that have room, with the one under the cursor, which gives way to nothing but what was found of it.
    let room_for = |more: u16| usize::from(width.saturating_sub(names + 3 + more) / (FIGURE + 1));
    let found = compare.found_head().is_some() && room_for(FOUND) >= LEAST_FIGURES;
    let count = room_for(if found { FOUND } else { 0 }).clamp(1, compare.columns.len().max(1));
    let start = (compare.column + 1).saturating_sub(count);
    Columns { names, start, count, found }
}

/// The figure whose column is at this column of the screen.
pub(super) fn column_at(compare: &Compare, table: Rect, x: u16) -> Option<usize> {
    let Columns { names, start, count, .. } = columns(table.width, compare);
    let offset = x.checked_sub(table.x + names + 3)?;
    let column = usize::from(offset / (FIGURE + 1));
    (column < count).then_some(start + column)
}

/// The second of the time axis at this column of the screen.
pub(super) fn second_at(compare: &Compare, picture: Rect, x: u16) -> Option<f64> {
    over_time::figure(compare, Palette::Plain).time_at(picture, x)
}

fn draw_table(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) {
    let room = usize::from(area.height.saturating_sub(2));
    let order = compare.order();
    let row = order.iter().position(|at| *at == compare.at).unwrap_or(0);
    let first = first_shown(row, order.len(), room);
    let Columns { names, start, count, found } = columns(area.width, compare);
    let shown = || compare.columns.iter().copied().enumerate().skip(start).take(count);
    let rows = order.iter().skip(first).take(room).map(|&n| {
        let (arm_series, here) = (compare.all_series[n], n == compare.at);
        let (style, mark) = palette.line(n);
        let hidden = compare.hidden.contains(&n);
        let mut cells = vec![
            Cell::new(Span::styled(if hidden { ' ' } else { palette.mark(mark) }.to_string(), style)),
            Cell::new(Span::styled(name(compare, arm_series), if here { palette.strong() } else { Style::new() })),
        ];
        for (at, column) in shown() {
            let rank = compare.rank(n, column).filter(|_| compare.look.moment.is_none());
            let (sign, rank_style) = match rank {
                Some(Rank::Best) => ("★", palette.good().patch(palette.strong())),
                Some(Rank::WithinNoise) => ("≈", Style::new()),
                Some(Rank::Behind) | None => ("", Style::new()),
            };
            let value = format!("{}{sign}", column.shown(compare.figure(arm_series, column)));
            let style = if here && at == compare.column { palette.selected() } else { rank_style };
            cells.push(Cell::new(Span::styled(value, style)));
        }
        if found {
            cells.push(Cell::new(compare.found_of(arm_series)));
        }
        Row::new(cells)
    });
    let mut header: Vec<Cell<'_>> = vec![Cell::new(""), Cell::new("arm")];
    header.extend(shown().map(|(at, column)| {
        let style = if at == compare.column { palette.accent() } else { palette.faint() };
        Cell::new(Span::styled(column.name(), style))
    }));
    let mut widths = vec![Constraint::Length(1), Constraint::Length(names)];
    widths.extend(vec![Constraint::Length(FIGURE); count]);
    if let Some(head) = compare.found_head().filter(|_| found) {
        header.push(Cell::new(head));
        widths.push(Constraint::Fill(1));
    }
    let words = match compare.look.across {
        true => across_in_words(compare),
        false => compare.compared_elsewhere().unwrap_or_else(|| against_the_first(compare)),
    };
    let words = Line::styled(words, palette.strong()).right_aligned();
    let part = part_shown(first, room, order.len(), palette);
    let block = Block::new().borders(Borders::TOP).border_style(palette.faint());
    let block = block.title(Line::styled(title(compare), palette.strong())).title(words).title(part);
    let header = Row::new(header).style(palette.faint());
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), area);
}

/// The title: the time that the figures are of, and the number of blocks.
fn title(compare: &Compare) -> String {
    let sorted = if compare.look.sorted { ", sorted" } else { "" };
    if let Some(at) = compare.look.moment {
        return format!(" at {at:.0} s{sorted} (Esc: the phase) ");
    }
    let blocks = compare.runs.iter().map(OpenRun::blocks).max().unwrap_or(1);
    let of = match (blocks, compare.kept()) {
        (1, _) => String::new(),
        (_, (1, 1)) => ", 1 block".to_owned(),
        (_, (least, most)) if least == most => format!(", medians of {most} blocks"),
        (_, (least, most)) => format!(", medians of {least} to {most} blocks"),
    };
    format!(" {}{of}{sorted} (Tab: another phase) ", scrubbed(compare.phase_name()))
}

/// The arm's name, with a mark where a person changed it.
fn name(compare: &Compare, arm_series: ArmSeries) -> String {
    let touched = compare.turns(arm_series).any(|arm| !arm.touches.is_empty());
    let touched = if touched { " !" } else { "" };
    let cut_off = if compare.is_cut_off(arm_series) { " (cut off)" } else { "" };
    format!("{}{touched}{cut_off}", scrubbed(&compare.name(arm_series)))
}

/// The arm under the cursor, or its like, of one run against the other.
fn across_in_words(compare: &Compare) -> String {
    let column = compare.column();
    let Some(arm_series) = compare.chosen() else { return String::new() };
    let Some(found) = compare.across(arm_series, column) else {
        return match column.metric() {
            "" => " runs are compared in goodput/s, rejected, p90, p99 ".to_owned(),
            _ => String::new(),
        };
    };
    let nothing = if decides_nothing(&found.comparison) { "; it decides nothing" } else { "" };
    let name = scrubbed(compare.arm_name(arm_series));
    format!(" {name}, B / A: {} ({}{nothing}) ", in_words(&found.comparison), found.how())
}

/// The finding for the figure under the cursor.
fn against_the_first(compare: &Compare) -> String {
    if compare.look.baseline.is_some() {
        return " medians over blocks (b: as the experiment has it) ".to_owned();
    }
    let found = compare.all_series.get(compare.at).and_then(|&arm_series| {
        let comparison = compare.verdict(arm_series, compare.column())?;
        let [policy, baseline] = [&comparison.policy, &comparison.baseline].map(|name| scrubbed(name));
        Some(format!(" {policy}, {} against {baseline}: {} ", compare.column().name(), in_words(comparison)))
    });
    found.unwrap_or_default()
}
