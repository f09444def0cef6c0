//! Goodput against what was offered, response times, rejects and failures, second by second.

use maud::{Markup, html};

use super::{
    drawn::{Drawn, Joined},
    strips,
};
use crate::{
    answer::measured_percentile,
    chart::{Against, Chart, ChartLine, ChartPanel},
    live::TimelineSecond,
    report::html::figures::figures,
    series::value::Value,
    text::{rate, time},
};

/// Count of requests that ended in a second.
type Count = fn(&TimelineSecond) -> u64;

pub(super) fn pictures(drawn: &Drawn<'_>) -> Markup {
    if drawn.seconds.is_empty() {
        return html! {};
    }
    let mut goodput = chart(drawn);
    let others = Chart { panels: goodput.panels.split_off(1), ..goodput.clone() };
    html! {
        h3 id="time" { "Over time" }
        p.small {
            @if drawn.run.several_blocks() { "Block " (drawn.run.drawn_block()) " of several" } @else { "The only block" }
            ". The pointer shows a figure's values."
            @if drawn.step > 1 { " A point is " (drawn.step) " seconds: the worst of their percentiles, the mean of their counts." }
        }
        (figures(&goodput))
        (strips::picture(drawn))
        (figures(&others))
    }
}

/// All of it as one chart.
pub(super) fn chart(drawn: &Drawn<'_>) -> Chart {
    let failed: Count = |second| second.timed_out + second.abandoned + second.failed + second.connect_failed;
    let counts: [(&str, Count); 2] = [
        ("Rejected", |second| second.rejected + second.refused_locally),
        ("Failed: timed out, abandoned, broken or without a connection", failed),
    ];
    // An empty frame says no more than none.
    let counts = counts.iter().filter(|(_, count)| drawn.seconds.iter().any(|second| count(second) > 0));
    let mut panels = vec![goodput(drawn), response_times(drawn)];
    panels.extend(counts.map(|(title, count)| per_second(drawn, title, *count)));
    drawn.chart(panels)
}

fn per_second(drawn: &Drawn<'_>, title: &str, count: Count) -> ChartPanel {
    ChartPanel {
        title: title.to_owned(),
        unit: "requests/s".to_owned(),
        lines: drawn.lines(|second| Some(Value::known(count(second) as f64)), Joined::Mean),
        value: |value| format!("{}/s", rate(value)),
        ..ChartPanel::default()
    }
}

fn goodput(drawn: &Drawn<'_>) -> ChartPanel {
    let offered = drawn.lines(|second| Some(Value::known(second.offered as f64)), Joined::Mean);
    let steps = drawn.capacity_steps();
    let capacity = Against { name: "capacity".to_owned(), area: false, points: steps };
    let name = "offered load, of the arm that was offered most".to_owned();
    let offered = Against { name, area: true, points: most(&offered) };
    let known = Some(capacity).filter(|capacity| !capacity.points.is_empty());
    ChartPanel {
        against: known.into_iter().chain([offered]).collect(),
        ..per_second(drawn, "Goodput against offered load", |second| second.goodput)
    }
}

/// The highest of all lines, place by place.
fn most(lines: &[ChartLine]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> =
        lines.iter().flat_map(|line| &line.points).filter_map(|(x, value)| Some((*x, (*value)?.at))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    all.dedup_by(|a, b| a.0 == b.0);
    all
}

fn response_times(drawn: &Drawn<'_>) -> ChartPanel {
    let objective = drawn.run.summary.objective;
    let shown = match measured_percentile(objective.percentile) {
        "p99.9" | "p99" => "p99",
        "p50" => "p50",
        _ => "p90",
    };
    let read = |second: &TimelineSecond| {
        let (known, bound) = match shown {
            "p99" => (second.p99_ms, second.p99_at_least_ms),
            "p50" => (second.p50_ms, second.p50_at_least_ms),
            _ => (second.p90_ms, second.p90_at_least_ms),
        };
        Value::of(known, bound).map(|value| value.map(|ms| ms / 1e3))
    };
    ChartPanel {
        title: format!("Response time, {shown} of each second"),
        unit: "seconds, log scale".to_owned(),
        log: true,
        against: vec![Against::level("objective", objective.response_time_ms / 1e3)],
        lines: drawn.lines(read, Joined::Worst),
        value: |seconds| time(seconds * 1e3),
        ..ChartPanel::default()
    }
}
