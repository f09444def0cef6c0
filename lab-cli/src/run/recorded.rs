//! A run that is over: where it is, and what its manifest says.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;
use target_app::spec::PolicySpec;
use traces::UserModel;

use super::{RunFailure, manifest::Block, resolve::works_at_accept};
use crate::{
    live::value_in_words,
    spec::plan::{Abort, Compare, Declared, Experiment},
    summary::{Capacity, LimitSearch, Mode, Objective, Stopped},
    text::{counted, nearest},
};

/// Where runs are kept unless `--out` says otherwise.
pub const RUNS: &str = "runs";

/// The parts of a manifest that verdicts are made from.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    /// Version of the lab that ran it.
    pub lab: String,
    /// Live or in virtual time.
    pub mode: Mode,
    /// What was run.
    pub experiment: Planned,
    /// The work knob, where it was looked for.
    pub capacity: Option<Capacity>,
    /// Limits that were looked for.
    #[serde(default)]
    pub searches: Vec<LimitSearch>,
    /// The order of arms, block by block.
    pub blocks: Vec<Block>,
    /// All of it, as it is written.
    #[serde(skip)]
    pub whole: Value,
}

/// An experiment, as far as verdicts ask for it.
#[derive(Debug, Clone, Deserialize)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// One line.
    #[serde(default)]
    pub about: String,
    /// The promise.
    pub objective: Objective,
    /// What must hold.
    pub thresholds: Vec<String>,
    /// Which of them end the run.
    #[serde(default)]
    pub aborts: Vec<Abort>,
    /// How arms are compared.
    pub compare: Compare,
    /// Conditions that are not held against it.
    #[serde(default)]
    pub declares: Vec<Declared>,
    /// In the order of the file.
    pub arms: Vec<PlannedArm>,
}

/// An arm of the plan.
#[derive(Debug, Clone, Deserialize)]
pub struct PlannedArm {
    /// Its name.
    pub label: String,
    /// Who decides, where it is told.
    pub policy: Option<PolicySpec>,
    /// What it knows that no policy can know, if anything.
    #[serde(default)]
    pub hindsight: Option<Value>,
}

impl Manifest {
    /// Reads a run's manifest.
    ///
    /// # Errors
    /// If it is not there, or is none.
    pub fn read(folder: &Path) -> Result<Self, RunFailure> {
        let path = folder.join("manifest.json");
        let bytes = fs::read(&path).map_err(RunFailure::at(&path))?;
        let senseless =
            |error: serde_json::Error| RunFailure::Senseless { path: path.clone(), cause: error.to_string() };
        let whole: Value = serde_json::from_slice(&bytes).map_err(senseless)?;
        let manifest = Self::deserialize(&whole).map_err(senseless)?;
        Ok(Self { whole, ..manifest })
    }

    /// The experiment, whole.
    ///
    /// # Errors
    /// If the manifest is of a lab that wrote another one.
    pub fn whole_experiment(&self) -> Result<Experiment, serde_json::Error> {
        Experiment::deserialize(self.whole.get("experiment").unwrap_or(&Value::Null))
    }

    /// Names of the arms, in the order of the file.
    pub fn arms(&self) -> Vec<String> {
        self.experiment.arms.iter().map(|arm| arm.label.clone()).collect()
    }

    /// Arms that know what no policy can know.
    pub fn with_hindsight(&self) -> Vec<String> {
        let known = self.experiment.arms.iter().filter(|arm| arm.hindsight.is_some());
        known.map(|arm| arm.label.clone()).collect()
    }

