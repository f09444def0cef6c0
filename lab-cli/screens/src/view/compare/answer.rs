//! The answer at the head of a comparison: the sentences that reports begin with, as many as have room. All of them are behind the
//! verdict.

use analysis::{
    answer::Opening,
    text::{scrubbed, wrapped},
};
use ratatui::{
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use crate::{
    Palette,
    app::{ArmSeries, Compare},
};

/// Rows of a screen that are left to picture and table before the answer gets its second line, and rows for each line after that.
const LEFT: u16 = 19;
const ROWS_A_LINE: u16 = 4;
/// Lines at most.
const MOST: u16 = 8;
/// Columns in front of a sentence: the mark of its arm's line.
const INDENT: usize = 3;

/// Lines that it takes of this area.
pub(super) fn height(compare: &Compare, area: Rect) -> u16 {
    let most = (area.height.saturating_sub(LEFT) / ROWS_A_LINE).clamp(1, MOST);
    let shown = Shown::of(compare, area.width, most);
    u16::try_from(shown.sentences.iter().map(|(_, lines)| lines.len()).sum::<usize>()).unwrap_or(MOST)
}

/// The lines.
pub(super) fn lines(compare: &Compare, width: u16, most: u16, palette: Palette) -> Vec<Line<'static>> {
    let shown = Shown::of(compare, width, most);
    let of = |(said, lines): (&Opening, Vec<String>)| {
        let (mark, style) = mark(compare, said, palette);
        let line = move |(n, text): (usize, String)| {
            let before = if n == 0 { format!(" {mark} ") } else { " ".repeat(INDENT) };
            // What holds for all arms.
            let of_text = if said.arm.is_none() { style } else { Style::new() };
            Line::from(vec![Span::styled(before, style), Span::styled(text, of_text)])
        };
        lines.into_iter().enumerate().map(line).collect::<Vec<_>>()
    };
    let mut lines: Vec<Line<'_>> = shown.sentences.into_iter().flat_map(of).collect();
    if let Some(last) = lines.last_mut().filter(|_| !shown.more.is_empty()) {
        last.push_span(Span::styled(shown.more, palette.faint()));
    }
    lines
}

/// The mark and the style of the line of the arm that a sentence is about.
fn mark(compare: &Compare, said: &Opening, palette: Palette) -> (char, Style) {
    let Some(arm) = &said.arm else {
        return if said.is_warning { ('!', palette.bad()) } else { (' ', palette.strong()) };
    };
    let run = compare.chosen().map(|arm_series| arm_series.run);
    let is_it = |arm_series: &ArmSeries| Some(arm_series.run) == run && compare.arm_name(*arm_series) == arm;
    let (style, mark) = palette.line(compare.all_series.iter().position(is_it).unwrap_or(0));
    // Of several runs the letter says which one is meant.
    let letter = run.and_then(|run| compare.letter(run)?.chars().next());
    (letter.unwrap_or_else(|| palette.mark(mark)), style)
}

/// Sentences with their lines, and how many more there are, in words.
struct Shown<'a> {
    sentences: Vec<(&'a Opening, Vec<String>)>,
    more: String,
}

impl<'a> Shown<'a> {
    /// Lays out the answer of the run under the cursor, in `most` lines: all in their order, or, where not all have
    /// room, first that of the arm under the cursor.
    fn of(compare: &'a Compare, width: u16, most: u16) -> Self {
        let Some(arm_series) = compare.chosen() else { return Self { sentences: Vec::new(), more: String::new() } };
        let (room, most) = (usize::from(width).saturating_sub(INDENT + 1), usize::from(most));
        let in_lines = |said: &'a Opening| (said, wrapped(&scrubbed(&said.text), room));
        let mut all: Vec<_> = compare.opening(arm_series.run).iter().map(in_lines).collect();
        let count =
            |sentences: &[(&Opening, Vec<String>)]| sentences.iter().map(|(_, lines)| lines.len()).sum::<usize>();
        if count(&all) <= most {
            return Self { sentences: all, more: String::new() };
        }
        let total = all.len();
        // Stars in the table tell the order too.
        all.retain(|(said, _)| said.arm.is_some() || said.is_warning);
        if count(&all) > most {
            let here = compare.arm_name(arm_series);
            all.sort_by_key(|(said, _)| said.arm.as_deref() != Some(here));
        }
        let mut left = most;
        let mut sentences: Vec<(&Opening, Vec<String>)> = Vec::new();
        for (said, mut lines) in all {
            // The first one is begun at least.
            if left == 0 || lines.len() > left && !sentences.is_empty() {
                break;
            }
            lines.truncate(left);
            left -= lines.len();
            sentences.push((said, lines));
        }
        let whole = sentences.last().is_some_and(|(said, lines)| in_lines(said).1.len() == lines.len());
        let more = match total - sentences.len() {
            0 => " (Enter: the rest)".to_owned(),
            more => format!(" (Enter: {more} more)"),
        };
        if let Some(last) = sentences.last_mut().and_then(|(_, lines)| lines.last_mut()) {
            *last = cut(last, room.saturating_sub(more.chars().count()), whole);
        }
        Self { sentences, more }
    }
}

/// A line that ends with a clause, else with a whole word, within its room, with `…` where something is missing.
fn cut(line: &str, room: usize, whole: bool) -> String {
    if whole && line.chars().count() <= room {
        return line.to_owned();
    }
    let kept = wrapped(line, room.saturating_sub(2)).into_iter().next().unwrap_or_default();
    // Rather between two clauses than within a figure, if not much is lost by that.
    let clause = kept.rfind([';', ',']).filter(|at| 2 * at >= kept.len()).map(|at| kept[..at].to_owned());
    format!("{} …", clause.unwrap_or(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_in_whole_words() {
        assert_eq!(cut("seda: keeps 85/s of 100/s", 25, true), "seda: keeps 85/s of 100/s");
        assert_eq!(cut("seda: keeps 85/s of 100/s", 24, true), "seda: keeps 85/s of …");
        assert_eq!(cut("seda: keeps 85/s, 12 % rejected; recovers", 38, true), "seda: keeps 85/s, 12 % rejected …");
        assert_eq!(cut("seda: keeps", 24, false), "seda: keeps …");
    }
}
