//! Outcomes other than answers in time, over time, as a stack: each kind has a letter of its own, so that nothing hangs
//! on colour.

use analysis::{live::TimelineSecond, text};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, Borders, Paragraph},
};

use super::charts::span;
use crate::{
    Palette,
    state::{Running, State},
};

/// Letter, name, how many in a second.
type Kind = (char, &'static str, fn(&TimelineSecond) -> u64);

/// Kinds from below to above.
const KINDS: [Kind; 5] = [
    ('x', "shed", |s| s.rejected + s.refused_locally),
    ('l', "late", |s| s.served_late),
    ('t', "timed out", |s| s.timed_out),
    ('a', "abandoned", |s| s.abandoned),
    ('f', "failed", |s| s.failed + s.connect_failed),
];

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let styles = [palette.bad(), palette.warn(), palette.target(), palette.offered(), palette.admitted()];
    let mut legend = vec![Span::raw(if area.width >= 70 { " [3] not in time: " } else { " [3] " })];
    legend.extend(
        KINDS.iter().zip(styles).map(|((mark, name, _), style)| Span::styled(format!("{mark} {name}  "), style)),
    );
    let block = Block::new().borders(Borders::TOP).title(Line::from(legend));
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let Some(running) = &state.running else { return };
    let [labels, stack] = Layout::horizontal([Constraint::Length(7), Constraint::Fill(1)]).areas(inside);
    let columns = columns(running, span(state, running), stack.width);
    let top = columns.iter().flatten().map(|counts| counts.iter().sum::<f64>()).fold(1.0, f64::max);
    let mut words = vec![Line::raw(format!("{}/s", text::rate(top)))];
    words.resize(usize::from(labels.height.saturating_sub(1)).max(1), Line::default());
    words.push(Line::raw("0"));
    frame.render_widget(Paragraph::new(words).style(palette.faint()), labels);
    let heights: Vec<[u16; KINDS.len()]> = columns
        .iter()
        .map(|counts| counts.map_or([0; KINDS.len()], |counts| stacked(counts, top, stack.height)))
        .collect();
    let lines: Vec<Line<'_>> = (0..stack.height)
        .map(|row| {
            let height = stack.height - row;
            Line::from(heights.iter().map(|tops| cell(tops, height, &styles)).collect::<Vec<_>>())
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), stack);
}

/// For each column the mean of its seconds, by kind; `None`: no second is known there.
fn columns(running: &Running, [start, end]: [f64; 2], width: u16) -> Vec<Option<[f64; KINDS.len()]>> {
    let mut sums = vec![([0.0; KINDS.len()], 0.0); usize::from(width)];
    let to_column = |second: f64| ((second - start) / (end - start) * f64::from(width)) as usize;
    for second in running.shown() {
        let at = f64::from(second.second);
        // A second may be wider than a column.
        let last = to_column(at + 1.0).max(to_column(at) + 1);
        for (sum, seconds) in sums.iter_mut().take(last).skip(to_column(at)) {
            for (sum, (_, _, count)) in sum.iter_mut().zip(KINDS) {
                *sum += count(second) as f64;
            }
            *seconds += 1.0;
        }
    }
    sums.into_iter().map(|(sum, seconds)| (seconds > 0.0).then(|| sum.map(|count| count / seconds))).collect()
}

/// Up to which row each kind reaches.
fn stacked(counts: [f64; KINDS.len()], top: f64, rows: u16) -> [u16; KINDS.len()] {
    let mut below = 0.0;
    counts.map(|count| {
        below += count;
        // What is there is seen: a row at least for the first.
        let height = (below / top * f64::from(rows)).round();
        if below > 0.0 { (height as u16).max(1) } else { 0 }
    })
}

fn cell(tops: &[u16; KINDS.len()], height: u16, styles: &[Style; KINDS.len()]) -> Span<'static> {
    match tops.iter().position(|top| *top >= height) {
        Some(kind) => Span::styled(KINDS[kind].0.to_string(), styles[kind]),
        None => Span::raw(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_lie_on_one_another_and_the_least_is_seen() {
        assert_eq!(stacked([5.0, 0.0, 5.0, 0.0, 0.0], 10.0, 10), [5, 5, 10, 10, 10]);
        assert_eq!(stacked([0.0; 5], 10.0, 10), [0; 5]);
        assert_eq!(stacked([0.0, 0.1, 0.0, 0.0, 0.0], 10.0, 10), [0, 1, 1, 1, 1]);
        let styles = [Style::new(); 5];
        let of = |height| cell(&[5, 5, 10, 10, 10], height, &styles).content.into_owned();
        assert_eq!([of(1), of(5), of(6), of(10), of(11)], ["x", "x", "t", "t", " "]);
    }

    #[test]
    fn seconds_fall_into_columns_and_unknown_ones_stay_empty() {
        let second = |second, rejected| TimelineSecond { second, rejected, ..TimelineSecond::default() };
        let seconds = [second(0, 4), second(1, 8), second(2, 2), second(3, 2)].into();
        let running = Running { seconds, ..Running::default() };
        let shed = |width| columns(&running, [0.0, 8.0], width).iter().map(|c| c.map(|c| c[0])).collect::<Vec<_>>();
        assert_eq!(shed(4), [Some(6.0), Some(2.0), None, None]);
        assert_eq!(shed(16)[..5], [Some(4.0), Some(4.0), Some(8.0), Some(8.0), Some(2.0)]);
    }
}
