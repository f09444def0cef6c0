//! Head of a comparison: which arm to deploy, the command that does, and the order of the arms. All that is said is behind the verdict.

use analysis::{
    recommend::HOW,
    text::{scrubbed, wrapped},
};
use ratatui::prelude::*;

use crate::{Palette, app::Compare};

/// Lines of a screen of few rows, and rows for each line more.
const FEWEST: u16 = 2;
const ROWS_A_LINE: u16 = 7;
const ROWS_OF_FEWEST: u16 = 20;
const MOST: u16 = 6;
/// Columns in front of a sentence.
const INDENT: usize = 3;

/// Lines of it for the run under the cursor, in this area.
pub(super) fn lines(compare: &Compare, area: Rect, palette: Palette) -> Vec<Line<'static>> {
    let Some(run) = compare.chosen().map(|arm_series| arm_series.run) else { return Vec::new() };
    let more = area.height.saturating_sub(ROWS_OF_FEWEST) / ROWS_A_LINE;
    let mut left = usize::from((FEWEST + more).min(MOST));
    let room = usize::from(area.width).saturating_sub(INDENT + 1);
    let mut lines = Vec::new();
    for (text, style) in said(compare, run, palette) {
        let mut rows = wrapped(&scrubbed(&text), room);
        // The first one leaves a line for the command; another gives way to what has room.
        let most = if lines.is_empty() { left - 1 } else { left };
        if rows.len() > most {
            if !lines.is_empty() {
                continue;
            }
            rows.truncate(most);
            rows.last_mut().into_iter().for_each(|last| *last = cut(last, room));
        }
        left -= rows.len();
        for row in rows {
            let letter = compare.letter(run).filter(|_| lines.is_empty()).unwrap_or_default();
            lines.push(Line::from(vec![Span::raw(format!(" {letter:1} ")), Span::styled(row, style)]));
        }
    }
    lines
}

/// What there is to be said, the most important first.
fn said(compare: &Compare, run: usize, palette: Palette) -> Vec<(String, Style)> {
    let opening = compare.opening(run).iter().filter(|said| said.arm.is_none());
    let opening = opening.map(|said| match said.is_warning {
        true => (format!("! {}", said.text), palette.bad()),
        false => (said.text.clone(), Style::new()),
    });
    let Some(recommended) = compare.recommended(run) else { return opening.collect() };
    let command = recommended.deploy.first().map(|way| (format!("$ {way}"), palette.accent()));
    let mut sentences: Vec<String> = recommended.lines();
    sentences.retain(|line| !line.starts_with(HOW));
    // What it costs comes before what else is to be known of it.
    sentences[1..].sort_by_key(|line| !line.starts_with("Price "));
    let mut sentences = sentences.into_iter();
    let first = sentences.next().map(|line| (line, palette.strong()));
    let others = sentences.map(|line| (line, palette.faint()));
    first.into_iter().chain(command).chain(opening).chain(others).collect()
}

/// A line that ends with a whole word, within its room, and with `…`.
fn cut(line: &str, room: usize) -> String {
    let kept = wrapped(line, room.saturating_sub(2)).into_iter().next().unwrap_or_default();
    format!("{kept} …")
}
