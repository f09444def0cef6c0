//! Policies on the users' own side, and what their requests say of themselves.

use std::collections::BTreeMap;

use analysis::text::suggestion;
use controllers::{Class, Criticality, Place, Settings, catalogue::PolicySpec};
use installed::catalogue;
use workloads::plan::ClientScope;

use super::{
    fields::{Fields, count_in, join},
    plan::ClientPolicy,
    policy::{check, policy_and_settings, setting},
    problem::Problems,
    raw::{Entry, Node, Value},
};

/// Most users of a group, as there are users.
const MAX_GROUP: u64 = 2_000_000;
const SCOPE_HINT: &str = "all, user, or {group: 50}";

/// Reads `throttle` or `throttle: {k: 2, scope: all}`.
pub fn client(node: &Node, path: &str, problems: &Problems) -> Option<ClientPolicy> {
    let (name, settings) = policy_and_settings(node, path, problems)?;
    let path = join(path, name);
    let (mut scope, mut own) = (ClientScope::default(), Settings::new());
    match settings.map(|node| (&node.place, &node.value)) {
        None => {}
        Some((_, Value::Table(entries))) => {
            for Entry { key, node, .. } in entries {
                if key == "scope" {
                    scope = read_scope(node, &path, problems)?;
                } else {
                    own.insert(key.clone(), setting(node));
                }
            }
        }
        Some((place, other)) => {
            problems.add(place, &path, format!("not {}", other.shown()), "write settings as {key: value}");
            return None;
        }
    }
    let on_clients = |name: &str| catalogue().find(name).is_some_and(|entry| entry.places.contains(&Place::Client));
    let place = on_clients(name).then_some(Place::Client);
    let mut spec = PolicySpec { name: name.to_owned(), place, settings: own };
    if !check(&mut spec, node, settings, &path, problems) {
        return None;
    }
    if !on_clients(&spec.name) {
        let all = catalogue().entries().map(|entry| entry.name).filter(|name| on_clients(name));
        let hint = format!("these do: {}", all.collect::<Vec<_>>().join(", "));
        problems.add(&node.place, &path, "does not sit on the users' side", hint);
        return None;
    }
    Some(ClientPolicy { policy: spec.name, settings: spec.settings, scope })
}

/// The same, of a key.
pub fn client_key(fields: &Fields<'_>, key: &str) -> Option<ClientPolicy> {
    client(fields.node(key)?, &fields.path(key), fields.problems())
}

fn read_scope(node: &Node, path: &str, problems: &Problems) -> Option<ClientScope> {
    let path = join(path, "scope");
    match &node.value {
        Value::Text(word) if word == "all" => return Some(ClientScope::All),
        Value::Text(word) if word == "user" => return Some(ClientScope::User),
        Value::Text(word) => {
            let hint = format!("{}, or {{group: 50}}", suggestion(word, &["all", "user"]));
            problems.add(&node.place, &path, format!("{word:?} is not known here"), hint);
        }
        Value::Table(entries) if entries.len() == 1 && entries[0].key == "group" => {
            match count_in(&entries[0].node, 1..=MAX_GROUP) {
                Ok(users) => return Some(ClientScope::Group(users as u32)),
                Err((message, hint)) => problems.add(&entries[0].node.place, &join(&path, "group"), message, hint),
            }
        }
        other => problems.add(&node.place, &path, format!("not {}", other.shown()), SCOPE_HINT),
    }
    None
}

/// Reads `customer: {0: 3}`.
pub fn customer_by_class(fields: &Fields<'_>, key: &str) -> BTreeMap<Class, u32> {
    let customer = |node: &Node| count_in(node, 0..=u64::from(u32::MAX)).map(|customer| customer as u32);
    by_class(fields, key, "{0: 3, 1: 8}", customer)
}

/// Reads `criticality: {0: SHEDDABLE}`.
pub fn criticality_by_class(fields: &Fields<'_>, key: &str) -> BTreeMap<Class, Criticality> {
    by_class(fields, key, "{0: SHEDDABLE, 1: CRITICAL}", named)
}

/// Reads `criticality: SHEDDABLE`: of all requests.
pub fn criticality_of_all(fields: &Fields<'_>, key: &str) -> Option<Criticality> {
    named(fields.node(key)?).map_err(|(message, hint)| fields.problem(key, message, hint)).ok()
}

fn named(node: &Node) -> Result<Criticality, (String, String)> {
    let names = Criticality::ALL.map(Criticality::name);
    match &node.value {
        Value::Text(name) => {
            Criticality::named(name).ok_or_else(|| (format!("{name:?} is not known here"), suggestion(name, &names)))
        }
        other => Err((format!("not {}", other.shown()), format!("one of: {}", names.join(", ")))),
    }
}

/// Reads a table by class.
pub fn by_class<T>(
    fields: &Fields<'_>,
    key: &str,
    example: &str,
    read: impl Fn(&Node) -> Result<T, (String, String)>,
) -> BTreeMap<Class, T> {
    let mut found = BTreeMap::new();
    let Some(node) = fields.node(key) else { return found };
    let Value::Table(entries) = &node.value else {
        let hint = format!("write it by class: {key}: {example}");
        fields.problem(key, format!("a table is wanted here, not {}", node.value.shown()), hint);
        return found;
    };
    for Entry { key: class, place, node } in entries {
        let path = join(&fields.path(key), class);
        let Ok(class) = class.parse() else {
            fields.problems().add(place, &path, "is no class", "0 to 255");
            continue;
        };
        match read(node) {
            Ok(value) => _ = found.insert(Class(class), value),
            Err((message, hint)) => fields.problems().add(&node.place, &path, message, hint),
        }
    }
    found
}
