//! Arms of all combinations: `- gradient2: {limit_min: [2, 5, 10], tolerance: [1.2, 1.5]}` stands for six arms.
//!
//! They are written out in the tree before anything is read or set in it, so that each is an arm like any other: it has a label of its own,
//! `gradient2-limit_min-2-tolerance-1_2`, by which `--set`, `--policy` and thresholds name it.

use controllers::catalogue::{ParamKind, Settings};
use installed::catalogue;

use super::{
    fields::join,
    own_proxy::preset_setting,
    problem::Problems,
    raw::{Entry, Node, Value},
};

/// The most arms that one line stands for: a table of more is not read by anybody, and a sweep draws it.
const MOST_ARMS: usize = 64;

/// Writes out the arms of a file.
pub(crate) fn write_out(root: &mut Node, problems: &Problems) {
    let Some(arms) = root.list_mut("arms") else { return };
    *arms = std::mem::take(arms).into_iter().flat_map(|arm| arms_of(arm, problems)).collect();
}

/// The arms that one stands for: itself, unless a parameter has a list.
fn arms_of(arm: Node, problems: &Problems) -> Vec<Node> {
    let Value::Table(of_arm) = &arm.value else { return vec![arm] };
    let [Entry { key: policy, node: Node { value: Value::Table(settings), .. }, .. }] = &of_arm[..] else {
        return vec![arm];
    };
    let lists: Vec<(&Entry, &Vec<Node>)> =
        settings.iter().filter_map(|entry| Some((entry, list(policy, entry)?))).collect();
    if lists.is_empty() {
        return vec![arm];
    }
    if let Some((empty, _)) = lists.iter().find(|(_, values)| values.is_empty()) {
        let path = join(&join("arms", policy), &empty.key);
        problems.add(&empty.node.place, &path, "the list is empty", "name the values: [2, 5, 10]");
        return Vec::new();
    }
    let all = lists.iter().map(|(_, values)| values.len()).try_fold(1_usize, usize::checked_mul);
    if all.is_none_or(|all| all > MOST_ARMS) {
        let message = format!("its lists stand for {} arms", all.map_or("too many".to_owned(), |all| all.to_string()));
        let hint = format!("{MOST_ARMS} at most; lab sweep draws curves over more values");
        problems.add(&of_arm[0].place, &join("arms", policy), message, hint);
        return Vec::new();
    }
    let mut chosen: Vec<Vec<&Node>> = vec![Vec::new()];
    for (_, values) in &lists {
        chosen =
            chosen.iter().flat_map(|so_far| values.iter().map(move |value| [&so_far[..], &[value]].concat())).collect();
    }
    chosen.into_iter().map(|values| with(&arm, &lists, &values)).collect()
}

/// The values of a parameter that has a list, and is none itself.
fn list<'a>(policy: &str, entry: &'a Entry) -> Option<&'a Vec<Node>> {
    let Value::List(values) = &entry.node.value else { return None };
    if preset_setting(policy, &entry.key).is_some() {
        return Some(values);
    }
    let (known, _) = catalogue().resolve(policy, &Settings::new()).ok()?;
    let is_scalar = |kind| {
        matches!(kind, ParamKind::Number | ParamKind::Count | ParamKind::Time | ParamKind::Flag | ParamKind::Choice)
    };
    let params = known.params();
    params.iter().any(|param| param.name == entry.key && is_scalar(param.kind)).then_some(values)
}

/// The arm with one value of each list, and a label that says them.
fn with(arm: &Node, lists: &[(&Entry, &Vec<Node>)], values: &[&Node]) -> Node {
    let mut arm = arm.clone();
    let Value::Table(of_arm) = &mut arm.value else { return arm };
    let (policy, place) = (of_arm[0].key.clone(), of_arm[0].place.clone());
    let Value::Table(settings) = &mut of_arm[0].node.value else { return arm };
    let written = settings.iter().find(|entry| entry.key == "as").map(|entry| &entry.node.value);
    let mut label = if let Some(Value::Text(label)) = written { label.clone() } else { policy };
    for ((list, _), value) in lists.iter().zip(values) {
        label.push_str(&format!("-{}-{}", list.key, in_a_label(&value.value)));
        if let Some(entry) = settings.iter_mut().find(|entry| entry.key == list.key) {
            entry.node = (*value).clone();
        }
    }
    settings.retain(|entry| entry.key != "as");
    settings.push(Entry {
        key: "as".to_owned(),
        place: place.clone(),
        node: Node { value: Value::Text(label), place },
    });
    arm
}

