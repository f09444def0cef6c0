//! Policies on the users' own side, and what their requests say of themselves.

use std::collections::BTreeMap;

use analysis::text::suggestion;
use controllers::{Class, Criticality, Place, catalogue::PolicySpec};
use installed::catalogue;
use schemars::json_schema;
use workloads::plan::{ClientPolicy, ClientScope};

use super::{
    fields::{Fields, count_in, join},
    keys::{Table, by, count, names, shapes, table},
    policy::{check, parted, policy_and_settings, settings_of},
    problem::Problems,
    raw::{Entry, Node, Value},
};

/// Most users of a group, as there are users.
const MAX_GROUP: u32 = 2_000_000;
const SCOPE_HINT: &str = "all, user, or {group: 50}";

table! {
    /// Settings of the lab beside those of the policy ([policies on the users' side](#policies-on-the-users-side)).
    pub(super) struct ClientKeys as "ClientSettings" {
        scope: Option<ClientScope> = by::<Scope, _>(scope).otherwise("`all`").example("{group: 50}"), "The users that share the policy and its state: `all`, `user` (each has its own), or `{group: 50}`";
    }

    /// Users that share a policy.
    pub(super) struct GroupKeys as "UserGroup" {
        group: Option<u32> = count(1..=MAX_GROUP).wanted("50"), "Users that are present at the same time and share one policy";
    }
}

shapes! {
    Scope as "ClientScope" = |generator| json_schema!({
        "anyOf": [{"type": "string", "enum": ["all", "user"]}, generator.subschema_for::<GroupKeys>()],
    });
}

/// Reads `throttle` or `throttle: {k: 2, scope: all}`.
pub fn client(node: &Node, path: &str, problems: &Problems) -> Option<ClientPolicy> {
    let (name, settings) = policy_and_settings(node, path, problems)?;
    let path = join(path, name);
    let (lab, own) = parted(settings, &path, problems, |entry| names::<ClientKeys>().contains(&entry.key.as_str()))?;
    let found = ClientKeys::read(&Fields::of_table::<ClientKeys>(&lab, &path, problems)?);
    let scope = match lab.get("scope") {
        None => ClientScope::default(),
        Some(_) => found.scope?,
    };
    let on_clients = |name: &str| catalogue().find(name).is_some_and(|entry| entry.places.contains(&Place::Client));
    let place = on_clients(name).then_some(Place::Client);
    let mut spec = PolicySpec { name: name.to_owned(), place, settings: settings_of(&own) };
    if !check(&mut spec, node, settings, &path, problems) {
        return None;
    }
    if !on_clients(&spec.name) {
        let all = catalogue().entries().map(|entry| entry.name).filter(|name| on_clients(name));
        let hint = format!("these do: {}", all.collect::<Vec<_>>().join(", "));
        return problems.wrong(&node.place, &path, "does not sit on the users' side", hint);
    }
    Some(ClientPolicy { policy: spec.name, settings: spec.settings, scope })
}

/// The same, of a key.
pub fn client_key(fields: &Fields<'_>, key: &str) -> Option<ClientPolicy> {
    client(fields.node(key)?, &fields.path(key), fields.problems())
}

fn scope(fields: &Fields<'_>, key: &str) -> Option<ClientScope> {
    match &fields.node(key)?.value {
        Value::Text(word) if word == "all" => return Some(ClientScope::All),
        Value::Text(word) if word == "user" => return Some(ClientScope::User),
        Value::Text(word) => {
            let hint = format!("{}, or {{group: 50}}", suggestion(word, &["all", "user"]));
            fields.problem(key, format!("{word:?} is not known here"), hint);
        }
        Value::Table(_) => return fields.table::<GroupKeys>(key)?.group.map(ClientScope::Group),
        other => fields.problem(key, other.unexpected(), SCOPE_HINT),
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
        other => Err((other.unexpected(), format!("one of: {}", names.join(", ")))),
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
    for Entry { key: class, place, node } in fields.entries(key, &format!("write it by class: {key}: {example}")) {
        let path = join(&fields.path(key), class);
        let Ok(class) = class.parse() else {
            fields.problems().add(place, &path, "is not a class", "0 to 255");
            continue;
        };
        match read(node) {
            Ok(value) => _ = found.insert(Class(class), value),
            Err((message, hint)) => fields.problems().add(&node.place, &path, message, hint),
        }
    }
    found
}
