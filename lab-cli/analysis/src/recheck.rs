//! A run computed again from its files, and held against its summary, bit for bit.
//!
//! First of all every file is held against its digest (`digests.json`). Then read are `manifest.json` (what was promised, and in which order arms ran), the arms' records, `timeline.jsonl` (gauges) and
//! `events.jsonl` (whether it was interrupted, and what a person changed). No clock, no path and no fact of this machine is asked for, so that it comes
//! to the same end anywhere.

use std::{collections::BTreeMap, path::Path, time::Duration};

use measure::Report;
use serde::Serialize;
use serde_json::Value;

use crate::{
    FolderError, Manifest, Recorded,
    arm_runs::{ArmRun, arm_runs, of_arm_run},
    digests::{Changed, Digests},
    histograms,
    json_diff::differ,
    judge::{
        decision,
        threshold::{Abort, Threshold, first_abort, watches},
    },
    live::{LiveEvent, TimelineSecond},
    manifest::Block,
    run_file, seconds_log,
    sum_up::{Findings, sum_up},
    summary::{Arm, PartSummary, RunSummary},
};

/// Plan of a block, by the experiment in the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPlan {
    /// The seed of the block.
    pub seed: u64,
    /// SHA-256 of the plan and its schedule; `None`: it takes a recording, which is no part of a run.
    pub digest: Option<String>,
}

/// Plans of an experiment.
#[derive(Debug, Clone, Default)]
pub struct Replanned {
    /// Plans by block.
    pub blocks: Vec<BlockPlan>,
    /// Policy of each arm that was told it before the run.
    pub deciders: Vec<Decider>,
}

/// Policy of an arm.
#[derive(Debug, Clone)]
pub struct Decider {
    /// The arm.
    pub arm: String,
    /// The policy.
    pub policy: String,
    /// All its parameters.
    pub parameters: BTreeMap<String, Value>,
}

/// Plans a run again from its manifest, or says why it cannot. Whoever can read an experiment hands it in: no figure comes from
/// it.
pub type Replan<'a> = &'a dyn Fn(&Manifest) -> Result<Replanned, String>;

/// Outcome of a recheck.
#[derive(Debug, Clone, Serialize)]
pub struct Rechecked {
    /// Computed again.
    pub summary: RunSummary,
    /// Number of values that were held against each other.
    pub values: usize,
    /// Number of files that were held against their digests; `None`: the run has none.
    pub files: Option<usize>,
    /// Number of files of a second run in virtual time that were held against those of the first; `None`: there was
    /// none.
    pub run_again: Option<usize>,
    /// Values and files that differ.
    pub differences: Vec<Difference>,
    /// Notes for a reader.
    pub notes: Vec<String>,
}

/// A value that is not what the files make of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The file that it stands in.
    pub file: String,
    /// Place in the file: a JSON pointer, or words.
    pub place: String,
    /// Value that stands there; `None`: nothing.
    pub found: Option<Value>,
    /// Value that was computed; `None`: nothing.
    pub computed: Option<Value>,
}

impl Difference {
    /// A value of a file.
    pub fn of_value(file: &str, place: &str, found: Option<Value>, computed: Option<Value>) -> Self {
        Self { file: file.to_owned(), place: place.to_owned(), found, computed }
    }

    fn of_file(Changed { file, what }: Changed) -> Self {
        Self { file, place: what.to_owned(), found: None, computed: None }
    }
}

