//! A service that one arm changes: other workers, another search, slower work. Two settings of the service itself are compared
//! in this way as two policies are, in the same blocks.

use analysis::text::suggestion;

use super::{
    keys::{Row, Table},
    plan::{AppPlan, OwnTarget, TargetPlan},
    policy::setting,
    problem::Problems,
    raw::{Entry, Node, Value},
    target::{TargetKeys, target},
};

/// The experiment's own target: as it was written, and as it was read.
#[derive(Debug, Clone, Copy)]
pub struct Base<'a> {
    /// Node of the experiment's target, as written.
    pub node: &'a Node,
    /// The same target, as read.
    pub target: &'a TargetPlan,
}

/// Reads an arm's `target: {workers: 4}`: its keys replace those of the experiment's target, one by one.
pub fn own_target(node: &Node, base: Base<'_>, path: &str, problems: &Problems) -> Option<Box<OwnTarget>> {
    let Value::Table(changes) = &node.value else {
        return problems.wrong(&node.place, path, node.value.unexpected(), "write {workers: 4}");
    };
    if matches!(base.target.app, AppPlan::Tree(_)) {
        let hint = "change policies (services) or calls";
        return problems.wrong(&node.place, path, "an arm changes no tree's services", hint);
    }
    let (shared, changeable): (Vec<_>, Vec<_>) = TargetKeys::rows().into_iter().partition(|row| row.shared);
    let has = |rows: &[Row], key: &str| rows.iter().any(|row| row.key == key);
    let mut sound = true;
    for Entry { key, place, .. } in changes {
        let (message, hint) = match key.as_str() {
            key if has(&changeable, key) => continue,
            key if has(&shared, key) => ("is the same in all arms", "write it under target".to_owned()),
            key => ("there is no such key", suggestion(key, &changeable.iter().map(|row| row.key).collect::<Vec<_>>())),
        };
        problems.add(place, &format!("{path}.{key}"), message, hint);
        sound = false;
    }
    let Value::Table(written) = &base.node.value else { return None };
    let kept = written.iter().filter(|entry| !changes.iter().any(|change| change.key == entry.key));
    let merged = Node { value: Value::Table(kept.chain(changes).cloned().collect()), place: node.place.clone() };
    // A problem in the experiment's own part is found again here, at the same place, and is reported once.
    let target = target(&merged, problems).filter(|_| sound)?;
    let changes = changes.iter().map(|entry| (entry.key.clone(), setting(&entry.node))).collect();
    Some(Box::new(OwnTarget { changes, target }))
}
