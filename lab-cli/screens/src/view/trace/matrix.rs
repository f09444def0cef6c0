//! Ways from page to page, as a heat map: shares as numbers and shades, and the way under the cursor in words.

use analysis::text;
use ratatui::{prelude::*, widgets::*};

use super::{
    super::widgets::{nothing, titled},
    shades,
};
use crate::{Palette, app::Trace};

/// Title, header, a row for each page, and the way in words.
pub(super) fn height(trace: &Trace) -> u16 {
    u16::try_from(trace.states.len()).unwrap_or(u16::MAX).saturating_add(3)
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let block = titled(" [3] from the row's page to the column's ", palette).title(shades::legend(palette));
    let inside = block.inner(area);
    if trace.states.is_empty() {
        return nothing(frame, area, block, "it has no session of which two pages are known", palette);
    }
    frame.render_widget(block, area);
    let [table, words] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(inside);
    let wide = usize::from(area.width) >= NAME + trace.states.len() * (NAME + 1);
    let header: Vec<&str> = trace.states.iter().map(|state| if wide { *state } else { short(state) }).collect();
    let header = Row::new([""].into_iter().chain(header)).style(palette.faint());
    let rows = trace.states.iter().enumerate().map(|(n, from)| row(n, from, trace, palette));
    let mut widths = vec![Constraint::Length(NAME as u16)];
    widths.resize(trace.states.len() + 1, Constraint::Length(if wide { NAME as u16 } else { CELL }));
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1), table);
    frame.render_widget(way(trace, palette), words);
}

/// Longest name of a page, and least width of a cell.
const NAME: usize = 13;
const CELL: u16 = 7;

fn row(n: usize, from: &'static str, trace: &Trace, palette: Palette) -> Row<'static> {
    let left = trace.left(from);
    let name = Span::styled(from, if n == trace.row { palette.strong() } else { Style::new() });
    let cells = trace.states.iter().enumerate().map(|(column, to)| {
        let share = trace.count(from, to) as f64 / left.max(1) as f64;
        let level = shades::level(share);
        let here = (n, column) == (trace.row, trace.column);
        let style = match (here, level) {
            (true, _) => palette.title(),
            (false, 0) => palette.faint(),
            (false, level) => palette.warmth(level as f64 / 4.0),
        };
        let number = if level == 0 { "-".to_owned() } else { number(share) };
        Cell::new(Span::styled(format!("{0}{0}{number:>5}", shades::SHADES[level]), style))
    });
    Row::new([Cell::new(name)].into_iter().chain(cells))
}

/// `68%`, `0.3%`: shorter than elsewhere, so that seven fit on 80 columns.
fn number(share: f64) -> String {
    text::percent(share).replace(' ', "")
}

/// Names of pages where there is little room.
fn short(state: &str) -> &str {
    match state {
        "list folders" => "folders",
        "list messages" => "list",
        "show message" => "show",
        "create folder" => "create",
        "delete folder" => "del fol",
        other => other,
    }
}

fn way(trace: &Trace, palette: Palette) -> Line<'static> {
    let Some((from, to)) = trace.way() else { return Line::default() };
    let (count, left) = (trace.count(from, to), trace.left(from));
    let share = text::percent(count as f64 / left.max(1) as f64);
    let mut spans = vec![
        Span::styled(format!(" {from} > {to}: "), palette.strong()),
        Span::raw(format!("{count} of {left}, {share}")),
    ];
    if let Some(by) = trace.pauses(from, Some(to)) {
        let ms = |micros: u64| text::time(micros as f64 / 1000.0);
        spans.push(Span::raw(format!("; pause p50 {}, p90 {}", ms(by.pauses.p50), ms(by.pauses.p90))));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_short_names_fit_their_cells() {
        for share in [0.000_1, 0.003, 0.0994, 0.5, 1.0] {
            assert!(number(share).len() <= 5, "{}", number(share));
        }
        for state in traces::trace::ACTIONS {
            assert!(state.len() <= NAME && short(state).len() <= usize::from(CELL), "{state}");
        }
    }
}
