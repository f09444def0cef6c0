//! The part of a target that is several services.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use analysis::text::suggestion;
use controllers::{Class, catalogue::PolicySpec};
use target_app::{
    spec::StageSpec,
    tree::{Balancer, Per, Slow, WhenRefused},
};

use super::{
    client::{client, criticality_of_all},
    fields::{Fields, join},
    plan::{CallChanges, CostChanges, Tree, TreeCall, TreeService},
    policy::policy,
    problem::Problems,
    raw::{Entry, Node, Value},
    simulation::{COSTS_KEYS, cost_changes},
    stage::{emulated, stage},
};

/// Keys of one of `target.services`.
pub const SERVICE_KEYS: &[&str] = &[
    "service",
    "servers",
    "discipline",
    "degradable",
    "class_work",
    "tasks",
    "balancer",
    "per",
    "slow",
    "cap",
    "calls",
    "fan_out",
    "costs",
    "queue",
    "workers",
    "batch",
    "on_refuse",
    "drop_abandoned",
    "criticality",
];
/// Keys of `slow`.
pub const SLOW_KEYS: &[&str] = &["tasks", "speed"];
/// Keys of one of a service's `calls`.
pub const CALL_KEYS: &[&str] =
    &["to", "times", "attempts", "heed_dont_retry", "when_refused", "timeout", "connections", "client"];
/// Keys of `calls` of an arm.
pub const CHANGE_KEYS: &[&str] = &["attempts", "heed_dont_retry", "when_refused", "client"];

const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);
const WHEN_REFUSED: &[(&str, WhenRefused)] = &[
    ("overloaded", WhenRefused::Overloaded),
    ("dont-retry", WhenRefused::DontRetry),
    ("degrade", WhenRefused::Degrade),
];

/// Reads `services` and `entry`.
pub fn tree(fields: &Fields<'_>, otherwise: &StageSpec) -> Option<Tree> {
    let problems = fields.problems();
    let Some(node) = fields.node("services") else {
        fields.missing("services", "{front: {service: 1ms, calls: [back]}, back: {service: 10ms}}");
        return None;
    };
    let Value::Table(entries) = &node.value else {
        fields.problem(
            "services",
            "a table of services is wanted here",
            "write {front: {service: 1ms, calls: [back]}}",
        );
        return None;
    };
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let mut services = Vec::new();
    for (number, Entry { key, place, node }) in entries.iter().enumerate() {
        let path = join("target.services", key);
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            problems.add(place, &path, "cannot name a service", "letters, digits, - and _");
        }
        let Some(inner) = Fields::of(node, &path, SERVICE_KEYS, problems) else { continue };
        services.extend(one(&inner, key, &names[number + 1..], otherwise));
    }
    if services.len() < entries.len() || services.is_empty() {
        return None;
    }
    Some(Tree { entries: entry(fields, &names)?, services })
}

fn one(fields: &Fields<'_>, name: &str, after: &[&str], otherwise: &StageSpec) -> Option<TreeService> {
    let balancers =
        [("round-robin", Balancer::RoundRobin), ("random", Balancer::Random), ("least-loaded", Balancer::LeastLoaded)];
    let tasks = fields.count("tasks", 1..=1000).map_or(1, |n| n as u32);
    let slow = fields.fields("slow", SLOW_KEYS).map(|slow| Slow {
        tasks: slow.count("tasks", 0..=u64::from(tasks)).map_or(1, |n| n as u32),
        speed: slow.number("speed", 0.001..=1000.0).unwrap_or(0.2),
    });
    let calls = fields.list("calls").iter().filter_map(|node| call(node, fields, after)).collect();
    Some(TreeService {
        name: name.to_owned(),
        emulated: emulated(fields, 0)?,
        stage: StageSpec { criticality: criticality_of_all(fields), ..stage(fields, otherwise) },
        tasks,
        balancer: fields.choice("balancer", &balancers).unwrap_or_default(),
        per: fields.choice("per", &[("request", Per::Request), ("connection", Per::Connection)]).unwrap_or_default(),
        slow,
        cap: fields.count("cap", 1..=1_000_000).map_or(0, |n| n as u32),
        calls,
        fan_out: fields.flag("fan_out").unwrap_or(false),
        costs: fields.fields("costs", COSTS_KEYS).map_or_else(CostChanges::default, |costs| cost_changes(&costs)),
    })
}

