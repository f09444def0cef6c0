//! From what was written to what is meant.

use std::{ops::RangeInclusive, time::Duration};

use analysis::{
    judge::compare::{Compare, Metric},
    manifest::Declared,
    summary::Objective,
    text::suggestion,
};

use super::{
    arms, classes,
    fields::Fields,
    own_target::Base,
    plan::{App, Experiment, Load, Model, Rate, Target, Users},
    problem::{Problem, Problems},
    raw::{self, Value},
    set::set,
    simulation, target, thresholds, users,
};

/// Keys at the top of a file.
pub const KEYS: &[&str] = &[
    "name",
    "about",
    "source",
    "target",
    "objective",
    "users",
    "arms",
    "repeat",
    "seed",
    "thresholds",
    "compare",
    "declares",
    "virtual",
];
/// Keys of `compare`.
pub const COMPARE_KEYS: &[&str] = &["baseline", "metric", "phase", "margin", "decide"];
/// Keys of `objective`.
pub const OBJECTIVE_KEYS: &[&str] = &["percentile", "response_time"];

const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

/// Changes from the command line.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// `--set KEY=VALUE`.
    pub set: Vec<String>,
    /// `--policy NAME`: only these arms, or these policies with their defaults.
    pub policies: Vec<String>,
    /// `--seed N`.
    pub seed: Option<u64>,
    /// `--repeat N`.
    pub repeat: Option<u32>,
}

/// Reads an experiment.
///
/// # Errors
/// Every problem, in the order of the file.
pub fn read(text: &str, changes: &Changes) -> Result<Experiment, Vec<Problem>> {
    let mut root = raw::parse(text).map_err(|problem| vec![problem])?;
    let mut bad = Vec::new();
    for assignment in &changes.set {
        bad.extend(set(&mut root, assignment).err());
    }
    if !bad.is_empty() {
        return Err(bad);
    }
    let problems = Problems::default();
    let experiment = experiment(&root, changes, &problems);
    let found = problems.into_sorted();
    match experiment {
        Some(experiment) if found.is_empty() => Ok(experiment),
        _ => Err(found),
    }
}

fn experiment(root: &raw::Node, changes: &Changes, problems: &Problems) -> Option<Experiment> {
    let fields = Fields::of(root, "", KEYS, problems)?;
    let name = name(&fields);
    let target = match fields.node("target") {
        None => {
            fields.missing("target", "{app: arashi, capacity: 100/s}");
            None
        }
        Some(node) => target::target(node, problems),
    };
    let objective = objective(&fields);
    let users = match fields.node("users") {
        None => {
            fields.missing("users", "{model: arashi, phases: [{name: spike, users: 1000, for: 30s}]}");
            None
        }
        Some(node) => users::users(node, problems),
    };
    let base = fields.node("target").zip(target.as_ref()).map(|(node, target)| Base { node, target });
    let mut arms = arms::arms(&fields, base);
    let all_arms: Vec<String> = arms.iter().map(|arm| arm.label.clone()).collect();
    if !changes.policies.is_empty() {
        arms = arms::only(&arms, &changes.policies, base, problems);
    }
    let repeat = fields.count("repeat", 1..=1000).map_or(1, |n| n as u32);
    let seed = fields.count("seed", 0..=(1 << 53)).unwrap_or(1);
    let declares = fields.list("declares").iter().filter_map(|node| declared(node, problems)).collect();
    let simulation =
        simulation::simulation(fields.node("virtual"), target.as_ref().map(|target| &target.app), problems);
    let (target, mut users) = (target?, users?);
    if let Some(node) = fields.node("target") {
        classes::agree(&target, &mut users, node, problems);
    }
    check_service(&target, &users, &fields);
    for arm in &mut arms {
        arm.client = arm.client.take().or_else(|| users.client.clone());
    }
    let mut experiment = Experiment {
        name: name?,
        about: fields.text("about").unwrap_or_default(),
        source: fields.text("source"),
        target,
        objective: objective?,
        users,
        arms,
        repeat: changes.repeat.unwrap_or(repeat),
        seed: changes.seed.unwrap_or(seed),
        thresholds: Vec::new(),
        aborts: Vec::new(),
        compare: Compare::default(),
        declares,
        simulation,
    };
    check_rates(&experiment, &fields);
    (experiment.thresholds, experiment.aborts) = thresholds::thresholds(&fields, &experiment, &all_arms);
    experiment.compare = compare(&fields, &experiment, &all_arms);
    Some(experiment)
}

