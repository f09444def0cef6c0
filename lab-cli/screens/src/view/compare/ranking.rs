//! Who wins: a row an arm, best first, with goodput and response time as bars, and the price beside them.

use analysis::text::{rate, scrubbed, time};
use ratatui::{prelude::*, widgets::*};

use super::super::widgets::ticked;
use crate::{
    Palette,
    app::{ArmSeries, Compare, Rank},
    column::Column,
};

/// Columns of rank and mark, of a number, and at the least of a bar.
const MARKS: u16 = 6;
const NUMBER: u16 = 9;
const BAR: u16 = 8;
/// Columns that the words of a target are longer than the shortest bar.
const TARGET: u16 = 7;
/// Columns of goodput in calm with its change, of a comeback in brief and in full, and of a comparison.
const CALM: u16 = 13;
const BACK: [u16; 2] = [9, 20];
const FOUND: u16 = 26;
/// Columns of the longest bar: beyond it nothing more can be seen.
const LONGEST_BAR: u16 = 40;

/// Widths of the table's parts; 0: there is no room for it, or nothing to be shown.
struct Widths {
    names: u16,
    bar: u16,
    time_bar: u16,
    calm: u16,
    back: u16,
    figure: u16,
    found: u16,
}

impl Widths {
    fn of(compare: &Compare, width: u16) -> Self {
        let names = compare.all_series.iter().map(|arm_series| name(compare, *arm_series).chars().count());
        let names = u16::try_from(names.max().unwrap_or(0)).unwrap_or(u16::MAX).clamp(6, 24);
        let mut left = width.saturating_sub(MARKS + names + 1 + 3 * (NUMBER + 1) + BAR);
        let mut take = |wide: u16, is_wanted: bool| {
            let taken = if is_wanted && left > wide { wide } else { 0 };
            left -= if taken > 0 { taken + 1 } else { 0 };
            taken
        };
        let of_any = |has: &dyn Fn(ArmSeries) -> bool| compare.all_series.iter().any(|arm_series| has(*arm_series));
        let is_more = ![Column::Goodput, Column::Rejected, compare.time()].contains(&compare.column());
        let figure = take(NUMBER, is_more);
        let has_comeback = of_any(&|arm_series| compare.comeback(arm_series).is_some());
        let mut back = take(BACK[0], has_comeback);
        let calm = take(CALM, of_any(&|arm_series| compare.calm(arm_series).is_some()));
        let found = take(FOUND, compare.found_head().is_some() && compare.has_findings());
        let mut time_bar = take(BAR, true);
        if take(BACK[1] - BACK[0] - 1, back > 0) > 0 {
            back = BACK[1];
        }
        // The bar and what its tick is have room first.
        let more = (left / 3).max(TARGET.min(left)).min(LONGEST_BAR / 2);
        time_bar += if time_bar > 0 { more } else { 0 };
        Self { names, bar: (BAR + left - more).min(LONGEST_BAR), time_bar, calm, back, figure, found }
    }
}

/// Scales of the two bars.
struct Scales {
    most: f64,
    capacity: Option<f64>,
    target_ms: f64,
}

impl Scales {
    fn of(compare: &Compare) -> Self {
        let capacity =
            compare.chosen().and_then(|arm_series| compare.runs[arm_series.run].shape.as_ref()?.capacity_per_s);
        let served = compare.all_series.iter().filter_map(|arm_series| compare.figure(*arm_series, Column::Goodput));
        let most = served.map(|value| value.at).fold(capacity.unwrap_or(1.0), f64::max);
        Self { most, capacity, target_ms: compare.objective_ms().unwrap_or(1000.0) }
    }
}

/// The first row that is shown in this place.
pub(in super::super) fn first_row(compare: &Compare, area: Rect) -> usize {
    compare.first_row(false, area.height.saturating_sub(2).into())
}

/// Below its title.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) {
    let (widths, scales, ranks) = (Widths::of(compare, area.width), Scales::of(compare), compare.ranks());
    let room = usize::from(area.height.saturating_sub(2));
    let rows = compare.order().into_iter().skip(first_row(compare, area)).take(room);
    let rows = rows.map(|at| row(compare, at, ranks[at], &widths, &scales, palette));
    let shown = [
        (3, String::new()),
        (1, String::new()),
        (widths.names, "arm".to_owned()),
        (NUMBER, format!("{:>9}", "goodput/s")),
        (
            widths.bar,
            scales.capacity.map_or_else(String::new, |capacity| tick("capacity", &rate(capacity), widths.bar)),
        ),
        (NUMBER, format!("{:>9}", compare.time().name())),
        (widths.time_bar, tick("target", &time(scales.target_ms), widths.time_bar)),
        (NUMBER, format!("{:>9}", "rejected")),
        (widths.calm, "  in calm".to_owned()),
        (widths.back, "back in".to_owned()),
        (widths.figure, format!("{:>9}", compare.column().name())),
        (widths.found, compare.found_head().unwrap_or_default()),
    ];
    let constraints: Vec<Constraint> =
        shown.iter().filter(|(wide, _)| *wide > 0).map(|(wide, _)| Constraint::Length(*wide)).collect();
    let header = Row::new(shown.into_iter().filter(|(wide, _)| *wide > 0).map(|(_, text)| Cell::new(text)));
    let table = Table::new(rows, constraints).header(header.style(palette.faint())).column_spacing(1);
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    frame.render_widget(table, below);
}

