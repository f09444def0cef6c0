//! Requests and sessions a second, over the trace.

use std::time::Duration;

use analysis::{series::value::Value, text};
use ratatui::prelude::*;
use traces::model::fitted::Arrivals;

use super::super::plot::{Plot, Series, from_zero};
use crate::{Palette, app::Trace};

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, trace: &Trace, palette: Palette) {
    let seen = &trace.seen;
    let (unit, seconds) = unit(seen.length);
    let series = |name: &str, style, mark, arrivals: &Arrivals| Series {
        name: name.to_owned(),
        style,
        mark,
        points: rates(arrivals, seen.length)
            .into_iter()
            .map(|(at, rate)| (at / seconds, Some(Value::known(rate))))
            .collect(),
        ..Series::default()
    };
    let series = vec![
        series("requests", palette.offered(), '.', &seen.requests),
        series("sessions that began", palette.good(), '+', &seen.arrivals),
    ];
    let top =
        series.iter().flat_map(|series| &series.points).filter_map(|(_, rate)| Some((*rate)?.at)).fold(0.0, f64::max);
    let top = if top > 0.0 { top * 1.05 } else { 1.0 };
    let up = from_zero(top, "/s");
    let plot = Plot {
        key: "[1]",
        title: "over time:",
        latest: format!(" {}/s, {}/s ", text::rate(seen.requests.per_second), text::rate(seen.arrivals.per_second)),
        span: [0.0, (seen.length.as_secs_f64() / seconds).max(f64::MIN_POSITIVE)],
        unit,
        up,
        series,
        ..Plot::default()
    };
    plot.draw(frame, area, palette);
}

/// The unit for a time of this length, and its seconds.
fn unit(length: Duration) -> (&'static str, f64) {
    match length.as_secs() {
        0..600 => ("s", 1.0),
        600..18_000 => ("min", 60.0),
        18_000..432_000 => ("h", 3600.0),
        _ => ("days", 86_400.0),
    }
}

/// The middle of each bin in seconds, and its rate. A last bin that is not over says nothing, unless it is the only one.
fn rates(arrivals: &Arrivals, length: Duration) -> Vec<(f64, f64)> {
    let width = arrivals.bin.as_secs_f64();
    let whole = ((length.as_secs_f64() / width) as usize).max(1);
    let rate = |(at, &count): (usize, &u64)| ((at as f64 + 0.5) * width, count as f64 / width);
    arrivals.bins.iter().enumerate().take(whole).map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_that_is_not_over_is_left_out() {
        let bins = |bins: &[u64]| Arrivals {
            per_second: 1.0,
            bin: Duration::from_secs(2),
            bins: bins.to_vec(),
            dispersion: None,
            p: None,
        };
        assert_eq!(rates(&bins(&[4, 8, 1]), Duration::from_secs(5)), [(1.0, 2.0), (3.0, 4.0)]);
        assert_eq!(rates(&bins(&[4]), Duration::from_secs(1)), [(1.0, 2.0)]);
    }

    #[test]
    fn long_traces_are_told_in_longer_units() {
        let of = |seconds| unit(Duration::from_secs(seconds)).0;
        assert_eq!([of(90), of(3600), of(86_400), of(864_000)], ["s", "min", "h", "days"]);
    }
}
