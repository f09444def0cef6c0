//! Experiments as text again: a value in one line, and a whole file with the changes that were made to it.

use analysis::judge::threshold::Threshold;

use super::{
    combinations::written_out,
    problem::FileProblem,
    raw::{Entry, Node, Value, parse},
    read::{Changes, Repeat, read},
    schema::modeline,
    set::{add_policies, name, set},
};

/// Longest line of a list or table that is written in one.
const WIDTH: usize = 110;

/// An arm as it is written: the key of its policy, and each of its settings in a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenArm {
    /// A policy, or a preset.
    pub key: String,
    /// Settings, with the lab's keys among them.
    pub settings: Vec<(String, String)>,
}

/// The arms of a file's text, in its order.
pub fn written_arms(text: &str) -> Vec<WrittenArm> {
    let Ok(root) = parse(text).map(written_out) else { return Vec::new() };
    let Some(Value::List(arms)) = root.get("arms").map(|node| &node.value) else { return Vec::new() };
    arms.iter().map(written_arm).collect()
}

fn written_arm(node: &Node) -> WrittenArm {
    match &node.value {
        Value::Text(text) => WrittenArm { key: text.clone(), settings: Vec::new() },
        Value::Table(entries) => entries.first().map_or_else(WrittenArm::default, |entry| WrittenArm {
            key: entry.key.clone(),
            settings: match &entry.node.value {
                Value::Table(settings) => settings.iter().map(|set| (set.key.clone(), flow(&set.node.value))).collect(),
                _ => Vec::new(),
            },
        }),
        _ => WrittenArm::default(),
    }
}

/// The file with these changes: its comment at the head, the arms that were chosen, and the thresholds that name no others. With
/// no changes it is the text as it stands. Comments elsewhere are not kept.
///
/// # Errors
/// What is wrong with the changes, or with the file.
pub fn written(text: &str, changes: &Changes) -> Result<String, Vec<FileProblem>> {
    let experiment = read(text, changes)?;
    // Arms are counted as they run: a list of values stands for several.
    let mut root = parse(text).map(written_out).map_err(|problem| vec![problem])?;
    let Value::Table(_) = &root.value else { return Ok(text.to_owned()) };
    let unchanged = root.clone();
    add_policies(&mut root, &changes.policies, &changes.set);
    let repeat = changes.repeat.map(|repeat| match repeat {
        Repeat::Times(times) => format!("repeat={times}"),
        Repeat::UntilDecided => format!("repeat={}", Repeat::UNTIL_DECIDED),
    });
    let seed = changes.seed.map(|seed| format!("seed={seed}"));
    for assignment in changes.set.iter().chain(&repeat).chain(&seed) {
        set(&mut root, assignment).map_err(|problem| vec![problem])?;
    }
    keep_arms(&mut root, changes);
    let running: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
    keep_what_is_about(&mut root, &running);
    if root == unchanged {
        return Ok(with_schema_line(text));
    }
    let head: String = text.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let whole = |root: &Node| {
        let mut out = with_schema_line(&head);
        block(&root.value, 0, &mut out);
        read(&out, &Changes::default()).map(|_| out)
    };
    // What was taken out may be named by the figure alone.
    whole(&root).or_else(|_| {
        if let Value::Table(entries) = &mut root.value {
            entries.retain(|entry| entry.key != "figure");
        }
        whole(&root)
    })
}

fn with_schema_line(text: &str) -> String {
    if text.contains("yaml-language-server:") { text.to_owned() } else { modeline() + text }
}

/// The arms that run, in the order of the choice; a policy that the file does not have is one by its name.
fn keep_arms(root: &mut Node, changes: &Changes) {
    if changes.policies.is_empty() {
        return;
    }
    let place = root.place.clone();
    let Some(list) = root.list_mut("arms") else { return };
    let nodes = std::mem::take(list);
    let mut kept: Vec<Node> = Vec::new();
    for wanted in &changes.policies {
        let labelled = nodes.iter().any(|node| name(node) == Some(wanted));
        let is_meant = |node: &&Node| {
            if labelled { name(node) == Some(wanted) } else { written_arm(node).key == *wanted }
        };
        let meant: Vec<Node> = nodes.iter().filter(is_meant).cloned().collect();
        if meant.is_empty() {
            kept.push(Node { value: Value::Text(wanted.clone()), place: place.clone() });
        }
        kept.extend(meant);
    }
    *list = kept;
}