/// A value with the characters that a label may have: `1_5` for 1.5, since thresholds part their words by dots.
fn in_a_label(value: &Value) -> String {
    let text = match value {
        Value::Text(text) => text.clone(),
        other => other.shown(),
    };
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// For whoever has no use for problems: they are found when the file is read.
pub(crate) fn written_out(mut root: Node) -> Node {
    write_out(&mut root, &Problems::default());
    root
}

#[cfg(test)]
mod tests {
    use crate::{Changes, Experiment, plan::ArmPlan, read};

    const FILE: &str = "name: x\ntarget: {app: emulated, service: 10ms, workers: 2}\nobjective: {response_time: 1s}\n\
                        users: {model: url, phases: [{name: x, requests: 5/s, for: 3s}]}\narms:\n  - none\n  - ";

    fn arms(arm: &str, set: &[&str]) -> Result<Vec<ArmPlan>, String> {
        let changes = Changes { set: set.iter().map(|set| (*set).to_owned()).collect(), ..Changes::default() };
        let found: Result<Experiment, _> = read(&format!("{FILE}{arm}\n"), &changes);
        found.map(|experiment| experiment.arms).map_err(|problems| problems[0].to_string())
    }

    fn labels(arms: &[ArmPlan]) -> Vec<&str> {
        arms.iter().map(|arm| arm.label.as_str()).collect()
    }

    #[test]
    fn lists_of_values_make_arms_of_all_combinations() {
        let found = arms("gradient2: {limit_min: [2, 5], tolerance: [1.2, 1.5]}", &[]).expect("it is good");
        let names = ["2-tolerance-1_2", "2-tolerance-1_5", "5-tolerance-1_2", "5-tolerance-1_5"];
        let names: Vec<String> = names.iter().map(|name| format!("gradient2-limit_min-{name}")).collect();
        assert_eq!(labels(&found)[1..], names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found[3].policy.settings.get("limit_min"), Some(&5_u32.into()));
        assert_eq!(found[3].policy.settings.get("tolerance"), Some(&1.2.into()));
        assert_eq!(found[3].policy.name, "gradient2");
    }

    #[test]
    fn an_arm_keeps_its_own_label_and_all_else_that_is_set() {
        let found =
            arms("codel: {as: quick, target: [5ms, 20ms], interval: 200ms, place: single}", &[]).expect("it is good");
        assert_eq!(labels(&found), ["none", "quick-target-5ms", "quick-target-20ms"]);
        assert!(found[1..].iter().all(|arm| arm.policy.settings.len() == 2 && arm.policy.place.is_some()));
    }

    #[test]
    fn the_command_line_names_the_arms_and_makes_them() {
        let set = ["arms.gradient2-limit_min-5.tolerance=3"];
        let found = arms("gradient2: {limit_min: [2, 5]}", &set).expect("it is there");
        assert_eq!(found[2].policy.settings.get("tolerance"), Some(&3.0.into()));
        let found = arms("gradient2", &["arms.gradient2.limit_min=[2, 5, 10]"]).expect("a list");
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn problems_have_their_place() {
        let many = arms(
            "gradient2: {limit_min: [2, 5, 7, 9, 11], limit_max: [20, 30, 40, 50, 60], tolerance: [1, 2, 3]}",
            &[],
        );
        let why = many.expect_err("75 arms");
        assert!(why.contains("7:5") && why.contains("stand for 75 arms") && why.contains("64 at most"), "{why}");
        assert!(arms("gradient2: {limit_min: []}", &[]).expect_err("none").contains("the list is empty"));
        let why = arms("gradient2: {limit_min: [2, two]}", &[]).expect_err("no number");
        assert!(why.contains("gradient2.limit_min") && why.contains("two"), "{why}");
        let why = arms("gradient2: {limit_min: [2, 2]}", &[]).expect_err("the same");
        assert!(why.contains("two arms called"), "{why}");
        // What is no single value keeps its own shape, and its own problems.
        assert!(arms("gradient2: {as: [a, b]}", &[]).is_err());
    }
}
