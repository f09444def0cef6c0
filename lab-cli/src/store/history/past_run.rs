//! Past runs as their folders have them.

use std::{
    fs, io,
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use analysis::{
    folder::summary,
    manifest::Manifest,
    recommend::recommendation,
    summary::{Mode, ThresholdResult},
};
use serde::{Deserialize, Serialize};

use crate::store::utc;

/// A past run in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRun {
    /// The name of its folder.
    pub name: String,
    /// The start, UTC: `20261122T065804Z`.
    pub began: String,
    /// Name of the experiment.
    pub experiment: String,
    /// `live` or `virtual`.
    pub mode: String,
    /// The verdict of the summary; `-`: it was killed before its first arm ended, or is under way.
    pub verdict: String,
    /// Arms or phases are missing.
    pub partial: bool,
    /// Repetitions.
    pub blocks: u32,
    /// Arms by name, with the policy's where that is another.
    pub arms: Vec<PastArm>,
    /// The arm that `lab recommend` names, where there was a choice.
    pub won: Option<String>,
    /// Thresholds that held.
    pub held: u32,
    /// Thresholds of which something is known: none of an INVALID run or of a part of one.
    pub judged: u32,
    /// All thresholds.
    pub thresholds: u32,
}

/// An arm of a past run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastArm {
    pub name: String,
    /// The policy's name in the catalogue; empty if the arm never ended.
    pub policy: String,
}

/// A folder with a run in it, and what tells whether it has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) mark: String,
}

/// The runs in a folder. What cannot be looked at is no run.
pub(super) fn listed(runs: &Path) -> io::Result<Vec<Found>> {
    let entries = match fs::read_dir(runs) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(manifest) = mark(&entry.path().join("manifest.json")) else { continue };
        let summary = mark(&entry.path().join("summary.json")).unwrap_or_default();
        found.push(Found { name, mark: format!("{manifest} {summary}") });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Length and time of a file, to the nanosecond.
fn mark(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}.{:09}+{}", changed.as_secs(), changed.subsec_nanos(), about.len()))
}

/// Reads a run. `None` if it cannot be read: then it is no run that anybody could look for.
pub(super) fn read(runs: &Path, name: &str) -> Option<PastRun> {
    let folder = runs.join(name);
    let manifest = Manifest::read(&folder).ok()?;
    let summary = summary(&folder).ok().flatten();
    let policy = |label: &str| {
        let arm = summary.as_ref()?.arms.iter().find(|arm| arm.shown_name() == label)?;
        Some(arm.policy.clone())
    };
    let arms = manifest.arms().into_iter();
    let arms = arms.map(|name| PastArm { policy: policy(&name).unwrap_or_default(), name }).collect();
    let thresholds = summary.as_ref().map_or(&[][..], |summary| &summary.thresholds);
    let count =
        |are: fn(&&ThresholdResult) -> bool| u32::try_from(thresholds.iter().filter(are).count()).unwrap_or(u32::MAX);
    Some(PastRun {
        began: stamp(name).unwrap_or_else(|| changed(&folder.join("manifest.json"))),
        experiment: manifest.experiment.name.clone(),
        mode: (if manifest.mode == Mode::Virtual { "virtual" } else { "live" }).to_owned(),
        verdict: summary.as_ref().map_or("-", |summary| summary.verdict.word()).to_owned(),
        partial: summary.as_ref().is_none_or(|summary| summary.partial),
        blocks: manifest.blocks.iter().map(|block| block.block).max().unwrap_or(0),
        arms,
        won: summary.as_ref().and_then(recommendation).map(|found| found.worst.arm),
        held: count(|threshold| threshold.held),
        judged: count(|threshold| threshold.judged),
        thresholds: count(|_| true),
        name: name.to_owned(),
    })
}

/// The time at the end of a name: `flash-crowd-20261122T065804Z`, or with a number after it.
pub(super) fn stamp(name: &str) -> Option<String> {
    let is_stamp = |part: &str| {
        let bytes = part.as_bytes();
        bytes.len() == 16
            && bytes.iter().enumerate().all(|(at, byte)| match at {
                8 => *byte == b'T',
                15 => *byte == b'Z',
                _ => byte.is_ascii_digit(),
            })
    };
    name.rsplit('-').take(2).find(|part| is_stamp(part)).map(str::to_owned)
}

/// The time of a run in a folder of another name: that of the last write to its manifest.
fn changed(file: &Path) -> String {
    utc(fs::metadata(file).and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH))
}
