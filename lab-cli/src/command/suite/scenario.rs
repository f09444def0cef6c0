//! Scenarios of a suite: files, and the experiments that come of them with the policies in their places.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use analysis::suite::SuiteScenario;
use experiment::{
    Changes, Experiment, Library, Repeat,
    plan::{AppPlan, ArmPlan, TreeService},
    problem::FileProblem,
    read as read_file,
};

use super::{
    arms::{NONE, written},
    random,
};
use crate::{
    command::input::{experiment_text, folder_of, read_text},
    exit::Failure,
    run::VirtualSetup,
};

/// The bound that scores are shares of.
pub const BOUND: &str = "blind";

/// The scenarios to read, and how they are to be run.
#[derive(Debug, Clone, Copy)]
pub struct ScenarioSource<'a> {
    /// A folder of files; `None`: the suite that comes with the program.
    pub folder: Option<&'a Path>,
    /// So many drawn ones in their place.
    pub random: Option<u32>,
    pub seed: Option<u64>,
    pub repeat: u32,
}

/// A scenario with all policies that have a place in it.
#[derive(Debug)]
pub struct Scenario {
    /// Text of its file.
    pub text: String,
    /// The folder that it is in.
    pub folder: PathBuf,
    /// The one arm of its file, where policies are put.
    pub place: ArmPlan,
    /// What is run.
    pub experiment: Experiment,
    /// Policies that have no place in it, each with the reason.
    pub left_out: BTreeMap<String, String>,
    /// Reason for which it has no score, if it has none.
    pub unscored: Option<String>,
}

/// All scenarios, in the order of their files' names.
pub fn read(source: &ScenarioSource<'_>, policies: &[String]) -> Result<Vec<Scenario>, Failure> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    let files = match source.random {
        Some(count) => random::scenarios(source.seed.unwrap_or(1), count),
        None => files(source.folder)?,
    };
    for (text, shown) in files {
        let changes = Changes {
            seed: source.seed,
            repeat: Some(Repeat::Times(source.repeat)),
            virtual_time: true,
            folder: folder_of(&shown).to_owned(),
            ..Changes::default()
        };
        let scenario = Scenario::of((&text, &shown), &changes, policies)?;
        if scenarios.iter().any(|other| other.name() == scenario.name()) {
            return Err(Failure::usage(format!("{shown}: another scenario is called {} too", scenario.name())));
        }
        scenarios.push(scenario);
    }
    Ok(scenarios)
}

/// Texts of the files, and their names in messages.
fn files(folder: Option<&Path>) -> Result<Vec<(String, String)>, Failure> {
    let Some(folder) = folder else {
        return Ok(Library::suite().iter().map(|entry| (entry.text.to_owned(), entry.id.to_owned())).collect());
    };
    let failed = |error: std::io::Error| {
        let way_out = "name a folder of experiment files, or none for the suite that comes with the program";
        Failure::usage(format!("{}: {error}; {way_out}", folder.display()))
    };
    let entries = fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let is_yaml = |path: &Path| path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(|path| is_yaml(path)).collect();
    paths.sort();
    if paths.is_empty() {
        let message = "has no scenario: put experiment files there (*.yaml), each with the one arm none";
        return Err(Failure::usage(format!("{} {message}", folder.display())));
    }
    paths.iter().map(|path| experiment_text(&path.display().to_string())).collect()
}

impl Scenario {
    fn of((text, shown): (&str, &str), changes: &Changes, policies: &[String]) -> Result<Self, Failure> {
        let file = read_text(text, shown, changes)?;
        if let Some(why) = file.live_only() {
            return Err(Failure::usage(format!("{shown} has no virtual time: {why}")));
        }
        let place = own_arm(&file, shown)?;
        let with = |arms: &[&str]| Changes { set: vec![format!("arms=[{}]", arms.join(", "))], ..changes.clone() };
        let mut left_out = BTreeMap::new();
        let placed: Vec<(&str, String)> =
            policies.iter().map(|policy| (policy.as_str(), written(policy, place, &[]))).collect();
        fitting(&placed, &|arms| read_file(text, &with(arms)), &mut left_out);
        let fits = |(policy, _): &&(&str, String)| !left_out.contains_key(*policy);
        let mut arms: Vec<&str> = placed.iter().filter(fits).map(|(_, arm)| arm.as_str()).collect();
        arms.push(BOUND);
        let (experiment, unscored) = match read_file(text, &with(&arms)) {
            Ok(experiment) => (experiment, None),
            Err(problems) => {
                arms.pop();
                let experiment = read_text(text, shown, &with(&arms))?;
                // Where each arm has tasks of its own it has a bound of its own too.
                let unscored = (!experiment.gives_tasks()).then(|| said(&problems));
                (experiment, unscored)
            }
        };
        let unscored = unscored.or_else(|| balanced(&experiment));
        let (text, folder, place) = (text.to_owned(), changes.folder.clone(), place.clone());
        Ok(Self { text, folder, place, experiment, left_out, unscored })
    }

