//! Lines, panes and titles that several screens have.

use std::time::Duration;

use ratatui::{prelude::*, widgets::*};

use crate::{Palette, text_input::TextInput};

/// A line with something at its right end, which gives way if there is no room.
pub(super) fn both_ends(frame: &mut Frame<'_>, area: Rect, left: Line<'_>, right: Line<'_>) {
    let wanted = u16::try_from(right.width()).unwrap_or(u16::MAX);
    let free = area.width.saturating_sub(u16::try_from(left.width()).unwrap_or(u16::MAX));
    // Two texts that touch are read as one.
    let given = if free > wanted { wanted } else { wanted.min(area.width / 2) };
    let [left_area, _, right_area] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(1), Constraint::Length(given)]).areas(area);
    frame.render_widget(fitted(left, left_area.width), left_area);
    frame.render_widget(Paragraph::new(right).alignment(Alignment::Right), right_area);
}

/// Line within so many columns: one that is longer ends in `…`.
pub(super) fn fitted(mut line: Line<'_>, width: u16) -> Line<'_> {
    if line.width() <= width.into() {
        return line;
    }
    let mut left = usize::from(width).saturating_sub(1);
    for span in &mut line.spans {
        let kept: String = span.content.chars().take(left).collect();
        left -= kept.chars().count();
        span.content = kept.into();
    }
    line.spans.push(Span::raw("…"));
    line
}

/// A line that is written, between its label and the keys that end it.
pub(super) fn prompt(label: &str, line: &TextInput, keys: &str, width: u16, palette: Palette) -> Line<'static> {
    let room = usize::from(width).saturating_sub(label.chars().count() + 3);
    // What is written comes first.
    let keys = format!("   {keys}");
    let with_keys = room.saturating_sub(keys.chars().count());
    match line.text.chars().count() < with_keys {
        true => Line::styled(format!("{label}: {}{keys}", line.shown(with_keys)), palette.strong()),
        false => Line::styled(format!("{label}: {}", line.shown(room)), palette.strong()),
    }
}

/// The keys that matter most here, each with its effect (`q: leave; ?: help`): as many as there is room for, the first ones first. The
/// last two, which are the way out and the help, are always there.
pub(super) fn hints(keys: &str, width: u16, palette: Palette) -> Line<'static> {
    let keys: Vec<(&str, &str)> = keys.split("; ").filter_map(|hint| hint.split_once(": ")).collect();
    let wide = |(key, word): &(&str, &str)| key.chars().count() + word.chars().count() + 4;
    let (keys, last) = keys.split_at(keys.len().saturating_sub(2));
    let mut room = (usize::from(width) + 3).saturating_sub(last.iter().map(wide).sum());
    let has_room = |key: &&(&str, &str)| {
        let left = room.checked_sub(wide(key));
        room = left.unwrap_or(room);
        left.is_some()
    };
    let shown: Vec<_> = keys.iter().take_while(has_room).chain(last).collect();
    let mut spans = Vec::new();
    for (n, (key, word)) in shown.into_iter().enumerate() {
        spans.extend((n > 0).then(|| Span::raw("   ")));
        spans.push(Span::styled((*key).to_owned(), palette.accent()));
        spans.push(Span::styled(format!(" {word}"), palette.faint()));
    }
    Line::from(spans)
}

/// A pane; the one that the keys move in stands out.
pub(super) fn pane(title: &str, here: bool, palette: Palette) -> Block<'static> {
    let (border, style) = if here { (palette.accent(), palette.strong()) } else { (palette.faint(), palette.faint()) };
    let title = Line::styled(format!(" {title} "), style);
    Block::bordered().border_type(BorderType::Rounded).border_style(border).title(title)
}

/// Block of a part with a title above it and no frame.
pub(super) fn ruled<'a>(title: impl Into<Line<'a>>, palette: Palette) -> Block<'a> {
    Block::new().borders(Borders::TOP).border_style(palette.faint()).title_style(palette.titles()).title(title)
}

/// Block under words that may begin with a key: ` [1] requests `.
pub(super) fn titled(title: &str, palette: Palette) -> Block<'static> {
    let (key, words) = title.split_at(title.find(']').map_or(0, |end| end + 1));
    let [key, words] =
        [(key, palette.accent()), (words, palette.strong())].map(|(text, style)| Span::styled(text.to_owned(), style));
    ruled(Line::from(vec![key, words]), palette)
}

/// Text in place of what is not there, in the block of what would be.
pub(super) fn nothing(frame: &mut Frame<'_>, area: Rect, block: Block<'_>, text: &str, palette: Palette) {
    let text = Paragraph::new(format!(" {text}")).style(palette.faint()).wrap(Wrap { trim: false });
    frame.render_widget(text.block(block), area);
}

