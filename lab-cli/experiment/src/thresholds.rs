//! The thresholds of an experiment, checked against its arms, phases and request types before anything runs.

use std::{collections::BTreeMap, time::Duration};

use analysis::judge::{
    claims::ClaimRow,
    threshold::{AbortRule, KnownNames, Threshold, ThresholdError, Watch},
};
use schemars::json_schema;
use workloads::mail::REQUEST_TYPES;

use super::{
    fields::Fields,
    keys::{Table, by, flag, free, shapes, table, text, time},
    plan::{Experiment, Model},
    problem::{Place, Problems},
    raw::{Entry, Node, Value},
};

/// Time for which one that ends the run may fail before it does.
const GRACE: Duration = Duration::from_secs(10);

table! {
    /// A threshold is a line, or a table where it may end the run or is part of a claim. Metrics:
    /// [metrics.md](metrics.md).
    pub(super) struct ThresholdKeys as "ThresholdTable" {
        check = free::<CheckKey>().required().example("seda.spike.response_time.p90 < 2s"), "What must hold; a list: each of them";
        claim: Vec<char> = by::<ClaimKey, _>(letters).otherwise("none").example("a"), "The claim of `paper` that this is a part of, by its letter; a list: of each of them";
        variant: Option<String> = text().example("as coded"), "What is not as the paper has it. It is judged beside the claim, and is no part of it";
        about: Option<String> = text().otherwise("what the claim is about").example("rates are cut at once"), "What it says, in a sentence";
        abort: bool = flag().or(false), "End the run once the threshold has failed for the grace time, second by second";
        grace: Option<Duration> = time(Duration::from_secs(1)..=Duration::from_secs(3600)).otherwise("10s").example("20s"), "How long it may fail without a break";
    }
}

shapes! {
    ThresholdKey as "Threshold" = |generator| json_schema!({
        "description": "What must hold.",
        "anyOf": [{"type": "string"}, generator.subschema_for::<ThresholdKeys>()],
    });
    CheckKey as "Check" = |_generator| json_schema!({
        "description": "One comparison, or several.",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}],
    });
    ClaimKey as "Claim" = |_generator| json_schema!({
        "description": "A letter, or several.",
        "anyOf": [{"type": "string", "pattern": "^[a-z]$"}, {"type": "array", "items": {"type": "string", "pattern": "^[a-z]$"}, "minItems": 1}],
    });
}

/// The thresholds of a file, each with what it is about, and those that end the run.
#[derive(Debug, Default)]
pub struct Thresholds {
    /// Texts in the order of the file.
    pub texts: Vec<String>,
    /// One for each.
    pub rows: Vec<ClaimRow>,
    /// Some of them.
    pub aborts: Vec<AbortRule>,
}

/// Reads `thresholds`. `all_arms` are those of the file: where fewer are run, thresholds on the others are left out.
pub fn thresholds(fields: &Fields<'_>, experiment: &Experiment, all_arms: &[String]) -> Thresholds {
    let names = names(experiment, all_arms);
    let running: Vec<&str> = experiment.arms.iter().map(|arm| arm.label.as_str()).collect();
    let mut read = Thresholds::default();
    let written = fields.list("thresholds").iter().filter_map(|node| self::written(node, fields.problems()));
    for Written { checks, grace, row } in written {
        for node in checks {
            let Some((text, threshold)) = parsed(node, "thresholds", fields.problems(), &names) else { continue };
            if let Some(Err(why)) = grace.map(|grace| Watch::new(&threshold, grace)) {
                fields.problems().add(&node.place, "thresholds", why, "leave abort out: it is judged at the end");
                continue;
            }
            if threshold.arms().iter().all(|arm| running.contains(arm)) {
                read.aborts.extend(grace.map(|grace| AbortRule { check: text.clone(), grace }));
                read.texts.push(text);
                read.rows.push(row.clone());
            }
        }
    }
    tell_apart(&mut read);
    read
}

/// A threshold that can be judged in this experiment. `path`: its key.
pub(super) fn parsed(
    node: &Node,
    path: &str,
    problems: &Problems,
    names: &KnownNames<'_>,
) -> Option<(String, Threshold)> {
    let text = check(node, path, problems)?;
    let checked = Threshold::parse(&text)
        .map_err(|problem| vec![problem])
        .and_then(|threshold| threshold.check(names).map(|()| threshold));
    match checked {
        Ok(threshold) => Some((text, threshold)),
        Err(found) => {
            found.iter().for_each(|problem| tell(problem, &text, &node.place, path, problems));
            None
        }
    }
}

