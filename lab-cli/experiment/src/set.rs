//! Changes of a file from the command line, `--set KEY=VALUE`, made in what was written before it is read.

use analysis::text::suggestion;

use super::{
    problem::{FileProblem, Place},
    raw::{Entry, Node, Value, parse},
};

/// Puts a value into the tree. Keys are dotted; an element of a list is named by its number (from 0), by its `name`, or, an
/// arm, by its label or its policy: `users.phases.spike.users=500`, `arms.seda.scope=single`; `+` is a new one at its end:
/// `arms.+=codel`.
///
/// # Errors
/// The key leads nowhere or to more than one place, or the value is no YAML.
pub fn set(root: &mut Node, assignment: &str) -> Result<(), FileProblem> {
    let place = Place::Flag(format!("--set {assignment}"));
    let problem = |message: String, hint: &str| FileProblem {
        place: place.clone(),
        key: String::new(),
        message,
        hint: Some(hint.to_owned()),
    };
    let Some((key, written)) = assignment.split_once('=') else {
        return Err(problem("a value is missing".to_owned(), "write it as --set users.think=50ms"));
    };
    let mut value = parse(written).map_err(|bad| problem(bad.message, "the value is read as YAML"))?;
    place_all(&mut value, &place);
    let mut at = root;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        at = step(at, part, &place)
            .map_err(|astray| problem(format!("{part:?} of {key:?} {}", astray.why), &astray.way_out))?;
        if last {
            *at = value;
            return Ok(());
        }
    }
    Err(problem("the key is empty".to_owned(), "write it as --set users.think=50ms"))
}

/// Adds an arm to the list for each policy of `--policy` that has none there, and of which a setting is to be changed: `--policy aimd
/// --set arms.aimd.limit_max=5`.
pub fn add_policies(root: &mut Node, policies: &[String], assignments: &[String]) {
    let Some(arms) = root.list_mut("arms") else { return };
    for policy in policies {
        let of_it = format!("arms.{policy}.");
        let is_set = assignments.iter().any(|assignment| assignment.starts_with(&of_it));
        if is_set && !arms.iter().any(|arm| name(arm) == Some(policy) || only_key(arm) == Some(policy)) {
            arms.push(Node { value: Value::Text(policy.clone()), place: Place::Flag(format!("--policy {policy}")) });
        }
    }
}

/// Step that leads nowhere, and where it could lead.
struct Astray {
    why: &'static str,
    way_out: String,
}

/// One step down; a key that a table does not have yet is added (whether it is a known key is checked when it is read).
fn step<'a>(node: &'a mut Node, part: &str, place: &Place) -> Result<&'a mut Node, Astray> {
    // `- seda` becomes `- seda: {}` when something is to be set in it.
    if let Value::Text(_) | Value::Null = &node.value {
        node.value = Value::Table(Vec::new());
    }
    match &mut node.value {
        Value::Table(entries) => {
            let index = entries.iter().position(|entry| entry.key == part).unwrap_or_else(|| {
                let node = Node { value: Value::Null, place: place.clone() };
                entries.push(Entry { key: part.to_owned(), place: place.clone(), node });
                entries.len() - 1
            });
            Ok(&mut entries[index].node)
        }
        Value::List(nodes) => step_into(nodes, part, place),
        _ => Err(Astray { why: "names nothing", way_out: "name a key of the file, dotted".to_owned() }),
    }
}

fn step_into<'a>(nodes: &'a mut Vec<Node>, part: &str, place: &Place) -> Result<&'a mut Node, Astray> {
    if part == "+" {
        nodes.push(Node { value: Value::Null, place: place.clone() });
    }
    let index = if part == "+" { nodes.len() - 1 } else { element(nodes, part)? };
    let found = &mut nodes[index];
    let by_name = part != "+" && part.parse::<usize>().is_err();
    if by_name && let Value::Text(text) = &found.value {
        let inner = Node { value: Value::Table(Vec::new()), place: place.clone() };
        let entry = Entry { key: text.clone(), place: found.place.clone(), node: inner };
        found.value = Value::Table(vec![entry]);
    }
    // What is set of `- seda: {…}` is inside of it.
    if !by_name || only_key(found).is_none_or(|key| key == "name") {
        return Ok(found);
    }
    match &mut found.value {
        Value::Table(entries) => Ok(&mut entries[0].node),
        _ => Err(Astray { why: "names nothing", way_out: "name a key of the file, dotted".to_owned() }),
    }
}

