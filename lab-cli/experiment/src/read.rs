//! Reader of an experiment: from what was written to what is meant.

use std::{collections::BTreeMap, ops::RangeInclusive, path::PathBuf, time::Duration};

use analysis::{
    judge::{
        claims::Paper,
        compare::{Compare, Metric, SequentialRule, sequential::MOST_BLOCKS},
    },
    manifest::Declared,
    summary::LatencyObjective,
    text::suggestion,
};
use controllers::{Class, catalogue::parse_time};
use schemars::json_schema;
use trace_import::web::place_of;
use url::Url;

use super::{
    arms::{self, ArmShape},
    client::by_class,
    combinations,
    fields::Fields,
    figure::{self, FigureKeys},
    hindsight,
    keys::{DurationText, Table, by, choice, count, flag, free, number, shapes, table, text, time},
    own_target::Base,
    plan::{AppPlan, Experiment, LoadStream, Model, Rate, TargetPlan, UsersPlan, classes as classes_of},
    problem::{FileProblem, Problems},
    raw::{self, Value},
    set::{add_policies, set},
    simulation::{self, SimulationKeys},
    target::{self, TargetKeys},
    thresholds::{self, ThresholdKey, Thresholds},
    users::{self, UsersKeys},
};

const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

table! {
    /// Keys at the top level.
    pub(super) struct ExperimentKeys as "Experiment" {
        name = free::<String>().required(), "Names the results folder: letters, digits, - and _";
        about: Option<String> = text(), "One line about the experiment";
        source: Option<String> = text(), "Figure and paper";
        paper: Option<Paper> = choice::<_, String>(Paper::KEYS).otherwise("none: what is claimed is ours"), "The paper whose claims the letters of thresholds are";
        target = free::<TargetKeys>().required().example("{app: arashi, capacity: 100/s}"), "The service under test";
        objective = free::<ObjectiveKeys>().required(), "What a good answer is";
        users = free::<UsersKeys>().required().example("{model: url, phases: [{requests: 100/s, for: 30s}]}"), "Who sends";
        arms = free::<Vec<ArmShape>>().required(), "Policies to compare: `none`, or `seda: {scope: single}`. Some settings are [the lab's](#arms-and-comparisons) unless the policy has a parameter of that name (`target` is the lab's if it is a table); all others are the policy's";
        repeat: Option<Repeat> = by::<RepeatKey, _>(repeat).otherwise("1; in virtual time `until-decided` where `compare.decide` is set"), "Blocks: how often every arm is run, 1 to 1000; or `until-decided`: until every arm's difference from the baseline is known, by a rule that is fixed before the first block; see [validity](validity.md#until-it-is-decided)";
        seed: u64 = count(0..=1 << 53).or(1).example("7"), "Seed of all random draws";
        thresholds = free::<Vec<ThresholdKey>>().example("[seda.spike.response_time.p90 < 2s]"), "Claims about the result";
        tried: BTreeMap<char, String> = by::<BTreeMap<String, String>, _>(thresholds::tried).example("{a: 'a larger queue, and none at all'}"), "For a claim that does not hold, by its letter: a sentence on what was tried that is no arm of this file";
        compare = free::<CompareKeys>().example("{baseline: none, phase: spike}"), "How arms are compared";
        declares: Vec<Declared> = by::<Vec<DeclaredKey>, _>(declares), "Conditions that would otherwise count against the run: `kernel-backlog`, `closed-overload`";
        simulation = free::<SimulationKeys>().key("virtual"), "Settings for virtual time";
        figure = free::<FigureKeys>().otherwise("bars by phase").example("{over: load, panels: [{title: goodput, draw: goodput}]}"), "What `lab reproduce` draws";
    }

    /// What goodput counts: an answer that takes longer is late.
    pub(super) struct ObjectiveKeys as "Objective" {
        percentile: f64 = number(1.0..=99.9).or(90.0), "The percentile of response times that the objective is about";
        response_time: Option<Duration> = time(TIMES).wanted("1s"), "Longest response time of a good answer";
        tokens_per_s: Option<f64> = number(0.1..=10_000.0).example("10"), "Tokens a second at which people read, for `target.app: generation`: the response time of an answer is then that after which they can begin and need not wait for any token. Without it, it is the time to the first token";
        classes: BTreeMap<Class, f64> = by::<BTreeMap<String, DurationText>, _>(class_objectives).example("{1: 5s}"), "The same for classes with an objective of their own, by which goodput counts them; policies know the one of all";
    }

    /// How arms are compared, which is fixed before the run ([comparisons](#arms-and-comparisons)).
    pub(super) struct CompareKeys as "Compare" {
        baseline = free::<String>().otherwise("the first"), "The arm that the others are compared with";
        metric: Option<Metric> = choice::<_, Metric>(METRICS).otherwise("goodput"), "The metric that decides";
        phase = free::<String>().otherwise("the baseline's busiest"), "The phase to compare";
        margin: Option<f64> = number(0.001..=1.0).otherwise("0.05 of goodput, 0.1 of a percentile, 0.02 in a fraction"), "The smallest effect that matters in practice, as a share";
        decide: bool = flag().or(false), "End with exit code 4 if the comparison is undecided";
        most_blocks: u32 = count(2..=512).or(MOST_BLOCKS), "The most blocks of a run with `repeat: until-decided`";
    }
}

