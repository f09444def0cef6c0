//! Arms and runs side by side: the figure under the cursor over time, and a table of them all.

use analysis::{
    judge::compare::words::{effect, in_words},
    live::{Shape, TimelineSecond},
    series::value::Value,
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
    findings, first_shown, part_shown,
    plot::{Plot, Series, decades, from_zero, log},
};
use crate::tui::{
    Palette,
    app::{Column, Compare, Course, OpenRun},
};

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) -> Line<'static> {
    if let Some(from) = compare.behind {
        findings::draw(frame, area, compare, from, palette);
        return Line::styled("up down the rest   Enter or Esc back   ? help   q leave", palette.faint());
    }
    let heads = u16::try_from(compare.runs.len()).unwrap_or(u16::MAX).clamp(1, MOST_HEADS);
    let [title, body] = Layout::vertical([Constraint::Length(heads), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(head(compare, palette)), title);
    let rows = u16::try_from(compare.courses.len()).unwrap_or(u16::MAX).saturating_add(2);
    let table_height = if compare.enlarged { 0 } else { rows.min(body.height / 2).max(3) };
    let [above, below] = Layout::vertical([Constraint::Fill(1), Constraint::Length(table_height)]).areas(body);
    plot(compare, palette).draw(frame, above, palette);
    table(frame, below, compare, palette);
    Line::styled(
        "Enter behind the verdict   arrows arm, figure   Tab phase   ? help   Esc back   space hide   z plot   q leave",
        palette.faint(),
    )
}

/// Lines for runs, one each.
const MOST_HEADS: u16 = 6;

/// The verdict first: figures of an INVALID run say nothing.
fn head(compare: &Compare, palette: Palette) -> Vec<Line<'static>> {
    let of = |(at, run): (usize, &OpenRun)| {
        let mut spans = Vec::new();
        let summary = &run.summary;
        let style = palette.verdict(summary.verdict);
        let mut codes: Vec<&str> = summary.reasons.iter().map(|reason| reason.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        spans.push(Span::styled(format!(" {} ", compare.run_name(at)), palette.title()));
        spans.push(Span::styled(format!(" {} {} ", summary.verdict.word(), codes.join(" ")), style));
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

fn plot(compare: &Compare, palette: Palette) -> Plot<'static> {
    let column = compare.column();
    let shown = || compare.courses.iter().enumerate().filter(|(n, _)| !compare.hidden.contains(n));
    let values =
        || shown().flat_map(|(_, course)| compare.seconds(*course)).filter_map(|second| Some(column.at(second)?.at));
    let target = compare.objective_ms().unwrap_or(1000.0);
    let (y, labels) = if column.is_time() {
        decades(values(), target)
    } else {
        from_zero(values().fold(1.0, f64::max) * 1.05, column.unit())
    };
    let to = |value: f64| if column.is_time() { log(value) } else { value };
    let point =
        |second: &TimelineSecond| (f64::from(second.second) + 0.5, column.at(second).map(|value| value.map(to)));
    let mut series: Vec<Series> = shown()
        .map(|(n, course)| {
            let (style, mark) = palette.line(n);
            let style = if n == compare.at { style.patch(palette.strong()) } else { style };
            let name = scrubbed(&compare.name(*course));
            Series { name, style, mark, points: compare.seconds(*course).map(point).collect() }
        })
        .collect();
    let end = series.iter().flat_map(|series| &series.points).map(|(x, _)| x + 0.5).fold(1.0, f64::max);
    if column.is_time() {
        let points = [0.0, end].map(|x| (x, Some(Value::known(to(target))))).to_vec();
        series.insert(0, Series { name: "target".to_owned(), style: palette.target(), mark: '=', points });
    }
    let blocks = blocks(compare);
    let drawn = compare.courses.get(compare.at).map_or(1, |course| compare.drawn_block(course.run));
    let block = if blocks > 1 { format!(" block {drawn} ") } else { String::new() };
    let latest = block + &changed(compare);
    let marks = shown().flat_map(|(_, course)| compare.touches(*course)).map(|touched| touched.second).collect();
    let (title, walls) = (column.name(), walls(compare));
    Plot { key: "", title, latest, span: [0.0, end], unit: "s", y, labels, places: Vec::new(), walls, marks, series }
}

fn blocks(compare: &Compare) -> u32 {
    compare.runs.iter().map(OpenRun::blocks).max().unwrap_or(1)
}

/// What a person changed in the arm under the cursor, or that there is another in which they did.
fn changed(compare: &Compare) -> String {
    let Some(&course) = compare.courses.get(compare.at) else { return String::new() };
    let own: Vec<_> = compare.touches(course).collect();
    match &own[..] {
        [] if compare.courses.iter().any(|course| compare.touches(*course).next().is_some()) => {
            " ! a person changed an arm ".to_owned()
        }
        [] => String::new(),
        [first, more @ ..] => {
            let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
            format!(" ! {:.0} s: {}{more} ", first.second, scrubbed(&first.what))
        }
    }
}

fn walls(compare: &Compare) -> Vec<f64> {
    compare.runs.first().and_then(|run| run.shape.as_ref()).map_or_else(Vec::new, Shape::ends)
}

/// Width of a figure, and least width of what was found.
const FIGURE: u16 = 9;
const FOUND: u16 = 28;
/// What was found is not worth more figures than that.
const LEAST_FIGURES: usize = 3;

fn table(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) {
    let room = usize::from(area.height.saturating_sub(2));
    let first = first_shown(compare.at, compare.courses.len(), room);
    let names = compare.courses.iter().map(|course| name(compare, *course).chars().count()).max().unwrap_or(0);
    let name_width = u16::try_from(names.clamp(8, 30)).unwrap_or(30);
    // Whole columns: those that have room, with the one under the cursor, which gives way to nothing but what was found of it.
    let room_for = |more: u16| usize::from(area.width.saturating_sub(name_width + 3 + more) / (FIGURE + 1));
    let against = compare.baseline().filter(|_| room_for(FOUND) >= LEAST_FIGURES);
    let count = room_for(if against.is_some() { FOUND } else { 0 }).clamp(1, Column::ALL.len());
    let start = (compare.column + 1).saturating_sub(count);
    let shown = || Column::ALL.into_iter().enumerate().skip(start).take(count);
    let rows = compare.courses.iter().enumerate().skip(first).take(room).map(|(n, &course)| {
        let (style, mark) = palette.line(n);
        let hidden = compare.hidden.contains(&n);
        let mut cells = vec![
            Cell::new(Span::styled(if hidden { ' ' } else { palette.mark(mark) }.to_string(), style)),
            Cell::new(Span::styled(
                name(compare, course),
                if n == compare.at { palette.strong() } else { Style::new() },
            )),
        ];
        for (at, column) in shown() {
            let value = figure(compare.figure(course, column), column);
            let style = if n == compare.at && at == compare.column { palette.title() } else { Style::new() };
            cells.push(Cell::new(Span::styled(value, style)));
        }
        if against.is_some() {
            cells.push(Cell::new(found(compare, course)));
        }
        Row::new(cells)
    });
    let mut header: Vec<Cell<'_>> = vec![Cell::new(""), Cell::new("arm")];
    header.extend(shown().map(|(_, column)| Cell::new(column.name())));
    let mut widths = vec![Constraint::Length(1), Constraint::Length(name_width)];
    widths.extend(vec![Constraint::Length(FIGURE); count]);
    if let Some(baseline) = against {
        header.push(Cell::new(format!("{} against {}", compare.column().name(), scrubbed(baseline))));
        widths.push(Constraint::Fill(1));
    }
    let of = match (blocks(compare), compare.kept()) {
        (1, _) => String::new(),
        (_, 1) => ", 1 block".to_owned(),
        (_, kept) => format!(", medians of {kept} blocks"),
    };
    let title = format!(" {}{of} (Tab: another phase) ", scrubbed(compare.phase_name()));
    let words = compare.compared_elsewhere().unwrap_or_else(|| against_the_first(compare));
    let words = Line::styled(words, palette.strong()).right_aligned();
    let part = part_shown(first, room, compare.courses.len(), palette);
    let block = Block::new().borders(Borders::TOP).title(title).title(words).title(part);
    let header = Row::new(header).style(palette.faint());
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), area);
}

