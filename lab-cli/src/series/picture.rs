//! A picture of a run over time, as SVG: one panel a quantity, one line an arm.
//!
//! Written by hand: three panels with axes are less than what a library for charts brings along. It has no background, and
//! its colours are of middle lightness, so that it can be read on white and on black. Beside its colour each arm has a dash.

use std::fmt::Write as _;

use super::{
    Course,
    axis::{Axis, shown},
    courses,
};
use crate::{
    live::{Second, Shape},
    text::scrubbed,
};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const PANEL: f64 = 170.0;
const GAP: f64 = 46.0;
const LEGEND_ROW: f64 = 18.0;
/// Arms in a row of the legend.
const LEGEND_COLUMNS: usize = 4;

/// Line colours (over 3 to 1 against white and against black, WCAG 1.4.11) and dashes, used again from the front.
const COLOURS: [&str; 6] = ["#1f82d2", "#cf6a12", "#2c9a5b", "#a960c4", "#d0494f", "#808a14"];
const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];

/// A panel: what is drawn, in which unit, and how its axis goes.
struct Panel {
    title: &'static str,
    value: fn(&Second) -> Option<f64>,
    axis: fn(f64, f64) -> Axis,
    bound: fn(&Shape) -> Option<f64>,
}

const PANELS: [Panel; 3] = [
    Panel {
        title: "90th percentile of response times, seconds (dashed across: the objective)",
        value: |second| second.p90_ms.map(|ms| ms / 1e3),
        axis: Axis::decades,
        bound: |shape| Some(shape.objective.response_time_ms / 1e3),
    },
    Panel {
        title: "answered within the objective, requests a second",
        value: |second| Some(second.served as f64),
        axis: Axis::linear,
        bound: |_| None,
    },
    Panel {
        title: "refused, requests a second",
        value: |second| Some((second.rejected + second.refused_locally) as f64),
        axis: Axis::linear,
        bound: |_| None,
    },
];

/// The picture of a run's first block.
pub fn svg(shape: &Shape, seconds: &[Second]) -> String {
    let first: Vec<Second> = seconds.iter().filter(|second| second.block <= 1).cloned().collect();
    let courses = courses(&first);
    let legend_rows = courses.len().div_ceil(LEGEND_COLUMNS);
    let top = 54.0 + legend_rows as f64 * LEGEND_ROW;
    let height = top + PANELS.len() as f64 * (PANEL + GAP) + 10.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#7a7a7a\">\n"
    );
    let of_blocks = if shape.blocks > 1 { format!(", block 1 of {}", shape.blocks) } else { String::new() };
    let title = format!("{}: {}{of_blocks}", shape.experiment, shape.about);
    let _ = writeln!(out, "<title>{}</title>", escaped(&title));
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>", escaped(&title));
    legend(&mut out, &courses);
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

fn legend(out: &mut String, courses: &[Course<'_>]) {
    let wide = (WIDTH - LEFT - RIGHT) / LEGEND_COLUMNS as f64;
    for (number, course) in courses.iter().enumerate() {
        let x = LEFT + (number % LEGEND_COLUMNS) as f64 * wide;
        let y = 40.0 + (number / LEGEND_COLUMNS) as f64 * LEGEND_ROW;
        let _ = writeln!(out, "<path d=\"M{x} {y}h28\" {}/>", stroke(number));
        let _ = writeln!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 34.0, y + 4.0, escaped(&course.name));
    }
}

fn stroke(arm: usize) -> String {
    let (colour, dash) = (COLOURS[arm % COLOURS.len()], DASHES[arm % DASHES.len()]);
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" stroke-dasharray=\"{dash}\"")
}

fn draw(out: &mut String, panel: &Panel, shape: &Shape, courses: &[Course<'_>], across: &Axis, y: f64) {
    let values = || courses.iter().flat_map(|course| &course.seconds).filter_map(|second| (panel.value)(second));
    let bound = (panel.bound)(shape);
    let least = values().chain(bound).fold(f64::INFINITY, f64::min);
    let most = values().chain(bound).fold(0.0, f64::max);
    let up = (panel.axis)(least, most);
    let x_of = |second: f64| LEFT + across.at(second) * (WIDTH - LEFT - RIGHT);
    let y_of = |value: f64| y + PANEL - up.at(value) * PANEL;
    let right = WIDTH - RIGHT;
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{}\">{}</text>", y - 8.0, panel.title);
    for &tick in &up.ticks {
        let at = y_of(tick);
        let _ = writeln!(out, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#7a7a7a\" stroke-opacity=\"0.3\"/>");
        let label = shown(tick);
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 6.0, at + 4.0);
    }
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
        let path = line(course, panel.value, x_of, y_of);
        let _ = writeln!(out, "<path d=\"{path}\" {}/>", stroke(number));
    }
}

/// A value belongs to the middle of its second. Where there is none, the line has a gap; a lone point is a short dash.
fn line(
    course: &Course<'_>,
    value: fn(&Second) -> Option<f64>,
    x_of: impl Fn(f64) -> f64,
    y_of: impl Fn(f64) -> f64,
) -> String {
    let mut path = String::new();
    let mut drawing = false;
    for second in &course.seconds {
        let Some(value) = value(second) else {
            drawing = false;
            continue;
        };
        let (x, y) = (x_of(f64::from(second.second) + 0.5), y_of(value));
        let _ = match drawing {
            true => write!(path, "L{x:.1} {y:.1}"),
            false => write!(path, "M{x:.1} {y:.1}h0.8"),
        };
        drawing = true;
    }
    path
}

fn escaped(text: &str) -> String {
    scrubbed(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
