//! Goodput against what was offered, response times, rejects and failures, second by second.

use maud::{Markup, html};

use super::{
    drawn::{Drawn, Joined},
    strips,
};
use crate::{
    answer::measured_percentile,
    live::TimelineSecond,
    report::html::{
        chart::{Against, Chart, Line},
        layout::XAxis,
    },
    series::value::Value,
    text::{rate, time},
};

/// Count of requests that ended in a second.
type Count = fn(&TimelineSecond) -> u64;

pub(super) fn pictures(drawn: &Drawn<'_>) -> Markup {
    if drawn.seconds.is_empty() {
        return html! {};
    }
    let rejected: Count = |second| second.rejected + second.refused_locally;
    let failed: Count = |second| second.timed_out + second.abandoned + second.failed + second.connect_failed;
    html! {
        h3 id="time" { "Over time" }
        p.small {
            @if drawn.run.several_blocks() { "Block " (drawn.run.drawn_block()) " of several" } @else { "The only block" }
            ". The pointer shows a figure's values."
            @if drawn.step > 1 { " A point is " (drawn.step) " seconds: the worst of their percentiles, the mean of their counts." }
        }
        (goodput(drawn))
        (strips::picture(drawn))
        (response_times(drawn))
        (counts(drawn, "Rejected", rejected))
        (counts(drawn, "Failed: timed out, abandoned, broken or without a connection", failed))
    }
}

fn across() -> XAxis {
    XAxis::named("time, s")
}

fn goodput(drawn: &Drawn<'_>) -> Markup {
    let offered = drawn.lines(|second| Some(Value::known(second.offered as f64)), Joined::Mean);
    let name = "capacity".to_owned();
    let capacity = match &drawn.capacity_steps()[..] {
        [] => None,
        [(_, at)] => Some(Against::Level { name, at: *at }),
        steps => Some(Against::Steps { name, points: steps.to_vec() }),
    };
    let area =
        Against::Area { name: "offered load, of the arm that was offered most".to_owned(), points: most(&offered) };
    Chart {
        title: "Goodput against offered load",
        unit: "requests/s",
        across: across(),
        log: false,
        marks: false,
        against: capacity.into_iter().chain([area]).collect(),
        bands: drawn.bands.clone(),
        lines: drawn.lines(|second| Some(Value::known(second.goodput as f64)), Joined::Mean),
        value: |value| format!("{}/s", rate(value)),
    }
    .drawn()
}

/// The highest of all lines, place by place.
fn most(lines: &[Line]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> =
        lines.iter().flat_map(|line| &line.points).filter_map(|(x, value)| Some((*x, (*value)?.at))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    all.dedup_by(|a, b| a.0 == b.0);
    all
}

fn response_times(drawn: &Drawn<'_>) -> Markup {
    let objective = drawn.run.summary.objective;
    let percentile = measured_percentile(objective.percentile);
    let read = |second: &TimelineSecond| {
        let (known, bound) = match percentile {
            "p99.9" | "p99" => (second.p99_ms, second.p99_at_least_ms),
            "p50" => (second.p50_ms, second.p50_at_least_ms),
            _ => (second.p90_ms, second.p90_at_least_ms),
        };
        Value::of(known, bound).map(|value| value.map(|ms| ms / 1e3))
    };
    let shown = match percentile {
        "p99.9" | "p99" => "p99",
        "p50" => "p50",
        _ => "p90",
    };
    Chart {
        title: &format!("Response time, {shown} of each second"),
        unit: "seconds, log scale",
        across: across(),
        log: true,
        marks: false,
        against: vec![Against::Level { name: "objective".to_owned(), at: objective.response_time_ms / 1e3 }],
        bands: drawn.bands.clone(),
        lines: drawn.lines(read, Joined::Worst),
        value: |seconds| time(seconds * 1e3),
    }
    .drawn()
}

/// Nothing where there were none: an empty frame says no more.
fn counts(drawn: &Drawn<'_>, title: &str, count: Count) -> Markup {
    if drawn.seconds.iter().all(|second| count(second) == 0) {
        return html! {};
    }
    Chart {
        title,
        unit: "requests/s",
        across: across(),
        log: false,
        marks: false,
        against: Vec::new(),
        bands: drawn.bands.clone(),
        lines: drawn.lines(|second| Some(Value::known(count(second) as f64)), Joined::Mean),
        value: |value| format!("{}/s", rate(value)),
    }
    .drawn()
}
