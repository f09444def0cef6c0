//! What the arm under the cursor did, and why it came to its figures: limit, queue and rate that its policy showed.

use analysis::text::{percent, scrubbed, wrapped};
use installed::catalogue;
use ratatui::{prelude::*, widgets::*};

use super::super::widgets::spark;
use crate::{
    Palette,
    app::{ArmSeries, Compare},
    column::Column,
};

/// Least change of a figure that is told as one.
const CHANGED: f64 = 0.1;
/// Least share of requests that is told.
const LEAST_SHARE: f64 = 0.0005;
/// Columns of a course, at the most.
const LONGEST_SPARK: usize = 48;

/// Lines below its title.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, compare: &Compare, palette: Palette) {
    let Some(arm_series) = compare.chosen() else { return };
    let below = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let room = usize::from(area.width).saturating_sub(2);
    let courses = courses(compare, arm_series, room, palette);
    let name = compare.arm_name(arm_series);
    let said = compare.opening(arm_series.run).iter().find(|said| said.arm.as_deref() == Some(name));
    let said = said.map(|said| scrubbed(&said.text));
    // What policies of its kind do, where there is room beside all else.
    let about = compare.turns(arm_series).next().and_then(|arm| catalogue().find(&arm.policy)).map(|entry| entry.about);
    let words = |text: &str, style| {
        let lines = wrapped(text, room).into_iter();
        lines.map(move |line| Line::styled(format!(" {line}"), style)).collect::<Vec<_>>()
    };
    let said = said.map_or_else(Vec::new, |said| words(&said, palette.strong()));
    let about = about.map_or_else(Vec::new, |about| words(&scrubbed(about), palette.faint()));
    let why = words(&why(compare, arm_series), Style::new());
    let mut left = usize::from(below.height).saturating_sub(why.len() + usize::from(courses.is_some()));
    let mut lines = Vec::new();
    for part in [said, about] {
        if part.len() <= left {
            left -= part.len();
            lines.extend(part);
        }
    }
    lines.extend(why);
    lines.extend(courses);
    frame.render_widget(Paragraph::new(lines), below);
}

/// `why: own p90 rose from 20 ms to 410 ms, rate/s fell from 100 to 17; of 9000 sent 68 % rejected, 1 % late.`
fn why(compare: &Compare, arm_series: ArmSeries) -> String {
    let own = [Column::BelievedP90, Column::Limit, Column::Rate, Column::Queue].into_iter();
    let moved = own.filter_map(|column| {
        let now = compare.in_phase(arm_series, column, compare.phase)?;
        let before = compare.phase.checked_sub(1).and_then(|phase| compare.in_phase(arm_series, column, phase));
        let (name, shown) = (column.name(), |value| column.shown(Some(value)));
        Some(match before {
            Some(before) if now.at > before.at * (1.0 + CHANGED) => {
                format!("{name} rose from {} to {}", shown(before), shown(now))
            }
            Some(before) if now.at < before.at * (1.0 - CHANGED) => {
                format!("{name} fell from {} to {}", shown(before), shown(now))
            }
            _ => format!("{name} stayed at {}", shown(now)),
        })
    });
    let moved = moved.collect::<Vec<_>>().join(", ");
    let moved = if moved.is_empty() { "its policy shows nothing of itself".to_owned() } else { moved };
    format!("why: {moved}; {}.", fates(compare, arm_series))
}

/// Ends of the requests of the phase, other than in time.
fn fates(compare: &Compare, arm_series: ArmSeries) -> String {
    let phase =
        compare.counted(arm_series).find_map(|arm| arm.phases.iter().find(|of| of.name == compare.phase_name()));
    let Some(measured) = phase.map(|phase| &phase.measured).filter(|measured| measured.sent > 0) else {
        return "nothing was sent".to_owned();
    };
    let kinds = [
        (measured.rejected, "rejected"),
        (measured.served_late, "late"),
        (measured.timed_out, "timed out"),
        (measured.abandoned, "abandoned"),
        (measured.failed, "failed"),
    ];
    let share = |(count, word): (u64, &str)| {
        let share = count as f64 / measured.sent as f64;
        (share >= LEAST_SHARE).then(|| format!("{} {word}", percent(share)))
    };
    let all: Vec<String> = kinds.into_iter().filter_map(share).collect();
    let all = if all.is_empty() { "all in time".to_owned() } else { all.join(", ") };
    format!("of {} sent {all}", measured.sent)
}

/// The course of each figure that the policy showed, in one line.
fn courses(compare: &Compare, arm_series: ArmSeries, room: usize, palette: Palette) -> Option<Line<'static>> {
    let own = |column: &&Column| compare.seconds(arm_series).any(|second| column.at(second).is_some());
    let shown: Vec<Column> = Column::OF_POLICIES.iter().filter(own).copied().collect();
    let wide = (room / shown.len().max(1)).saturating_sub(16).min(LONGEST_SPARK);
    let (style, _) = palette.line(compare.colour(compare.at));
    let course = |column: Column| {
        let values: Vec<f64> =
            compare.seconds(arm_series).map(|second| column.at(second).map_or(0.0, |value| value.at)).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        let most = column.shown(Some(analysis::series::value::Value::known(most)));
        [
            Span::styled(format!(" {} to {most} ", column.name()), palette.faint()),
            Span::styled(spark(&values, wide), style),
            Span::raw(" "),
        ]
    };
    (!shown.is_empty() && wide > 3).then(|| shown.into_iter().flat_map(course).collect())
}
