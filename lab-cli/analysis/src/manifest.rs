//! Manifest of a run, `manifest.json`: what was run, and in which order.

use std::{collections::BTreeMap, path::Path, time::Duration};

use controllers::{Class, Criticality, catalogue::PolicySpec};
use measure::Shard;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use traces::UserModel;

use crate::{
    FolderError,
    judge::{compare::Compare, threshold::AbortRule},
    live::value_in_words,
    run_file,
    summary::{Capacity, Entitled, LatencyObjective, LimitSearch, Mode, Stopped},
    text::{counted, percent},
};

/// The parts of a manifest that verdicts are made from.
#[derive(Debug, Clone, Deserialize)]
pub struct Manifest {
    /// Version of the lab that ran it.
    pub lab: String,
    /// Live or in virtual time.
    pub mode: Mode,
    /// The part that was run; `None`: all of it.
    #[serde(default)]
    pub shard: Option<Shard>,
    /// What a part has of the whole.
    #[serde(default)]
    pub shard_by: ShardBy,
    /// Experiment that was run.
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

/// What is shared among the parts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShardBy {
    /// Repetitions, with all of their users.
    #[default]
    Block,
    /// Users of one load, sent by several generators at once.
    Users,
}

impl ShardBy {
    /// True for what runs of before have.
    pub fn is_block(&self) -> bool {
        *self == Self::Block
    }
}

/// An experiment, as far as verdicts ask for it.
#[derive(Debug, Clone, Deserialize)]
pub struct Planned {
    /// Name of the experiment.
    pub name: String,
    /// One line.
    #[serde(default)]
    pub about: String,
    /// The promise.
    pub objective: LatencyObjective,
    /// Thresholds as written.
    pub thresholds: Vec<String>,
    /// Thresholds that end the run.
    #[serde(default)]
    pub aborts: Vec<AbortRule>,
    /// Terms of comparisons.
    pub compare: Compare,
    /// Conditions that are not held against it.
    #[serde(default)]
    pub declares: Vec<Declared>,
    /// Users.
    #[serde(default)]
    pub users: PlannedUsers,
    /// The target.
    #[serde(default)]
    pub target: PlannedTarget,
    /// Arms in the order of the file.
    pub arms: Vec<PlannedArm>,
}

/// Users of the plan.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PlannedUsers {
    /// Marks of their requests.
    pub marks: PlannedMarks,
}

/// Marks of requests, by class.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PlannedMarks {
    /// Importance that they state.
    pub criticality: BTreeMap<Class, Criticality>,
    /// Customer who pays for them.
    pub customer: BTreeMap<Class, u32>,
}

/// Target of the plan.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PlannedTarget {
    /// Importance of requests that state none, by class.
    pub criticality: BTreeMap<Class, Criticality>,
}

/// An arm of the plan.
#[derive(Debug, Clone, Deserialize)]
pub struct PlannedArm {
    /// Name in tables and thresholds.
    pub label: String,
    /// Policy, where it is told.
    pub policy: Option<PolicySpec>,
    /// Policies of single services.
    #[serde(default)]
    pub services: BTreeMap<String, PolicySpec>,
    /// Knowledge that no policy can have, if any.
    #[serde(default)]
    pub hindsight: Option<Value>,
}

/// A fault of the plan.
#[derive(Debug, Clone, Deserialize)]
pub struct PlannedFault {
    /// Its start, from the start of an arm.
    pub at: Duration,
    /// Its duration.
    pub lasts: Duration,
    kind: Value,
    #[serde(default)]
    service: Option<String>,
}

impl PlannedFault {
    /// `capacity 30 %`, `errors 20 % of auth`.
    pub fn in_words(&self) -> String {
        let value = |value: &Value| value.as_f64().map_or_else(String::new, |share| format!(" {}", percent(share)));
        let kind = match self.kind.as_object().and_then(|one| one.iter().next()) {
            Some((name, Value::Object(ends))) if name == "ramp" => {
                let end = |name: &str| ends.get(name).map_or_else(String::new, value);
                format!("capacity{} to{}", end("from"), end("to"))
            }
            Some((name, of)) => format!("{name}{}", value(of)),
            None => self.kind.as_str().unwrap_or_default().to_owned(),
        };
        self.service.as_ref().map_or_else(|| kind.clone(), |service| format!("{kind} of {service}"))
    }
}

