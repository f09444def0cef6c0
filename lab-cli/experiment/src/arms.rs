//! The arms: which policies are compared, with which settings.

use analysis::{summary::ORACLE, text::suggestion};
use controllers::{
    Catalogue, Place as Seat,
    catalogue::{PolicySpec, Setting, Settings},
};
use schemars::json_schema;
use target_app::policies::{Resolved, Unfit};

use super::{
    client::client,
    fields::{Fields, count_in, join},
    hindsight,
    keys::shapes,
    own_target::{Base, own_target},
    plan::{App, Arm, Tree},
    problem::{Place, Problems},
    raw::{Entry, Node, Value},
    refusal::refusal,
    tree::{self, CallChanges},
};

shapes! {
    Policy as "Policy" = |_generator| json_schema!({
        "description": "A policy's name, or its name with settings.",
        "anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": ["object", "null"], "additionalProperties": true}}],
    });
}

/// Keys that the lab takes out of an arm's settings; the rest are the policy's.
pub const ARM_KEYS: &[&str] = &["as", "place", "on_refuse", "backlog", "client", "services", "calls", "target"];

/// A policy's own parameter goes before: `connections` has a `backlog`. Where that is `target`, it is a time, and a table changes
/// the service.
fn is_the_labs(entry: &Entry, policy: &str) -> bool {
    let key = entry.key.as_str();
    let known = Catalogue::resolve(policy, &Settings::new());
    let of_policy = known.is_ok_and(|(known, _)| known.params().iter().any(|param| param.name == key));
    ARM_KEYS.contains(&key) && (!of_policy || (key == "target" && matches!(entry.node.value, Value::Table(_))))
}

/// Places, as they are written.
const PLACES: &[(&str, Seat)] =
    &[("accept", Seat::Accept), ("single", Seat::Single), ("stage", Seat::Stage), ("per-stage", Seat::Stage)];

/// Reads `arms`. `base`: what is served, if that can be read.
pub fn arms(fields: &Fields<'_>, base: Option<Base<'_>>) -> Vec<Arm> {
    if fields.node("arms").is_none() {
        fields.missing("arms", "[none, seda]");
    }
    let mut arms: Vec<Arm> = Vec::new();
    for node in fields.list("arms") {
        let Some(arm) = arm(node, base, fields.problems()) else { continue };
        if arms.iter().any(|other| other.label == arm.label) {
            let message = format!("there are two arms called {:?}", arm.label);
            let hint = format!("give one a label: - {}: {{as: another}}", arm.policy.name);
            fields.problems().add(&node.place, "arms", message, hint);
        }
        arms.push(arm);
    }
    arms
}

/// Keeps the named arms; a name that no arm has is a policy with its defaults.
pub fn only(arms: &[Arm], names: &[String], base: Option<Base<'_>>, problems: &Problems) -> Vec<Arm> {
    let mut kept = Vec::new();
    for name in names {
        let of_file = arms.iter().filter(|arm| arm.label == *name || arm.policy.name == *name).cloned();
        let before = kept.len();
        kept.extend(of_file);
        if kept.len() == before {
            let place = Place::Flag(format!("--policy {name}"));
            let node = Node { value: Value::Text(name.clone()), place };
            kept.extend(arm(&node, base, problems));
        }
    }
    kept
}

/// `- none` or `- seda: {scope: per-stage}`.
fn arm(node: &Node, base: Option<Base<'_>>, problems: &Problems) -> Option<Arm> {
    let app = base.map(|base| &base.target.app);
    let (name, settings) = policy_and_settings(node, "arms", problems)?;
    let path = join("arms", name);
    let mut arm = Arm {
        label: name.to_owned(),
        policy: PolicySpec { name: name.to_owned(), place: None, settings: Settings::new() },
        on_refuse: None,
        backlog: None,
        client: None,
        hindsight: None,
        services: std::collections::BTreeMap::new(),
        calls: CallChanges::default(),
        own_target: None,
    };
    let mut own = Vec::new();
    if let Some(settings) = settings {
        let Value::Table(entries) = &settings.value else {
            problems.add(
                &settings.place,
                &path,
                format!("not {}", settings.value.shown()),
                "write settings as {key: value}",
            );
            return None;
        };
        for entry in entries {
            if is_the_labs(entry, name) {
                lab_key(&mut arm, entry, &path, base, problems);
            } else {
                own.push(entry);
            }
        }
    }
    let known = match name {
        hindsight::BEST_STATIC => Some(hindsight::best_static(&mut own, tree_of(base), &node.place, &path, problems)),
        ORACLE => Some(hindsight::oracle(&mut own, &path, problems)),
        _ => None,
    };
    if let Some((policy, known)) = known {
        (arm.policy.name, arm.hindsight) = (policy, Some(known));
    }
    arm.policy.settings = own.iter().map(|entry| (entry.key.clone(), setting(&entry.node))).collect();
    if !check(&mut arm.policy, node, settings, &path, problems) {
        // An arm with a slip keeps its name, so that thresholds on it are no further slips.
        return Some(arm);
    }
    // What the target itself would refuse: a place that it does not have, settings for stages that it does not have.
    let reports = matches!(app, Some(App::Tree(_)));
    let unfit = match (resolved(&arm.policy, reports), app) {
        (Ok(policy), Some(app)) => policy.misplaced(&app.graph()),
        (Ok(_), None) => Vec::new(),
        (Err(unfit), _) => unfit.problems,
    };
    for bad in unfit {
        let param = bad.key.split('.').next().unwrap_or(&bad.key);
        let place = settings.and_then(|settings| place_of_key(settings, param)).unwrap_or(&node.place);
        let on_clients_alone =
            Catalogue::find(&arm.policy.name).is_some_and(|entry| !entry.places.iter().any(|place| in_target(*place)));
        let hint = match on_clients_alone {
            true => format!("it sits on the users' side: - none: {{as: {name}, client: {name}}}"),
            false => String::new(),
        };
        problems.add(place, &join(&path, &bad.key), bad.message, hint);
    }
    // The limit of one service: the others have none.
    if let Some(hindsight::Hindsight::BestStatic { service: Some(service), .. }) = &arm.hindsight {
        let limit = std::mem::replace(&mut arm.policy, Arm::none().policy);
        arm.services.insert(service.clone(), limit);
    }
    Some(arm)
}

