//! A picture of a run over time, as SVG: one panel a quantity, one line an arm.

use std::fmt::Write as _;

use super::{
    ArmSeries, arms,
    axis::{Axis, shown},
    drawing::{GAP, PANEL, Panel, arrow, below_legend, colour, escaped, legend, opened, path, stroke, titled},
    value::{Value, arrows},
};
use crate::live::{Shape, TimelineSecond};

/// Between two arrows of a line, in units of the picture.
const ARROWS_APART: f64 = 30.0;

const PANELS: [Panel<TimelineSecond>; 3] = [
    Panel {
        title: "90th percentile of response times, seconds (dashed across: the objective; arrows: at least)",
        value: |second| Value::of(second.p90_ms, second.p90_at_least_ms).map(|value| value.map(|ms| ms / 1e3)),
        axis: Axis::decades,
        limit: |objective| Some(objective.response_time_ms / 1e3),
    },
    Panel {
        title: "goodput: answered within the objective, requests a second",
        value: |second| Some(Value::known(second.served as f64)),
        axis: Axis::linear,
        limit: |_| None,
    },
    Panel {
        title: "rejected, requests a second",
        value: |second| Some(Value::known((second.rejected + second.refused_locally) as f64)),
        axis: Axis::linear,
        limit: |_| None,
    },
];

/// The picture of one block of a run.
pub fn svg(shape: &Shape, seconds: &[TimelineSecond], block: u32) -> String {
    let first: Vec<TimelineSecond> = seconds.iter().filter(|second| second.block == block).cloned().collect();
    let arms = arms(&first);
    let top = below_legend(arms.len());
    let height = top + PANELS.len() as f64 * (PANEL + GAP) + 10.0;
    let mut out = opened(height);
    let of_blocks = if shape.blocks > 1 { format!(", block {block} of {}", shape.blocks) } else { String::new() };
    let title = format!("{}: {}{of_blocks}", shape.experiment, shape.about);
    titled(&mut out, &title);
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    legend(&mut out, &names);
    let planned: f64 = shape.phases.iter().map(|phase| phase.seconds).sum();
    let measured = first.iter().map(|second| f64::from(second.second) + 1.0).fold(0.0, f64::max);
    let across =
        Axis { from: 0.0, to: planned.max(measured).max(1.0), ticks: Vec::new(), log: false }.with_round_ticks(8.0);
    for (number, panel) in PANELS.iter().enumerate() {
        let y = top + number as f64 * (PANEL + GAP);
        draw(&mut out, panel, shape, &arms, &across, y);
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, panel: &Panel<TimelineSecond>, shape: &Shape, arms: &[ArmSeries<'_>], across: &Axis, y: f64) {
    let seconds = arms.iter().flat_map(|arm| arm.seconds.iter().copied());
    let label = |tick: f64| if tick == 0.0 { "0 s".to_owned() } else { shown(tick) };
    let frame = panel.frame(out, seconds, &shape.objective, (across, label), y);
    for (phase, begins) in shape.phases.iter().zip(std::iter::once(0.0).chain(shape.ends())) {
        let (at, bottom, name) = (frame.x(begins), y + PANEL, escaped(&phase.name));
        let _ = writeln!(out, "<path d=\"M{at:.1} {y}V{bottom}\" stroke=\"#7a7a7a\" stroke-dasharray=\"1 3\"/>");
        let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10\">{name}</text>", at + 3.0, y + 10.0);
    }
    frame.limit(out);
    for (number, arm) in arms.iter().enumerate() {
        // A value belongs to the middle of its second.
        let place = |second: &&TimelineSecond| {
            let value = (panel.value)(second);
            (frame.x(f64::from(second.second) + 0.5), value.map(|value| value.map(|at| frame.y(at))))
        };
        let places: Vec<(f64, Option<Value>)> = arm.seconds.iter().map(place).collect();
        // A second without others beside it is a dot.
        let _ = writeln!(out, "<path d=\"{}\" {}/>", path(&places, "h0.8"), stroke(number));
        let shapes: String = arrows(&places, ARROWS_APART).into_iter().map(arrow).collect();
        if !shapes.is_empty() {
            let _ = writeln!(out, "<path d=\"{shapes}\" fill=\"{}\"/>", colour(number));
        }
    }
}
