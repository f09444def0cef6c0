//! Arms that know what no policy can know.

use controllers::catalogue::ParamKind;
use installed::catalogue;

use super::{
    fields::{count_in, join},
    plan::{Hindsight, LIMIT, Tree},
    problem::{Place, Problems},
    raw::{Entry, Value},
};

/// The name of the arm whose limit is looked for.
pub const BEST_STATIC: &str = "best-static";
const MOST: u32 = 512;

/// The oracle has no settings: whatever is left of an arm's is a slip.
pub(crate) fn oracle(own: &mut Vec<&Entry>, path: &str, problems: &Problems) -> (String, Hindsight) {
    for entry in own.drain(..) {
        let hint = "leave it out: the oracle knows all that it needs";
        problems.add(&entry.place, &join(path, &entry.key), "there is no such key", hint);
    }
    ("none".to_owned(), Hindsight::Oracle)
}

/// Takes the keys of `best-static` out of an arm's settings: whose limit it is (`of`), up to where it is looked for
/// (`most`), and at which service of a `tree` it holds (`service`). Gives the policy's name.
pub(crate) fn best_static(
    own: &mut Vec<&Entry>,
    tree: Option<&Tree>,
    place: &Place,
    path: &str,
    problems: &Problems,
) -> (String, Hindsight) {
    let mut policy = "concurrency".to_owned();
    let mut most = MOST;
    let mut service = None;
    own.retain(|entry| {
        match (entry.key.as_str(), &entry.node.value) {
            ("of", Value::Text(name)) => name.clone_into(&mut policy),
            ("of", other) => {
                let message = format!("a policy with a limit is wanted here, not {}", other.shown());
                problems.add(&entry.node.place, &join(path, "of"), message, "of: concurrency");
            }
            ("most", _) => match count_in(&entry.node, 1..=65_536) {
                Ok(count) => most = count as u32,
                Err((message, hint)) => problems.add(&entry.node.place, &join(path, "most"), message, hint),
            },
            ("service", written) => {
                let names: Vec<&str> =
                    tree.map_or_else(Vec::new, |tree| tree.services.iter().map(|one| one.name.as_str()).collect());
                match written {
                    Value::Text(name) if names.contains(&name.as_str()) => service = Some(name.clone()),
                    other => {
                        let name = other.shown();
                        let hint = match names.as_slice() {
                            [] => "leave it out: it is about several services (target.app: tree)".to_owned(),
                            names => format!("one of {}", names.join(", ")),
                        };
                        let message = format!("there is no service {name}");
                        problems.add(&entry.node.place, &join(path, "service"), message, hint);
                    }
                }
            }
            (LIMIT, _) => {
                let hint = format!("leave it out, or write {policy}: {{{LIMIT}: …}}");
                problems.add(&entry.place, &join(path, LIMIT), "is what is looked for", hint);
            }
            _ => return true,
        }
        false
    });
    let found = catalogue().find(&policy);
    let limits = |param: &controllers::catalogue::Param| param.name == LIMIT && param.kind == ParamKind::Count;
    if !found.is_some_and(|entry| entry.is_policy() && entry.params().iter().any(limits)) {
        let message = format!("{policy} has no limit to look for");
        problems.add(place, &join(path, "of"), message, "of: concurrency, or of: connections");
    }
    (policy, Hindsight::BestStatic { most, service })
}