/// Puts the letters of a row before what it says, and the threshold behind where several say the same.
fn tell_apart(read: &mut Thresholds) {
    for row in &mut read.rows {
        let letters: Vec<String> = row.letters.iter().map(ToString::to_string).collect();
        let head: Vec<&str> = letters.iter().map(String::as_str).chain(row.variant.as_deref()).collect();
        let parts = [head.join(", "), std::mem::take(&mut row.label)];
        row.label = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    }
    let said: Vec<String> = read.rows.iter().map(|row| row.label.clone()).collect();
    for (row, text) in read.rows.iter_mut().zip(&read.texts) {
        let threshold = format!("`{}`", text.split_whitespace().collect::<Vec<_>>().join(" "));
        match said.iter().filter(|other| **other == row.label).count() {
            _ if row.label.is_empty() => row.label = threshold,
            1 => {}
            _ => row.label = format!("{}: {threshold}", row.label),
        }
    }
}

/// Tells of thresholds that are none, where what they may name is not known since the rest of the file cannot be read.
pub fn check_alone(fields: &Fields<'_>) {
    let written = fields.list("thresholds").iter().filter_map(|node| self::written(node, fields.problems()));
    for node in written.flat_map(|written| written.checks) {
        let Some(text) = check(node, "thresholds", fields.problems()) else { continue };
        if let Err(problem) = Threshold::parse(&text) {
            tell(&problem, &text, &node.place, "thresholds", fields.problems());
        }
    }
}

fn tell(problem: &ThresholdError, text: &str, place: &Place, path: &str, problems: &Problems) {
    let message = format!("{} (at character {} of {:?})", problem.message, problem.at + 1, clipped(text));
    problems.add(place, path, message, problem.hint.clone());
}

/// Names that may be used: arms of the file and those that are run, phases and request types.
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
    let hint = "for example {b: Slower disks do not make it hold either.}";
    let one = |entry: &Entry| {
        let mut letters = entry.key.chars();
        match (letters.next().filter(char::is_ascii_lowercase), letters.next(), &entry.node.value) {
            (Some(letter), None, Value::Text(sentence)) => Some((letter, sentence.clone())),
            (Some(_), None, other) => {
                let message = format!("expected a sentence, got {}", other.shown());
                fields.problems().wrong(&entry.node.place, key, message, hint)
            }
            _ => fields.problems().wrong(&entry.place, key, format!("{:?} is no letter of a claim", entry.key), hint),
        }
    };
    fields.entries(key, hint).iter().filter_map(one).collect()
}

/// An entry of `thresholds`.
struct Written<'a> {
    checks: &'a [Node],
    /// For how long they may fail, if they end the run.
    grace: Option<Duration>,
    /// Claim row, whose label is what the threshold is about.
    row: ClaimRow,
}

fn written<'a>(node: &'a Node, problems: &Problems) -> Option<Written<'a>> {
    let Value::Table(_) = &node.value else {
        return Some(Written { checks: std::slice::from_ref(node), grace: None, row: ClaimRow::default() });
    };
    let fields = Fields::of_table::<ThresholdKeys>(node, "thresholds", problems)?;
    let ThresholdKeys { claim: letters, variant, about, abort, grace } = ThresholdKeys::read(&fields);
    if !abort && grace.is_some() {
        return fields.wrong("grace", "a grace time without abort", "add abort: true, or leave grace out");
    }
    if variant.is_some() && letters.is_empty() {
        fields.problem("variant", "a variant of no claim", "add its letter: claim: a");
    }
    let checks = match node.get("check") {
        Some(Node { value: Value::List(checks), .. }) => checks,
        Some(check) => std::slice::from_ref(check),
        None => &[],
    };
    if checks.is_empty() {
        fields.missing("check", "seda.spike.response_time.p90 < 2s");
    }
    let row = ClaimRow { letters, variant, label: about.unwrap_or_default() };
    Some(Written { checks, grace: abort.then(|| grace.unwrap_or(GRACE)), row })
}

