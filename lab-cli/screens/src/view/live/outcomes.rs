//! Requests that were not answered in time, by outcome: each on a scale of its own, so that a few late answers are seen beside
//! many refusals.

use analysis::{live::TimelineSecond, text};
use ratatui::{prelude::*, widgets::*};

use super::{super::widgets::titled, charts::span};
use crate::{
    Palette,
    state::{Running, State},
};

/// Name, and how many in a second.
type Kind = (&'static str, fn(&TimelineSecond) -> u64);

const KINDS: [Kind; 6] = [
    ("asked for", |s| s.planned),
    ("turned away", |s| s.rejected + s.refused_locally),
    ("late", |s| s.served_late),
    ("timed out", |s| s.timed_out),
    ("abandoned", |s| s.abandoned),
    ("failed", |s| s.failed + s.connect_failed),
];
/// Kinds that nobody is to blame for, at the beginning.
const NEUTRAL: usize = 2;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let title = if area.width >= 50 { " [3] not in time, each on a scale of its own " } else { " [3] not in time " };
    let block = titled(title, palette);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let Some(running) = &state.running else { return };
    let rows = (inside.height / KINDS.len() as u16).max(1);
    let places = Layout::vertical([Constraint::Length(rows); KINDS.len()]).split(inside);
    for ((n, (name, count)), place) in KINDS.into_iter().enumerate().zip(places.iter()) {
        let [label, line, value] =
            Layout::horizontal([Constraint::Length(13), Constraint::Fill(1), Constraint::Length(9)]).areas(*place);
        let now = running.latest().map_or(0, count);
        let style = match (now, n < NEUTRAL) {
            (0, _) => palette.faint(),
            (_, true) => palette.offered(),
            (_, false) => palette.bad(),
        };
        // Each at the foot of its bars.
        let foot = |place: Rect| Rect { y: place.bottom().saturating_sub(1), height: place.height.min(1), ..place };
        frame.render_widget(Line::raw(format!(" {name}")), foot(label));
        let bars = bars(&columns(running, span(state), line.width, count), line.height);
        frame.render_widget(Sparkline::default().data(bars).style(style), line);
        let value_text = format!("{}/s ", text::rate(now as f64));
        frame.render_widget(Line::styled(value_text, style).right_aligned(), foot(value));
    }
}

/// Hundredths, since a column may be the mean of several seconds. What is there at all has the least bar.
fn bars(columns: &[Option<f64>], rows: u16) -> Vec<SparklineBar> {
    let most = columns.iter().flatten().fold(0.0, |most: f64, count| most.max(*count));
    let least = most / f64::from(rows.max(1) * 8);
    let bar = |count: f64| if count > 0.0 { (count.max(least) * 100.0).ceil() as u64 } else { 0 };
    columns.iter().map(|count| SparklineBar::from(count.map(bar))).collect()
}

/// For each column the mean of its seconds; `None`: no second is known there.
fn columns(
    running: &Running,
    [start, end]: [f64; 2],
    width: u16,
    count: impl Fn(&TimelineSecond) -> u64,
) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0.0); usize::from(width)];
    let to_column = |second: f64| ((second - start) / (end - start) * f64::from(width)) as usize;
    for second in running.shown() {
        let at = f64::from(second.second);
        // A second may be wider than a column.
        let last = to_column(at + 1.0).max(to_column(at) + 1);
        for (sum, seconds) in sums.iter_mut().take(last).skip(to_column(at)) {
            *sum += count(second) as f64;
            *seconds += 1.0;
        }
    }
    sums.into_iter().map(|(sum, seconds)| (seconds > 0.0).then(|| sum / seconds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_fall_into_columns_and_unknown_ones_stay_empty() {
        let second = |second, rejected| TimelineSecond { second, rejected, ..TimelineSecond::default() };
        let seconds = [second(0, 4), second(1, 8), second(2, 2), second(3, 2)].into();
        let running = Running { seconds, ..Running::default() };
        let shed = |width| columns(&running, [0.0, 8.0], width, |second| second.rejected);
        assert_eq!(shed(4), [Some(6.0), Some(2.0), None, None]);
        assert_eq!(shed(16)[..5], [Some(4.0), Some(4.0), Some(8.0), Some(8.0), Some(2.0)]);
    }

    #[test]
    fn the_least_is_seen_beside_the_most() {
        let bar = |count: u64| SparklineBar::from(Some(count));
        let found = bars(&[Some(0.0), Some(0.5), Some(800.0), None], 1);
        assert_eq!(found, [bar(0), bar(10_000), bar(80_000), SparklineBar::from(None::<u64>)]);
    }
}
