//! A picture of figures over the load, as SVG: one panel a figure, one line an arm. What a single load hides.

use std::fmt::Write as _;

use super::{
    axis::{Axis, shown},
    drawing::{
        GAP, LEFT, PANEL, Panel, RIGHT, WIDTH, arrow, below_legend, colour, escaped, legend, opened, path, stroke,
        titled,
    },
    value::Value,
};
use crate::{
    summary::{Curve, CurvePoint, LatencyObjective, RunSummary},
    text,
};

const PANELS: [Panel<CurvePoint>; 3] = [
    Panel {
        title: "goodput: answered within the objective, requests a second",
        value: |point| Some(Value::known(point.goodput_per_s)),
        axis: Axis::linear,
        limit: |_| None,
    },
    Panel {
        title: "99th percentile of response times, seconds (dashed across: the objective; an arrow: at least)",
        value: |point| Value::of(point.p99_ms, point.p99_at_least_ms).map(|value| value.map(|ms| ms / 1e3)),
        axis: Axis::decades,
        limit: |objective| Some(objective.response_time_ms / 1e3),
    },
    Panel {
        title: "rejected, share of what was sent",
        value: |point| Some(Value::known(point.reject_fraction)),
        axis: |_, _| Axis::linear(0.0, 1.0),
        limit: |_| None,
    },
];

/// The picture of a run's curves; `None` if it has none (fewer than three loads).
pub fn curves_svg(summary: &RunSummary) -> Option<String> {
    let curves = &summary.curves[..];
    let first = curves.first()?;
    let top = below_legend(curves.len());
    let height = top + PANELS.len() as f64 * (PANEL + GAP) + 24.0;
    let mut out = opened(height);
    let blocks = curves.iter().flat_map(|curve| &curve.points).map(|point| point.blocks).max().unwrap_or(1);
    let of_blocks = if blocks > 1 { format!(", medians of {blocks} blocks") } else { String::new() };
    titled(&mut out, &format!("{}: figures over the load{of_blocks}", summary.experiment));
    legend(&mut out, &curves.iter().map(|curve| curve.arm.as_str()).collect::<Vec<_>>());
    let unit = unit_of(summary, first);
    let most = curves.iter().flat_map(|curve| &curve.points).map(|point| point.planned).fold(0.0, f64::max);
    let across = Axis::linear(0.0, most).with_round_ticks(8.0);
    for (number, panel) in PANELS.iter().enumerate() {
        let y = top + number as f64 * (PANEL + GAP);
        draw(&mut out, panel, &summary.objective, curves, &across, y);
    }
    let under = height - 8.0;
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{under}\" text-anchor=\"middle\">planned load, {unit}</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT)
    );
    out.push_str("</svg>\n");
    Some(out)
}

/// `requests/s`: all points of a curve have the same.
fn unit_of(summary: &RunSummary, curve: &Curve) -> &'static str {
    let named = curve.points.first().map(|point| point.phase.as_str());
    let mut phases = summary.arms.iter().flat_map(|arm| &arm.phases);
    let phase = phases.find(|phase| Some(phase.name.as_str()) == named);
    phase.and_then(|phase| phase.measures.load).map_or("", crate::summary::PlannedLoad::unit)
}

fn draw(
    out: &mut String,
    panel: &Panel<CurvePoint>,
    objective: &LatencyObjective,
    curves: &[Curve],
    across: &Axis,
    y: f64,
) {
    let points = curves.iter().flat_map(|curve| &curve.points);
    let frame = panel.frame(out, points, objective, (across, shown), y);
    frame.limit(out);
    for (number, curve) in curves.iter().enumerate() {
        let place = |point: &CurvePoint| {
            (frame.x(point.planned), (panel.value)(point).map(|value| value.map(|at| frame.y(at))))
        };
        let places: Vec<_> = curve.points.iter().map(place).collect();
        let _ = writeln!(out, "<path d=\"{}\" {}/>", path(&places, ""), stroke(number));
        for (point, (x, value)) in curve.points.iter().zip(places) {
            value.into_iter().for_each(|value| mark(out, curve, point, (x, value), colour(number)));
        }
    }
}

/// A dot, or an arrow upwards for a bound, with its numbers for who points at it.
fn mark(out: &mut String, curve: &Curve, point: &CurvePoint, (x, value): (f64, Value), colour: &str) {
    let p99 = text::known_or_at_least(point.p99_ms, point.p99_at_least_ms);
    let says = format!(
        "{}, {}: goodput {}/s, p99 {p99}, {} rejected",
        curve.arm,
        point.phase,
        text::rate(point.goodput_per_s),
        text::percent(point.reject_fraction)
    );
    let y = value.at;
    let shape =
        if value.at_least { arrow((x, y)) } else { format!("M{:.1} {y:.1}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", x - 3.0) };
    let _ = writeln!(out, "<path d=\"{shape}\" fill=\"{colour}\"><title>{}</title></path>", escaped(&says));
}