/// With a mark where a person changed it.
fn name(compare: &Compare, course: Course) -> String {
    let touched = compare.turns(course).any(|arm| !arm.touches.is_empty());
    let touched = if touched { " !" } else { "" };
    let cut_off = if compare.is_cut_off(course) { " (cut off)" } else { "" };
    format!("{}{touched}{cut_off}", scrubbed(&compare.name(course)))
}

fn figure(value: Option<Value>, column: Column) -> String {
    let number = |value: f64| match column {
        Column::P50 | Column::P90 | Column::P99 => text::time(value),
        Column::Rejected => text::percent(value),
        Column::TimedOut => format!("{value:.0}"),
        Column::Goodput | Column::Offered => text::rate(value),
    };
    value.map_or_else(|| "-".to_owned(), |value| value.shown(number))
}

/// In a few words; all of them stand above the table.
fn found(compare: &Compare, course: Course) -> String {
    let Some(comparison) = compare.verdict(course, compare.column()) else { return String::new() };
    let word = match comparison.verdict.as_str() {
        "different" => "differs",
        "equivalent" => "equals",
        _ => "~",
    };
    match effect(comparison) {
        Some(effect) => format!("{word} {effect}"),
        None => "~".to_owned(),
    }
}

/// What was found of the figure under the cursor.
fn against_the_first(compare: &Compare) -> String {
    let found = compare.courses.get(compare.at).and_then(|&course| {
        let comparison = compare.verdict(course, compare.column())?;
        let [policy, baseline] = [&comparison.policy, &comparison.baseline].map(|name| scrubbed(name));
        Some(format!(" {policy}, {} against {baseline}: {} ", compare.column().name(), in_words(comparison)))
    });
    found.unwrap_or_default()
}
