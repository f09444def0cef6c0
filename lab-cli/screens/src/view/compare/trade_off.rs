//! Response time over goodput, a point an arm: what one more request in time costs those that are served. No arm is better in both than
//! one on the edge.

use analysis::{
    series::value::Value,
    text::{self, scrubbed},
};

use super::{
    super::plot::{Plot, Series, decades, from_zero},
    over_time::line,
};
use crate::{Palette, app::Compare, column::Column};

pub(super) fn plot(compare: &Compare, palette: Palette) -> Plot<'static> {
    let time = compare.time();
    let place = |at: usize| {
        let arm_series = compare.all_series[at];
        Some((at, compare.figure(arm_series, Column::Goodput)?.at, compare.figure(arm_series, time)?))
    };
    // In the order of the table, so that names of the best have room first.
    let shown = compare.order().into_iter().filter(|at| !compare.hidden.contains(at));
    let places: Vec<(usize, f64, Value)> = shown.filter_map(place).collect();
    let target = compare.objective_ms().unwrap_or(1000.0);
    let along = from_zero(places.iter().map(|(_, goodput, _)| *goodput).fold(1.0, f64::max), "/s");
    let dots = places.iter().map(|&(at, goodput, value)| line(compare, at, vec![(goodput, Some(value))], palette));
    let edge = Series { style: palette.faint(), mark: '-', points: edge(&places), ..Series::default() };
    let target_line = Series { name: String::new(), ..Series::level("", target, along.ends, palette) };
    let front = places.iter().position(|(at, ..)| *at == compare.at).map(|at| at + 2);
    Plot {
        title: time.name(),
        latest: format!(" over goodput/s in {}: the best is at the lower right ", scrubbed(compare.phase_name())),
        span: along.ends,
        places: vec!["0".to_owned(), text::rate(along.ends[1] / 2.0), format!("{}/s", text::rate(along.ends[1]))],
        up: decades(places.iter().map(|(.., value)| value.at), target),
        front,
        series: [edge, target_line].into_iter().chain(dots).collect(),
        names_at_ends: true,
        ..Plot::default()
    }
}

/// Arms than which none has more goodput and shorter times; a bound is ahead of nobody.
fn edge(places: &[(usize, f64, Value)]) -> Vec<(f64, Option<Value>)> {
    let known = || places.iter().filter(|(.., value)| !value.at_least);
    let is_beaten = |goodput: f64, ms: f64| {
        known().any(|(_, more, shorter)| *more >= goodput && shorter.at <= ms && (*more > goodput || shorter.at < ms))
    };
    let best = known().filter(|(_, goodput, value)| !is_beaten(*goodput, value.at));
    let mut edge: Vec<(f64, Option<Value>)> = best.map(|(_, goodput, value)| (*goodput, Some(*value))).collect();
    edge.sort_by(|a, b| a.0.total_cmp(&b.0));
    edge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edge_has_who_is_beaten_by_nobody_in_both() {
        let at = |goodput: f64, ms: f64| (0, goodput, Value::known(ms));
        let bound = (0, 99.0, Value { at: 5.0, at_least: true });
        let found = edge(&[at(80.0, 700.0), at(60.0, 800.0), at(30.0, 20.0), at(70.0, 300.0), bound]);
        assert_eq!(found.iter().map(|(goodput, _)| *goodput).collect::<Vec<_>>(), [30.0, 70.0, 80.0]);
    }
}
