//! A picture of a run over time, as SVG: one panel a quantity, one line an arm.

use std::fmt::Write as _;

use super::{
    Course,
    axis::{Axis, shown},
    courses,
    drawing::{
        GAP, LEFT, PANEL, RIGHT, WIDTH, arrow, below_legend, colour, escaped, legend, opened, stroke, titled, up_axis,
    },
    value::{Value, arrows},
};
use crate::live::{Shape, TimelineSecond};

/// Between two arrows of a line, in units of the picture.
const ARROWS_APART: f64 = 30.0;

/// A panel: what is drawn, in which unit, and how its axis goes.
struct Panel {
    title: &'static str,
    value: fn(&TimelineSecond) -> Option<Value>,
    axis: fn(f64, f64) -> Axis,
    bound: fn(&Shape) -> Option<f64>,
}

const PANELS: [Panel; 3] = [
    Panel {
        title: "90th percentile of response times, seconds (dashed across: the objective; arrows: at least)",
        value: |second| Value::of(second.p90_ms, second.p90_at_least_ms).map(|value| value.map(|ms| ms / 1e3)),
        axis: Axis::decades,
        bound: |shape| Some(shape.objective.response_time_ms / 1e3),
    },
    Panel {
        title: "answered within the objective, requests a second",
        value: |second| Some(Value::known(second.served as f64)),
        axis: Axis::linear,
        bound: |_| None,
    },
    Panel {
        title: "refused, requests a second",
        value: |second| Some(Value::known((second.rejected + second.refused_locally) as f64)),
        axis: Axis::linear,
        bound: |_| None,
    },
];

/// The picture of one block of a run.
pub fn svg(shape: &Shape, seconds: &[TimelineSecond], block: u32) -> String {
    let first: Vec<TimelineSecond> = seconds.iter().filter(|second| second.block == block).cloned().collect();
    let courses = courses(&first);
    let top = below_legend(courses.len());
    let height = top + PANELS.len() as f64 * (PANEL + GAP) + 10.0;
    let mut out = opened(height);
    let of_blocks = if shape.blocks > 1 { format!(", block {block} of {}", shape.blocks) } else { String::new() };
    let title = format!("{}: {}{of_blocks}", shape.experiment, shape.about);
    titled(&mut out, &title);
    let names: Vec<&str> = courses.iter().map(|course| course.name.as_str()).collect();
    legend(&mut out, &names);
    let planned: f64 = shape.phases.iter().map(|phase| phase.seconds).sum();
    let measured = first.iter().map(|second| f64::from(second.second) + 1.0).fold(0.0, f64::max);
    let across =
        Axis { from: 0.0, to: planned.max(measured).max(1.0), ticks: Vec::new(), log: false }.with_round_ticks(8.0);
    for (number, panel) in PANELS.iter().enumerate() {
        let y = top + number as f64 * (PANEL + GAP);
        draw(&mut out, panel, shape, &courses, &across, y);
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, panel: &Panel, shape: &Shape, courses: &[Course<'_>], across: &Axis, y: f64) {
    let values = || {
        courses
            .iter()
            .flat_map(|course| &course.seconds)
            .filter_map(|second| (panel.value)(second))
            .map(|value| value.at)
    };
    let bound = (panel.bound)(shape);
    let least = values().chain(bound).fold(f64::INFINITY, f64::min);
    let most = values().chain(bound).fold(0.0, f64::max);
    let up = (panel.axis)(least, most);
    let x_of = |second: f64| LEFT + across.at(second) * (WIDTH - LEFT - RIGHT);
    let y_of = |value: f64| y + PANEL - up.at(value) * PANEL;
    let right = WIDTH - RIGHT;
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">{}</text>", y - 8.0, panel.title);
    up_axis(out, &up, y);
    for &tick in &across.ticks {
        let at = x_of(tick);
        let label = if tick == 0.0 { "0 s".to_owned() } else { shown(tick) };
        let below = y + PANEL + 15.0;
        let _ = writeln!(out, "<text x=\"{at:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{label}</text>");
    }
    let mut begins = 0.0;
    for phase in &shape.phases {
        let at = x_of(begins);
        let bottom = y + PANEL;
        let _ = writeln!(out, "<path d=\"M{at:.1} {y}V{bottom}\" stroke=\"#7a7a7a\" stroke-dasharray=\"1 3\"/>");
        let name = escaped(&phase.name);
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\">{name}</text>", at + 3.0, y + 10.0);
        begins += phase.seconds;
    }
    if let Some(bound) = bound {
        let at = y_of(bound);
        let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#7a7a7a\" stroke-dasharray=\"6 4\"/>");
    }
    for (number, course) in courses.iter().enumerate() {
        // A value belongs to the middle of its second.
        let point = |second: &&TimelineSecond| {
            let (x, value) = (x_of(f64::from(second.second) + 0.5), (panel.value)(second));
            (x, value.map(|value| value.map(y_of)))
        };
        let points: Vec<(f64, Option<Value>)> = course.seconds.iter().map(point).collect();
        let _ = writeln!(out, "<path d=\"{}\" {}/>", line(&points), stroke(number));
        let shapes: String = arrows(&points, ARROWS_APART).into_iter().map(arrow).collect();
        if !shapes.is_empty() {
            let _ = writeln!(out, "<path d=\"{shapes}\" fill=\"{}\"/>", colour(number));
        }
    }
}

/// Where there is no value, the line has a gap; a lone point is a short dash.
fn line(points: &[(f64, Option<Value>)]) -> String {
    let mut path = String::new();
    let mut drawing = false;
    for (x, value) in points {
        let Some(Value { at: y, .. }) = value else {
            drawing = false;
            continue;
        };
        let _ = match drawing {
            true => write!(path, "L{x:.1} {y:.1}"),
            false => write!(path, "M{x:.1} {y:.1}h0.8"),
        };
        drawing = true;
    }
    path
}
