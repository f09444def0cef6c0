//! Arms and runs beside each other: the figure under the cursor over time, and a table of them all.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Row, Table},
};

use super::{
    first_shown,
    plot::{Plot, Series, decades, log},
};
use crate::{
    live::Second,
    report::in_words,
    summary::Verdict,
    text::{self, scrubbed},
    tui::{
        Palette,
        app::{Column, Compare, Course},
    },
};

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) -> Line<'static> {
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    frame.render_widget(head(compare, palette), title);
    let rows = u16::try_from(compare.courses.len()).unwrap_or(u16::MAX).saturating_add(2);
    let table_height = if compare.enlarged { 0 } else { rows.min(body.height / 2).max(3) };
    let [above, below] = Layout::vertical([Constraint::Fill(1), Constraint::Length(table_height)]).areas(body);
    plot(compare, palette).draw(frame, above, palette);
    table(frame, below, compare, palette);
    Line::styled(
        "up down arm   left right figure   Tab phase   space hide   z plot alone   Esc back   ? help",
        palette.faint(),
    )
}

/// The verdict first: figures of an INVALID run say nothing.
fn head(compare: &Compare, palette: Palette) -> Line<'static> {
    let mut spans = Vec::new();
    for run in &compare.runs {
        let summary = &run.summary;
        let style = match summary.verdict {
            Verdict::Valid => palette.good(),
            Verdict::Warn | Verdict::Unstable => palette.warn(),
            Verdict::Invalid => palette.bad(),
        };
        let mut codes: Vec<&str> = summary.reasons.iter().map(|reason| reason.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        spans.push(Span::styled(format!(" {} ", scrubbed(&run.name)), palette.title()));
        spans.push(Span::styled(format!(" {} {} ", summary.verdict.word(), codes.join(" ")), style));
        if let Some(took) = run.took {
            spans.push(Span::raw(format!("done in {}  ", text::time(took.as_secs_f64() * 1e3))));
        }
        if !summary.thresholds.is_empty() {
            let held = summary.thresholds.iter().filter(|threshold| threshold.held).count();
            spans.push(Span::raw(format!("{held} of {} claims held  ", summary.thresholds.len())));
        }
    }
    Line::from(spans)
}

fn plot(compare: &Compare, palette: Palette) -> Plot<'static> {
    let column = compare.column();
    let shown = || compare.courses.iter().enumerate().filter(|(n, _)| !compare.hidden.contains(n));
    let values = || shown().flat_map(|(_, course)| compare.seconds(*course)).filter_map(|second| column.at(second));
    let target = compare.objective_ms().unwrap_or(1000.0);
    let (y, labels) = if column.is_time() {
        decades(values(), target)
    } else {
        let top = values().fold(1.0, f64::max) * 1.05;
        ([0.0, top], vec!["0".to_owned(), text::rate(top / 2.0), text::rate(top)])
    };
    let to = |value: f64| if column.is_time() { log(value) } else { value };
    let point = |second: &Second| (f64::from(second.second) + 0.5, column.at(second).map(to));
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
        let points = vec![(0.0, Some(to(target))), (end, Some(to(target)))];
        series.insert(0, Series { name: "target".to_owned(), style: palette.target(), mark: '=', points });
    }
    let blocks = compare.runs.iter().flat_map(|run| &run.summary.arms).map(|arm| arm.block).max().unwrap_or(1);
    let latest = format!("{}{}", if blocks > 1 { " block 1 " } else { "" }, changed(compare));
    let marks = shown().flat_map(|(_, course)| compare.touches(*course)).map(|touched| touched.second).collect();
    let (title, walls) = (column.name(), walls(compare));
    Plot { title, latest, span: [0.0, end], unit: "s", y, labels, walls, marks, series }
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
    let phases = compare.runs.first().and_then(|run| run.shape.as_ref()).map_or(&[][..], |shape| &shape.phases);
    let ends = phases.iter().scan(0.0, |at, phase| {
        *at += phase.seconds;
        Some(*at)
    });
    ends.collect()
}

fn table(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) {
    let room = usize::from(area.height.saturating_sub(2));
    let first = first_shown(compare.at, compare.courses.len(), room);
    let rows = compare.courses.iter().enumerate().skip(first).take(room).map(|(n, &course)| {
        let (style, mark) = palette.line(n);
        let hidden = compare.hidden.contains(&n);
        let mut cells = vec![
            Cell::new(Span::styled(if hidden { ' ' } else { mark }.to_string(), style)),
            Cell::new(Span::styled(
                name(compare, course),
                if n == compare.at { palette.strong() } else { Style::new() },
            )),
        ];
        for (at, column) in Column::ALL.into_iter().enumerate() {
            let value = figure(compare.figure(course, column), column);
            let style = if n == compare.at && at == compare.column { palette.title() } else { Style::new() };
            cells.push(Cell::new(Span::styled(value, style)));
        }
        Row::new(cells)
    });
    let mut header: Vec<Cell<'_>> = vec![Cell::new(""), Cell::new("arm")];
    header.extend(Column::ALL.map(|column| Cell::new(column.name())));
    let name_width = compare.courses.iter().map(|course| name(compare, *course).chars().count()).max().unwrap_or(0);
    let mut widths =
        vec![Constraint::Length(1), Constraint::Length(u16::try_from(name_width.clamp(8, 30)).unwrap_or(30))];
    widths.extend([Constraint::Length(10); Column::ALL.len()]);
    let title = format!(" {} (Tab: another phase) ", scrubbed(compare.phase_name()));
    let against = Line::styled(against_the_first(compare), palette.strong()).right_aligned();
    let block = Block::new().borders(Borders::TOP).title(title).title(against);
    let header = Row::new(header).style(palette.faint());
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), area);
}

/// With a mark where a person changed it.
fn name(compare: &Compare, course: Course) -> String {
    let touched = compare.turns(course).any(|arm| !arm.touches.is_empty());
    format!("{}{}", scrubbed(&compare.name(course)), if touched { " !" } else { "" })
}

fn figure(value: Option<(f64, bool)>, column: Column) -> String {
    let Some((value, bound)) = value else { return "-".to_owned() };
    let text = match column {
        Column::P50 | Column::P90 | Column::P99 => text::time(value),
        Column::Rejected => text::percent(value),
        Column::TimedOut => format!("{value:.0}"),
        Column::Goodput | Column::Offered => text::rate(value),
    };
    if bound { format!(">= {text}") } else { text }
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
