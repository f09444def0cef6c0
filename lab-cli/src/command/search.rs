//! Common parts of `lab sweep` and `lab tune`: the file, its ranges, what is turned, the goal, the folder, and how they end.

use std::path::{Path, PathBuf};

use analysis::{
    goal::Goal,
    sha256,
    summary::{Arm, busiest},
    text::scrubbed,
};
use experiment::{Changes, Experiment, plan::ArmPlan};
use serde_json::{Value, json};

use super::input::{experiment_text, folder_of, read_text};
use crate::{
    args::GoalArgs,
    exit::{CommandResult, End, Failure, complain},
    run::StopSignal,
    store::new_search,
    sweep::{Bench, BenchError, Journal, Knob, Spread, SweepFile, knobs, spread},
};

/// A file and what is looked for in it.
#[derive(Debug)]
pub(super) struct Search {
    /// The file's text.
    pub text: String,
    /// The file's name, as messages have it.
    pub shown: String,
    /// Single values.
    pub set: Vec<String>,
    /// Ranges, by key.
    pub ranges: Vec<(String, Spread)>,
    pub goal: Goal,
}

impl Search {
    pub fn read(name: &str, set: &[String], goal: &GoalArgs) -> Result<Self, Failure> {
        let (text, shown) = experiment_text(name)?;
        let (single, ranges) = parted(set)?;
        let of = |flag: &str, error| Failure::usage(format!("{flag}: {error}"));
        Goal::parse(&goal.measure, None).map_err(|error| of("--for", error))?;
        let goal = Goal::parse(&goal.measure, goal.under.as_deref()).map_err(|error| of("--under", error))?;
        Ok(Self { text, shown, set: single, ranges, goal })
    }

    /// The file, for a bench.
    pub fn file(&self) -> SweepFile<'_> {
        SweepFile { name: "", text: &self.text, folder: folder_of(&self.shown) }
    }

    /// The file with these keys set, and these arms alone.
    pub fn experiment(&self, set: Vec<String>, policies: &[String]) -> Result<Experiment, Failure> {
        let changes = Changes { set, policies: policies.to_vec(), ..Changes::default() };
        let file = read_text(&self.text, &self.shown, &changes)?;
        match file.live_only() {
            Some(why) => Err(Failure::usage(format!("{} has no virtual time: {why}", self.shown))),
            None => Ok(file),
        }
    }

    /// The values that must be the same for a search to go on: all that runs, nothing of how it is judged.
    pub fn plan(&self, what: &str, own: &Value) -> Value {
        let ranges: Vec<String> = self.ranges.iter().map(|(key, range)| format!("{key}={range:?}")).collect();
        let file = sha256::of(self.text.as_bytes());
        json!({"search": what, "lab": env!("CARGO_PKG_VERSION"), "file": file, "set": self.set, "ranges": ranges, "of": own})
    }

    /// The phase that decides: asked for, or the experiment's, or the busiest of these arms.
    pub fn phase(&self, asked: Option<&str>, experiment: &Experiment, arms: &[Arm]) -> Result<String, Failure> {
        if let Some(name) = asked.or(experiment.compare.phase.as_deref()) {
            let known: Vec<&str> = experiment.users.phases.iter().map(|phase| phase.name.as_str()).collect();
            return match known.contains(&name) {
                true => Ok(name.to_owned()),
                false => Err(Failure::usage(format!(
                    "--phase: there is no {name:?}; {}",
                    analysis::text::suggestion(name, &known)
                ))),
            };
        }
        let phases = arms.iter().flat_map(|arm| &arm.phases);
        busiest(phases).map(|phase| phase.name.clone()).ok_or_else(|| Failure::usage("nothing was run"))
    }
}

/// Single values, and ranges by key.
pub(super) type Assignments = (Vec<String>, Vec<(String, Spread)>);

/// Sorts what was set.
pub(super) fn parted(set: &[String]) -> Result<Assignments, Failure> {
    let (mut single, mut ranges) = (Vec::new(), Vec::new());
    for assignment in set {
        match spread(assignment).map_err(Failure::usage)? {
            Some(range) => ranges.push(range),
            None => single.push(assignment.clone()),
        }
    }
    Ok((single, ranges))
}

/// The parameters that are turned: those with a range on the command line, else all. What sits at single services of a tree is not
/// reached.
pub(super) fn chosen(ranges: &[(String, Spread)], arm: &ArmPlan) -> Result<Vec<Knob>, Failure> {
    let all = knobs(arm);
    if all.is_empty() {
        return Err(Failure::usage(format!("{} has no number and no time to tune", arm.label)));
    }
    if ranges.is_empty() {
        return Ok(all.into_iter().filter(|knob| knob.value.is_some()).collect());
    }
    let prefix = format!("arms.{}.", arm.label);
    let mut chosen = Vec::new();
    for (key, range) in ranges {
        let name = key.strip_prefix(&prefix).unwrap_or(key);
        let Some(mut knob) = all.iter().find(|knob| knob.name == name).cloned() else {
            let known: Vec<&str> = all.iter().map(|knob| knob.name.as_str()).collect();
            let hint = analysis::text::suggestion(name, &known);
            return Err(Failure::usage(format!("--set {key}: {} has no such number or time; {hint}", arm.policy.name)));
        };
        let declared = knob.spread;
        if range.from < declared.from || range.to > declared.to {
            let [from, to] = [declared.from, declared.to].map(|end| declared.written(end));
            return Err(Failure::usage(format!("--set {key}: beyond the declared range, {from} to {to}")));
        }
        knob.spread = declared.narrowed(range.from, range.to);
        chosen.push(knob);
    }
    Ok(chosen)
}

/// The difference that does not matter in practice, as a share of the best value: 5 % unless the experiment has a margin.
pub(super) fn margin(file: &Experiment) -> f64 {
    file.compare.margin.unwrap_or(0.05)
}

/// The folder of a search: a new one, or one that goes on.
pub(super) fn journal(out: Option<&Path>, name: &str, plan: &Value) -> Result<Journal, Failure> {
    let folder: PathBuf = out.map_or_else(|| new_search(name), Path::to_owned);
    let journal = Journal::open(&folder, plan)?;
    if journal.count() > 0 {
        complain(&format!("{} runs are there already", journal.count()));
    }
    Ok(journal)
}

/// The end of a search that could not be carried out.
pub(super) fn not_done(error: BenchError, bench: &Bench<'_>, stop: &StopSignal) -> CommandResult {
    match (error, stop.end()) {
        (BenchError::Said(failure), _) => Err(failure),
        (BenchError::Failed(failure), None) => Err(failure.into()),
        (_, end) => {
            let folder = bench.journal().folder().display().to_string();
            complain(&format!("stopped; the same command with --out {} goes on", scrubbed(&folder)));
            Ok(end.unwrap_or(End::Interrupted))
        }
    }
}
