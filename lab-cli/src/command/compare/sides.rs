//! The sides of `lab compare`, runs and single arms of runs: what keeps them from being compared, and what a reader should know.

use analysis::{
    comparable,
    folder::Recorded,
    judge::compare::{Contest, ContestSide, ContestTurn},
    manifest::Manifest,
    summary::{RunSummary, Validity},
    text::{scrubbed, suggestion},
};
use serde::Serialize;

use crate::{exit::Failure, store::find_run};

/// A run, or one arm of it.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name of its folder.
    pub name: String,
    /// This arm alone.
    pub arm: Option<String>,
    pub manifest: Manifest,
    pub summary: RunSummary,
}

/// A run or an arm that is left out of the comparison.
#[derive(Debug, Serialize)]
pub struct NotCompared {
    /// A run, or an arm of one.
    pub what: String,
    pub why: String,
    /// Because it is INVALID.
    pub invalid: bool,
}

impl NotCompared {
    fn new(what: String, why: impl Into<String>) -> Self {
        Self { what, why: why.into(), invalid: false }
    }
}

/// Reads all runs, in their order; `None` of one that is left out, because it is INVALID or has no summary.
pub fn read(names: &[String]) -> Result<(Vec<Option<Entry>>, Vec<NotCompared>), Failure> {
    let (mut entries, mut left_out) = (Vec::new(), Vec::new());
    for name in names {
        let (folder, arm) = folder_and_arm(name)?;
        let shown = folder.file_name().map_or_else(|| name.clone(), |name| name.to_string_lossy().into_owned());
        let manifest = Manifest::read(&folder)?;
        let mut recorded = Recorded::read(&folder)?;
        let Some(summary) = recorded.summary.take() else {
            left_out.push(NotCompared::new(shown, format!("it {}", recorded.why_no_summary())));
            entries.push(None);
            continue;
        };
        if let Some(arm) = &arm {
            let known = manifest.arms();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            if !known.contains(&arm.as_str()) {
                return Err(Failure::usage(format!("{shown} has no arm {arm:?}; {}", suggestion(arm, &known))));
            }
        }
        entries.push(entry(shown, arm, manifest, summary, &mut left_out));
    }
    Ok((entries, left_out))
}

/// A run as it was read, or this arm of it; `None` if it is INVALID. Without what the machine spoiled.
pub fn entry(
    name: String,
    arm: Option<String>,
    manifest: Manifest,
    mut summary: RunSummary,
    left_out: &mut Vec<NotCompared>,
) -> Option<Entry> {
    if summary.verdict == Validity::Invalid {
        let codes: Vec<&str> = summary.codes().into_iter().collect();
        left_out.push(NotCompared { what: name, why: format!("INVALID ({})", codes.join(", ")), invalid: true });
        return None;
    }
    let spoiled = analysis::judge::gates::excluded(&summary.arms);
    summary.arms.retain(|turn| !spoiled.contains(&turn.block));
    left_out.extend(
        spoiled
            .iter()
            .map(|block| NotCompared::new(format!("{name}, block {block}"), "the machine spoiled it (EXCLUDED)")),
    );
    for turn in summary.arms.iter().filter(|turn| !turn.touches.is_empty()) {
        let what = format!("{name}:{}, block {}", turn.shown_name(), turn.block);
        left_out.push(NotCompared::new(what, "a person changed it while it ran"));
    }
    Some(Entry { name, arm, manifest, summary })
}

/// A folder may have a colon in its name: it is tried first.
fn folder_and_arm(name: &str) -> Result<(std::path::PathBuf, Option<String>), Failure> {
    match (find_run(name), name.rsplit_once(':')) {
        (Ok(folder), _) => Ok((folder, None)),
        (Err(_), Some((run, arm))) => {
            find_run(run).map(|folder| (folder, Some(arm.to_owned()))).map_err(Failure::usage)
        }
        (Err(problem), None) => Err(Failure::usage(problem)),
    }
}

/// The arms of one run against its baseline.
pub fn one_run<'a>(
    run: &'a Entry,
    baseline: Option<&str>,
    left_out: &mut Vec<NotCompared>,
) -> Result<Vec<Contest<'a>>, Failure> {
    let order = run.manifest.arms();
    let known: Vec<&str> = order.iter().map(String::as_str).collect();
    if let Some(unknown) = baseline.filter(|baseline| !known.contains(baseline)) {
        return Err(Failure::usage(format!("there is no arm {unknown:?}; {}", suggestion(unknown, &known))));
    }
    let planned = run.manifest.experiment.compare.baseline.as_deref().filter(|planned| known.contains(planned));
    let Some(theirs) = baseline.or(planned).or(known.first().copied()) else { return Ok(Vec::new()) };
    let others = known.iter().filter(|label| **label != theirs && run.arm.as_deref().is_none_or(|arm| arm == **label));
    let theirs = side(run, theirs, theirs.to_owned());
    let mut found = Vec::new();
    for label in others {
        let ours = side(run, label, (*label).to_owned());
        keep(Contest { ours, theirs: theirs.clone() }, &mut found, left_out);
    }
    Ok(found)
}