    /// How the run was made, in lines for people: seed and repetitions, then its arms with what they were set to. `stopped`: how far it
    /// came, if not to its end.
    pub fn in_lines(&self, stopped: Option<&Stopped>) -> Vec<String> {
        let seed =
            self.whole.get("seed").and_then(Value::as_u64).map_or_else(String::new, |seed| format!("seed {seed}, "));
        let blocks = match stopped {
            Some(stopped) => {
                format!("{} of {}", stopped.blocks_whole, counted(stopped.blocks_planned as usize, "block"))
            }
            None => counted(self.blocks.len(), "block"),
        };
        let arm = |arm: &PlannedArm| {
            let settings = arm.policy.iter().flat_map(|policy| &policy.settings);
            let settings: Vec<String> =
                settings.map(|(name, value)| format!("{name}={}", value_in_words(value))).collect();
            if settings.is_empty() { arm.label.clone() } else { format!("{} ({})", arm.label, settings.join(", ")) }
        };
        let arms: Vec<String> = self.experiment.arms.iter().map(arm).collect();
        vec![format!("{seed}{blocks} of every arm"), arms.join("; ")]
    }

    /// Pairs of arms that are the same but for their names, each with the first of its kind.
    pub fn twins(&self) -> Vec<[String; 2]> {
        let arms = self.whole.pointer("/experiment/arms").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let unnamed = |arm: &Value| {
            let mut arm = arm.clone();
            arm.as_object_mut().map(|arm| arm.remove("label"));
            arm
        };
        let label = |arm: &Value| arm.get("label").and_then(Value::as_str).map(str::to_owned);
        let twin = |(index, arm): (usize, &Value)| {
            let first = arms[..index].iter().find(|other| unnamed(other) == unnamed(arm))?;
            Some([label(first)?, label(arm)?])
        };
        arms.iter().enumerate().filter_map(twin).collect()
    }

    /// Whether the load is closed, and the file does not say that it is about that.
    pub fn closed(&self) -> bool {
        let phases = self.whole.pointer("/experiment/users/phases").and_then(Value::as_array);
        let loads = phases.into_iter().flatten().filter_map(|phase| phase.get("loads")?.as_array()).flatten();
        let any_closed = loads.into_iter().any(|load| load.get("users").is_some());
        any_closed && !self.experiment.declares.contains(&Declared::ClosedOverload)
    }

    /// Whether connections that wait in the kernel are part of what this arm is about.
    pub fn kernel_backlog_declared(&self, label: &str) -> bool {
        let arm = self.experiment.arms.iter().find(|arm| arm.label == label);
        arm.and_then(|arm| arm.policy.as_ref()).is_some_and(works_at_accept)
            || self.experiment.declares.contains(&Declared::KernelBacklog)
    }

    /// The Markov model that users walked, if they had one.
    pub fn model(&self) -> Option<UserModel> {
        UserModel::deserialize(self.whole.pointer("/experiment/users/model/mail/model")?).ok()
    }
}

/// The folder of a run: a path, or the name of one below `runs/`, or the beginning of exactly one such name.
///
/// # Errors
/// What there is instead, in words.
pub fn named(name: &str) -> Result<PathBuf, String> {
    let path = Path::new(name);
    let is_run = |path: &Path| path.join("manifest.json").is_file();
    if is_run(path) {
        return Ok(path.to_owned());
    }
    if path.is_dir() {
        return Err(format!("{name} is no folder of a run: it has no manifest.json"));
    }
    let known: Vec<String> = fs::read_dir(RUNS)
        .map(|entries| entries.flatten().filter(|entry| is_run(&entry.path())))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let mut begun: Vec<&String> = known.iter().filter(|run| run.starts_with(name)).collect();
    begun.sort();
    if known.iter().any(|run| run == name) {
        return Ok(Path::new(RUNS).join(name));
    }
    match &begun[..] {
        [] => {
            let hint = match nearest(name, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean {near}?"),
                None => "lab history lists those that there are".to_owned(),
            };
            Err(format!("there is no run {name:?}; {hint}"))
        }
        [only] => Ok(Path::new(RUNS).join(only)),
        [.., last] => Err(format!("{} runs begin with {name:?}, the last of them {last}", begun.len())),
    }
}
