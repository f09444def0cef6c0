//! From what was written to what is meant.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use analysis::{
    judge::compare::{Compare, Metric},
    manifest::Declared,
    summary::LatencyObjective,
    text::suggestion,
};
use schemars::json_schema;

use super::{
    arms::{self, ArmShape},
    classes,
    fields::Fields,
    figure::{self, FigureKeys},
    keys::{Table, by, choice, count, flag, free, number, shapes, table, text, time},
    own_target::Base,
    plan::{AppPlan, Experiment, LoadStream, Model, Rate, TargetPlan, UsersPlan},
    problem::{FileProblem, Problems},
    raw::{self, Value},
    set::{add_policies, set},
    simulation::{self, SimulationKeys},
    target::{self, TargetKeys},
    thresholds::{self, ThresholdKey},
    users::{self, UsersKeys},
};

const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

table! {
    /// One experiment.
    pub(super) struct ExperimentKeys as "Experiment" {
        name = free::<String>().required(), "Names the results folder: letters, digits, - and _";
        about: Option<String> = text(), "One line";
        source: Option<String> = text(), "Figure and paper";
        target = free::<TargetKeys>().required(), "What is measured";
        objective = free::<ObjectiveKeys>().required(), "What a good answer is";
        users = free::<UsersKeys>().required(), "Who sends";
        arms = free::<Vec<ArmShape>>().required(), "Policies: `none`, or `seda: {scope: single}`. Some settings are [the lab's](#arms-thresholds-and-the-rest) unless the policy has a parameter of that name (`target` is the lab's if it is a table); all others are the policy's (`lab policies NAME`)";
        repeat: u32 = count(1..=1000).or(1), "How often every arm is run";
        seed: u64 = count(0..=1 << 53).or(1), "Root of all randomness";
        thresholds = free::<Vec<ThresholdKey>>(), "What must hold: `seda.spike.response_time.p90 < 2s`";
        tried: BTreeMap<char, String> = by::<BTreeMap<String, String>, _>(thresholds::tried), "Of a claim that does not hold, by its letter, a sentence: what was tried that is no arm here";
        compare = free::<CompareKeys>(), "How arms are compared";
        declares: Vec<Declared> = by::<Vec<DeclaredKey>, _>(declares), "Conditions that would otherwise be held against the run: `kernel-backlog`, `closed-overload`";
        r#virtual = free::<SimulationKeys>(), "For `--virtual` alone";
        figure = free::<FigureKeys>().otherwise("bars by phase"), "What `lab reproduce` draws";
    }

    /// What a good answer is.
    pub(super) struct ObjectiveKeys as "Objective" {
        percentile: f64 = number(1.0..=99.9).or(90.0), "Share of the requests that it is about, in percent";
        response_time: Option<Duration> = time(TIMES).wanted("1s"), "Longest response time";
    }

    /// How arms are compared: fixed before the run.
    pub(super) struct CompareKeys as "Compare" {
        baseline = free::<String>().otherwise("the first"), "The arm that the others are held against";
        metric: Option<Metric> = choice::<_, Metric>(METRICS).otherwise("goodput"), "What decides";
        phase = free::<String>().otherwise("the baseline's with the most requests"), "In which phase";
        margin: Option<f64> = number(0.001..=1.0).otherwise("0.05 of goodput, 0.1 of a percentile, 0.02 in a fraction"), "What matters in practice, as a share";
        decide: bool = flag().or(false), "The run is there to decide: if it is inconclusive, the program ends with code 4";
    }
}

const METRICS: &[(&str, Metric)] = &[
    ("goodput", Metric::Goodput),
    ("reject-fraction", Metric::RejectFraction),
    ("p90", Metric::P90),
    ("p99", Metric::P99),
];

