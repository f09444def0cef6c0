//! Figures: over time, and over the load.

use maud::{Markup, html};

use super::{
    chart::{Chart, Line, Stretch},
    wide,
};
use crate::{
    live::TimelineSecond,
    report::RunFiles,
    series::value::Value,
    summary::{Curve, CurvePoint, PlannedLoad},
    text::{known_or_at_least, percent, rate, table::Table, time},
};

/// Points of a line over time: more of them are joined to one.
const POINTS: u32 = 600;

/// One quantity over time: how it is read from a second, and whether the worst or the mean of several stands for them.
struct Quantity {
    title: &'static str,
    read: fn(&TimelineSecond) -> Option<Value>,
    worst: bool,
    log: bool,
    value: fn(f64) -> String,
}

const QUANTITIES: [Quantity; 4] = [
    Quantity {
        title: "90th percentile of response times of each second, in seconds (dashed across: the objective; arrows: at least)",
        read: |second| Value::of(second.p90_ms, second.p90_at_least_ms).map(|value| value.map(|ms| ms / 1e3)),
        worst: true,
        log: true,
        value: |seconds| time(seconds * 1e3),
    },
    Quantity {
        title: "Answered within the objective, requests a second",
        read: |second| Some(Value::known(second.served as f64)),
        worst: false,
        log: false,
        value: rate,
    },
    Quantity {
        title: "Refused, requests a second",
        read: |second| Some(Value::known((second.rejected + second.refused_locally) as f64)),
        worst: false,
        log: false,
        value: rate,
    },
    Quantity {
        title: "Given up: timed out, abandoned, failed or without a connection, requests a second",
        read: |second| {
            let all = second.timed_out + second.abandoned + second.failed + second.connect_failed;
            Some(Value::known(all as f64))
        },
        worst: false,
        log: false,
        value: rate,
    },
];

/// One block over time.
pub fn time_lines(run: &RunFiles) -> Markup {
    let block = run.drawn_block();
    let first: Vec<&TimelineSecond> = run.timeline.iter().filter(|second| second.block == block).collect();
    let Some(last) = first.iter().map(|second| second.second).max() else { return html! {} };
    let step = last / POINTS + 1;
    let mut begins = 0.0;
    let mut stretches = Vec::new();
    for phase in run.shape().map_or(&[][..], |shape| &shape.phases) {
        stretches.push(Stretch { name: phase.name.clone(), from: begins, to: begins + phase.seconds });
        begins += phase.seconds;
    }
    let objective = run.summary.objective.response_time_ms / 1e3;
    html! {
        section id="time" {
            h2 { "Over time" }
            p.small {
                @if run.several_blocks() { "Block " (block) " of several" } @else { "The only block" }
                ". Rest the pointer on a figure for its values."
                @if step > 1 { " A point is " (step) " seconds: the worst of their percentiles, the mean of their counts." }
            }
            @for quantity in &QUANTITIES {
                (Chart {
                    title: quantity.title,
                    across: "s",
                    log: quantity.log,
                    marks: false,
                    bound: quantity.log.then_some(objective),
                    stretches: stretches.clone(),
                    lines: lines(&first, quantity, step),
                    value: quantity.value,
                }.drawn())
            }
        }
    }
}

fn lines(seconds: &[&TimelineSecond], quantity: &Quantity, step: u32) -> Vec<Line> {
    let mut lines: Vec<(Line, Vec<Value>, u32)> = Vec::new();
    for second in seconds {
        let at = second.second / step;
        if !lines.iter().any(|(line, ..)| line.name == second.arm) {
            lines.push((Line { name: second.arm.clone(), points: Vec::new() }, Vec::new(), at));
        }
        let Some((line, values, now)) = lines.iter_mut().find(|(line, ..)| line.name == second.arm) else { continue };
        if *now != at {
            line.points.push((middle(*now, step), joined(values, quantity)));
            values.clear();
            *now = at;
        }
        values.extend((quantity.read)(second));
    }
    let end = |(mut line, values, now): (Line, Vec<Value>, u32)| {
        line.points.push((middle(now, step), joined(&values, quantity)));
        line
    };
    lines.into_iter().map(end).collect()
}

fn middle(at: u32, step: u32) -> f64 {
    (f64::from(at) + 0.5) * f64::from(step)
}

fn joined(values: &[Value], quantity: &Quantity) -> Option<Value> {
    let mean = values.iter().map(|value| value.at).sum::<f64>() / values.len() as f64;
    let worst = Value::worst(values)?;
    Some(if quantity.worst { worst } else { Value::known(mean) })
}

/// Goodput, response time and refusals over the planned load, where the run has curves.
pub fn curves(run: &RunFiles) -> Markup {
    let found = &run.summary.curves;
    if found.is_empty() {
        return html! {};
    }
    let phases = run.summary.arms.iter().flat_map(|arm| &arm.phases);
    let unit = phases.filter_map(|phase| phase.measures.load).next().map_or("load", PlannedLoad::unit);
    let line = |curve: &Curve, read: fn(&CurvePoint) -> Option<Value>| Line {
        name: curve.arm.clone(),
        points: curve.points.iter().map(|point| (point.planned, read(point))).collect(),
    };
    type Figure = (&'static str, fn(&CurvePoint) -> Option<Value>, bool, fn(f64) -> String);
    let figures: [Figure; 3] = [
        (
            "Goodput, requests a second answered within the objective",
            |point| Some(Value::known(point.goodput_per_s)),
            false,
            rate,
        ),
        (
            "99th percentile of response times, in seconds (arrows: at least)",
            |point| Value::of(point.p99_ms, point.p99_at_least_ms).map(|value| value.map(|ms| ms / 1e3)),
            true,
            |seconds| time(seconds * 1e3),
        ),
        ("Share of requests refused", |point| Some(Value::known(point.reject_fraction)), false, percent),
    ];
    html! {
        section id="load" {
            h2 { "Over the load" }
            p.small { "A point a phase, medians over blocks. Lines join what was measured; nothing was measured between the points." }
            @for (title, read, log, value) in figures {
                (Chart {
                    title, across: unit, log, marks: true, bound: None, stretches: Vec::new(),
                    lines: found.iter().map(|curve| line(curve, read)).collect(), value,
                }.drawn())
            }
            (points(found, unit))
        }
    }
}

/// The same in numbers.
fn points(curves: &[Curve], unit: &str) -> Markup {
    let figures = ["offered/s", "in time/s", "lowest to highest", "p99", "rejected", "blocks"];
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
    wide("Over the planned load, medians over blocks; goodput with its lowest and its highest", &table)
}