/// Computes a run again.
///
/// # Errors
/// If its files cannot be read, or none of its arms has a record.
pub fn recheck(path: &Path, replan: Replan<'_>) -> Result<Rechecked, FolderError> {
    let digests = Digests::read(path)?;
    let changed = digests.as_ref().map_or_else(Vec::new, |digests| digests.changed(path));
    match compute(path, replan) {
        Ok(mut found) => {
            found.files = digests.as_ref().map(Digests::count);
            found.notes.extend(digests.is_none().then(|| NO_DIGESTS.to_owned()));
            found.differences.splice(0..0, changed.into_iter().map(Difference::of_file));
            Ok(found)
        }
        Err(cause) if changed.is_empty() => Err(cause),
        Err(cause) => {
            let files: Vec<String> =
                changed.into_iter().map(|Changed { file, what }| format!("{file} {what}")).collect();
            Err(FolderError::Altered { files: files.join(", "), cause: Box::new(cause) })
        }
    }
}

/// The summary of a run whose folder has none yet.
///
/// # Errors
/// If its files cannot be read, or none of its arms has a record.
pub fn summarised(path: &Path) -> Result<RunSummary, FolderError> {
    let manifest = Manifest::read(path)?;
    let recorded = Recorded::read(path)?;
    let arm_runs = arm_runs(path, &manifest, &recorded, &mut Vec::new())?;
    if arm_runs.is_empty() {
        return Err(FolderError::NoRecords(path.to_owned()));
    }
    let partial = is_partial(&manifest, &recorded, &arm_runs);
    Ok(summary(&manifest, &recorded, &arm_runs, partial))
}

/// Reports on the arms of a folder that several parts were put together in, with the arm's name and its block.
///
/// # Errors
/// A file cannot be read, or parts do not add up.
pub fn whole_arms(path: &Path) -> Result<Vec<(String, u32, Report)>, FolderError> {
    let (manifest, recorded) = (Manifest::read(path)?, Recorded::read(path)?);
    let arm_runs = arm_runs(path, &manifest, &recorded, &mut Vec::new())?.into_iter();
    let of_parts = arm_runs.filter(|arm_run| !arm_run.arm.parts.is_empty());
    Ok(of_parts.filter_map(|run| Some((run.arm.shown_name().to_owned(), run.arm.block, run.report?))).collect())
}

const NO_DIGESTS: &str = "there is no digests.json, which a run writes last: it failed, was killed, or was run by an older lab. Its figures were \
                          computed again; a change of bytes that no figure comes from would not be noticed";

/// Figures and verdicts.
fn compute(path: &Path, replan: Replan<'_>) -> Result<Rechecked, FolderError> {
    let manifest = Manifest::read(path)?;
    let recorded = Recorded::read(path)?;
    let mut notes = Vec::new();
    let mut differences = Vec::new();
    let mut arm_runs = arm_runs(path, &manifest, &recorded, &mut notes)?;
    if arm_runs.is_empty() {
        return Err(FolderError::NoRecords(path.to_owned()));
    }
    let written: Value = run_file::json(&path.join("summary.json"))?;
    let told = written.get("arms").and_then(Value::as_array).map_or(0, Vec::len);
    if written.get("partial") == Some(&Value::Bool(true)) && arm_runs.len() == told + 1 {
        let last = arm_runs.pop().map_or_else(String::new, |arm_run| arm_run.arm.shown_name().to_owned());
        notes.push(format!("the record of {last} is there, and no summary with it yet: the run was killed in between"));
    }
    plans(&manifest, replan, &arm_runs, &mut differences, &mut notes);
    no_block_too_many(&manifest, &arm_runs, &mut differences);
    for arm_run in &arm_runs {
        log(path, arm_run, &mut differences);
        seconds(&recorded.timeline, arm_run, &mut differences);
        times(path, &recorded.timeline, arm_run, &mut differences);
        objective(&manifest, arm_run, &mut differences);
    }
    if recorded.torn {
        notes.push("the last line of a file is torn: the run was killed in a write".to_owned());
    }
    // Killed between its last arm and its end: all was measured, and the summary could not yet know.
    let partial_as_written = written.get("partial") == Some(&Value::Bool(true));
    let was_stopped = is_partial(&manifest, &recorded, &arm_runs);
    if partial_as_written && !was_stopped {
        notes.push("the summary says that the run is partial, and all its arms are there".to_owned());
    }
    let summary = summary(&manifest, &recorded, &arm_runs, partial_as_written || was_stopped);
    let computed = serde_json::to_value(&summary)?;
    let mut values = 0;
    differ("", Some(&written), Some(&computed), &mut |place, found, computed| {
        values += 1;
        if found != computed {
            differences.push(Difference::of_value("summary.json", place, found.cloned(), computed.cloned()));
        }
    });
    Ok(Rechecked { summary, values, files: None, run_again: None, differences, notes })
}