shapes! {
    DeclaredKey as "Declared" = |_generator| json_schema!({"type": "string", "enum": ["kernel-backlog", "closed-overload"]});
}

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
pub fn read(text: &str, changes: &Changes) -> Result<Experiment, Vec<FileProblem>> {
    let mut root = raw::parse(text).map_err(|problem| vec![problem])?;
    let mut bad = Vec::new();
    add_policies(&mut root, &changes.policies, &changes.set);
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
    let fields = Fields::of_table::<ExperimentKeys>(root, "", problems)?;
    let ExperimentKeys { about, source, repeat, seed, tried, declares } = ExperimentKeys::read(&fields);
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
        Some(node) => users::users(node, has_accounts(target.as_ref()), problems),
    };
    let base = fields.node("target").zip(target.as_ref()).map(|(node, target)| Base { node, target });
    let mut arms = arms::arms(&fields, base);
    let all_arms: Vec<String> = arms.iter().map(|arm| arm.label.clone()).collect();
    if !changes.policies.is_empty() {
        arms = arms::only(&arms, &changes.policies, base, problems);
    }
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
        about: about.unwrap_or_default(),
        source,
        target,
        objective: objective?,
        users,
        arms,
        repeat: changes.repeat.unwrap_or(repeat),
        seed: changes.seed.unwrap_or(seed),
        thresholds: Vec::new(),
        aborts: Vec::new(),
        tried,
        compare: Compare::default(),
        declares,
        simulation,
        figure: None,
    };
    check_rates(&experiment, &fields);
    (experiment.thresholds, experiment.aborts) = thresholds::thresholds(&fields, &experiment, &all_arms);
    experiment.compare = compare(&fields, &experiment, &all_arms);
    experiment.figure = figure::figure(&fields, &thresholds::names(&experiment, &all_arms));
    Some(experiment)
}

/// True if users have accounts to sign in with; where the target cannot be read, that is its own problem.
fn has_accounts(target: Option<&TargetPlan>) -> bool {
    target.is_none_or(|target| matches!(target.app, AppPlan::Arashi(_)))
}

/// Web-mail users walk the pages of a mail service.
fn check_service(target: &TargetPlan, users: &UsersPlan, fields: &Fields<'_>) {
    if matches!(users.model, Model::Mail { .. }) && !matches!(target.app, AppPlan::Arashi(_)) {
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

fn objective(fields: &Fields<'_>) -> Option<LatencyObjective> {
    if fields.node("objective").is_none() {
        fields.missing("objective", "{percentile: 90, response_time: 1s}");
        return None;
    }
    let ObjectiveKeys { percentile, response_time: time } = fields.table("objective")?;
    Some(LatencyObjective { percentile, response_time_ms: time?.as_secs_f64() * 1e3 })
}

/// Which arm the others are held against, in what, and what matters.
fn compare(fields: &Fields<'_>, experiment: &Experiment, arms: &[String]) -> Compare {
    let inner =
        fields.node("compare").and_then(|node| Fields::of_table::<CompareKeys>(node, "compare", fields.problems()));
    let Some(inner) = inner else { return Compare::default() };
    let CompareKeys { metric, margin, decide } = CompareKeys::read(&inner);
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
        metric: metric.unwrap_or_default(),
        phase: known("phase", &phases),
        margin,
        decide,
    }
}

fn declares(fields: &Fields<'_>, key: &str) -> Vec<Declared> {
    let declared = |node: &raw::Node| match &node.value {
        Value::Text(text) if text == "kernel-backlog" => Some(Declared::KernelBacklog),
        Value::Text(text) if text == "closed-overload" => Some(Declared::ClosedOverload),
        other => {
            let hint = "one of: kernel-backlog, closed-overload";
            fields.problems().add(&node.place, key, format!("{} is not known here", other.shown()), hint);
            None
        }
    };
    fields.list(key).iter().filter_map(declared).collect()
}

/// `0.5x` needs a capacity that is known before the run.
fn check_rates(experiment: &Experiment, fields: &Fields<'_>) {
    let loads = experiment.users.phases.iter().flat_map(|phase| &phase.loads);
    let any = loads.filter_map(LoadStream::rates).flatten().any(|rate| matches!(rate, Rate::OfCapacity(_)));
    if any && experiment.nominal_capacity().is_none() {
        let hint = match experiment.target.app {
            AppPlan::Own(_) => "measure one with lab calibrate, and write virtual: {plant: plant.yaml}",
            _ => "set target.capacity, for example 100/s",
        };
        fields.problem("target", "a rate like 0.5x needs a capacity", hint);
    }
}
