//! Figures: over time, and over the offered load.

use maud::{Markup, html};

use super::chart::{Chart, Line};
use crate::{
    live::Second,
    report::Whole,
    summary::{Arm, Phase},
    text::{percent, rate, time},
};

/// Points of a line over time: more of them are joined to one.
const POINTS: u32 = 600;
/// A sweep has at least so many loads.
const LOADS: usize = 3;

/// One quantity over time: how it is read from a second, and whether the worst or the mean of several stands for them.
struct Quantity {
    title: &'static str,
    read: fn(&Second) -> Option<f64>,
    worst: bool,
    log: bool,
    value: fn(f64) -> String,
}

const QUANTITIES: [Quantity; 4] = [
    Quantity {
        title: "90th percentile of response times of each second, in seconds (dashed across: the objective)",
        read: |second| second.p90_ms.map(|ms| ms / 1e3),
        worst: true,
        log: true,
        value: |seconds| time(seconds * 1e3),
    },
    Quantity {
        title: "Answered within the objective, requests a second",
        read: |second| Some(second.served as f64),
        worst: false,
        log: false,
        value: rate,
    },
    Quantity {
        title: "Refused, requests a second",
        read: |second| Some((second.rejected + second.refused_locally) as f64),
        worst: false,
        log: false,
        value: rate,
    },
    Quantity {
        title: "Given up: timed out, abandoned, failed or without a connection, requests a second",
        read: |second| Some((second.timed_out + second.abandoned + second.failed + second.connect_failed) as f64),
        worst: false,
        log: false,
        value: rate,
    },
];

/// The first block over time.
pub fn time_lines(run: &Whole) -> Markup {
    let first: Vec<&Second> = run.timeline.iter().filter(|second| second.block <= 1).collect();
    let Some(last) = first.iter().map(|second| second.second).max() else { return html! {} };
    let step = last / POINTS + 1;
    let mut begins = 0.0;
    let mut stretches = Vec::new();
    for phase in run.shape().map_or(&[][..], |shape| &shape.phases) {
        stretches.push((phase.name.clone(), begins));
        begins += phase.seconds;
    }
    let objective = run.summary.objective.response_time_ms / 1e3;
    html! {
        section id="time" {
            h2 { "Over time" }
            p.small {
                "The first block"
                @if run.several_blocks() { " of several" }
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

fn lines(seconds: &[&Second], quantity: &Quantity, step: u32) -> Vec<Line> {
    let mut lines: Vec<(Line, Vec<f64>, u32)> = Vec::new();
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
    let end = |(mut line, values, now): (Line, Vec<f64>, u32)| {
        line.points.push((middle(now, step), joined(&values, quantity)));
        line
    };
    lines.into_iter().map(end).collect()
}

fn middle(at: u32, step: u32) -> f64 {
    (f64::from(at) + 0.5) * f64::from(step)
}

fn joined(values: &[f64], quantity: &Quantity) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(if quantity.worst { most } else { values.iter().sum::<f64>() / values.len() as f64 })
}

/// Goodput, response time and refusals against what was offered, where phases differ in it: a load sweep.
pub fn sweep(run: &Whole) -> Markup {
    let mut arms: Vec<&Arm> = Vec::new();
    for arm in run.summary.arms.iter().filter(|arm| !arm.bound) {
        if !arms.iter().any(|known| known.shown_name() == arm.shown_name()) {
            arms.push(arm);
        }
    }
    if !arms.iter().any(|arm| is_sweep(arm)) {
        return html! {};
    }
    let line = |arm: &&Arm, read: fn(&Phase) -> Option<f64>| {
        let mut points: Vec<(f64, Option<f64>)> =
            arm.phases.iter().map(|phase| (phase.measured.offered_per_s, read(phase))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Line { name: arm.shown_name().to_owned(), points }
    };
    type Curve = (&'static str, fn(&Phase) -> Option<f64>, bool, fn(f64) -> String);
    let curves: [Curve; 3] = [
        ("Goodput, requests a second answered within the objective", |p| Some(p.measured.goodput_per_s), false, rate),
        (
            "99th percentile of response times, in seconds; time-outs hide the points that are missing",
            |p| p.measured.response_time_ms.p99.map(|ms| ms / 1e3),
            true,
            |seconds| time(seconds * 1e3),
        ),
        ("Share of requests refused", |p| (p.measured.sent > 0).then_some(p.measured.reject_fraction), false, percent),
    ];
    html! {
        section id="load" {
            h2 { "Over the offered load" }
            p.small { "A point a phase, of the first block. Lines join what was measured; nothing was measured between the points." }
            @for (title, read, log, value) in curves {
                (Chart {
                    title, across: "requests offered a second", log, marks: true, bound: None, stretches: Vec::new(),
                    lines: arms.iter().map(|arm| line(arm, read)).collect(), value,
                }.drawn())
            }
        }
    }
}

/// At least three phases, each with a fifth more offered load than the one before.
fn is_sweep(arm: &Arm) -> bool {
    let rising = |pair: &[Phase]| pair[1].measured.offered_per_s > 1.2 * pair[0].measured.offered_per_s;
    let mut longest = 1;
    let mut now = 1;
    for pair in arm.phases.windows(2) {
        now = if rising(pair) { now + 1 } else { 1 };
        longest = longest.max(now);
    }
    longest >= LOADS
}