/// The arms of runs against those of the first: of the same name, or the only one.
pub fn contests<'a>(
    first: &'a Entry,
    others: &'a [Entry],
    left_out: &mut Vec<NotCompared>,
) -> Result<Vec<Contest<'a>>, Failure> {
    let mut found = Vec::new();
    for run in others {
        for label in labels(run) {
            let Some(like) = like(first, &label) else {
                let why = format!("{} has no arm of that name", first.name);
                left_out.push(NotCompared::new(format!("{}:{label}", run.name), why));
                continue;
            };
            let ours = side(run, &label, format!("{}:{label}", run.name));
            let theirs = side(first, &like, format!("{}:{like}", first.name));
            keep(Contest { ours, theirs }, &mut found, left_out);
        }
    }
    Ok(found)
}

/// The arm of the first run that one of this name is held against.
fn like(first: &Entry, label: &str) -> Option<String> {
    let mut theirs = labels(first);
    match &theirs[..] {
        [_] => theirs.pop(),
        _ => theirs.into_iter().find(|other| other == label),
    }
}

/// Settings of arms that differ between these runs, and differences that make them two runs: a line each.
pub fn other_settings(first: &Entry, other: &Entry) -> Vec<String> {
    if first.name == other.name && first.arm == other.arm {
        return vec![format!("{} is compared with itself", first.name)];
    }
    let of = |label: String| {
        let theirs = like(first, &label)?;
        Some(comparable::other_settings(&first.manifest, &other.manifest, [&theirs, &label]))
    };
    let found = labels(other).into_iter().filter_map(of).flatten();
    found.map(|line| format!("{} and {}: {line}", first.name, other.name)).collect()
}

fn labels(run: &Entry) -> Vec<String> {
    run.arm.clone().map_or_else(|| run.manifest.arms(), |arm| vec![arm])
}

fn side<'a>(run: &'a Entry, label: &str, name: String) -> ContestSide<'a> {
    let plan = |block: u32| run.manifest.blocks.iter().find(|found| found.block == block)?.plan.as_deref();
    let turns = run.summary.arms.iter().filter(|arm| arm.shown_name() == label && arm.valid && arm.touches.is_empty());
    let hindsight = run.manifest.with_hindsight().iter().any(|arm| arm == label);
    ContestSide { name, turns: turns.map(|arm| ContestTurn { arm, plan: plan(arm.block) }).collect(), hindsight }
}

fn keep<'a>(contest: Contest<'a>, found: &mut Vec<Contest<'a>>, left_out: &mut Vec<NotCompared>) {
    let empty =
        [&contest.ours, &contest.theirs].into_iter().find(|side| side.turns.is_empty()).map(|side| side.name.clone());
    match empty {
        Some(what) => left_out.push(NotCompared::new(what, "none of its turns ended without a person's touch")),
        None => found.push(contest),
    }
}

const GREW: &str =
    "blocks of a run were added until its own comparison was decided: p values between runs do not know that";

/// Checks that the others may be compared with the first; returns what a reader must know of the differences.
pub(super) fn alike(first: &Entry, others: &[Entry], anyway: bool) -> Result<Vec<String>, Failure> {
    let mut notes = Vec::new();
    let mut refused = Vec::new();
    for other in others {
        for reason in analysis::comparable::unlike(&first.manifest, &other.manifest) {
            let line = scrubbed(&format!("{} and {}: {reason}", first.name, other.name));
            if anyway { notes.push(line) } else { refused.push(line) }
        }
        if first.manifest.lab != other.manifest.lab {
            notes.push(format!(
                "{} ran with lab {}, {} with {}",
                first.name, first.manifest.lab, other.name, other.manifest.lab
            ));
        }
    }
    for entry in std::iter::once(first).chain(others).filter(|entry| entry.summary.partial) {
        notes.push(format!("{} is partial: it was interrupted", entry.name));
    }
    if refused.is_empty() {
        let grew = |entry: &Entry| entry.manifest.experiment.compare.until_decided.is_some();
        notes.extend((!others.is_empty() && (grew(first) || others.iter().any(grew))).then(|| GREW.to_owned()));
        return Ok(notes);
    }
    Err(Failure::usage(format!(
        "these runs cannot be compared (--anyway compares them all the same)\n{}",
        refused.join("\n")
    )))
}
