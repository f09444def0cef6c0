//! A service that one arm changes: other workers, another search, slower work. So two settings of the service itself are
//! compared as two policies are, in the same blocks.

use analysis::text::suggestion;

use super::{
    keys::names,
    plan::{AppPlan, OwnTarget, TargetPlan},
    policy::setting,
    problem::Problems,
    raw::{Entry, Node, Value},
    target::{TargetKeys, target},
};

/// What makes it another service, or is done once for all arms: no arm changes these.
const SHARED: &[&str] = &["app", "mail", "database", "capacity", "work", "class", "criticality", "services", "entry"];

/// The experiment's own target: as it was written, and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Base<'a> {
    /// As written.
    pub node: &'a Node,
    /// As read.
    pub target: &'a TargetPlan,
}

/// Keys of `target` that an arm may change.
pub fn keys() -> Vec<&'static str> {
    names::<TargetKeys>().into_iter().filter(|key| !SHARED.contains(key)).collect()
}

/// Reads an arm's `target: {workers: 4}`: what is written there takes the place of the experiment's, key by key.
pub fn own_target(node: &Node, base: Base<'_>, path: &str, problems: &Problems) -> Option<Box<OwnTarget>> {
    let Value::Table(changes) = &node.value else {
        problems.add(&node.place, path, format!("not {}", node.value.shown()), "write {workers: 4}");
        return None;
    };
    if matches!(base.target.app, AppPlan::Tree(_)) {
        problems.add(&node.place, path, "an arm changes no tree's services", "change policies (services) or calls");
        return None;
    }
    let known = keys();
    let mut sound = true;
    for Entry { key, place, .. } in changes {
        let (message, hint) = match key.as_str() {
            key if known.contains(&key) => continue,
            key if SHARED.contains(&key) => ("is the same in all arms", "write it under target".to_owned()),
            key => ("there is no such key", suggestion(key, &known)),
        };
        problems.add(place, &format!("{path}.{key}"), message, hint);
        sound = false;
    }
    let Value::Table(written) = &base.node.value else { return None };
    let kept = written.iter().filter(|entry| !changes.iter().any(|change| change.key == entry.key));
    let merged = Node { value: Value::Table(kept.chain(changes).cloned().collect()), place: node.place.clone() };
    // What is wrong in the experiment's own part is found again here, at the same place, and told once.
    let target = target(&merged, problems).filter(|_| sound)?;
    let changes = changes.iter().map(|entry| (entry.key.clone(), setting(&entry.node))).collect();
    Some(Box::new(OwnTarget { changes, target }))
}