/// A threshold as it was written.
fn check(node: &Node, path: &str, problems: &Problems) -> Option<String> {
    let Value::Text(text) = &node.value else {
        let hint = "write it as text: seda.spike.response_time.p90 < 2s";
        return problems.wrong(&node.place, path, node.value.unexpected(), hint);
    };
    Some(text.clone())
}

/// Reads `claim`: a letter, or several.
fn letters(fields: &Fields<'_>, key: &str) -> Vec<char> {
    let letter = |node: &Node| {
        let one = match &node.value {
            Value::Text(text) => text.chars().next().filter(|c| c.is_ascii_lowercase() && text.len() == 1),
            _ => None,
        };
        if one.is_none() {
            let message = format!("{} is no letter of a claim", node.value.shown());
            fields.problems().add(&node.place, &fields.path(key), message, "for example a, or [a, c]");
        }
        one
    };
    fields.list(key).iter().filter_map(letter).collect()
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

#[cfg(test)]
mod tests {
    use crate::{Changes, read};

    const FILE: &str = r#"
name: parts
paper: webq
target: {app: emulated, service: 5ms}
objective: {percentile: 90, response_time: 200ms}
users: {model: url, phases: [{name: p, requests: 100/s, for: 5s}]}
arms: [none, codel]
thresholds:
  - {claim: a, about: "rates are cut: quickly", check: none.p.sent > 1}
  - {claim: a, variant: as coded, check: codel.p.sent > 1}
  - claim: [b, c]
    about: both
    check: [none.p.sent > 2, none.p.served > 2]
  - {about: more (ours), check: none.p.sent > 3}
  - none.p.sent
    > 4
"#;

    #[test]
    fn a_row_is_a_part_of_a_claim_or_of_a_variant_of_it_or_of_none() {
        let rows = read(FILE, &Changes::default()).expect("it is good").rows;
        let letters: Vec<String> = rows.iter().map(|row| row.letters.iter().collect()).collect();
        assert_eq!(letters, ["a", "a", "bc", "bc", "", ""]);
        let parts: Vec<&[char]> = rows.iter().map(super::ClaimRow::parts_of).collect();
        assert_eq!(parts, [&['a'][..], &[], &['b', 'c'], &['b', 'c'], &[], &[]]);
        let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
        let both = ["b, c: both: `none.p.sent > 2`", "b, c: both: `none.p.served > 2`"];
        assert_eq!(
            labels,
            ["a: rates are cut: quickly", "a, as coded", both[0], both[1], "more (ours)", "`none.p.sent > 4`"]
        );
    }

    #[test]
    fn numbers_of_a_paper_are_equations_in_the_unit_of_their_panel() {
        for (printed, says) in [
            ("none.p.response_time.p90 == 0.1s", ""),
            ("none.p[..25%].response_time.p90 == 0.1s", ""),
            ("none.p.response_time.p90 < 0.1s", "no equation"),
            ("none.p.goodput == 7", "do not share a panel"),
            ("nobody.p.response_time.p90 == 0.1s", "nobody"),
        ] {
            let figure = format!(
                "figure: {{over: load, panels: [{{title: t, draw: response_time.p90, printed: {{number: '{printed}'}}}}]}}"
            );
            match read(&(FILE.to_owned() + &figure), &Changes::default()) {
                Ok(found) => assert_eq!((says, found.figure.expect("one").reads_parts()), ("", printed.contains('['))),
                Err(problems) => {
                    let told: String = problems.iter().map(ToString::to_string).collect();
                    assert!(!says.is_empty() && told.contains(says), "{printed}: {told}");
                }
            }
        }
    }

    #[test]
    fn an_arm_has_a_jitter_of_its_own_in_virtual_time_alone() {
        let file = FILE.replace("[none, codel]", "[none, codel: {jitter: 20ms}]");
        let found = read(&file, &Changes::default()).expect("it is good");
        let jitters: Vec<_> = found.arms.iter().map(|arm| arm.link(&found).jitter.as_millis()).collect();
        assert_eq!((&jitters[..], found.virtual_only()), (&[0, 20][..], true));
    }

    #[test]
    fn rows_go_with_the_thresholds_that_are_kept() {
        let chosen = Changes { policies: vec!["codel".to_owned()], ..Changes::default() };
        let found = read(FILE, &chosen).expect("it is good");
        assert_eq!((found.thresholds.len(), found.rows[0].label.as_str()), (1, "a, as coded"));
    }
}