const METRICS: &[(&str, Metric)] = &[
    ("goodput", Metric::Goodput),
    ("reject-fraction", Metric::RejectFraction),
    ("p90-all", Metric::P90All),
    ("p99-all", Metric::P99All),
    ("p90", Metric::P90),
    ("p99", Metric::P99),
];

shapes! {
    RepeatKey as "Repeat" = |_generator| json_schema!({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 1000}, {"type": "string", "enum": ["until-decided"]}]});
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
    /// `--repeat N`, `--repeat until-decided`.
    pub repeat: Option<Repeat>,
    /// `--virtual`: a comparison that is there to decide runs until it is decided.
    pub virtual_time: bool,
    /// The folder from which the paths go that the file names; empty: the working directory. Paths of `set` always go from that.
    pub folder: PathBuf,
}

/// Number of blocks, or the rule that decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// So often.
    Times(u32),
    /// Until the comparison is decided.
    UntilDecided,
}

impl Repeat {
    /// Word that is written instead of a number.
    pub const UNTIL_DECIDED: &str = "until-decided";
}

impl std::str::FromStr for Repeat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(times @ 1..=MOST_REPEATS) => Ok(Self::Times(times)),
            _ if text == Self::UNTIL_DECIDED => Ok(Self::UntilDecided),
            _ => Err(format!("a number from 1 to {MOST_REPEATS}, or {}", Self::UNTIL_DECIDED)),
        }
    }
}

/// The most blocks of a run with a fixed number.
const MOST_REPEATS: u32 = 1000;

/// Reads an experiment.
///
/// # Errors
/// Every problem, in the order of the file.
pub fn read(text: &str, changes: &Changes) -> Result<Experiment, Vec<FileProblem>> {
    let mut root = raw::parse(text).map_err(|problem| vec![problem])?;
    let mut bad = Vec::new();
    let problems = Problems::in_folder(&changes.folder);
    combinations::write_out(&mut root, &problems);
    add_policies(&mut root, &changes.policies, &changes.set);
    for assignment in &changes.set {
        bad.extend(set(&mut root, assignment).err());
    }
    if !bad.is_empty() {
        return Err(bad);
    }
    // A list may have been set.
    combinations::write_out(&mut root, &problems);
    let experiment = experiment(&root, changes, &problems);
    let found = problems.into_sorted();
    match experiment {
        Some(experiment) if found.is_empty() => Ok(experiment),
        _ => Err(found),
    }
}