/// Takes out thresholds about arms that do not run, and a baseline that is none of them.
fn keep_what_is_about(root: &mut Node, running: &[&str]) {
    let Value::Table(entries) = &mut root.value else { return };
    for entry in entries.iter_mut() {
        match (entry.key.as_str(), &mut entry.node.value) {
            ("thresholds", Value::List(thresholds)) => thresholds.retain_mut(|node| {
                let keeps = |node: &Node| match &node.value {
                    Value::Text(text) => Threshold::parse(text)
                        .map_or(true, |threshold| threshold.arms().iter().all(|arm| running.contains(arm))),
                    _ => true,
                };
                match &mut node.value {
                    Value::Table(entries) => match entries.iter_mut().find(|entry| entry.key == "check") {
                        Some(Entry { node: Node { value: Value::List(checks), .. }, .. }) => {
                            checks.retain(keeps);
                            !checks.is_empty()
                        }
                        check => check.is_none_or(|check| keeps(&check.node)),
                    },
                    _ => keeps(node),
                }
            }),
            ("compare", Value::Table(compare)) => {
                compare.retain(|entry| match (entry.key.as_str(), &entry.node.value) {
                    ("baseline", Value::Text(label)) => running.contains(&label.as_str()),
                    _ => true,
                });
            }
            _ => {}
        }
    }
    entries.retain(|entry| match &entry.node.value {
        Value::List(list) => !list.is_empty(),
        Value::Table(table) => !table.is_empty(),
        _ => true,
    });
}

/// A value in lines, `deep` steps to the right; what fits into one line stands in one.
fn block(value: &Value, deep: usize, out: &mut String) {
    let indent = "  ".repeat(deep);
    match value {
        Value::Table(entries) => entries.iter().for_each(|Entry { key, node, .. }| {
            out.push_str(&format!("{indent}{}:", scalar(key)));
            value_of(&node.value, deep, out);
        }),
        Value::List(nodes) => nodes.iter().for_each(|node| {
            out.push_str(&format!("{indent}-"));
            value_of(&node.value, deep, out);
        }),
        scalar => out.push_str(&format!("{indent}{}\n", flow(scalar))),
    }
}

/// Appends what stands behind a key or a dash. Lists of tables have a line for each.
fn value_of(value: &Value, deep: usize, out: &mut String) {
    let line = flow(value);
    let is_list_of_tables = match value {
        Value::List(nodes) => nodes.len() > 1 && nodes.iter().any(|node| !matches!(node.value, Value::Number(_))),
        _ => false,
    };
    let nests = matches!(value, Value::List(_) | Value::Table(_));
    if nests && (is_list_of_tables || line.chars().count() + 2 * deep > WIDTH) {
        out.push('\n');
        block(value, deep + 1, out);
    } else {
        out.push_str(&format!(" {line}\n"));
    }
}

