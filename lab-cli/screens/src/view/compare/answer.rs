//! Head of a comparison: which arm to deploy, the command that does, and the order of the arms. All that is said is behind the verdict.

use analysis::{
    recommend::HOW,
    text::{scrubbed, wrapped},
};
use ratatui::prelude::*;

use super::super::widgets::fitted;
use crate::{Palette, app::Compare};

/// Lines of a screen of few rows, rows for each line more, and most lines.
const FEWEST: u16 = 2;
const ROWS_A_LINE: u16 = 4;
const ROWS_OF_FEWEST: u16 = 15;
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
        // The first one leaves a line for the command.
        let most = if lines.is_empty() { left - 1 } else { left };
        if most == 0 {
            break;
        }
        if rows.len() > most {
            let rest = rows.split_off(most - 1).join(" ");
            rows.push(fitted(Line::raw(rest), room as u16).to_string());
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
    let mut sentences = recommended.lines().into_iter().filter(|line| !line.starts_with(HOW));
    let first = sentences.next().map(|line| (line, palette.strong()));
    let others = sentences.map(|line| (line, palette.faint()));
    first.into_iter().chain(command).chain(others).chain(opening).collect()
}