fn experiment(root: &raw::Node, changes: &Changes, problems: &Problems) -> Option<Experiment> {
    let fields = Fields::of_table::<ExperimentKeys>(root, "", problems)?;
    let ExperimentKeys { about, source, paper, repeat, seed, tried, declares } = ExperimentKeys::read(&fields);
    let name = name(&fields);
    let written = fields.wanted("target", "{app: arashi, capacity: 100/s}");
    let target = written.and_then(|node| target::target(node, problems));
    let objective = objective(&fields);
    let users = fields.wanted("users", "{model: arashi, phases: [{name: spike, users: 1000, for: 30s}]}");
    // Where the target cannot be read, that is its own problem.
    let accounts = target.as_ref().is_none_or(|target| matches!(target.app, AppPlan::Arashi(_)));
    let hosts = hosts_of(target.as_ref());
    let users = users.and_then(|node| users::users(node, accounts, &hosts, problems));
    let base = written.zip(target.as_ref()).map(|(node, target)| Base { node, target });
    let mut arms = arms::arms(&fields, base);
    let open = users.as_ref().zip(target.as_ref()).map(|(users, target)| users.is_open(&target.app));
    hindsight::with_the_blind(&mut arms, open);
    let all_arms: Vec<String> = arms.iter().map(|arm| arm.label.clone()).collect();
    if !changes.policies.is_empty() {
        arms = arms::only(&arms, &changes.policies, base, problems);
        hindsight::with_the_blind(&mut arms, open);
    }
    let wants_openly = users.as_ref().zip(target.as_ref()).map(|(users, target)| users.wants_openly(&target.app));
    hindsight::computable(&arms, wants_openly, &fields);
    let simulation =
        simulation::simulation(fields.node("virtual"), target.as_ref().map(|target| &target.app), problems);
    let parts = name.zip(objective).zip(target).zip(users);
    let Some((((name, (objective, class_objectives, pace)), mut target), mut users)) = parts else {
        thresholds::check_alone(&fields);
        return None;
    };
    if let Some(node) = written {
        users::agree(&target, &mut users, node, problems);
    }
    check_service(&target, &users, &fields);
    check_objectives(&class_objectives, &users, &fields);
    let own = arms.iter_mut().filter_map(|arm| arm.own_target.as_mut()).map(|own| &mut own.target);
    let streams = own.chain([&mut target]).fold(false, |_, target| target.app.is_read_at(pace));
    if pace.is_some() && !streams {
        let hint = "leave out tokens_per_s: only target.app: generation has tokens";
        fields.problem("objective", "answers of this target do not come in tokens", hint);
    }
    for arm in &mut arms {
        arm.client = arm.client.take().or_else(|| users.client.clone());
    }
    let mut experiment = Experiment {
        name,
        about: about.unwrap_or_default(),
        source,
        paper,
        target,
        objective,
        class_objectives,
        users,
        arms,
        repeat: 1,
        seed: changes.seed.unwrap_or(seed),
        thresholds: Vec::new(),
        rows: Vec::new(),
        aborts: Vec::new(),
        tried,
        compare: Compare::default(),
        declares,
        simulation,
        figure: None,
    };
    check_rates(&experiment, &fields);
    let Thresholds { texts, rows, aborts } = thresholds::thresholds(&fields, &experiment, &all_arms);
    (experiment.thresholds, experiment.rows, experiment.aborts) = (texts, rows, aborts);
    let (compare, most_blocks) = compare(&fields, &experiment, &all_arms);
    experiment.compare = compare;
    let wanted = changes.repeat.or(repeat);
    let when_deciding = experiment.compare.decide && changes.virtual_time;
    match wanted.or(when_deciding.then_some(Repeat::UntilDecided)) {
        None => {}
        Some(Repeat::Times(times)) => experiment.repeat = times,
        Some(Repeat::UntilDecided) => until_decided(&mut experiment, most_blocks, wanted.is_some(), &fields),
    }
    experiment.figure = figure::figure(&fields, &thresholds::names(&experiment, &all_arms));
    Some(experiment)
}

/// Names of the target in URLs.
fn hosts_of(target: Option<&TargetPlan>) -> Vec<String> {
    let Some(target) = target else { return Vec::new() };
    let url = match &target.app {
        AppPlan::Own(service) => service.url.as_ref().and_then(|url| Url::parse(url).ok()),
        _ => None,
    };
    url.as_ref().and_then(place_of).map(|(host, _)| host).into_iter().chain(target.hosts.iter().cloned()).collect()
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
    fields.wanted("name", "flash-crowd")?;
    let name = fields.text("name")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        let hint = "letters, digits, - and _, at most 64";
        return fields.wrong("name", format!("{name:?} is not a valid folder name"), hint);
    }
    Some(name)
}

/// Reads the objective of all, those of classes, and the pace at which answers are read that come in tokens.
fn objective(fields: &Fields<'_>) -> Option<(LatencyObjective, BTreeMap<Class, f64>, Option<f64>)> {
    fields.wanted("objective", "{percentile: 90, response_time: 1s}")?;
    let ObjectiveKeys { percentile, response_time: time, tokens_per_s, classes } =
        fields.table::<ObjectiveKeys>("objective")?;
    Some((LatencyObjective { percentile, response_time_ms: time?.as_secs_f64() * 1e3 }, classes, tokens_per_s))
}

