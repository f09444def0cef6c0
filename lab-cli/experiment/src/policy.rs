//! A policy as a file names it: checked against the catalogue, and as the target will take it.

use controllers::catalogue::{ParamKind, PolicySpec, Problem, Setting, Settings, name_hint};
use installed::catalogue;
use service_core::policies::{Resolved, Unfit};

use super::{
    fields::join,
    keys::shapes,
    policy_schema,
    problem::{Place, Problems},
    raw::{Entry, Node, Value},
};

shapes! {
    Policy as "Policy" = |generator| policy_schema::policy(generator);
}

/// A machine (pool sizing, batching, a monitor) in `target.machines`.
pub fn machine(node: &Node, reports: bool, problems: &Problems) -> Option<PolicySpec> {
    let (name, settings) = policy_and_settings(node, "target.machines", problems)?;
    by_itself(node, name, settings, reports, &join("target.machines", name), problems)
}

/// A policy by itself: `utilization` or `utilization: {cpu: true}`, at a service that hears reports.
pub fn policy(node: &Node, path: &str, problems: &Problems) -> Option<PolicySpec> {
    let (name, settings) = policy_and_settings(node, path, problems)?;
    by_itself(node, name, settings, true, path, problems)
}

fn by_itself(
    node: &Node,
    name: &str,
    settings: Option<&Node>,
    reports: bool,
    path: &str,
    problems: &Problems,
) -> Option<PolicySpec> {
    let own = match settings.map(setting) {
        Some(Setting::Map(map)) => map,
        _ => Settings::new(),
    };
    let mut spec = PolicySpec::written(name, own);
    if !check(&mut spec, node, settings, path, problems) {
        return None;
    }
    // What the target itself would refuse.
    for bad in resolved(&spec, reports).map_or_else(|unfit| unfit.problems, |_| Vec::new()) {
        problems.add(&node.place, &join(path, &bad.key), bad.message, "");
    }
    Some(spec)
}

/// Resolves a policy for the target: `reports` says whether usage and quotas are carried between its tasks.
pub fn resolved(spec: &PolicySpec, reports: bool) -> Result<Resolved, Unfit> {
    if reports { Resolved::new(spec) } else { Resolved::live(spec) }
}

/// The name of a policy, and its settings, where it has any.
pub fn policy_and_settings<'a>(node: &'a Node, path: &str, problems: &Problems) -> Option<(&'a str, Option<&'a Node>)> {
    match &node.value {
        Value::Text(name) => Some((name, None)),
        Value::Table(entries) if entries.len() == 1 => {
            let settings = Some(&entries[0].node).filter(|node| node.value != Value::Null);
            Some((&entries[0].key, settings))
        }
        other => {
            let hint = "write - seda or - seda: {scope: single}";
            problems.wrong(&node.place, path, format!("expected a policy, got {}", other.shown()), hint)
        }
    }
}

/// The settings of a policy in two: a table of those that are the lab's, and the policy's own. `None`: they are no table.
pub fn parted<'a>(
    settings: Option<&'a Node>,
    path: &str,
    problems: &Problems,
    is_the_labs: impl Fn(&Entry) -> bool,
) -> Option<(Node, Vec<&'a Entry>)> {
    let Some(settings) = settings else {
        return Some((Node { value: Value::Table(Vec::new()), place: Place::Flag(String::new()) }, Vec::new()));
    };
    let Value::Table(entries) = &settings.value else {
        let message = settings.value.unexpected();
        return problems.wrong(&settings.place, path, message, "write settings as {key: value}");
    };
    let (lab, own): (Vec<&Entry>, _) = entries.iter().partition(|entry| is_the_labs(entry));
    let lab = Value::Table(lab.into_iter().cloned().collect());
    Some((Node { value: lab, place: settings.place.clone() }, own))
}

/// Settings as the catalogue takes them.
pub fn settings_of(entries: &[&Entry]) -> Settings {
    entries.iter().map(|entry| (entry.key.clone(), setting(&entry.node))).collect()
}