/// Blocks that were planned.
fn blocks(manifest: &Manifest, recorded: &Recorded) -> usize {
    recorded.shape().map_or(manifest.blocks.len(), |shape| shape.blocks as usize)
}

/// Blocks after which the rule of a comparison that ran until it was decided ends it, by the records; `None`: it is
/// not over, or has no such rule.
fn blocks_due(manifest: &Manifest, arm_runs: &[ArmRun]) -> Option<usize> {
    let arms: Vec<Arm> = arm_runs.iter().map(|arm_run| arm_run.arm.clone()).collect();
    let found = decision(&arms, &manifest.experiment.compare, &manifest.arms(), &manifest.with_hindsight())?;
    found.ended.and(found.looks.last()).map(|look| look.blocks as usize)
}

/// No block was run beyond the look that decided: whoever goes on until the result pleases is found here.
fn no_block_too_many(manifest: &Manifest, arm_runs: &[ArmRun], differences: &mut Vec<Difference>) {
    let (ran, due) = (manifest.blocks.len(), blocks_due(manifest, arm_runs));
    if let Some(due) = due.filter(|due| *due < ran) {
        let place = "/blocks, how many ran until it was decided";
        differences.push(Difference::of_value("manifest.json", place, Some(ran.into()), Some(due.into())));
    }
}

/// The threshold that ended it, if one did.
fn abort(manifest: &Manifest, recorded: &Recorded) -> Option<Abort> {
    let watches = watches(&thresholds(manifest), &manifest.experiment.aborts);
    first_abort(&watches, &recorded.timeline)
}

fn thresholds(manifest: &Manifest) -> Vec<Threshold> {
    manifest.experiment.thresholds.iter().filter_map(|text| Threshold::parse(text).ok()).collect()
}

/// It was stopped, or runs of arms are missing.
fn is_partial(manifest: &Manifest, recorded: &Recorded, arm_runs: &[ArmRun]) -> bool {
    let blocks_due = blocks_due(manifest, arm_runs).unwrap_or_else(|| blocks(manifest, recorded));
    let planned: usize = manifest.blocks.iter().map(|block| block.order.len()).sum();
    let stopped = recorded.events.iter().any(|event| matches!(event, LiveEvent::Stopping));
    let part = manifest.shard.is_some();
    part || stopped
        || abort(manifest, recorded).is_some()
        || arm_runs.len() < planned
        || blocks_due > manifest.blocks.len()
}

fn summary(manifest: &Manifest, recorded: &Recorded, arm_runs: &[ArmRun], partial: bool) -> RunSummary {
    let experiment = &manifest.experiment;
    let arms: Vec<Arm> = arm_runs.iter().map(|arm_run| arm_run.arm.clone()).collect();
    let thresholds = thresholds(manifest);
    let abort = abort(manifest, recorded);
    let parts = |index: usize, phase: &str, part: std::ops::Range<f64>| arm_runs.get(index)?.part(phase, part);
    sum_up(&Findings {
        experiment: &experiment.name,
        mode: manifest.mode,
        partial,
        blocks: u32::try_from(blocks(manifest, recorded)).unwrap_or(u32::MAX),
        objective: experiment.objective,
        entitled: manifest.entitled(),
        several_stages: manifest.several_stages(),
        capacity: manifest.capacity.as_ref(),
        searches: &manifest.searches,
        headroom: arm_runs.first().and_then(|arm_run| arm_run.headroom),
        arms: &arms,
        thresholds: &thresholds,
        abort: abort.as_ref(),
        timeline: &recorded.timeline,
        parts: &parts,
        order: &manifest.arms(),
        hindsight: &manifest.with_hindsight(),
        told_costs: &manifest.told_costs(),
        twins: &manifest.twins(),
        compare: &experiment.compare,
    })
}