/// Reads `classes: {1: 5s}`, in milliseconds.
fn class_objectives(fields: &Fields<'_>, key: &str) -> BTreeMap<Class, f64> {
    let time = |node: &raw::Node| match &node.value {
        Value::Text(text) => parse_time(text).filter(|time| TIMES.contains(time)),
        _ => None,
    };
    let hint = || "a time from 1ms to 1h, with its unit".to_owned();
    let read = |node: &raw::Node| time(node).ok_or_else(|| (node.value.unexpected(), hint()));
    let found = by_class(fields, key, "{1: 5s}", read);
    found.into_iter().map(|(class, time)| (class, time.as_secs_f64() * 1e3)).collect()
}

/// An objective of nobody is a mistake.
fn check_objectives(objectives: &BTreeMap<Class, f64>, users: &UsersPlan, fields: &Fields<'_>) {
    let there = classes_of(users);
    for Class(class) in objectives.keys().filter(|class| class.0 != 0 && !there.contains(&class.0)) {
        let written = fields.node("objective").and_then(|node| node.get("classes"));
        if let Some(node) = written {
            let hint = "leave it out, or give users this class";
            fields.problems().add(&node.place, "objective.classes", format!("nobody is of class {class}"), hint);
        }
    }
}

/// Reads the baseline, the metric and the margin of comparisons.
fn compare(fields: &Fields<'_>, experiment: &Experiment, arms: &[String]) -> (Compare, u32) {
    let inner =
        fields.node("compare").and_then(|node| Fields::of_table::<CompareKeys>(node, "compare", fields.problems()));
    let Some(inner) = inner else { return (Compare::default(), MOST_BLOCKS) };
    let CompareKeys { metric, margin, decide, most_blocks } = CompareKeys::read(&inner);
    let known = |key: &str, names: &[&str]| {
        let name = inner.text(key)?;
        if names.contains(&name.as_str()) {
            return Some(name);
        }
        inner.wrong(key, format!("there is no {name:?}"), suggestion(&name, names))
    };
    let arms: Vec<&str> = arms.iter().map(String::as_str).collect();
    let phases: Vec<&str> = experiment.users.phases.iter().map(|phase| phase.name.as_str()).collect();
    let compare = Compare {
        baseline: known("baseline", &arms),
        metric: metric.unwrap_or_default(),
        phase: known("phase", &phases),
        margin,
        decide,
        until_decided: None,
    };
    (compare, most_blocks)
}

/// A number of repetitions, or the word for as many as it takes.
fn repeat(fields: &Fields<'_>, key: &str) -> Option<Repeat> {
    match &fields.node(key)?.value {
        Value::Text(text) if text == Repeat::UNTIL_DECIDED => Some(Repeat::UntilDecided),
        Value::Text(text) if text.parse::<f64>().is_err() => {
            let hint = format!("1 to {MOST_REPEATS}, or {}", Repeat::UNTIL_DECIDED);
            fields.wrong(key, format!("{text:?} is no number of repetitions"), hint)
        }
        _ => fields.count(key, 1..=MOST_REPEATS.into()).map(|times| Repeat::Times(times as u32)),
    }
}

/// Fixes the rule by which the run ends. `asked`: in so many words, so that an experiment that it does not fit is a problem.
fn until_decided(experiment: &mut Experiment, most_blocks: u32, asked: bool, fields: &Fields<'_>) {
    let comparisons = experiment.comparisons();
    let rule = SequentialRule::new(most_blocks).filter(|_| comparisons > 0);
    let Some(rule) = rule else {
        if !asked {
            return;
        }
        let (message, hint) = match comparisons {
            0 => (
                "there is nothing to decide between",
                "name a second arm (bounds such as oracle are no choice)".to_owned(),
            ),
            _ => ("so few blocks cannot decide anything", format!("compare.most_blocks: {MOST_BLOCKS}")),
        };
        fields.problem("repeat", message, hint);
        return;
    };
    experiment.repeat = rule.most_blocks();
    experiment.compare.decide = true;
    experiment.compare.until_decided = Some(rule);
}

fn declares(fields: &Fields<'_>, key: &str) -> Vec<Declared> {
    let declared = |node: &raw::Node| match &node.value {
        Value::Text(text) if text == "kernel-backlog" => Some(Declared::KernelBacklog),
        Value::Text(text) if text == "closed-overload" => Some(Declared::ClosedOverload),
        other => {
            let hint = "one of: kernel-backlog, closed-overload";
            fields.problems().wrong(&node.place, key, format!("{} is not known here", other.shown()), hint)
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
