//! Arms and runs side by side: who wins and at what price, a picture of the figure under the cursor, and what the arm under it did.

use analysis::{
    summary::verdict_and_codes,
    text::{self, scrubbed},
};
use ratatui::{prelude::*, widgets::*};

use super::{
    findings,
    widgets::{fitted, framed, hints},
};
use crate::{
    Palette,
    app::{Compare, MouseTarget, Rank, View},
    messages::OpenRun,
};

mod answer;
mod doing;
mod heat;
mod over_load;
mod over_time;
mod ranking;
mod tabs;
mod trade_off;

pub(super) use ranking::first_row;

/// Returns the line below it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) -> Line<'static> {
    if let Some(from) = compare.behind {
        findings::draw(frame, area, compare, from, palette);
        return hints("up down: the rest; Enter: or Esc back; ?: help", area.width, palette);
    }
    let Places { title, answer, table, tabs, picture, doing, is_boxed } = places(area, compare);
    let heads: Vec<_> = head(compare, palette).into_iter().map(|line| fitted(line, title.width)).collect();
    frame.render_widget(Paragraph::new(heads), title);
    frame.render_widget(Paragraph::new(answer::lines(compare, area, palette)), answer);
    let block = || Block::new().border_style(palette.faint()).title_style(palette.titles());
    if table.height > 0 {
        let title = Line::styled(heading(compare, table), palette.strong());
        framed(frame, table, block().title(title), is_boxed);
        ranking::draw(frame, table, compare, palette);
    }
    frame.render_widget(tabs::line(compare, tabs.width, palette), tabs);
    framed(frame, picture, block(), is_boxed);
    match compare.look.view {
        View::OverTime => over_time::figure(compare, palette).draw(frame, picture, palette),
        View::Percentiles => over_time::percentiles(compare, palette).draw(frame, picture, palette),
        View::Heat => heat::draw(frame, picture, compare, palette),
        View::OverLoad => over_load::plot(compare, palette).draw(frame, picture, palette),
        View::TradeOff => trade_off::plot(compare, palette).draw(frame, picture, palette),
    }
    if let Some(arm_series) = compare.chosen().filter(|_| doing.height > 0) {
        let title = Line::styled(format!(" {}: what it did ", ranking::name(compare, arm_series)), palette.strong());
        framed(frame, doing, block().title(title), is_boxed);
        doing::draw(frame, doing, compare, palette);
    }
    keys(compare, area.width, palette)
}

fn keys(compare: &Compare, width: u16, palette: Palette) -> Line<'static> {
    let across = if compare.runs.len() == 2 { "a: B against A, or each for itself; " } else { "" };
    let keys = "y: copy command; Enter: claims, settings; w: report, table; ";
    let more = "arrows: arm, figure; v: picture; Tab: phase; o: replay; s: sort; b: baseline; x: solo; . ,: a second; space: hide; z: zoom";
    hints(&format!("{keys}{across}{more}; Esc: back; ?: help"), width, palette)
}

/// Places of the screen's parts, each within its frame; those without height are not shown.
pub(super) struct Places {
    title: Rect,
    answer: Rect,
    pub table: Rect,
    pub tabs: Rect,
    pub picture: Rect,
    doing: Rect,
    is_boxed: bool,
}

/// Rows from which on parts have boxes, and from which on there is more than table and picture; rows of a picture at least.
const BOXED: u16 = 29;
const ROOMY: u16 = 22;
const PICTURE: u16 = 8;
/// Rows of the table that come before what an arm did.
const MOST_ROWS: u16 = 8;

pub(super) fn places(area: Rect, compare: &Compare) -> Places {
    let is_boxed = area.height >= BOXED;
    let edge = u16::from(is_boxed);
    let heads = u16::try_from(compare.runs.len()).unwrap_or(u16::MAX).clamp(1, MOST_HEADS);
    let said = answer::lines(compare, area, Palette::Plain).len();
    let said = u16::try_from(said).unwrap_or(u16::MAX);
    let rows = u16::try_from(compare.all_series.len()).unwrap_or(u16::MAX).saturating_add(2 + edge);
    let doing = match area.height {
        ..ROOMY => 0,
        ROOMY..BOXED => 3,
        height => 5 + edge + u16::from(height > BOXED + PICTURE),
    };
    let rest = area.height.saturating_sub(heads + said + 1);
    let doing = if rest < rows.min(MOST_ROWS) + PICTURE + doing { 0 } else { doing };
    let table = rows.min((rest - doing).saturating_sub(PICTURE.max(rest / 3))).max(4);
    let [said, doing, table] = if compare.look.enlarged { [0; 3] } else { [said, doing, table] };
    let parts = [heads, said, table, 1].map(Constraint::Length);
    let parts = parts.into_iter().chain([Constraint::Fill(1), Constraint::Length(doing)]);
    let [title, answer, table, tabs, picture, doing] = Layout::vertical(parts).areas(area);
    let within = |place: Rect| match place.height {
        0 => place,
        height => Rect { x: place.x + edge, width: place.width - 2 * edge, height: height - edge, ..place },
    };
    Places { title, answer, table: within(table), tabs, picture: within(picture), doing: within(doing), is_boxed }
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

/// The figure or the picture whose name is at this column of the screen.
pub(super) fn tab_at(compare: &Compare, tabs: Rect, x: u16) -> Option<MouseTarget> {
    tabs::at(compare, tabs, x)
}

/// The second of the time axis at this column of the screen.
pub(super) fn second_at(compare: &Compare, picture: Rect, x: u16) -> Option<f64> {
    over_time::figure(compare, Palette::Plain).time_at(picture, x)
}

/// The table's title: the time that its figures are of, the number of blocks, the order and the part of the rows.
fn heading(compare: &Compare, table: Rect) -> String {
    let sorted = if compare.look.sorted { format!(", by {}", compare.column().name()) } else { String::new() };
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
    let (first, room, count) =
        (first_row(compare, table), usize::from(table.height.saturating_sub(2)), compare.all_series.len());
    let part = if count > room { format!(", {} to {} of {count}", first + 1, first + room) } else { String::new() };
    let best = compare.ranks().contains(&Some(Rank::Best)).then_some("★ best here");
    let deployed = (0..compare.runs.len()).any(|run| compare.recommended(run).is_some()).then_some("$ to deploy");
    let marks = [best, deployed].into_iter().flatten().collect::<Vec<_>>().join(", ");
    format!(" who wins in {}{of}{sorted}{part} (Tab: another phase) {marks} ", scrubbed(compare.phase_name()))
}
