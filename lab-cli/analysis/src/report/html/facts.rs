//! Facts that bear on the figures: parameters, the machine, and what was not measured.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde_json::Value;

use super::markup::{head, shown, wide};
use crate::{
    report::RunFiles,
    summary::{Arm, Capacity, Mode},
    text::table::Table,
    whole_arm::APPROXIMATIONS,
};

/// Every parameter of every arm, as it was in force.
pub fn parameters(run: &RunFiles) -> Markup {
    let mut arms: Vec<&Arm> = Vec::new();
    for arm in &run.summary.arms {
        if !arms.iter().any(|known| known.shown_name() == arm.shown_name()) {
            arms.push(arm);
        }
    }
    html! {
        div.wide { table {
            caption { "Policies with all their parameters, defaults included" }
            (head(&Table::new(&["arm", "policy", "parameters"], ..0)))
            tbody { @for arm in arms {
                tr {
                    th scope="row" { (shown(arm.shown_name())) }
                    td { (shown(&arm.policy)) }
                    td { code { (settings(&arm.parameters)) } }
                }
                @if let Some(client) = &arm.client { tr {
                    th scope="row" { (shown(arm.shown_name())) ", users' side" }
                    td { (shown(&client.policy)) " (" (shown(&client.scope)) ")" }
                    td { code { (settings(&client.parameters)) } }
                } }
            } }
        } }
    }
}

fn settings(parameters: &BTreeMap<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    shown(&parameters.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// The machine, the seeds, and how the work knob was set.
pub fn host(run: &RunFiles) -> Markup {
    let manifest = &run.manifest.whole;
    let facts = manifest.get("host").and_then(Value::as_object);
    let seed = manifest.get("seed").map(Value::to_string).unwrap_or_default();
    let blocks: Vec<String> = run
        .manifest
        .blocks
        .iter()
        .take(20)
        .map(|block| format!("block {} (seed {}): {}", block.block, block.seed, block.order.join(", ")))
        .collect();
    let mut table = Table::new(&["fact", "value"], ..0);
    for (name, value) in facts.into_iter().flatten() {
        table.row([name.replace('_', " "), plain(value)]);
    }
    table.row(["seed".to_owned(), seed]);
    if let Some(Capacity { measured_per_s, wanted_per_s, operations, .. }) = &run.summary.capacity {
        let capacity = format!(
            "{measured_per_s:.1}/s measured, {wanted_per_s:.0}/s asked for, with {operations:.1} extra operations a request"
        );
        table.row(["capacity".to_owned(), capacity]);
    }
    html! {
        (wide("Facts about the machine that bear on the results", &table))
        h3 { "Order of arms" }
        ul { @for block in &blocks { li { (shown(block)) } } }
        @if run.manifest.blocks.len() > blocks.len() { p.small { "manifest.json has the others." } }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// Limits: what a reader might take for measured, and was not.
pub fn limits(run: &RunFiles) -> Markup {
    let mut limits: Vec<String> = Vec::new();
    let parts = run.summary.arms.iter().map(|arm| arm.parts.len()).max().unwrap_or(0);
    match run.summary.mode {
        Mode::Virtual => limits.push(
            "Nothing was measured: users and policies are those of live runs, and the service is a simulated one, with costs from a plant \
             file. How far such runs agree with live ones is in docs/fidelity.md."
                .to_owned(),
        ),
        Mode::Live if parts > 0 => {
            limits.push(format!("Users were sent by {parts} generators at once, the service was wherever these were told."));
        }
        Mode::Live => limits.push(
            "Users and service ran on one machine over the loopback interface, the service on one core: no network, no second machine, and \
             times that hold for this machine."
                .to_owned(),
        ),
    }
    if parts > 0 {
        limits.extend(APPROXIMATIONS.map(|what| format!("Not exact, since users were shared: {what}.")));
    }
    if !run.several_blocks() {
        limits.push("Each arm ran once: what differs between arms may be chance.".to_owned());
    }
    limits.push(
        "Requests of one run depend on each other: its percentiles say what its users saw, not how far another run would differ.".to_owned(),
    );
    if run.summary.arms.iter().flat_map(|arm| &arm.phases).any(|phase| phase.measured.response_time_ms.censored > 0) {
        limits.push("Requests that timed out or were given up took at least as long as they waited: percentiles that they hide are bounds.".to_owned());
    }
    if run.summary.arms.iter().any(|arm| arm.bound) {
        limits.push("Arms marked as a bound were computed, not run.".to_owned());
    }
    if let Some(partial) = run.summary.partial_in_words() {
        limits.push(format!(
            "{partial}. Phases that were cut off are measured by what they lasted, and are compared with nothing."
        ));
    }
    let notes = run.notes();
    html! {
        ul { @for limit in &limits { li { (limit) } } }
        @if !notes.is_empty() {
            h3 { "Notes of the run" }
            ul { @for note in notes.iter().take(50) { li { (shown(note)) } } }
        }
    }
}
