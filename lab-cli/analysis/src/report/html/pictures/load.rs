//! Goodput, response time and rejects over the planned load, where a run has curves.

use maud::{Markup, html};

use super::drawn::Drawn;
use crate::{
    report::html::{
        chart::{Against, Chart, Line},
        layout::XAxis,
        markup::wide,
    },
    series::value::Value,
    summary::{Curve, CurvePoint, PlannedLoad},
    text::{known_or_at_least, percent, rate, table::Table, time},
};

/// Reads a value of a point.
type Read = fn(&CurvePoint) -> Option<Value>;

pub(super) fn pictures(drawn: &Drawn<'_>) -> Markup {
    let found = &drawn.run.summary.curves;
    if found.is_empty() {
        return html! {};
    }
    let phases = drawn.run.summary.arms.iter().flat_map(|arm| &arm.phases);
    let unit = phases.filter_map(|phase| phase.measures.load).next().map_or("load", PlannedLoad::unit);
    let lines = |read: Read| -> Vec<Line> {
        let line = |curve: &Curve| Line {
            name: curve.arm.clone(),
            arm: drawn.arms.iter().position(|arm| *arm == curve.arm).unwrap_or(0),
            points: curve.points.iter().map(|point| (point.planned, read(point))).collect(),
        };
        found.iter().map(line).collect()
    };
    let chart = |title, label, log, against, read: Read, value| {
        let across = XAxis::named(&format!("planned load, {unit}"));
        Chart { title, unit: label, across, log, marks: true, against, bands: Vec::new(), lines: lines(read), value }
            .drawn()
    };
    let goodput: Read = |point| Some(Value::known(point.goodput_per_s));
    let p99: Read = |point| Value::of(point.p99_ms, point.p99_at_least_ms).map(|value| value.map(|ms| ms / 1e3));
    let rejected: Read = |point| Some(Value::known(point.reject_fraction));
    let objective = drawn.run.summary.objective.response_time_ms / 1e3;
    let objective = vec![Against::Level { name: "objective".to_owned(), at: objective }];
    html! {
        h3 id="load" { "Over the load" }
        p.small { "A point a phase, medians over blocks. Lines join what was measured; nothing was measured between the points." }
        (chart("Goodput", "requests/s", false, served(drawn, unit), goodput, |value| format!("{}/s", rate(value))))
        (chart("Response time, p99", "seconds, log scale", true, objective, p99, |seconds| time(seconds * 1e3)))
        (chart("Rejected", "share of what was sent", false, Vec::new(), rejected, percent))
        (points(found, unit))
    }
}

/// Requests that could have been served at each load, where loads are requests and the capacity is known.
fn served(drawn: &Drawn<'_>, unit: &str) -> Vec<Against> {
    let Some(at) = drawn.capacity else { return Vec::new() };
    let planned = drawn.run.summary.curves.iter().flat_map(|curve| &curve.points).map(|point| point.planned);
    let level = Against::Level { name: "capacity".to_owned(), at };
    if unit != PlannedLoad::RequestsPerS(0.0).unit() {
        return vec![level];
    }
    let most = planned.fold(0.0, f64::max);
    let name = "what could be served: the load, up to the capacity".to_owned();
    vec![Against::Area { name, points: vec![(0.0, 0.0), (at.min(most), at.min(most)), (most, at.min(most))] }, level]
}

/// The same in numbers.
fn points(curves: &[Curve], unit: &str) -> Markup {
    let figures = ["offered/s", "goodput/s", "lowest to highest", "p99", "rejected", "blocks"];
    let mut table = Table::new(&[&["arm", "phase", unit], &figures[..]].concat(), 2..);
    for curve in curves {
        for point in &curve.points {
            let [lowest, highest] = point.goodput_range.map(rate);
            table.row([
                curve.arm.clone(),
                point.phase.clone(),
                rate(point.planned),
                rate(point.offered_per_s),
                rate(point.goodput_per_s),
                format!("{lowest} to {highest}"),
                known_or_at_least(point.p99_ms, point.p99_at_least_ms),
                percent(point.reject_fraction),
                point.blocks.to_string(),
            ]);
        }
    }
    html! {
        details {
            summary { "As a table" }
            (wide("Over the planned load, medians over blocks; goodput with its lowest and its highest", &table))
        }
    }
}