/// Web-mail users walk the pages of a mail service.
fn check_service(target: &Target, users: &Users, fields: &Fields<'_>) {
    if matches!(users.model, Model::Mail { .. }) && !matches!(target.app, App::Arashi(_)) {
        let inner = fields.node("users").and_then(|node| node.get("model"));
        let Some(node) = inner.or(fields.node("users")) else { return };
        let message = "web-mail users need a mail service, and this one has no mailboxes to sign in to";
        fields.problems().add(&node.place, "users.model", message, "write model: url, or target: {app: arashi}");
    }
}

/// The name goes into a folder's name.
fn name(fields: &Fields<'_>) -> Option<String> {
    let Some(name) = fields.text("name") else {
        if fields.node("name").is_none() {
            fields.missing("name", "flash-crowd");
        }
        return None;
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        fields.problem("name", format!("{name:?} cannot name a folder"), "letters, digits, - and _, at most 64");
        return None;
    }
    Some(name)
}

fn objective(fields: &Fields<'_>) -> Option<Objective> {
    if fields.node("objective").is_none() {
        fields.missing("objective", "{percentile: 90, response_time: 1s}");
        return None;
    }
    let inner = fields.fields("objective", OBJECTIVE_KEYS)?;
    let percentile = inner.number("percentile", 1.0..=99.9).unwrap_or(90.0);
    let time = inner.time("response_time", TIMES);
    if inner.node("response_time").is_none() {
        inner.missing("response_time", "1s");
    }
    Some(Objective { percentile, response_time_ms: time?.as_secs_f64() * 1e3 })
}

/// Which arm the others are held against, in what, and what matters.
fn compare(fields: &Fields<'_>, experiment: &Experiment, arms: &[String]) -> Compare {
    let Some(inner) = fields.fields("compare", COMPARE_KEYS) else { return Compare::default() };
    let metrics = [
        ("goodput", Metric::Goodput),
        ("reject-fraction", Metric::RejectFraction),
        ("p90", Metric::P90),
        ("p99", Metric::P99),
    ];
    let known = |key: &str, names: &[&str]| {
        let name = inner.text(key)?;
        if names.contains(&name.as_str()) {
            return Some(name);
        }
        inner.problem(key, format!("there is no {name:?}"), suggestion(&name, names));
        None
    };
    let arms: Vec<&str> = arms.iter().map(String::as_str).collect();
    let phases: Vec<&str> = experiment.users.phases.iter().map(|phase| phase.name.as_str()).collect();
    Compare {
        baseline: known("baseline", &arms),
        metric: inner.choice("metric", &metrics).unwrap_or_default(),
        phase: known("phase", &phases),
        margin: inner.number("margin", 0.001..=1.0),
        decide: inner.flag("decide").unwrap_or(false),
    }
}

fn declared(node: &raw::Node, problems: &Problems) -> Option<Declared> {
    match &node.value {
        Value::Text(text) if text == "kernel-backlog" => Some(Declared::KernelBacklog),
        Value::Text(text) if text == "closed-overload" => Some(Declared::ClosedOverload),
        other => {
            let hint = "one of: kernel-backlog, closed-overload";
            problems.add(&node.place, "declares", format!("{} is not known here", other.shown()), hint);
            None
        }
    }
}

/// `0.5x` needs a capacity that is known before the run.
fn check_rates(experiment: &Experiment, fields: &Fields<'_>) {
    let relative = |load: &Load| match load {
        Load::Users { .. } | Load::Present { .. } | Load::Replay => false,
        Load::Sessions { from, to, .. } | Load::Requests { from, to, .. } | Load::Churn { from, to, .. } => {
            matches!(from, Rate::OfCapacity(_)) || matches!(to, Rate::OfCapacity(_))
        }
    };
    let any = experiment.users.phases.iter().flat_map(|phase| &phase.loads).any(relative);
    if any && experiment.nominal_capacity().is_none() {
        fields.problem("target", "a rate like 0.5x needs a capacity", "set target.capacity, for example 100/s");
    }
}
