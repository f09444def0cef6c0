//! Requests by type, and by class where there are several: the mean of the last seconds.

use std::collections::BTreeMap;

use analysis::{
    live::{Group, TimelineSecond},
    text::{self, scrubbed},
};
use ratatui::{prelude::*, widgets::*};

use super::super::widgets::{nothing, table, titled};
use crate::{
    Palette,
    state::{Running, State},
};

/// One second alone has few of each type.
const SECONDS: usize = 5;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, palette: Palette) {
    let block = titled(&format!(" [4] by type and class, mean of {SECONDS} s "), palette);
    let groups = state.running.as_ref().map_or_else(Vec::new, groups);
    if groups.is_empty() {
        return nothing(frame, area, block, "nothing was asked for yet", palette);
    }
    let room = usize::from(area.height.saturating_sub(2));
    let rows = groups.iter().take(room).map(|(name, group)| row(name, group, state.objective_ms(), palette));
    let heads = ["", "planned", "goodput/s", "late/s", "shed", "lost/s", "mean"];
    frame.render_widget(table(heads, [0, 7, 9, 6, 6, 6, 7], rows, palette).block(block), area);
}

/// Sums over some seconds, and their number; `mean_ms` is the time of all answers together.
type Sum = (Group, usize);

/// Types in the order of their names, then classes.
fn groups(running: &Running) -> Vec<(String, Sum)> {
    let seconds: Vec<&TimelineSecond> = running.shown().rev().take(SECONDS).collect();
    let types = seconds.iter().flat_map(|second| &second.by_type).map(|(name, group)| (name.clone(), group));
    let classes = seconds.iter().flat_map(|second| &second.by_class);
    let classes = classes.map(|(class, group)| (format!("class {class}"), group));
    let over = |groups: Vec<(String, &Group)>| {
        let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
        for (name, group) in groups {
            let (sum, count) = sums.entry(name).or_default();
            sum.planned += group.planned;
            sum.served += group.served;
            sum.late += group.late;
            sum.rejected += group.rejected;
            sum.lost += group.lost;
            // Of answers and of their times: a mean of means would weigh seconds alike.
            let time = group.mean_ms.unwrap_or(0.0) * (group.served + group.late) as f64;
            (sum.mean_ms, *count) = (Some(sum.mean_ms.unwrap_or(0.0) + time), seconds.len());
        }
        sums
    };
    over(types.collect()).into_iter().chain(over(classes.collect())).collect()
}

fn row<'a>(name: &str, (group, seconds): &Sum, objective: Option<f64>, palette: Palette) -> Row<'a> {
    let (answered, a_second) = (group.served + group.late, |n: u64| text::rate(n as f64 / *seconds as f64));
    let shed = group.rejected as f64 / (answered + group.rejected + group.lost).max(1) as f64;
    let mean = group.mean_ms.filter(|_| answered > 0).map(|time| time / answered as f64);
    let late = mean.is_some_and(|mean| objective.is_some_and(|limit| mean > limit));
    let over = |count: u64, text, style| Span::styled(text, if count > 0 { style } else { palette.faint() });
    Row::new([
        Span::raw(scrubbed(name)),
        Span::raw(a_second(group.planned)),
        Span::raw(a_second(group.served)),
        over(group.late, a_second(group.late), palette.warn()),
        over(group.rejected, text::percent(shed), palette.warn()),
        over(group.lost, a_second(group.lost), palette.bad()),
        Span::styled(
            mean.map_or_else(|| "-".to_owned(), text::time),
            if late { palette.bad() } else { palette.good() },
        ),
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
        assert_eq!(found[0].1, (Group { planned: 50, served: 4, mean_ms: Some(80.0), ..Group::default() }, 5));
        running.until = Some(8);
        assert_eq!(groups(&running)[0].1.0.served, 500, "looking back");
    }
}
