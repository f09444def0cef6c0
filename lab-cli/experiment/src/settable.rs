//! The keys of a file that can be changed one by one (`--set KEY=VALUE`), with what they are set to: what an editor shows.

use super::{
    arms::ArmKeys,
    keys::{Row, Table},
    load::PhaseKeys,
    raw::{Node, Value, parse},
    read::{CompareKeys, ExperimentKeys, ObjectiveKeys},
    set::set,
    simulation::{LinkKeys, SimulationKeys},
    target::TargetKeys,
    users::UsersKeys,
    written::flow,
};

/// A key that can be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettableKey {
    /// Key for `--set`: `users.phases.spike.users`.
    pub key: String,
    /// Value in the file, in a line; `None`: nothing, and the default holds.
    pub value: Option<String>,
    /// The default, as docs tell it; empty: there is none.
    pub default: String,
    /// The allowed values, with their unit; empty: see `about`.
    pub values: String,
    /// Meaning, with examples.
    pub about: &'static str,
}

/// The keys of this file, the load first: users, phases, service, objective, then what only virtual time knows, and the seed.
/// `changes`: what is set already; a change that leads nowhere is left out.
pub fn of_file(text: &str, changes: &[String]) -> Vec<SettableKey> {
    let Ok(mut root) = parse(text) else { return Vec::new() };
    for change in changes {
        let mut changed = root.clone();
        if set(&mut changed, change).is_ok() {
            root = changed;
        }
    }
    let mut keys = Vec::new();
    let users = root.get("users");
    for (number, phase) in elements(users.and_then(|users| users.get("phases"))).iter().enumerate() {
        let path = match phase.get("name").map(|name| &name.value) {
            Some(Value::Text(name)) => format!("users.phases.{name}"),
            _ => format!("users.phases.{number}"),
        };
        let is_shown = |row: &Row| phase.get(row.key).is_some() || OF_EVERY_PHASE.contains(&row.key);
        keys.extend(rows::<PhaseKeys>(&path, Some(phase), is_shown));
    }
    keys.extend(rows::<UsersKeys>("users", users, |row| row.of.is_empty() && row.key != "phases"));
    let target = root.get("target");
    let app = match target.and_then(|target| target.get("app")).map(|app| &app.value) {
        Some(Value::Text(app)) => app.clone(),
        _ => "own".to_owned(),
    };
    let of_app = |row: &Row| row.of.is_empty() || row.of.split(", ").any(|of| of == app);
    keys.extend(rows::<TargetKeys>("target", target, |row| of_app(row) && row.key != "app"));
    keys.extend(rows::<ObjectiveKeys>("objective", root.get("objective"), |_| true));
    let simulation = root.get("virtual");
    keys.extend(rows::<SimulationKeys>("virtual", simulation, |row| row.key != "link"));
    let link = simulation.and_then(|simulation| simulation.get("link"));
    keys.extend(rows::<LinkKeys>("virtual.link", link, |_| true));
    keys.extend(rows::<CompareKeys>("compare", root.get("compare"), |_| true));
    keys.extend(rows::<ExperimentKeys>("", Some(&root), |row| row.key == "seed"));
    keys
}

/// Keys of the lab among an arm's settings.
pub fn of_arm() -> Vec<SettableKey> {
    rows::<ArmKeys>("", None, |_| true)
}

/// Shown of a phase also where they are not written.
const OF_EVERY_PHASE: [&str; 2] = ["for", "law"];

fn elements(node: Option<&Node>) -> &[Node] {
    match node.map(|node| &node.value) {
        Some(Value::List(nodes)) => nodes,
        _ => &[],
    }
}

fn rows<T: Table>(path: &str, node: Option<&Node>, is_shown: impl Fn(&Row) -> bool) -> Vec<SettableKey> {
    let settable = |row: Row| SettableKey {
        key: if path.is_empty() { row.key.to_owned() } else { format!("{path}.{}", row.key) },
        value: node.and_then(|node| node.get(row.key)).map(|node| flow(&node.value)),
        default: row.default.trim_matches('`').to_owned(),
        values: row.values,
        about: row.about,
    };
    T::rows().into_iter().filter(|row| is_shown(row)).map(settable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Changes, library::Library, read};

    fn of(id: &str, changes: &[&str]) -> Vec<SettableKey> {
        let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
        of_file(Library::find(id).expect("it is there").text, &changes)
    }

    fn value(keys: &[SettableKey], key: &str) -> Option<String> {
        let found = keys.iter().find(|found| found.key == key);
        found.unwrap_or_else(|| panic!("{key} is not there")).value.clone()
    }

    #[test]
    fn keys_are_there_with_what_the_file_says_and_with_what_was_changed() {
        let keys = of("flash-crowd", &["users.think=50ms", "users.phases.spike.users=300"]);
        assert_eq!(value(&keys, "users.phases.before.users").as_deref(), Some("3"));
        assert_eq!(value(&keys, "users.phases.spike.users").as_deref(), Some("300"));
        assert_eq!(value(&keys, "users.think").as_deref(), Some("50ms"));
        assert_eq!(value(&keys, "users.on_reject").as_deref(), Some("{wait: 5s, then: login}"));
        assert_eq!(value(&keys, "target.capacity").as_deref(), Some("100/s"));
        assert_eq!(value(&keys, "objective.response_time").as_deref(), Some("1s"));
        assert_eq!([value(&keys, "virtual.faults"), value(&keys, "seed")], [None, None]);
        assert!(!keys.iter().any(|key| key.key == "target.rounds"), "a key of another service");
    }

    /// What is shown can be set to what is shown.
    #[test]
    fn every_value_of_every_experiment_can_be_set_to_itself() {
        for entry in Library::all() {
            let before = read(entry.text, &Changes::default()).expect("it is good");
            let keys = of_file(entry.text, &[]);
            let set: Vec<String> =
                keys.iter().filter_map(|key| Some(format!("{}={}", key.key, key.value.as_ref()?))).collect();
            assert!(set.len() >= 4, "{}: {set:?}", entry.id);
            let after = read(entry.text, &Changes { set, ..Changes::default() });
            assert_eq!(after.map_err(|problems| problems[0].to_string()), Ok(before), "{}", entry.id);
        }
    }

    #[test]
    fn faults_can_be_added_to_a_file_that_has_none() {
        let text = Library::find("flash-crowd").expect("it is there").text;
        let set = vec!["virtual.faults=[{at: 10s, for: 5s, capacity: 0.2}]".to_owned()];
        let found = read(text, &Changes { set, ..Changes::default() }).expect("it is good");
        assert_eq!(found.simulation.faults.len(), 1);
    }
}