/// Table under faint headings; columns of no width share what the others leave.
pub(super) fn table<'a, const N: usize>(
    heads: [&'a str; N],
    widths: [u16; N],
    rows: impl IntoIterator<Item = Row<'a>>,
    palette: Palette,
) -> Table<'a> {
    let widths = widths.map(|wide| if wide == 0 { Constraint::Fill(1) } else { Constraint::Length(wide) });
    Table::new(rows, widths).header(Row::new(heads).style(palette.faint())).column_spacing(1)
}

/// The frame of a part whose first row is that of its title: a rule there, or a box around it.
pub(super) fn framed(frame: &mut Frame<'_>, part: Rect, block: Block<'_>, is_boxed: bool) {
    let edge = u16::from(is_boxed);
    let place = Rect { x: part.x - edge, width: part.width + 2 * edge, height: part.height + edge, ..part };
    let borders = if is_boxed { Borders::ALL } else { Borders::TOP };
    frame.render_widget(block.borders(borders).border_type(BorderType::Rounded), place);
}

/// Bar that fills this share of its columns, to an eighth of one; a share above nothing is seen.
pub(super) fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let most = columns * 8;
    let eighths = if share > 0.0 { ((share.min(1.0) * most as f64).round() as usize).clamp(1, most.max(1)) } else { 0 };
    format!("{:·<columns$}", "█".repeat(eighths / 8) + EIGHTHS[eighths % 8])
}

/// Bar with a tick at another share; what is longer ends in an arrow.
pub(super) fn ticked(share: f64, tick: Option<f64>, columns: u16, style: Style, palette: Palette) -> Line<'static> {
    let last = usize::from(columns).saturating_sub(1);
    let tick = tick.map(|at| ((at * f64::from(columns)) as usize).min(last));
    let cell = |(at, cell): (usize, char)| match cell {
        _ if share > 1.0 && at == last => Span::styled("▶", style),
        '█' if tick == Some(at) => Span::styled("│", Style { bg: style.fg, ..palette.strong() }),
        _ if tick == Some(at) => Span::styled("│", palette.target()),
        '·' => Span::styled("·", palette.faint()),
        cell => Span::styled(cell.to_string(), style),
    };
    bar(share, columns.into()).chars().enumerate().map(cell).collect()
}

/// Values over time in so many columns, each as high as the highest of its part; nothing is the lowest.
pub(super) fn spark(values: &[f64], columns: usize) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().copied().fold(0.0, f64::max);
    let columns = columns.min(values.len());
    let column = |at: usize| {
        let part = &values[at * values.len() / columns..(at + 1) * values.len() / columns];
        let highest = part.iter().copied().fold(0.0, f64::max);
        HEIGHTS[if most > 0.0 { (highest / most * 7.0).round() as usize } else { 0 }]
    };
    (0..columns).map(column).collect()
}

/// Rows of `count` that are shown, if not all are: at the right end of a list's title.
pub(super) fn part_shown(first: usize, room: usize, count: usize, palette: Palette) -> Line<'static> {
    if count <= room {
        return Line::default();
    }
    Line::styled(format!(" {} to {} of {count} ", first + 1, (first + room).min(count)), palette.faint())
        .right_aligned()
}

/// `45 s`, `4 min`, `2.5 h`.
pub(super) fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds @ 90..5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_filled_to_eighths_and_shows_its_tick_and_what_is_too_long() {
        assert_eq!([0.0, 0.001, 0.6, 3.0].map(|share| bar(share, 4)), ["····", "▏···", "██▍·", "████"]);
        let text = |share, tick| ticked(share, tick, 8, Style::new(), Palette::Plain).to_string();
        assert_eq!(text(0.5, None), "████····");
        assert_eq!(text(0.5 + 3.0 / 64.0, Some(0.75)), "████▍·│·");
        assert_eq!(text(1.2, Some(0.5)), "████│██▶");
    }

    #[test]
    fn a_line_that_is_too_long_says_so_and_the_way_out_is_always_there() {
        let line = || Line::from(vec![Span::raw("name "), Span::raw("and what it is")]);
        assert_eq!(fitted(line(), 19).to_string(), "name and what it is");
        assert_eq!(fitted(line(), 12).to_string(), "name and wh…");
        assert_eq!(fitted(line(), 4).to_string(), "nam…");
        let of = |width| hints("Enter: run it; Tab: change; q: leave; ?: help", width, Palette::Plain).to_string();
        assert_eq!(of(44), "Enter run it   Tab change   q leave   ? help");
        assert_eq!([43, 31].map(of), ["Enter run it   q leave   ? help"; 2]);
        assert_eq!(of(30), "q leave   ? help");
    }

    #[test]
    fn a_course_shows_the_highest_of_each_part() {
        assert_eq!(spark(&[0.0, 0.0, 7.0, 1.0, 3.0, 2.0], 3), "▁█▄");
        assert_eq!((spark(&[], 5), spark(&[0.0], 5)), (String::new(), "▁".to_owned()));
    }
}