/// Every block has the seed that the experiment gives it, and the plan that follows from both; and in every arm decides who is to.
fn plans(
    manifest: &Manifest,
    replan: Replan<'_>,
    arm_runs: &[ArmRun],
    differences: &mut Vec<Difference>,
    notes: &mut Vec<String>,
) {
    let Replanned { blocks: plans, deciders } = match replan(manifest) {
        Ok(planned) => planned,
        Err(cause) => {
            notes.push(format!("plans were not made again: {cause}"));
            return;
        }
    };
    let mut differs = |place: String, found: Value, computed: Value| {
        if found != computed {
            differences.push(Difference::of_value("manifest.json", &place, Some(found), Some(computed)));
        }
    };
    let of_experiment = manifest.whole.pointer("/experiment/seed").cloned().unwrap_or_default();
    differs("/seed".to_owned(), manifest.whole.get("seed").cloned().unwrap_or_default(), of_experiment);
    for (index, (block, plan)) in manifest.blocks.iter().zip(plans).enumerate() {
        differs(format!("/blocks/{index}/seed"), block.seed.into(), plan.seed.into());
        let Block { plan: Some(written), .. } = block else { continue };
        match plan.digest {
            Some(plan) => differs(format!("/blocks/{index}/plan"), written.clone().into(), plan.into()),
            None => {
                notes.push("plans were not made again: they take a recording, which is no part of the run".to_owned());
                break;
            }
        }
    }
    arm_runs.iter().for_each(|arm_run| decided(arm_run, &deciders, differences));
}

/// The policy that decided in a run of an arm, by its record, is that of the manifest.
fn decided(arm_run: &ArmRun, deciders: &[Decider], differences: &mut Vec<Difference>) {
    let Arm { policy, parameters, block, .. } = &arm_run.arm;
    let label = arm_run.arm.shown_name();
    let Some(planned) = deciders.iter().find(|decider| decider.arm == label) else { return };
    let file = crate::record::file_name(label, *block);
    let of_record = [("policy", Value::from(policy.as_str())), ("parameters", serde_json::json!(parameters))];
    let of_plan = [Value::from(planned.policy.as_str()), serde_json::json!(planned.parameters)];
    for ((key, found), computed) in of_record.into_iter().zip(of_plan) {
        differ(&format!("/seen/{key}"), Some(&found), Some(&computed), &mut |place, found, computed| {
            if found != computed {
                differences.push(Difference::of_value(&file, place, found.cloned(), computed.cloned()));
            }
        });
    }
}

/// Requests of an arm were judged by the objective of the manifest.
fn objective(manifest: &Manifest, arm_run: &ArmRun, differences: &mut Vec<Difference>) {
    let Some(report) = &arm_run.report else { return };
    let promised = Duration::from_secs_f64(manifest.experiment.objective.response_time_ms / 1e3);
    if report.objective().as_micros() != promised.as_micros() {
        let [found, computed] = [report.objective(), promised].map(|time| Some((time.as_micros() as u64).into()));
        let file = crate::record::file_name(arm_run.arm.shown_name(), arm_run.arm.block);
        differences.push(Difference { file, place: "/measured/objective_us".to_owned(), found, computed });
    }
}

