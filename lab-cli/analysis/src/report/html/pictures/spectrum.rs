//! The percentile spectrum: which share of requests was answered within which time.

use maud::{Markup, html};

use super::drawn::Drawn;
use crate::{
    report::html::{
        chart::{Against, Chart, Line},
        layout::{Band, XAxis},
    },
    text::time,
};

/// Ticks at 50, 90, 99, 99.9 and 99.99 %, by log10 of 1 / (1 - p).
const TICKS: [f64; 5] = [std::f64::consts::LOG10_2, 1.0, 2.0, 3.0, 4.0];

/// Spectrum of the phase of overload, or of the one that is compared; nothing where the logs of times were not read.
pub(super) fn picture(drawn: &Drawn<'_>) -> Markup {
    let Some(phase) = drawn.phase() else { return html! {} };
    let line = |(number, arm): (usize, &String)| {
        let times = drawn.run.times.iter().find(|times| times.arm == *arm)?;
        let (_, counts) = times.phases.iter().find(|(name, _)| *name == phase)?;
        Some(Line { name: arm.clone(), arm: number, points: counts.spectrum() })
    };
    let lines: Vec<Line> = drawn.arms.iter().enumerate().filter_map(line).collect();
    if lines.iter().all(|line| line.points.is_empty()) {
        return html! {};
    }
    let objective = drawn.run.summary.objective.response_time_ms / 1e3;
    let end = lines.iter().flat_map(|line| &line.points).map(|(x, _)| *x).fold(0.0, f64::max);
    let chart = Chart {
        title: &format!("Response times in the phase {phase}"),
        unit: "seconds, log scale",
        across: XAxis {
            name: "share of requests answered within".to_owned(),
            label: share,
            ticks: Some(TICKS.to_vec()),
        },
        log: true,
        marks: false,
        against: vec![Against::Level { name: "objective".to_owned(), at: objective }],
        bands: vec![Band { name: String::new(), from: 0.0, to: end }],
        lines,
        value: |seconds| time(seconds * 1e3),
    };
    html! {
        h3 id="spectrum" { "Percentile spectrum" }
        p.small {
            "Of requests that were answered as asked or given up; rejected ones are none of them. A curve ends where the number of requests no \
             longer supports a percentile."
        }
        (chart.drawn())
    }
}

/// `99.9 %`.
fn share(x: f64) -> String {
    let share = 100.0 * (1.0 - libm::exp10(-x));
    let digits = if x < 2.5 {
        0
    } else if x < 3.5 {
        1
    } else {
        2
    };
    format!("{share:.digits$} %")
}