/// Whether a target has such a place.
fn in_target(place: Seat) -> bool {
    matches!(place, Seat::Accept | Seat::Single | Seat::Stage)
}

/// A machine (pool sizing, batching, a monitor) in `target.machines`.
pub fn machine(node: &Node, reports: bool, problems: &Problems) -> Option<PolicySpec> {
    let (name, settings) = policy_and_settings(node, "target.machines", problems)?;
    let path = join("target.machines", name);
    let settings_of = |node: &Node| match setting(node) {
        Setting::Map(map) => map,
        _ => Settings::new(),
    };
    let mut spec =
        PolicySpec { name: name.to_owned(), place: None, settings: settings.map(settings_of).unwrap_or_default() };
    if !check(&mut spec, node, settings, &path, problems) {
        return None;
    }
    // What the target itself would refuse.
    for bad in resolved(&spec, reports).map_or_else(|unfit| unfit.problems, |_| Vec::new()) {
        problems.add(&node.place, &join(&path, &bad.key), bad.message, "");
    }
    Some(spec)
}

/// A policy by itself: `utilization` or `utilization: {cpu: true}`, at a service that hears reports.
pub fn policy(node: &Node, path: &str, problems: &Problems) -> Option<PolicySpec> {
    let (name, settings) = policy_and_settings(node, path, problems)?;
    let own = match settings.map(setting) {
        Some(Setting::Map(map)) => map,
        _ => Settings::new(),
    };
    let mut spec = PolicySpec { name: name.to_owned(), place: None, settings: own };
    if !check(&mut spec, node, settings, path, problems) {
        return None;
    }
    for bad in Resolved::new(&spec).map_or_else(|unfit| unfit.problems, |_| Vec::new()) {
        problems.add(&node.place, &join(path, &bad.key), bad.message, "");
    }
    Some(spec)
}

/// As the target will take it: `reports` says whether usage and quotas are carried between its tasks.
fn resolved(spec: &PolicySpec, reports: bool) -> Result<Resolved, Unfit> {
    if reports { Resolved::new(spec) } else { Resolved::live(spec) }
}

pub fn policy_and_settings<'a>(node: &'a Node, path: &str, problems: &Problems) -> Option<(&'a str, Option<&'a Node>)> {
    match &node.value {
        Value::Text(name) => Some((name, None)),
        Value::Table(entries) if entries.len() == 1 => {
            let settings = Some(&entries[0].node).filter(|node| node.value != Value::Null);
            Some((&entries[0].key, settings))
        }
        other => {
            let hint = "write - seda or - seda: {scope: single}";
            problems.add(&node.place, path, format!("a policy is wanted here, not {}", other.shown()), hint);
            None
        }
    }
}

fn tree_of(base: Option<Base<'_>>) -> Option<&Tree> {
    base.and_then(|base| if let App::Tree(tree) = &base.target.app { Some(tree) } else { None })
}

fn lab_key(arm: &mut Arm, entry: &Entry, path: &str, base: Option<Base<'_>>, problems: &Problems) {
    let (key, node) = (entry.key.as_str(), &entry.node);
    let tree = tree_of(base);
    if matches!(key, "services" | "calls") && base.is_some() && tree.is_none() {
        let hint = "it is about several services: target.app: tree";
        problems.add(&node.place, &join(path, key), "does not belong to this target", hint);
        return;
    }
    let full = join(path, key);
    let text = match &node.value {
        Value::Text(text) => text.as_str(),
        _ => "",
    };
    match key {
        "as" if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') && !text.is_empty() => {
            text.clone_into(&mut arm.label);
        }
        "as" => problems.add(&node.place, &full, "cannot name an arm", "letters, digits, - and _"),
        "place" => match PLACES.iter().find(|(word, _)| *word == text) {
            Some((_, place)) => arm.policy.place = Some(*place),
            None => problems.add(&node.place, &full, format!("{text:?} is no place"), "accept, single or stage"),
        },
        "on_refuse" => match refusal(node) {
            Ok(refusal) => arm.on_refuse = Some(refusal),
            Err((message, hint)) => problems.add(&node.place, &full, message, hint),
        },
        "client" => arm.client = client(node, &full, problems),
        "target" => arm.own_target = base.and_then(|base| own_target(node, base, &full, problems)),
        "services" => arm.services = tree::policies(node, &full, tree, problems),
        "calls" => arm.calls = tree::call_changes(node, &full, problems).unwrap_or_default(),
        _ => match count_in(node, 1..=65_535) {
            Ok(backlog) => arm.backlog = Some(backlog as u32),
            Err((message, hint)) => problems.add(&node.place, &full, message, hint),
        },
    }
}