fn call(node: &Node, of: &Fields<'_>, after: &[&str]) -> Option<TreeCall> {
    let problems = of.problems();
    let usual = |to: String| TreeCall {
        to,
        times: 1,
        attempts: 1,
        heed_dont_retry: true,
        when_refused: WhenRefused::default(),
        timeout: Duration::from_secs(10),
        connections: 0,
        client: None,
    };
    let path = of.path("calls");
    let found = match &node.value {
        Value::Text(to) => usual(to.clone()),
        _ => {
            let fields = Fields::of(node, &path, CALL_KEYS, problems)?;
            if fields.node("to").is_none() {
                fields.missing("to", "back");
            }
            let usual = usual(fields.text("to")?);
            TreeCall {
                times: fields.count("times", 1..=1000).map_or(usual.times, |n| n as u32),
                attempts: fields.count("attempts", 1..=100).map_or(usual.attempts, |n| n as u8),
                heed_dont_retry: fields.flag("heed_dont_retry").unwrap_or(usual.heed_dont_retry),
                when_refused: fields.choice("when_refused", WHEN_REFUSED).unwrap_or_default(),
                timeout: fields.time("timeout", TIMES).unwrap_or(usual.timeout),
                connections: fields.count("connections", 0..=100_000).map_or(0, |n| n as u32),
                client: fields.node("client").and_then(|node| client(node, &fields.path("client"), problems)),
                ..usual
            }
        }
    };
    if !after.contains(&found.to.as_str()) {
        let message = format!("no service below this one is called {:?}", found.to);
        problems.add(&node.place, &path, message, format!("{}; calls go down the list", suggestion(&found.to, after)));
        return None;
    }
    Some(found)
}

/// `front`, or by class `{0: proxy, 1: back}`; without it, the first service.
fn entry(fields: &Fields<'_>, names: &[&str]) -> Option<Vec<(Option<Class>, String)>> {
    let known = |name: &str, node: &Node| {
        let known = names.contains(&name);
        if !known {
            let message = format!("there is no service called {name:?}");
            fields.problems().add(&node.place, &fields.path("entry"), message, suggestion(name, names));
        }
        known.then(|| name.to_owned())
    };
    match fields.node("entry") {
        None => Some(vec![(None, (*names.first()?).to_owned())]),
        Some(node) => match &node.value {
            Value::Text(name) => Some(vec![(None, known(name, node)?)]),
            Value::Table(entries) => {
                let one = |Entry { key, node, .. }: &Entry| match (key.parse(), &node.value) {
                    (Ok(class), Value::Text(name)) => Some((Some(Class(class)), known(name, node)?)),
                    _ => {
                        fields.problem("entry", "classes and services are wanted here", "write {0: proxy, 1: back}");
                        None
                    }
                };
                entries.iter().map(one).collect()
            }
            other => {
                fields.problem("entry", format!("not {}", other.shown()), "write front, or {0: proxy, 1: back}");
                None
            }
        },
    }
}

/// Reads `calls` of an arm.
pub fn call_changes(node: &Node, path: &str, problems: &Problems) -> Option<CallChanges> {
    let fields = Fields::of(node, path, CHANGE_KEYS, problems)?;
    Some(CallChanges {
        attempts: fields.count("attempts", 1..=100).map(|n| n as u8),
        heed_dont_retry: fields.flag("heed_dont_retry"),
        when_refused: fields.choice("when_refused", WHEN_REFUSED),
        client: fields.node("client").and_then(|node| client(node, &fields.path("client"), problems)),
    })
}

/// Reads `services` of an arm: `{back: {utilization: {cpu: true}}}`.
pub fn policies(node: &Node, path: &str, tree: Option<&Tree>, problems: &Problems) -> BTreeMap<String, PolicySpec> {
    let mut found = BTreeMap::new();
    let Value::Table(entries) = &node.value else {
        problems.add(&node.place, path, format!("not {}", node.value.shown()), "write {back: utilization}");
        return found;
    };
    let known: Vec<&str> = tree.iter().flat_map(|tree| &tree.services).map(|service| service.name.as_str()).collect();
    for Entry { key, place, node } in entries {
        if !known.contains(&key.as_str()) {
            problems.add(place, &join(path, key), "there is no such service", suggestion(key, &known));
        }
        if let Some(policy) = policy(node, &join(path, key), problems) {
            found.insert(key.clone(), policy);
        }
    }
    found
}