/// The histograms in the arm's log are those of its record.
fn log(path: &Path, arm_run: &ArmRun, differences: &mut Vec<Difference>) {
    let Some(report) = &arm_run.report else { return };
    let file = histograms::file_name(arm_run.arm.shown_name(), arm_run.arm.block);
    let mut differs = |place: &str| differences.push(Difference::of_value(&file, place, None, None));
    let log = run_file::read(&path.join(&file)).map_err(|error| error.to_string());
    match log.and_then(|log| histograms::same(report, &log)) {
        Ok(true) => {}
        Ok(false) => differs("its histograms are not those of the record"),
        Err(cause) => differs(&format!("it cannot be read: {cause}")),
    }
}

/// The arm's seconds follow on each other and, with the second that was under way as the run ended, which is in the record alone,
/// add up to what the record holds: planned requests, and requests that were written. A record of before says nothing of that second: it may
/// have all requests of a run that was stopped in it, and of one that went on beyond its last phase those that users began in its drain.
fn seconds(timeline: &[TimelineSecond], arm_run: &ArmRun, differences: &mut Vec<Difference>) {
    let Some(report) = &arm_run.report else { return };
    let (name, block) = (arm_run.arm.shown_name(), arm_run.arm.block);
    let of_arm = || of_arm_run(timeline, name, block);
    let mut differs = |what: &str, found: u64, computed: u64| {
        let place = format!("{what}, all seconds of {name} (block {block})");
        differences.push(Difference::of_value("timeline.jsonl", &place, Some(found.into()), Some(computed.into())));
    };
    // The run may have ended a moment after its last second was told.
    let told = of_arm().count() as u64;
    if of_arm().zip(0..).any(|(second, number)| second.second != number) || told + 1 < report.seconds as u64 {
        differs("how many follow on each other", told, report.seconds as u64);
    }
    // Of an agent that was lost for a while seconds may be missing; of one that did not come back, the record.
    let was_lost = |second: &TimelineSecond| second.agents.iter().any(|agent| agent.lost.is_some());
    let is_missing = |part: &PartSummary| part.agent.is_some() && part.wrong.is_some();
    if of_arm().any(was_lost) || arm_run.arm.parts.iter().any(is_missing) {
        return;
    }
    let planned: f64 = arm_run.arm.phases.iter().map(|phase| phase.seconds).sum();
    let all = told as f64 >= planned;
    let phases = || arm_run.arm.phases.iter().map(|phase| &phase.measured);
    let last = report.last_second();
    let sums: [(&str, u64, u64, Option<u64>); 2] = [
        (
            "planned",
            of_arm().map(|second| second.planned).sum(),
            phases().map(|m| m.planned).sum(),
            last.map(|last| last.planned),
        ),
        ("sent", of_arm().map(|second| second.sent).sum(), phases().map(|m| m.sent).sum(), last.map(|last| last.sent)),
    ];
    for (what, found, computed, last) in sums {
        let add_up = match last {
            Some(last) => found.checked_add(last) == Some(computed),
            None => found <= computed && (!all || found + computed / 100 + 10 >= computed),
        };
        if !add_up {
            differs(what, found, computed);
        }
    }
}

/// The log of an arm's seconds, where it has one (live arms do), has as many times in each as its line in the timeline says.
fn times(path: &Path, timeline: &[TimelineSecond], arm_run: &ArmRun, differences: &mut Vec<Difference>) {
    let (name, block) = (arm_run.arm.shown_name(), arm_run.arm.block);
    let file = seconds_log::file_name(name, block);
    if arm_run.report.is_none() {
        return;
    }
    let Some(log) = run_file::find(&path.join(&file)).map_err(|error| error.to_string()).transpose() else { return };
    let own = of_arm_run(timeline, name, block);
    let (place, found, computed) = match log.and_then(|log| seconds_log::differs(&log, own)) {
        Ok(None) => return,
        Ok(Some((second, found, computed))) => {
            (format!("times in second {second}"), Some(found.into()), Some(computed.into()))
        }
        Err(cause) => (format!("it cannot be read: {cause}"), None, None),
    };
    differences.push(Difference { file, place, found, computed });
}
