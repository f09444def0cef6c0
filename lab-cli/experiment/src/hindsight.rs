//! Arms that know what no policy can know.

use controllers::catalogue::ParamKind;
use installed::catalogue;

use super::{
    fields::{Fields, join},
    keys::{Table, by, count, names, table, text},
    plan::{Hindsight, LIMIT, Tree},
    problem::{Place, Problems},
    raw::{Entry, Node, Value},
};

/// The name of the arm whose limit is looked for.
pub const BEST_STATIC: &str = "best-static";

/// The oracle has no settings: any that are left in an arm are a mistake.
pub(crate) fn oracle(own: &mut Vec<&Entry>, path: &str, problems: &Problems) -> (String, Hindsight) {
    for entry in own.drain(..) {
        let hint = "leave it out: the oracle knows all that it needs";
        problems.add(&entry.place, &join(path, &entry.key), "there is no such key", hint);
    }
    ("none".to_owned(), Hindsight::Oracle)
}

table! {
    /// Keys of `best-static`; others are settings of the policy whose limit is looked for.
    pub(super) struct BestStaticKeys as "BestStaticSettings" {
        of: Option<String> = by::<String, _>(of).otherwise("`concurrency`"), "The policy whose limit is looked for: any with a limit `max`";
        most: u32 = count(1..=65_536).or(512), "The highest limit that is tried";
        service: Option<String> = text(), "In a tree, the service whose tasks have the limit; without it all tasks have it";
    }
}

/// Takes the keys of `best-static` out of an arm's settings. Gives the policy's name.
pub(crate) fn best_static(
    own: &mut Vec<&Entry>,
    tree: Option<&Tree>,
    place: &Place,
    path: &str,
    problems: &Problems,
) -> (String, Hindsight) {
    let (lab, rest): (Vec<&Entry>, _) =
        own.iter().partition(|entry| names::<BestStaticKeys>().contains(&entry.key.as_str()));
    *own = rest;
    let lab = Node { value: Value::Table(lab.into_iter().cloned().collect()), place: place.clone() };
    let fields = Fields::unchecked(&lab, path, problems);
    let BestStaticKeys { of, most, service } = BestStaticKeys::read(&fields);
    let policy = of.unwrap_or_else(|| "concurrency".to_owned());
    let service = service.filter(|name| has_service(&fields, tree, name));
    own.retain(|entry| {
        if entry.key == LIMIT {
            let hint = format!("leave it out, or write {policy}: {{{LIMIT}: …}}");
            problems.add(&entry.place, &join(path, LIMIT), "is what is looked for", hint);
        }
        entry.key != LIMIT
    });
    let found = catalogue().find(&policy);
    let limits = |param: &controllers::catalogue::Param| param.name == LIMIT && param.kind == ParamKind::Count;
    if !found.is_some_and(|entry| entry.is_policy() && entry.params().iter().any(limits)) {
        fields.problem("of", format!("{policy} has no limit to look for"), "of: concurrency, or of: connections");
    }
    (policy, Hindsight::BestStatic { most, service })
}

fn of(fields: &Fields<'_>, key: &str) -> Option<String> {
    match &fields.node(key)?.value {
        Value::Text(name) => Some(name.clone()),
        other => {
            let message = format!("a policy with a limit is wanted here, not {}", other.shown());
            fields.problem(key, message, "of: concurrency");
            None
        }
    }
}

fn has_service(fields: &Fields<'_>, tree: Option<&Tree>, name: &str) -> bool {
    let names: Vec<&str> =
        tree.map_or_else(Vec::new, |tree| tree.services.iter().map(|one| one.name.as_str()).collect());
    if names.contains(&name) {
        return true;
    }
    let hint = match names.as_slice() {
        [] => "leave it out: it is about several services (target.app: tree)".to_owned(),
        names => format!("one of {}", names.join(", ")),
    };
    fields.problem("service", format!("there is no service {name:?}"), hint);
    false
}
