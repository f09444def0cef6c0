//! Pauses on the way under the cursor, and after its page on all ways: the shortest on the left, the longest on the right.

use analysis::{series::value::Value, text};
use ratatui::prelude::*;
use traces::inspect::PausesOf;

use super::super::{
    plot::{Plot, Series, decades},
    widgets::{nothing, titled},
};
use crate::{Palette, app::Trace};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let way = trace.way();
    let page = way.and_then(|(from, _)| trace.pauses(from, None));
    let Some(page) = page else {
        let after = way.map_or_else(String::new, |(from, _)| format!(" after {from}"));
        let text = format!("no pause{after} is known");
        return nothing(frame, area, titled(" [4] pauses ", palette), &text, palette);
    };
    let own = way.and_then(|(from, to)| trace.pauses(from, Some(to)));
    let mut series = vec![curve(page, format!("{}, any next", page.from), palette, 0)];
    if let (Some(own), Some((from, to))) = (own, way) {
        series.push(curve(own, format!("{from} > {to}"), palette, 1));
    }
    let shown = own.unwrap_or(page);
    let ms = |micros: u64| micros as f64 / 1000.0;
    let values = [Some(page), own].into_iter().flatten().flat_map(|by| &by.curve).map(|&micros| ms(micros));
    let up = decades(values, ms(shown.pauses.p50).max(0.1));
    let time = |micros: u64| text::time(ms(micros));
    let plot = Plot {
        key: "[4]",
        title: "pauses:",
        latest: format!(" p50 {}  p90 {}  of {} ", time(shown.pauses.p50), time(shown.pauses.p90), shown.pauses.count),
        span: [0.0, 100.0],
        unit: "% of them",
        up,
        series,
        ..Plot::default()
    };
    plot.draw(frame, area, palette);
}

/// Up to where each part of them reaches.
fn curve(by: &PausesOf, name: String, palette: Palette, n: usize) -> Series {
    let (style, mark) = palette.line(n);
    let share = 100.0 / by.curve.len().max(1) as f64;
    let point = |(at, &micros): (usize, &u64)| ((at as f64 + 0.5) * share, Some(Value::known(micros as f64 / 1000.0)));
    Series { name, style, mark, points: by.curve.iter().enumerate().map(point).collect(), ..Series::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::model::fitted::Quantiles;

    #[test]
    fn the_shortest_pause_stands_on_the_left_and_each_part_has_its_width() {
        let pauses = Quantiles { count: 2, mean: 5.5e6, min: 1, p50: 1, p90: 1, p99: 1, max: 1 };
        let by = PausesOf { from: "login".to_owned(), to: None, pauses, curve: vec![1_000_000, 10_000_000] };
        assert_eq!(
            curve(&by, String::new(), Palette::Plain, 0).points,
            [(25.0, 1e3), (75.0, 1e4)].map(|(x, y)| (x, Some(Value::known(y))))
        );
    }
}
