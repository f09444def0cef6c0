//! Goodput, response time and rejects over the planned load, where a run has curves.

use maud::{Markup, html};

use super::drawn::Drawn;
use crate::{
    chart::{Against, Chart, ChartAxis, ChartLine, ChartPanel, Scale},
    report::html::{figures::figures, markup::wide},
    series::value::Value,
    summary::{Curve, CurvePoint, PlannedLoad},
    text::{known_or_at_least, percent, rate, table::Table, time},
};

/// Reads a value of a point.
type Read = fn(&CurvePoint) -> Option<Value>;

pub(super) fn pictures(drawn: &Drawn<'_>) -> Markup {
    let found = &drawn.run.summary.curves;
    html! {
        @if !found.is_empty() {
            h3 id="load" { "Over the load" }
            p.small { "A point a phase, medians over blocks. Lines join what was measured; nothing was measured between the points." }
            (figures(&chart(drawn)))
            (points(found, unit(drawn)))
        }
    }
}

fn unit(drawn: &Drawn<'_>) -> &'static str {
    let mut phases = drawn.run.summary.arms.iter().flat_map(|arm| &arm.phases);
    phases.find_map(|phase| phase.measures.load).map_or("load", PlannedLoad::unit)
}

/// All of it as one chart.
pub(super) fn chart(drawn: &Drawn<'_>) -> Chart {
    let found = &drawn.run.summary.curves;
    let panel = |title: &str, unit: &str, read: Read, value| {
        let line = |curve: &Curve| ChartLine {
            name: curve.arm.clone(),
            colour: drawn.arms.iter().position(|arm| *arm == curve.arm).or(Some(0)),
            points: curve.points.iter().map(|point| (point.planned, read(point))).collect(),
            ..ChartLine::default()
        };
        let lines = found.iter().map(line).collect();
        ChartPanel { title: title.to_owned(), unit: unit.to_owned(), lines, value, ..ChartPanel::default() }
    };
    let p99: Read = |point| Value::of(point.p99_ms, point.p99_at_least_ms).map(|value| value.map(|ms| ms / 1e3));
    let objective = drawn.run.summary.objective.response_time_ms / 1e3;
    let (unit, most) = (unit(drawn), most(drawn));
    let goodput: Read = |point| Some(Value::known(point.goodput_per_s));
    let goodput = panel("Goodput", "requests/s", goodput, |value| format!("{}/s", rate(value)));
    let times = panel("Response time, p99", "seconds, log scale", p99, |seconds| time(seconds * 1e3));
    let rejected: Read = |point| Some(Value::known(point.reject_fraction));
    Chart {
        across: ChartAxis {
            title: format!("planned load, {unit}"),
            scale: Scale::Linear([0.0, most]),
            ..ChartAxis::default()
        },
        panels: vec![
            ChartPanel { against: served(drawn, unit), ..goodput },
            ChartPanel { log: true, against: vec![Against::level("objective", objective)], ..times },
            panel("Rejected", "share of what was sent", rejected, percent),
        ],
        ..Chart::default()
    }
}

/// The highest planned load.
fn most(drawn: &Drawn<'_>) -> f64 {
    drawn.run.summary.curves.iter().flat_map(|curve| &curve.points).map(|point| point.planned).fold(0.0, f64::max)
}

/// Requests that could have been served at each load, where loads are requests and the capacity is known.
fn served(drawn: &Drawn<'_>, unit: &str) -> Vec<Against> {
    let Some(at) = drawn.capacity else { return Vec::new() };
    let level = Against::level("capacity", at);
    if unit != PlannedLoad::RequestsPerS(0.0).unit() {
        return vec![level];
    }
    let most = most(drawn);
    let name = "what could be served: the load, up to the capacity".to_owned();
    let points = vec![(0.0, 0.0), (at.min(most), at.min(most)), (most, at.min(most))];
    vec![Against { name, area: true, points }, level]
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