/// A value in one line, as YAML reads it back.
pub(crate) fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Flag(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => scalar(text),
        Value::List(nodes) => {
            let parts: Vec<String> = nodes.iter().map(|node| flow(&node.value)).collect();
            format!("[{}]", parts.join(", "))
        }
        Value::Table(entries) => {
            let parts: Vec<String> = entries
                .iter()
                .map(|Entry { key, node, .. }| format!("{}: {}", scalar(key), flow(&node.value)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
    }
}

/// A word or line, in quotes where it would be read as something else.
fn scalar(text: &str) -> String {
    let reads_back = parse(&format!("[{text}]")).is_ok_and(|node| match node.value {
        Value::List(nodes) => matches!(&nodes[..], [only] if only.value == Value::Text(text.to_owned())),
        _ => false,
    }) && parse(&format!("{{x: {text}}}"))
        .is_ok_and(|node| node.get("x").is_some_and(|node| node.value == Value::Text(text.to_owned())));
    if reads_back { text.to_owned() } else { serde_json::to_string(text).unwrap_or_else(|_| text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Library;

    fn read_again(text: &str, changes: &Changes) -> crate::Experiment {
        let out = written(text, changes).unwrap_or_else(|problems| panic!("{}", problems[0]));
        read(&out, &Changes::default()).unwrap_or_else(|problems| panic!("{}\n{out}", problems[0]))
    }

    #[test]
    fn every_experiment_of_the_library_is_the_same_after_it_was_written_with_a_change() {
        for entry in Library::all() {
            let before = read(entry.text, &Changes::default()).expect("it is good");
            let changes = Changes { set: vec!["seed=77".to_owned()], ..Changes::default() };
            let after = read_again(entry.text, &changes);
            assert_eq!(after, crate::Experiment { seed: 77, ..before }, "{}", entry.id);
        }
    }

    #[test]
    fn without_a_change_the_text_is_as_it_was() {
        let text = Library::find("flash-crowd").expect("it is there").text;
        let out = written(text, &Changes::default()).expect("it is good");
        assert_eq!(out, modeline() + text);
        assert_eq!(written(&out, &Changes::default()).expect("it is good"), out, "the line is there once");
    }

    #[test]
    fn arms_behind_a_list_of_values_are_those_that_are_changed() {
        let text = "name: x\ntarget: {app: emulated, service: 10ms}\nobjective: {response_time: 1s}\nusers: {model: url, phases: [{name: x, requests: 5/s, for: 5s}]}\narms: [{concurrency: {max: [2, 4]}}, {fixed-rate: {rate: 20/s}}]\n";
        let set = vec!["arms.1.concurrency.max=5".to_owned(), "arms.2.fixed-rate.rate=30/s".to_owned()];
        let changes = Changes { set, ..Changes::default() };
        let wanted = read(text, &changes).expect("it is good");
        let found = read_again(text, &changes);
        assert_eq!(found.arms, wanted.arms);
        assert_eq!(written_arms(text).len(), found.arms.len());
    }

    #[test]
    fn chosen_arms_stay_with_the_thresholds_that_are_about_them() {
        let text = Library::find("flash-crowd").expect("it is there").text;
        let changes = Changes {
            set: vec!["arms.1.seda.samples=20".to_owned(), "arms.+={seda: {as: seda-2, rate_max: 500}}".to_owned()],
            policies: ["seda", "seda-2", "codel"].map(str::to_owned).to_vec(),
            repeat: Some(Repeat::Times(3)),
            ..Changes::default()
        };
        let wanted = read(text, &changes).expect("it is good");
        let found = read_again(text, &changes);
        assert_eq!(found, wanted);
        let labels: Vec<&str> = found.arms.iter().map(|arm| arm.label.as_str()).collect();
        assert_eq!((labels, found.repeat, found.thresholds.len()), (vec!["seda", "seda-2", "codel"], 3, 2));
    }

    #[test]
    fn texts_that_look_like_something_else_are_in_quotes() {
        for text in ["true", "12", "a: b", "x, y", "[", "#c", "", " a", "50%", "null", "a #b", "\"q\"", "yes: no"] {
            let line = flow(&Value::Text(text.to_owned()));
            let back = parse(&format!("x: {line}")).expect("YAML");
            assert_eq!(back.get("x").map(|node| &node.value), Some(&Value::Text(text.to_owned())), "{line}");
        }
        assert_eq!(flow(&Value::Text("seda.spike[50%..].goodput > 1".to_owned())), "\"seda.spike[50%..].goodput > 1\"");
    }

    #[test]
    fn an_arm_is_read_as_it_is_written() {
        let arms = written_arms("arms: [none, {seda: {as: x, depth: 3, on_refuse: {status: 503}}}]");
        assert_eq!(arms[0], WrittenArm { key: "none".to_owned(), settings: Vec::new() });
        let settings = [("as", "x"), ("depth", "3"), ("on_refuse", "{status: 503}")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        assert_eq!(arms[1], WrittenArm { key: "seda".to_owned(), settings });
    }
}
