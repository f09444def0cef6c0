//! Ways to deploy an arm's policy: commands and code.

use std::{collections::BTreeMap, time::Duration};

use controllers::{
    Entry, Place,
    catalogue::{PolicySpec, SampleKind, Setting, shown_time},
};
use installed::catalogue;
use serde::Deserialize;
use serde_json::Value;

use crate::summary::{Arm, LatencyObjective, PROGRAM};

/// One way each: before a service, and in it; on the users' side where the arm has a policy there. Empty: it has none. Where some
/// classes come before others the proxy has a file that tells them apart.
pub(super) fn ways(arm: &Arm, objective: &LatencyObjective, by_class: bool) -> Vec<String> {
    let mut ways = Vec::new();
    if let Some(client) = &arm.client {
        let layer = layer("client", &client.policy, &client.parameters, objective);
        ways.push(format!("on the callers' side ({}), {layer}", client.scope));
    }
    if let Some(way) = foreign(&arm.parameters) {
        ways.push(way);
    }
    let Some(entry) = catalogue().find(&arm.policy).filter(|entry| entry.name != "none") else { return ways };
    let placed = |places: &[Place]| places.iter().any(|place| entry.places.contains(place));
    let scope = arm.parameters.get("scope").and_then(Value::as_str);
    if scope == Some(Place::Client.scope()) {
        ways.push(format!("on the callers' side, {}", layer("client", &arm.policy, &arm.parameters, objective)));
        return ways;
    }
    if placed(&[Place::Proxy, Place::Single, Place::Accept]) {
        let settings: String = changed(entry, &arm.parameters)
            .iter()
            .map(|(key, value)| format!(" --set {}", quoted(&format!("{key}={value}"))))
            .collect();
        let time = shown_time(Duration::from_micros((objective.response_time_ms * 1e3).round() as u64));
        // The proxy's own percentile.
        let shown = match objective.percentile {
            99.0 => time,
            percentile => format!("p{percentile}={time}"),
        };
        let workers = if counts_workers(&arm.policy, &arm.parameters) { " --concurrency WORKERS" } else { "" };
        let classes = if by_class { " --config FILE" } else { "" };
        ways.push(format!(
            "lab proxy --to URL{classes} --policy {} --objective {shown}{workers}{settings}",
            arm.policy
        ));
    }
    if placed(&[Place::Proxy, Place::Single]) {
        ways.push(format!("in a service, {}", layer("new", &arm.policy, &arm.parameters, objective)));
        ways.extend(in_envoy(entry, arm, objective));
    }
    if ways.is_empty() {
        ways.push(format!("in each stage of a service of stages: {}", arm.policy));
    }
    ways
}

/// Somebody else's proxy.
fn foreign(parameters: &BTreeMap<String, Value>) -> Option<String> {
    let program = parameters.get(PROGRAM)?.as_str()?;
    let shown = |(key, value): (&String, &Value)| format!("{key} {}", value.as_str().unwrap_or_default());
    Some(match parameters.get("preset").and_then(Value::as_str) {
        None => format!("{program}, configured as in this arm"),
        Some(preset) => {
            let settings: Vec<String> =
                parameters.iter().filter(|(key, _)| ![PROGRAM, "preset"].contains(&key.as_str())).map(shown).collect();
            format!("{program}, configured as the preset {preset} with {} (docs/peers.md)", settings.join(", "))
        }
    })
}

/// The tower layer.
fn layer(
    constructor: &str,
    policy: &str,
    parameters: &BTreeMap<String, Value>,
    objective: &LatencyObjective,
) -> String {
    let entry = catalogue().find(policy);
    let settings = entry.map(|entry| changed(entry, parameters)).unwrap_or_default();
    let capacity = if counts_workers(policy, parameters) { ".capacity(WORKERS)" } else { "" };
    let LatencyObjective { percentile, response_time_ms } = *objective;
    let objective = format!(".objective({percentile:?}, Duration::from_millis({response_time_ms:.0}))");
    let argument = |value: &str| if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("{value:?}") };
    let settings: String = settings.iter().map(|(key, value)| format!(".set({key:?}, {})", argument(value))).collect();
    format!("tower_admission::AdmissionLayer::{constructor}({policy:?}){objective}{capacity}{settings}")
}

/// The configuration of the filter in Envoy, which knows nothing of the service's CPU and memory.
fn in_envoy(entry: &Entry, arm: &Arm, objective: &LatencyObjective) -> Option<String> {
    if entry.samples.iter().any(|of| matches!(of.what, SampleKind::Cpu | SampleKind::Memory)) {
        return None;
    }
    let settings: Vec<String> =
        changed(entry, &arm.parameters).iter().map(|(key, value)| format!("{key}: {value}")).collect();
    let settings = if settings.is_empty() { String::new() } else { format!(", settings: {{{}}}", settings.join(", ")) };
    let capacity = if counts_workers(&arm.policy, &arm.parameters) { ", capacity: WORKERS" } else { "" };
    let LatencyObjective { percentile, response_time_ms } = *objective;
    Some(format!(
        "in Envoy (docs/envoy.md), {{admission: {{policy: {}{settings}, objective_ms: {response_time_ms}, percentile: {percentile}{capacity}}}}}",
        arm.policy
    ))
}

/// True if somebody has to say how many requests the service works on at once.
fn counts_workers(policy: &str, parameters: &BTreeMap<String, Value>) -> bool {
    let setting = |(key, value): (&String, &Value)| Some((key.clone(), Setting::deserialize(value).ok()?));
    let settings = own(parameters).filter_map(setting).collect();
    PolicySpec { name: policy.to_owned(), place: None, settings }.counts_workers(catalogue(), Place::Single)
}

/// Parameters of the policy itself.
fn own(parameters: &BTreeMap<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    parameters.iter().filter(|(key, _)| !["scope", "preset"].contains(&key.as_str()) && !key.contains('.'))
}

/// Parameters that are not the policy's defaults.
fn changed(entry: &Entry, parameters: &BTreeMap<String, Value>) -> Vec<(String, String)> {
    let defaults: BTreeMap<&str, String> = entry.rows(None).into_iter().map(|row| (row.name, row.default)).collect();
    let text = |value: &Value| match (value.as_str(), value.as_f64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) => number.to_string(),
        (None, None) => value.to_string(),
    };
    let is_default = |key: &str, value: &str| {
        let default = defaults.get(key).map(String::as_str);
        let number = |text: &str| text.parse::<f64>().ok();
        default == Some(value)
            || default.is_some_and(|default| number(default).is_some() && number(default) == number(value))
    };
    own(parameters)
        .map(|(key, value)| (key.clone(), text(value)))
        .filter(|(key, value)| !is_default(key, value))
        .collect()
}

/// An argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=_-./:%".contains(c);
    if argument.chars().all(plain) { argument.to_owned() } else { format!("'{}'", argument.replace('\'', "'\\''")) }
}