/// Index of an element of a list: that with this name, or else the only one of this policy.
fn element(nodes: &[Node], part: &str) -> Result<usize, Astray> {
    if let Ok(number) = part.parse::<usize>() {
        let way_out = format!("there are {}, counted from 0", nodes.len());
        return if number < nodes.len() { Ok(number) } else { Err(Astray { why: "names nothing", way_out }) };
    }
    let names: Vec<Option<&str>> = nodes.iter().map(name).collect();
    if let Some(named) = names.iter().position(|name| *name == Some(part)) {
        return Ok(named);
    }
    let of_policy: Vec<usize> = (0..nodes.len()).filter(|at| only_key(&nodes[*at]) == Some(part)).collect();
    match of_policy.as_slice() {
        [only] => Ok(*only),
        [] => {
            let known: Vec<&str> = names.into_iter().flatten().collect();
            Err(Astray { why: "names nothing", way_out: suggestion(part, &known) })
        }
        several => {
            let labels: Vec<&str> = several.iter().filter_map(|at| names[*at]).collect();
            Err(Astray { why: "could be more than one", way_out: format!("say which: {}", labels.join(", ")) })
        }
    }
}

/// Name of an element: its `name`, or an arm's label.
pub fn name(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        Value::Table(entries) => match node.get("name").map(|name| &name.value) {
            Some(Value::Text(name)) => Some(name),
            _ => match entries.as_slice() {
                [only] => match only.node.get("as").map(|label| &label.value) {
                    Some(Value::Text(label)) => Some(label),
                    _ => Some(&only.key),
                },
                _ => None,
            },
        },
        _ => None,
    }
}

fn only_key(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Table(entries) if entries.len() == 1 => Some(&entries[0].key),
        _ => None,
    }
}

fn place_all(node: &mut Node, place: &Place) {
    node.place = place.clone();
    match &mut node.value {
        Value::List(nodes) => nodes.iter_mut().for_each(|node| place_all(node, place)),
        Value::Table(entries) => {
            for entry in entries {
                entry.place = place.clone();
                place_all(&mut entry.node, place);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
users: {phases: [{name: calm, users: 3}, {name: spike, users: 1000}]}
arms:
  - none
  - seda: {as: published, depth: 10}
  - seda: {as: as-coded, depth: 1}
  - codel
";

    fn changed(assignment: &str) -> Result<Node, FileProblem> {
        let mut root = parse(FILE).expect("it is YAML");
        set(&mut root, assignment).map(|()| root)
    }

    fn at<'a>(root: &'a Node, keys: &[&str]) -> &'a Value {
        let down = |node: &'a Node, key: &&str| match &node.value {
            Value::List(nodes) => &nodes[key.parse::<usize>().expect("a number")],
            _ => node.get(key).expect("it is there"),
        };
        &keys.iter().fold(root, down).value
    }

    #[test]
    fn an_arm_is_named_by_its_label() {
        let root = changed("arms.as-coded.depth=5").expect("it is there");
        assert_eq!(at(&root, &["arms", "2", "seda", "depth"]), &Value::Number(5.0));
        assert_eq!(at(&root, &["arms", "1", "seda", "depth"]), &Value::Number(10.0));
        let root = changed("arms.codel.target=5ms").expect("it is there");
        assert_eq!(at(&root, &["arms", "3", "codel", "target"]), &Value::Text("5ms".to_owned()));
    }

    #[test]
    fn a_policy_that_two_arms_have_is_not_enough() {
        let problem = changed("arms.seda.depth=5").expect_err("which one?");
        assert!(problem.message.contains("more than one"), "{}", problem.message);
        assert_eq!(problem.hint.as_deref(), Some("say which: published, as-coded"));
    }

    #[test]
    fn what_there_is_instead_is_told() {
        let problem = changed("users.phases.spice.users=5").expect_err("there is none");
        assert!(problem.hint.is_some_and(|hint| hint.contains("spike")));
        let problem = changed("users.phases.7.users=5").expect_err("there is none");
        assert_eq!(problem.hint.as_deref(), Some("there are 2, counted from 0"));
    }

    #[test]
    fn a_policy_of_the_command_line_can_be_set_too() {
        let mut root = parse(FILE).expect("it is YAML");
        let (policies, set_of) = (["aimd", "seda", "vegas"].map(str::to_owned), ["arms.aimd.limit_max=5".to_owned()]);
        add_policies(&mut root, &policies, &set_of);
        set(&mut root, &set_of[0]).expect("it is there now");
        assert_eq!(at(&root, &["arms", "4", "aimd", "limit_max"]), &Value::Number(5.0));
        let Value::List(arms) = at(&root, &["arms"]) else { panic!("a list") };
        assert_eq!(arms.len(), 5, "arms that nothing is set of are added when the file is read");
    }

    #[test]
    fn elements_have_names_and_numbers() {
        let named = changed("users.phases.spike.users=5").expect("it is there");
        let numbered = changed("users.phases.1.users=5").expect("it is there");
        assert_eq!(at(&named, &["users", "phases", "1", "users"]), &Value::Number(5.0));
        assert_eq!(at(&numbered, &["users", "phases", "1", "users"]), &Value::Number(5.0));
        let more = changed("arms.+=vegas").expect("at the end");
        assert_eq!(at(&more, &["arms", "4"]), &Value::Text("vegas".to_owned()));
    }
}