/// What a tick of a bar stands for: its name, where there is room.
fn tick(name: &str, value: &str, wide: u16) -> String {
    let full = format!("│ {name} {value}");
    if full.chars().count() <= usize::from(wide) { full } else { format!("│ {value}") }
}

fn row(
    compare: &Compare,
    at: usize,
    rank: Option<Rank>,
    widths: &Widths,
    scales: &Scales,
    palette: Palette,
) -> Row<'static> {
    let (arm_series, here) = (compare.all_series[at], at == compare.at);
    let (line, mark) = palette.line(compare.colour(at));
    let strong = if here { palette.strong() } else { Style::new() };
    let (place, place_style) = match rank {
        Some(Rank::Best) => ("★".to_owned(), palette.good().patch(palette.strong())),
        Some(Rank::WithinNoise) => ("≈".to_owned(), Style::new()),
        Some(Rank::Place(place)) => (place.to_string(), Style::new()),
        Some(Rank::Out) | None => (String::new(), Style::new()),
    };
    let recommended = compare.recommended(arm_series.run);
    let is_deployed = recommended.is_some_and(|found| found.worst.arm == compare.arm_name(arm_series));
    // As before its command.
    let deployed = if is_deployed { "$" } else { "" };
    let mark = if compare.hidden.contains(&at) { ' ' } else { palette.mark(mark) };
    let served = compare.figure(arm_series, Column::Goodput);
    let waited = compare.figure(arm_series, compare.time());
    let in_time = waited.is_some_and(|value| value.at <= scales.target_ms && !value.at_least);
    let judged = if in_time { palette.good() } else { palette.bad() };
    let number = |column: Column| format!("{:>9}", column.shown(compare.figure(arm_series, column)));
    let share = served.map_or(0.0, |value| value.at / scales.most);
    let capacity = scales.capacity.map(|capacity| capacity / scales.most);
    let of_target = waited.map_or(0.0, |value| value.at / scales.target_ms / 2.0);
    let cells = [
        (
            3,
            Line::from(vec![Span::styled(deployed, palette.accent()), Span::styled(place, place_style)])
                .right_aligned(),
        ),
        (1, Line::styled(mark.to_string(), line)),
        (widths.names, Line::styled(name(compare, arm_series), if here { palette.selected() } else { Style::new() })),
        (NUMBER, Line::styled(number(Column::Goodput), strong)),
        (widths.bar, ticked(share, capacity, widths.bar, line, palette)),
        (NUMBER, Line::styled(number(compare.time()), judged)),
        (widths.time_bar, ticked(of_target, Some(0.5), widths.time_bar, judged, palette)),
        (NUMBER, Line::styled(number(Column::Rejected), strong)),
        (widths.calm, calm(compare, arm_series, palette)),
        (widths.back, back(compare, arm_series, widths.back)),
        (widths.figure, Line::styled(number(compare.column()), palette.accent())),
        (widths.found, Line::raw(compare.found_of(arm_series))),
    ];
    Row::new(cells.into_iter().filter(|(wide, _)| *wide > 0).map(|(_, line)| Cell::new(line)))
}

/// `41/s -46 %`: goodput in calm, and its difference from the baseline's.
fn calm(compare: &Compare, arm_series: ArmSeries, palette: Palette) -> Line<'static> {
    let Some((goodput, change)) = compare.calm(arm_series) else { return Line::raw("-") };
    let goodput = Span::raw(format!("{:>5}/s", rate(goodput)));
    let change = change.filter(|change| change.abs() >= 0.005).map(|change| {
        let style = if change < 0.0 { palette.warn() } else { palette.good() };
        Span::styled(format!(" {:+.0} %", 100.0 * change), style)
    });
    [goodput].into_iter().chain(change).collect()
}

/// How it came back: in brief without what stands behind the time.
fn back(compare: &Compare, arm_series: ArmSeries, wide: u16) -> Line<'static> {
    let words = compare.comeback(arm_series).unwrap_or_else(|| "-".to_owned());
    let brief = words.split(',').next().unwrap_or_default().replace("not within", ">");
    Line::raw(if words.chars().count() <= usize::from(wide) { words } else { brief })
}

/// The arm's name, with a mark where a person changed it.
pub(super) fn name(compare: &Compare, arm_series: ArmSeries) -> String {
    let touched = compare.turns(arm_series).any(|arm| !arm.touches.is_empty());
    let touched = if touched { " !" } else { "" };
    let cut_off = if compare.is_cut_off(arm_series) { " (cut off)" } else { "" };
    format!("{}{touched}{cut_off}", scrubbed(&compare.name(arm_series)))
}
