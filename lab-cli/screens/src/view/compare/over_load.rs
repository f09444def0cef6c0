//! The figure under the cursor over the load: a point a phase, a line an arm. What a single load hides.

use analysis::{chart::Point, series::value::Value, summary::CurvePoint, text};

use super::{
    super::plot::{Plot, axis_of},
    over_time::line,
};
use crate::{Palette, app::Compare, column::Column};

pub(super) fn plot(compare: &Compare, palette: Palette) -> Plot<'static> {
    // Curves have goodput, rejects and a percentile.
    let column = match compare.column() {
        column @ (Column::Goodput | Column::Rejected | Column::P99) => column,
        Column::P50 | Column::P90 | Column::BelievedP90 => Column::P99,
        _ => Column::Goodput,
    };
    let value = |point: &CurvePoint| match column {
        Column::P99 => Value::of(point.p99_ms, point.p99_at_least_ms),
        Column::Rejected => Some(Value::known(100.0 * point.reject_fraction)),
        _ => Some(Value::known(point.goodput_per_s)),
    };
    let curves = compare.all_series.iter().enumerate().filter(|(n, _)| !compare.hidden.contains(n)).filter_map(
        |(n, arm_series)| {
            let curves = &compare.runs[arm_series.run].summary.curves;
            Some((n, curves.iter().find(|curve| curve.arm == compare.arm_name(*arm_series))?))
        },
    );
    let curves: Vec<_> = curves.collect();
    let points = || curves.iter().flat_map(|(_, curve)| &curve.points);
    let target = compare.objective_ms().unwrap_or(1000.0);
    let up = axis_of(column, points().filter_map(value).map(|value| value.at), target);
    let most = points().map(|point| point.planned).fold(1.0, f64::max);
    let front = curves.iter().position(|(n, ..)| *n == compare.at);
    let series = curves.iter().map(|(n, curve)| {
        let mut points: Vec<Point> = curve.points.iter().map(|point| (point.planned, value(point))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        line(compare, *n, points, palette)
    });
    Plot {
        title: column.name(),
        latest: " over the planned load ".to_owned(),
        span: [0.0, most],
        places: vec!["0".to_owned(), text::rate(most / 2.0), text::rate(most)],
        up,
        front,
        series: series.collect(),
        names_at_ends: true,
        ..Plot::default()
    }
}