    /// Name of the scenario, which is that of its folder.
    pub fn name(&self) -> &str {
        &self.experiment.name
    }

    /// Facts for the matrix.
    pub fn about(&self) -> SuiteScenario {
        SuiteScenario {
            about: self.experiment.about.clone(),
            objective_ms: self.experiment.objective.response_time_ms,
            unscored: self.unscored.clone(),
            folder: self.name().to_owned(),
        }
    }

    /// About how many requests all its runs have: what they take is in proportion to that.
    pub fn work(&self) -> f64 {
        let plan = self.experiment.measures_plan(self.experiment.nominal_capacity(), true);
        let requests = |phase: &analysis::judge::measures::PlannedPhase| {
            phase.seconds * phase.peak.map_or(1.0, analysis::summary::PlannedLoad::amount)
        };
        let one: f64 = plan.phases.iter().map(requests).sum();
        one * self.experiment.arms.len() as f64 * f64::from(self.experiment.repeat)
    }
}

/// The one arm of a file, which says where policies sit.
fn own_arm<'a>(file: &'a Experiment, shown: &str) -> Result<&'a ArmPlan, Failure> {
    match &file.arms[..] {
        [arm] if arm.policy.name == NONE && arm.label == NONE => Ok(arm),
        _ => {
            let message = "is no scenario: its one arm must be none, in whose place policies are put (arms: [none])";
            Err(Failure::usage(format!("{shown} {message}")))
        }
    }
}

/// Reads a scenario with these arms.
type ReadArms<'a> = dyn Fn(&[&str]) -> Result<Experiment, Vec<FileProblem>> + 'a;

/// Finds arms that cannot be read, or not started, each with the reason; a half at a time, since most can.
fn fitting(arms: &[(&str, String)], read: &ReadArms<'_>, left_out: &mut BTreeMap<String, String>) {
    let texts: Vec<&str> = arms.iter().map(|(_, arm)| arm.as_str()).collect();
    match (read(&texts), arms) {
        (_, []) => {}
        (Ok(experiment), _) => {
            let setup = VirtualSetup::of(&experiment);
            for ((policy, _), arm) in arms.iter().zip(&experiment.arms) {
                if let Err(error) = setup.can_start(&experiment, arm) {
                    left_out.insert((*policy).to_owned(), error.to_string());
                }
            }
        }
        (Err(problems), [(policy, _)]) => _ = left_out.insert((*policy).to_owned(), said(&problems)),
        (Err(_), _) => {
            let (some, others) = arms.split_at(arms.len() / 2);
            fitting(some, read, left_out);
            fitting(others, read, left_out);
        }
    }
}

/// The first of some problems, without its place: that is in an arm which nobody has written.
fn said(problems: &[FileProblem]) -> String {
    problems.first().map_or_else(String::new, |problem| problem.message.clone())
}

/// Reason for which nobody before a service can do what the bound says: tasks differ, and a balancer goes by something else.
fn balanced(experiment: &Experiment) -> Option<String> {
    let AppPlan::Tree(tree) = &experiment.target.app else { return None };
    let faults = &experiment.simulation.faults;
    let differ = |service: &&TreeService| {
        let one_hit = faults.iter().any(|fault| fault.task.is_some() && fault.hits(&service.name));
        service.tasks > 1 && (service.slow.is_some() || one_hit)
    };
    let service = tree.services.iter().find(differ)?;
    Some(format!(
        "what the tasks of {} serve is for their balancer to decide, and balancers are no policies",
        service.name
    ))
}
