//! Lines, panes and titles that several screens have.

use std::time::Duration;

use ratatui::{
    Frame,
    layout::{Alignment, Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Block, BorderType, Paragraph},
};

use crate::{Palette, text_input::TextInput};

/// A line with something at its right end, which gives way if there is no room.
pub(super) fn both_ends(frame: &mut Frame<'_>, area: Rect, left: Line<'_>, right: Line<'_>) {
    let wanted = u16::try_from(right.width()).unwrap_or(u16::MAX);
    let free = area.width.saturating_sub(u16::try_from(left.width()).unwrap_or(u16::MAX));
    // Two texts that touch are read as one.
    let given = if free > wanted { wanted } else { wanted.min(area.width / 2) };
    let [left_area, _, right_area] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(1), Constraint::Length(given)]).areas(area);
    frame.render_widget(Paragraph::new(left), left_area);
    frame.render_widget(Paragraph::new(right).alignment(Alignment::Right), right_area);
}

/// A line that is written, between its label and the keys that end it.
pub(super) fn prompt(label: &str, line: &TextInput, keys: &str, width: u16, palette: Palette) -> Line<'static> {
    let beside = label.chars().count() + keys.chars().count() + 5;
    let room = usize::from(width).saturating_sub(beside).max(LEAST_WRITTEN);
    Line::styled(format!("{label}: {}   {keys}", line.shown(room)), palette.strong())
}

/// Columns that what is written has at least.
const LEAST_WRITTEN: usize = 24;

/// The keys that matter most here, each with its effect: as many as there is room for, the first ones first. The help, which is
/// the last, is always there.
pub(crate) fn hints(keys: &[(&str, &str)], width: u16, palette: Palette) -> Line<'static> {
    let wide = |(key, word): &(&str, &str)| key.chars().count() + word.chars().count() + 1;
    let last = keys.last().map_or(0, wide);
    let mut room = usize::from(width).saturating_sub(last);
    let mut shown: Vec<&(&str, &str)> = Vec::new();
    for key in &keys[..keys.len().saturating_sub(1)] {
        if wide(key) + 3 > room {
            break;
        }
        room -= wide(key) + 3;
        shown.push(key);
    }
    shown.extend(keys.last());
    let mut spans = Vec::new();
    for (n, (key, word)) in shown.into_iter().enumerate() {
        spans.extend((n > 0).then(|| Span::raw("   ")));
        spans.push(Span::styled((*key).to_owned(), palette.accent()));
        spans.push(Span::styled(format!(" {word}"), palette.faint()));
    }
    Line::from(spans)
}

/// A pane; the one that the keys move in stands out.
pub(crate) fn pane(title: &str, here: bool, palette: Palette) -> Block<'static> {
    let (border, style) = if here { (palette.accent(), palette.strong()) } else { (palette.faint(), palette.faint()) };
    let title = Line::styled(format!(" {title} "), style);
    Block::bordered().border_type(BorderType::Rounded).border_style(border).title(title)
}

/// Rows of `count` that are shown, if not all are: at the right end of a list's title.
pub(super) fn part_shown(first: usize, room: usize, count: usize, palette: Palette) -> Line<'static> {
    if count <= room {
        return Line::default();
    }
    Line::styled(format!(" {} to {} of {count} ", first + 1, (first + room).min(count)), palette.faint())
        .right_aligned()
}

/// The first of `count` rows that is shown, so that the one at `at` is among `room`.
pub(super) fn first_shown(at: usize, count: usize, room: usize) -> usize {
    (at + 1).saturating_sub(room).min(count.saturating_sub(room))
}

/// `45 s`, `4 min`, `2.5 h`.
pub(super) fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds @ 90..5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
