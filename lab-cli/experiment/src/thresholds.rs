//! The thresholds of an experiment, checked against its arms, phases and request types before anything runs.

use std::{collections::BTreeMap, time::Duration};

use analysis::judge::threshold::{AbortRule, KnownNames, Threshold, ThresholdError, Watch};
use schemars::json_schema;
use workloads::mail::REQUEST_TYPES;

use super::{
    fields::Fields,
    keys::{Table, flag, free, shapes, table, time},
    plan::{Experiment, Model},
    problem::Problems,
    raw::{Entry, Node, Value},
};

/// How long one that ends the run may fail before it does.
const GRACE: Duration = Duration::from_secs(10);

table! {
    /// A threshold that may end the run.
    pub(super) struct ThresholdKeys as "ThresholdTable" {
        check = free::<String>().required().example("seda.spike.response_time.p90 < 2s"), "What must hold";
        abort: bool = flag().or(false), "End the run once the threshold has failed for the grace time, second by second";
        grace: Option<Duration> = time(Duration::from_secs(1)..=Duration::from_secs(3600)).otherwise("10s").example("20s"), "How long it may fail without a break";
    }
}

shapes! {
    ThresholdKey as "Threshold" = |generator| json_schema!({
        "description": "What must hold.",
        "anyOf": [{"type": "string"}, generator.subschema_for::<ThresholdKeys>()],
    });
}

/// Reads `thresholds`, and which of them end the run. `all_arms` are those of the file: where fewer are run, thresholds on the
/// others are left out.
pub fn thresholds(fields: &Fields<'_>, experiment: &Experiment, all_arms: &[String]) -> (Vec<String>, Vec<AbortRule>) {
    let names = names(experiment, all_arms);
    let running: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
    let (mut kept, mut aborts) = (Vec::new(), Vec::new());
    for node in fields.list("thresholds") {
        let Some((text, grace)) = written(node, fields.problems()) else { continue };
        let told = |problem: &ThresholdError| tell(problem, &text, node, fields);
        let checked = Threshold::parse(&text)
            .map_err(|problem| vec![problem])
            .and_then(|threshold| threshold.check(&names).map(|()| threshold));
        let threshold = match checked {
            Ok(threshold) => threshold,
            Err(found) => {
                found.iter().for_each(told);
                continue;
            }
        };
        if let Some(Err(why)) = grace.map(|grace| Watch::new(&threshold, grace)) {
            fields.problems().add(&node.place, "thresholds", why, "leave abort out: it is judged at the end");
            continue;
        }
        if threshold.arms().iter().all(|arm| running.contains(arm)) {
            aborts.extend(grace.map(|grace| AbortRule { check: text.clone(), grace }));
            kept.push(text);
        }
    }
    (kept, aborts)
}

/// Tells of thresholds that are none, where what they may name is not known since the rest of the file cannot be read.
pub fn check_alone(fields: &Fields<'_>) {
    for node in fields.list("thresholds") {
        let Some((text, _)) = written(node, fields.problems()) else { continue };
        if let Err(problem) = Threshold::parse(&text) {
            tell(&problem, &text, node, fields);
        }
    }
}

fn tell(problem: &ThresholdError, text: &str, node: &Node, fields: &Fields<'_>) {
    let message = format!("{} (at character {} of {:?})", problem.message, problem.at + 1, clipped(text));
    fields.problems().add(&node.place, "thresholds", message, problem.hint.clone());
}

/// What may be named: arms of the file and those that are run, phases and request types.
pub fn names<'a>(experiment: &'a Experiment, all_arms: &'a [String]) -> KnownNames<'a> {
    let mut arms: Vec<&str> = all_arms.iter().map(String::as_str).collect();
    let running = experiment.arms.iter().map(|arm| arm.label.as_str());
    arms.extend(running.filter(|arm| !all_arms.iter().any(|a| a == *arm)));
    KnownNames {
        arms,
        phases: experiment.users.phases.iter().map(|p| (p.name.as_str(), p.duration.as_secs_f64())).collect(),
        types: match &experiment.users.model {
            Model::Mail { .. } => REQUEST_TYPES.to_vec(),
            Model::Url { requests, .. } if requests.is_empty() => vec!["request"],
            Model::Url { requests, .. } => requests.iter().map(|request| request.name.as_str()).collect(),
            Model::Script { plan, .. } => plan.steps().map(|step| step.name.as_str()).collect(),
        },
    }
}

/// Reads `tried`: a sentence for each letter.
pub fn tried(fields: &Fields<'_>, key: &str) -> BTreeMap<char, String> {
    let Some(node) = fields.node(key) else { return BTreeMap::new() };
    let hint = "for example {b: Slower disks do not make it hold either.}";
    let Value::Table(entries) = &node.value else {
        fields.problem(key, format!("not {}", node.value.shown()), hint);
        return BTreeMap::new();
    };
    let one = |entry: &Entry| {
        let mut letters = entry.key.chars();
        match (letters.next().filter(char::is_ascii_lowercase), letters.next(), &entry.node.value) {
            (Some(letter), None, Value::Text(sentence)) => Some((letter, sentence.clone())),
            (Some(_), None, other) => {
                fields.problems().add(
                    &entry.node.place,
                    key,
                    format!("expected a sentence, got {}", other.shown()),
                    hint,
                );
                None
            }
            _ => {
                fields.problems().add(&entry.place, key, format!("{:?} is no letter of a claim", entry.key), hint);
                None
            }
        }
    };
    entries.iter().filter_map(one).collect()
}

/// A threshold as text, or a table with it; and for how long it may fail, if it ends the run.
fn written(node: &Node, problems: &Problems) -> Option<(String, Option<Duration>)> {
    match &node.value {
        Value::Text(text) => Some((text.clone(), None)),
        Value::Table(_) => {
            let fields = Fields::of_table::<ThresholdKeys>(node, "thresholds", problems)?;
            let ThresholdKeys { abort, grace } = ThresholdKeys::read(&fields);
            if !abort && grace.is_some() {
                fields.problem("grace", "a grace time without abort", "add abort: true, or leave grace out");
                return None;
            }
            let Some(text) = fields.text("check") else {
                fields.missing("check", "seda.spike.response_time.p90 < 2s");
                return None;
            };
            Some((text, abort.then(|| grace.unwrap_or(GRACE))))
        }
        other => {
            let hint = "write it as text: seda.spike.response_time.p90 < 2s";
            problems.add(&node.place, "thresholds", format!("unexpected {}", other.shown()), hint);
            None
        }
    }
}

/// Enough of a threshold to know it again.
fn clipped(text: &str) -> String {
    const CHARS: usize = 80;
    let mut short: String = text.chars().take(CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