impl Manifest {
    /// Faults of a run in virtual time.
    pub fn faults(&self) -> Vec<PlannedFault> {
        let written = self.whole.pointer("/experiment/virtual/faults").filter(|_| self.mode == Mode::Virtual);
        written.and_then(|faults| Vec::deserialize(faults).ok()).unwrap_or_default()
    }

    /// Reads a run's manifest.
    ///
    /// # Errors
    /// If it is not there, or is none.
    pub fn read(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join("manifest.json");
        let whole: Value = run_file::json(&path)?;
        let manifest = Self::deserialize(&whole).map_err(FolderError::senseless_json(&path))?;
        Ok(Self { whole, ..manifest })
    }

    /// Claims of classes.
    pub fn entitled(&self) -> Entitled {
        let Planned { users, target, .. } = &self.experiment;
        Entitled::of([&users.marks.criticality, &target.criticality], users.marks.customer.keys())
    }

    /// True if the service has several stages: Arashi.
    pub fn several_stages(&self) -> bool {
        self.whole.pointer("/experiment/target/app/app").is_some_and(|app| app == "arashi")
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

    /// Arms that are told what requests cost: where a value was looked for, the manifest says up to which.
    pub fn told_costs(&self) -> Vec<String> {
        let looks =
            |known: &Value| known.as_object().is_some_and(|one| one.values().any(|range| range.get("most").is_some()));
        let told = self.experiment.arms.iter().filter(|arm| arm.hindsight.as_ref().is_some_and(|known| !looks(known)));
        told.map(|arm| arm.label.clone()).collect()
    }

    /// Account of the run, in lines for people: seed and repetitions, then its arms with what they were set to.
    /// `stopped`: how far it came, if not to its end.
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

    /// True if the load is closed, and the file does not say that it is about that.
    pub fn closed(&self) -> bool {
        let phases = self.whole.pointer("/experiment/users/phases").and_then(Value::as_array);
        let loads = phases.into_iter().flatten().filter_map(|phase| phase.get("loads")?.as_array()).flatten();
        let any_closed = loads.into_iter().any(|load| load.get("users").is_some());
        any_closed && !self.experiment.declares.contains(&Declared::ClosedOverload)
    }

    /// True if connections that wait in the kernel are part of what this arm is about.
    pub fn kernel_backlog_declared(&self, label: &str) -> bool {
        let arm = self.experiment.arms.iter().find(|arm| arm.label == label);
        let mut policies = arm.into_iter().flat_map(|arm| arm.policy.iter().chain(arm.services.values()));
        policies.any(|policy| policy.works_at_accept(installed::catalogue()))
            || self.experiment.declares.contains(&Declared::KernelBacklog)
    }

    /// True if tasks of a tree, which are processes, crash at set times.
    pub fn tasks_crash(&self) -> bool {
        let app = self.whole.pointer("/experiment/target/app/app");
        let is_tree = app.is_some_and(|app| app == "tree");
        let faults = self.whole.pointer("/experiment/virtual/faults").and_then(Value::as_array);
        let any = faults.into_iter().flatten().any(|fault| fault.get("kind").is_some_and(|kind| kind == "crash"));
        is_tree && any && self.mode == Mode::Live
    }

    /// The Markov model that users walked, if they had one.
    pub fn model(&self) -> Option<UserModel> {
        UserModel::deserialize(self.whole.pointer("/experiment/users/model/mail/model")?).ok()
    }
}

/// One repetition of every arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Number of the block, from 1.
    pub block: u32,
    /// Seed of its plan. Written as text: many programs read no number over 2^53 as it is.
    #[serde(with = "exact")]
    pub seed: u64,
    /// Names of the arms as they run.
    pub order: Vec<String>,
    /// SHA-256 of the plan and its schedule: the same for every arm of the block, and for every run with this seed.
    pub plan: Option<String>,
    /// Names of the arms that a person changed while they ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub touched: Vec<String>,
}

/// A whole number as text; runs of before have it as a number.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u64),
        Text(String),
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Ok(number),
            Written::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

/// Conditions that make a run doubtful unless the experiment is about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Declared {
    /// The kernel's listen queue overflows: it, not a policy, does the admission.
    KernelBacklog,
    /// Closed users under overload: their number caps the load (the SEDA experiments are of this kind).
    ClosedOverload,
}
