//! Requests by type, and by class where there are several: the mean of the last seconds.

use std::collections::BTreeMap;

use analysis::{
    live::{Group, TimelineSecond},
    text::{self, scrubbed},
};
use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    text::Span,
    widgets::{Block, Borders, Cell, Paragraph, Row, Table},
};

use crate::{
    Palette,
    state::{Running, State},
};

/// One second alone has few of each type.
const SECONDS: usize = 5;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let block = Block::new().borders(Borders::TOP).title(format!(" [4] by type and class, mean of {SECONDS} s "));
    let groups = state.running.as_ref().map_or_else(Vec::new, groups);
    if groups.is_empty() {
        frame.render_widget(Paragraph::new(" nothing was asked for yet").style(palette.faint()).block(block), area);
        return;
    }
    let header = Row::new(["", "planned", "goodput/s", "late/s", "shed", "lost/s", "mean"]).style(palette.faint());
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(7),
        Constraint::Length(9),
        Constraint::Length(6),
        Constraint::Length(6),
        Constraint::Length(6),
        Constraint::Length(7),
    ];
    let room = usize::from(area.height.saturating_sub(2));
    let rows = groups.iter().take(room).map(|(name, group)| row(name, group, state.objective_ms(), palette));
    frame.render_widget(Table::new(rows, widths).header(header).column_spacing(1).block(block), area);
}

/// A group over some seconds: counts a second.
#[derive(Debug, Default, PartialEq)]
struct Mean {
    planned: f64,
    served: f64,
    late: f64,
    rejected: f64,
    lost: f64,
    mean_ms: Option<f64>,
}

/// Types in the order of their names, then classes.
fn groups(running: &Running) -> Vec<(String, Mean)> {
    let seconds: Vec<&TimelineSecond> = running.shown().rev().take(SECONDS).collect();
    let types = over(seconds.iter().map(|second| &second.by_type), seconds.len());
    let classes = over(seconds.iter().map(|second| &second.by_class), seconds.len());
    let classes = classes.into_iter().map(|(class, mean)| (format!("class {class}"), mean));
    types.into_iter().chain(classes).collect()
}

fn over<'a>(seconds: impl Iterator<Item = &'a BTreeMap<String, Group>>, count: usize) -> BTreeMap<String, Mean> {
    // Of answers and of their times: a mean of means would weigh seconds alike.
    let mut sums: BTreeMap<String, (Group, f64)> = BTreeMap::new();
    for (name, group) in seconds.flatten() {
        let (sum, time) = sums.entry(name.clone()).or_default();
        sum.planned += group.planned;
        sum.served += group.served;
        sum.late += group.late;
        sum.rejected += group.rejected;
        sum.lost += group.lost;
        *time += group.mean_ms.unwrap_or(0.0) * (group.served + group.late) as f64;
    }
    let a_second = |n: u64| n as f64 / count.max(1) as f64;
    let mean = |(name, (sum, time)): (String, (Group, f64))| {
        let answered = sum.served + sum.late;
        let mean = Mean {
            planned: a_second(sum.planned),
            served: a_second(sum.served),
            late: a_second(sum.late),
            rejected: a_second(sum.rejected),
            lost: a_second(sum.lost),
            mean_ms: (answered > 0).then(|| time / answered as f64),
        };
        (name, mean)
    };
    sums.into_iter().map(mean).collect()
}

fn row<'a>(name: &str, group: &Mean, objective: Option<f64>, palette: Palette) -> Row<'a> {
    let ended = group.served + group.late + group.rejected + group.lost;
    let shed = if ended > 0.0 { group.rejected / ended } else { 0.0 };
    let over = |count: f64, style| if count > 0.0 { style } else { palette.faint() };
    let late = group.mean_ms.is_some_and(|mean| objective.is_some_and(|limit| mean > limit));
    let mean = group.mean_ms.map_or_else(|| "-".to_owned(), text::time);
    Row::new(vec![
        Cell::new(scrubbed(name)),
        Cell::new(text::rate(group.planned)),
        Cell::new(text::rate(group.served)),
        Cell::new(Span::styled(text::rate(group.late), over(group.late, palette.warn()))),
        Cell::new(Span::styled(text::percent(shed), over(shed, palette.warn()))),
        Cell::new(Span::styled(text::rate(group.lost), over(group.lost, palette.bad()))),
        Cell::new(Span::styled(mean, if late { palette.bad() } else { palette.good() })),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_seconds_are_taken_together_and_times_weigh_by_their_answers() {
        let second = |second, served, mean_ms| {
            let group = Group { planned: 10, served, mean_ms, ..Group::default() };
            TimelineSecond { second, by_type: [("login".to_owned(), group)].into(), ..TimelineSecond::default() }
        };
        let mut seconds: std::collections::VecDeque<TimelineSecond> =
            (0..10).map(|at| second(at, 100, Some(900.0))).collect();
        seconds.extend([second(10, 3, Some(10.0)), second(11, 1, Some(50.0))]);
        seconds.extend((12..15).map(|at| second(at, 0, None)));
        let mut running = Running { seconds, ..Running::default() };
        let found = groups(&running);
        assert_eq!(found[0].0, "login");
        // 30 ms and 50 ms of time over four answers; four answers and 50 requests in five seconds.
        assert_eq!(found[0].1, Mean { planned: 10.0, served: 0.8, mean_ms: Some(20.0), ..Mean::default() });
        running.until = Some(8);
        assert_eq!(groups(&running)[0].1.served, 100.0, "looking back");
    }
}
