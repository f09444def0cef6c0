//! Decisions of policies: their limits, rates, levels and probabilities, and the queue before them.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::drawn::{Drawn, Joined};
use crate::{
    chart::{ChartLine, ChartPanel},
    live::{StageSecond, TimelineSecond},
    report::html::figures::figures,
    series::value::Value,
    text::rate,
};

/// Gauges in which a policy shows what it decided, with their title and unit.
const DECISIONS: [(&str, &str, &str); 8] = [
    ("limit", "The policy's own limit", "jobs inside"),
    ("admission_rate_per_s", "The policy's own admission rate", "requests/s"),
    ("admission_level", "The policy's admission level", "level"),
    ("admission_fraction", "The share that the policy admits", "share"),
    ("reject_probability", "The probability with which the policy rejects", "share"),
    ("reject_probability_critical", "The probability with which clients reject", "share"),
    ("dropping", "Whether the policy drops", "0 or 1"),
    ("quality", "The quality that the policy chose", "share"),
];

pub(super) fn pictures(drawn: &Drawn<'_>) -> Markup {
    let decided = DECISIONS.iter().map(|(gauge, title, unit)| {
        let read = |stage: &StageSecond| stage.gauges.get(*gauge).copied();
        panel(title, unit, stages(drawn, &read))
    });
    let queue = panel("Jobs that wait in the service", "jobs", queues(drawn));
    let exported = exported(drawn).into_iter();
    let exported = exported.map(|(name, lines)| panel(&format!("The service's own metric: {name}"), &name, lines));
    let figures = figures(&drawn.chart(decided.chain([queue]).chain(exported).collect()));
    html! { @if !figures.0.is_empty() { h3 id="internals" { "Inside the service" } (figures) } }
}

fn panel(title: &str, unit: &str, lines: Vec<ChartLine>) -> ChartPanel {
    let value = |value: f64| if value < 1.0 { format!("{value:.2}") } else { rate(value) };
    ChartPanel { title: title.to_owned(), unit: unit.to_owned(), lines, value, ..ChartPanel::default() }
}

/// A line for each stage of each arm that shows it; the stage is named where an arm has several.
fn stages(drawn: &Drawn<'_>, read: &dyn Fn(&StageSecond) -> Option<f64>) -> Vec<ChartLine> {
    let mut lines = Vec::new();
    for (number, arm) in drawn.arms.iter().enumerate() {
        let own = || drawn.seconds.iter().filter(|second| second.arm == *arm).flat_map(|second| stages_of(second));
        let names: BTreeSet<&str> = own().filter(|stage| read(stage).is_some()).map(|stage| &stage.name[..]).collect();
        for name in &names {
            let of = |second: &TimelineSecond| {
                let stage = stages_of(second).iter().find(|stage| stage.name == *name)?;
                read(stage).map(Value::known)
            };
            let mut line = drawn.line(number, of, Joined::Mean);
            if names.len() > 1 {
                line.name = format!("{arm}, {name}");
            }
            lines.push(line);
        }
    }
    lines
}

/// The metrics that a service of one's own exports, each with a line for each arm.
fn exported(drawn: &Drawn<'_>) -> Vec<(String, Vec<ChartLine>)> {
    fn row(second: &TimelineSecond) -> Option<&StageSecond> {
        stages_of(second).iter().find(|stage| stage.is_exported())
    }
    let rows = || drawn.seconds.iter().filter_map(|second| row(second));
    let names: BTreeSet<&String> = rows().flat_map(|row| row.gauges.keys()).collect();
    let of =
        |name: &String| drawn.lines(|second| row(second)?.gauges.get(name).copied().map(Value::known), Joined::Mean);
    names.into_iter().map(|name| (name.clone(), of(name))).collect()
}

/// Queues of all stages of an arm together.
fn queues(drawn: &Drawn<'_>) -> Vec<ChartLine> {
    let waiting = |second: &TimelineSecond| -> Option<Value> {
        let stages = &second.target.as_ref()?.stages;
        Some(Value::known(stages.iter().map(|stage| f64::from(stage.queue)).sum()))
    };
    let lines = drawn.lines(waiting, Joined::Mean);
    let any = lines.iter().flat_map(|line| &line.points).any(|(_, value)| value.is_some_and(|value| value.at > 0.0));
    if any { lines } else { Vec::new() }
}

fn stages_of(second: &TimelineSecond) -> &[StageSecond] {
    second.target.as_ref().map_or(&[], |target| &target.stages)
}