/// Checks a policy with its settings against the catalogue. A preset's name that stands for its policy is written out:
/// from here on there are policies by their own names, with settings.
pub fn check(spec: &mut PolicySpec, node: &Node, settings: Option<&Node>, path: &str, problems: &Problems) -> bool {
    let Ok((entry, written_out)) = catalogue().resolve(&spec.name, &spec.settings) else {
        let ours: Vec<&str> = catalogue().bounds().map(|(entry, _)| entry.name).collect();
        let (message, hint) = if ours.contains(&spec.name.as_str()) {
            let message = format!("{} stands for an arm, not for a policy of a part of it", spec.name);
            (
                message,
                "write - oracle, - best-static, or of one service of a tree - best-static: {service: NAME}".to_owned(),
            )
        } else {
            (format!("there is no policy called {:?}", spec.name), unknown_name_hint(spec, path, &ours))
        };
        problems.add(&node.place, path, message, hint);
        return false;
    };
    if entry.name != spec.name && spec.settings.contains_key("preset") {
        let hint = format!("write {}: {{preset: …}}, or leave the preset out", entry.name);
        problems.add(&node.place, path, format!("{} is a preset itself", spec.name), hint);
        return false;
    }
    entry.name.clone_into(&mut spec.name);
    spec.settings = written_out;
    if !is_for_machines(path) && !entry.is_policy() {
        let hint = "put it under target.machines";
        problems.add(&node.place, path, format!("{} decides nothing", spec.name), hint);
        return false;
    }
    let found = match catalogue().check(entry, spec.place, &spec.settings) {
        Err(found) => found,
        Ok(made) => {
            let of_parts = entry.params().iter().any(|param| param.kind == ParamKind::Part);
            if !of_parts || !made.parts().is_empty() {
                return true;
            }
            let hint = "name its parts: {limit: gradient2, select: quota, queue: codel}, or some of them";
            problems.add(&node.place, path, format!("{} without parts admits everything", spec.name), hint);
            return false;
        }
    };
    for bad in found.into_iter().map(|bad| as_written(bad, settings)) {
        let place = settings.and_then(|settings| deepest_place(settings, &bad.key)).unwrap_or(&node.place);
        problems.add(place, &join(path, &bad.key), bad.message, "");
    }
    false
}

/// The way out where this program has no policy or machine of that name.
fn unknown_name_hint(spec: &PolicySpec, path: &str, bounds: &[&str]) -> String {
    let known = if is_for_machines(path) {
        catalogue().machine_names()
    } else {
        catalogue().policy_names().into_iter().chain(bounds.iter().copied()).collect()
    };
    let near = name_hint(&spec.name, &known);
    let stop = if near.ends_with('?') { "" } else { "." };
    format!(
        "{near}{stop} A policy of one's own is known to its own program alone: run the file with that (docs/policies.md)"
    )
}

/// True if a policy, a machine or a bound has this name.
pub fn is_known(name: &str) -> bool {
    catalogue().bounds().any(|(entry, _)| entry.name == name) || catalogue().resolve(name, &Settings::new()).is_ok()
}

fn is_for_machines(path: &str) -> bool {
    path.starts_with("target.machines")
}

/// Place of the key of a setting, or of the deepest table of it that is written: `limit.gradient2.limit_max`.
fn deepest_place<'a>(mut node: &'a Node, key: &str) -> Option<&'a Place> {
    let mut found = None;
    for word in key.split('.') {
        let Value::Table(entries) = &node.value else { break };
        let Some(entry) = entries.iter().find(|entry| entry.key == word) else { break };
        (found, node) = (Some(&entry.node.place), &entry.node);
    }
    found
}

/// Place of a setting.
pub fn place_of_key<'a>(node: &'a Node, key: &str) -> Option<&'a Place> {
    let Value::Table(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node.place)
}

/// Key by which settings name the place of their policy: `scope`, or an arm's `place`.
pub fn key_of_place(settings: Option<&Node>) -> &'static str {
    let has = |key: &str| settings.is_some_and(|settings| place_of_key(settings, key).is_some());
    if has("place") && !has("scope") { "place" } else { "scope" }
}

/// A problem of the catalogue, which knows `scope` alone, by the key that the file has for it.
pub fn as_written(bad: Problem, settings: Option<&Node>) -> Problem {
    match key_of_place(settings) {
        "place" if bad.key == "scope" => Problem::new("place", bad.message.replacen("the scope of", "the place of", 1)),
        _ => bad,
    }
}

/// The catalogue's own shape of a written value.
pub fn setting(node: &Node) -> Setting {
    match &node.value {
        Value::Null => Setting::Text(String::new()),
        Value::Flag(flag) => Setting::Flag(*flag),
        Value::Number(number) => Setting::Number(*number),
        Value::Text(text) => Setting::Text(text.clone()),
        Value::List(nodes) => {
            Setting::Map(nodes.iter().enumerate().map(|(i, node)| (i.to_string(), setting(node))).collect())
        }
        Value::Table(entries) => {
            Setting::Map(entries.iter().map(|entry| (entry.key.clone(), setting(&entry.node))).collect())
        }
    }
}