/// Checks a policy with its settings against the catalogue. A preset's name that stands for its policy is written out:
/// from here on there are policies by their own names, with settings.
pub fn check(spec: &mut PolicySpec, node: &Node, settings: Option<&Node>, path: &str, problems: &Problems) -> bool {
    let Ok((entry, written_out)) = Catalogue::resolve(&spec.name, &spec.settings) else {
        let ours = [hindsight::BEST_STATIC, ORACLE];
        let (message, hint) = if ours.contains(&spec.name.as_str()) {
            let message = format!("{} stands for an arm, not for a policy of a part of it", spec.name);
            (
                message,
                "write - oracle, - best-static, or of one service of a tree - best-static: {service: NAME}".to_owned(),
            )
        } else {
            let names: Vec<&str> = Catalogue::names().into_iter().chain(ours).collect();
            let hint = format!("{} (see lab policies)", suggestion(&spec.name, &names));
            (format!("there is no policy called {:?}", spec.name), hint)
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
    if !path.starts_with("target.machines") && !entry.is_policy() {
        let hint = "put it under target.machines";
        problems.add(&node.place, path, format!("{} decides nothing", spec.name), hint);
        return false;
    }
    if let Some(place) = spec.place
        && !entry.places.contains(&place)
    {
        let places: Vec<String> = entry.places.iter().map(|place| format!("{place:?}").to_lowercase()).collect();
        let message = format!("{} cannot sit there", spec.name);
        problems.add(&node.place, path, message, format!("it can sit at: {}", places.join(", ")));
        return false;
    }
    let Err(found) = entry.check(&spec.settings) else { return true };
    for bad in found {
        let first = bad.key.split('.').next().unwrap_or(&bad.key);
        let place = settings.and_then(|settings| place_of_key(settings, first)).unwrap_or(&node.place);
        problems.add(place, &join(path, &bad.key), bad.message, "");
    }
    false
}

fn place_of_key<'a>(node: &'a Node, key: &str) -> Option<&'a Place> {
    let Value::Table(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node.place)
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

#[cfg(test)]
mod tests {
    use controllers::catalogue::ParamKind;

    use super::*;
    use crate::{Changes, Experiment, read};

    const FILE: &str = "name: x\nabout: y\ntarget: {app: emulated, service: 10ms, workers: 2}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, path: /, phases: [{name: x, requests: 5/s, for: 3s}]}\narms: [none]\n";

    fn arm_of(arm: &str) -> Result<Arm, String> {
        let changes = Changes { set: vec![format!("arms.0={arm}")], ..Changes::default() };
        let experiment: Result<Experiment, _> = read(FILE, &changes);
        experiment.map(|found| found.arms[0].clone()).map_err(|problems| problems[0].to_string())
    }

    #[test]
    fn a_policys_own_parameter_goes_before_a_key_of_the_lab() {
        let own = arm_of("{codel: {target: 20ms}}").expect("it is good");
        assert_eq!((own.policy.settings.len(), own.own_target), (1, None));
        let both = arm_of("{codel: {target: {workers: 4}, interval: 200ms}}").expect("it is good");
        assert!(both.own_target.is_some() && both.policy.settings.len() == 1, "{both:?}");
        // For others it is the listener's.
        let connections = arm_of("{connections: {backlog: 5}}").expect("it is good");
        assert_eq!((connections.backlog, connections.policy.settings.len()), (None, 1));
        assert_eq!(arm_of("{none: {backlog: 5}}").expect("it is good").backlog, Some(5));
        let why = arm_of("{codel: {target: soon}}").expect_err("no time");
        assert!(why.contains("codel.target") && why.contains("not a time"), "{why}");
    }

    #[test]
    fn no_parameter_that_is_a_table_has_a_name_of_the_labs() {
        let of_entry = |entry: &'static controllers::Entry| entry.params().into_iter().map(move |param| (entry, param));
        let params = Catalogue::entries().iter().flat_map(of_entry);
        for (entry, param) in params.filter(|(_, param)| ARM_KEYS.contains(&param.name)) {
            let scalar = matches!(param.kind, ParamKind::Time | ParamKind::Count);
            assert!(scalar, "{}.{}", entry.name, param.name);
        }
    }
}
