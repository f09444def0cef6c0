//! The percentile spectrum: which share of requests was answered within which time.

use maud::{Markup, html};

use super::drawn::Drawn;
use crate::{
    chart::{Against, Band, Chart, ChartAxis, ChartLine, ChartPanel, Scale},
    report::html::figures::figures,
    text::time,
};

/// Spectrum of the phase of overload, or of the one that is compared; nothing where the logs of times were not read.
pub(super) fn picture(drawn: &Drawn<'_>) -> Markup {
    let Some(phase) = drawn.phase() else { return html! {} };
    let line = |(number, arm): (usize, &String)| {
        let times = drawn.run.times.iter().find(|times| times.arm == *arm)?;
        let (_, counts) = times.phases.iter().find(|(name, _)| *name == phase)?;
        Some(ChartLine { name: arm.clone(), colour: Some(number), points: counts.spectrum(), ..ChartLine::default() })
    };
    let lines: Vec<ChartLine> = drawn.arms.iter().enumerate().filter_map(line).collect();
    if lines.iter().all(|line| line.points.is_empty()) {
        return html! {};
    }
    let objective = drawn.run.summary.objective.response_time_ms / 1e3;
    let end = lines.iter().flat_map(|line| &line.points).map(|(x, _)| *x).fold(0.0, f64::max);
    let panel = ChartPanel {
        title: format!("Response times in the phase {phase}"),
        unit: "seconds, log scale".to_owned(),
        log: true,
        against: vec![Against::level("objective", objective)],
        lines,
        value: |seconds| time(seconds * 1e3),
        ..ChartPanel::default()
    };
    let across = ChartAxis {
        title: "share of requests answered within".to_owned(),
        scale: Scale::Shares(end),
        dense: true,
        bands: vec![Band { name: String::new(), from: 0.0, to: end }],
        ..ChartAxis::default()
    };
    html! {
        h3 id="spectrum" { "Percentile spectrum" }
        p.small {
            "Of requests that were answered as asked or given up; rejected ones are none of them. A curve ends where the number of requests no \
             longer supports a percentile."
        }
        (figures(&Chart { across, panels: vec![panel], ..Chart::default() }))
    }
}
