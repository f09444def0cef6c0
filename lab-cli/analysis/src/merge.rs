//! Parts of a run as one run: what `lab run --shard` has left, block by block or users beside users.

mod timeline;
mod users;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use measure::Shard;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    FolderError, Manifest,
    digests::{self, Digests},
    live::{LiveEvent, TimelineSecond},
    manifest::ShardBy,
    record, run_file,
    text::counted,
    whole_arm::APPROXIMATIONS,
};

/// Files that a whole run writes anew, each from those of all parts.
const OF_WHOLE: [&str; 5] = ["manifest.json", TIMELINE, EVENTS, "summary.json", digests::NAME];
const TIMELINE: &str = "timeline.jsonl";
const EVENTS: &str = "events.jsonl";
/// Keys of a manifest that all parts of one run have in common.
const OF_PLAN: [&str; 8] = ["schema", "lab", "world", "mode", "seed", "shard_by", "capacity", "experiment"];
/// Of them what the part with the target alone has, where users are shared.
const OF_TARGET: &str = "capacity";

/// A part of a run.
#[derive(Debug)]
pub struct RunPart {
    /// Its folder.
    pub path: PathBuf,
    /// Which part it is.
    pub shard: Shard,
    manifest: Manifest,
    digests: Digests,
}

/// The whole of some parts, without what is computed from it.
#[derive(Debug)]
pub struct MergedRun {
    /// Name of the experiment.
    pub experiment: String,
    /// Manifest of the whole.
    pub manifest: Value,
    /// Files that are made from those of all parts, by name.
    pub written: BTreeMap<String, Vec<u8>>,
    /// Files that are taken as they are, by name.
    pub files: BTreeMap<String, PathBuf>,
    /// Notes for a reader.
    pub notes: Vec<String>,
}

impl RunPart {
    /// Reads a folder.
    ///
    /// # Errors
    /// It is no part of a run, or not as the run left it.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let manifest = Manifest::read(path).map_err(|error| error.to_string())?;
        let Some(shard) = manifest.shard else {
            return Err(format!("{shown} is a whole run, and no part of one (lab run --shard)"));
        };
        let Some(digests) = Digests::read(path).map_err(|error| error.to_string())? else {
            return Err(format!("{shown} has no {}: part {shard} was not run to its end", digests::NAME));
        };
        if let Some(changed) = digests.changed(path).first() {
            return Err(format!("{shown}: {} {}", changed.file, changed.what));
        }
        let part = Self { path: path.to_owned(), shard, manifest, digests };
        match part.missing() {
            Some(block) => Err(format!("{shown}: part {shard} was stopped before the end of block {block}")),
            None => Ok(part),
        }
    }

    /// The first of its blocks that was not run to its end.
    fn missing(&self) -> Option<u32> {
        let Self { manifest, path, shard, .. } = self;
        let ours = |block: u32| manifest.shard_by == ShardBy::Users || shard.holds(u64::from(block - 1));
        let ran = |block: u32| {
            let Some(found) = manifest.blocks.iter().find(|found| found.block == block) else { return false };
            found.order.iter().all(|arm| path.join(record::file_name(arm, block)).is_file())
        };
        (1..=self.repeat()).filter(|block| ours(*block)).find(|block| !ran(*block))
    }

    fn repeat(&self) -> u32 {
        let repeat = self.manifest.whole.pointer("/experiment/repeat").and_then(Value::as_u64);
        repeat.and_then(|repeat| u32::try_from(repeat).ok()).unwrap_or(1)
    }

    fn of_plan(&self, key: &str) -> Option<&Value> {
        self.manifest.whole.get(key)
    }

    fn lines<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<(T, String)>, FolderError> {
        let path = self.path.join(name);
        let text = run_file::read(&path)?;
        let text = String::from_utf8(text).map_err(FolderError::senseless(&path))?;
        let read = |line: &str| Ok((run_file::parsed(&path, line.as_bytes())?, format!("{line}\n")));
        text.lines().map(read).collect()
    }
}

/// Puts parts together. `partial`: also where parts of the users are missing.
///
/// # Errors
/// All reasons why they are not each part of one run once; or a file that cannot be read.
pub fn merged(parts: Vec<RunPart>, partial: bool) -> Result<MergedRun, Vec<String>> {
    let (parts, notes) = each_once(parts, partial)?;
    let whole = match parts[0].manifest.shard_by {
        ShardBy::Block => of_blocks(&parts, notes),
        ShardBy::Users => of_users(&parts, notes),
    };
    whole.map_err(|error| vec![error.to_string()])
}

/// The parts in their order, without copies.
fn each_once(mut parts: Vec<RunPart>, partial: bool) -> Result<(Vec<RunPart>, Vec<String>), Vec<String>> {
    let (mut problems, mut notes) = (Vec::new(), Vec::new());
    parts.sort_by_key(|part| part.shard);
    parts.dedup_by(|later, first| {
        let copy = later.shard == first.shard && later.digests == first.digests;
        notes.extend(copy.then(|| format!("{} is a copy of {}", later.path.display(), first.path.display())));
        copy
    });
    let Some(first) = parts.first() else { return Err(vec!["there is no part of a run".to_owned()]) };
    for pair in parts.windows(2).filter(|pair| pair[0].shard == pair[1].shard) {
        let [a, b] = [&pair[0], &pair[1]].map(|part| part.path.display());
        problems.push(format!("{a} and {b} are both part {}, and differ", pair[0].shard));
    }
    for part in &parts[1..] {
        let by_users = first.manifest.shard_by == ShardBy::Users;
        let asked = OF_PLAN.iter().filter(|key| !(by_users && **key == OF_TARGET));
        let other = asked.into_iter().find(|key| part.of_plan(key) != first.of_plan(key));
        let of = (part.shard.of() != first.shard.of()).then_some(&"number of parts");
        if let Some(what) = other.or(of) {
            let [a, b] = [part, first].map(|part| part.path.display());
            problems.push(format!("{a} has another {what} than {b}"));
        }
    }
    let there = |number: &u32| parts.iter().any(|part| part.shard.number() == *number);
    let missing: Vec<String> = (1..=first.shard.of()).filter(|number| !there(number)).map(|n| n.to_string()).collect();
    let may_miss = partial && first.manifest.shard_by == ShardBy::Users;
    if !missing.is_empty() && !may_miss {
        let of = counted(first.shard.of() as usize, "part");
        problems.push(format!("of {of} these are missing: {}", missing.join(", ")));
    }
    if problems.is_empty() { Ok((parts, notes)) } else { Err(problems) }
}

fn of_blocks(parts: &[RunPart], notes: Vec<String>) -> Result<MergedRun, FolderError> {
    let mut blocks = BTreeMap::new();
    let (mut timeline, mut events) = (BTreeMap::<u32, String>::new(), BTreeMap::<u32, String>::new());
    let mut files = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        let written = part.manifest.whole.get("blocks").and_then(Value::as_array).into_iter().flatten();
        blocks.extend(part.manifest.blocks.iter().map(|block| block.block).zip(written.cloned()));
        for (second, line) in part.lines::<TimelineSecond>(TIMELINE)? {
            timeline.entry(second.block).or_default().push_str(&line);
        }
        let mut at = 0;
        for (event, line) in part.lines::<LiveEvent>(EVENTS)? {
            if let LiveEvent::ArmStarted { block, .. } = event {
                at = block;
            }
            // What is said before the first arm is said of all.
            if at > 0 || index == 0 {
                events.entry(at).or_default().push_str(&line);
            }
        }
        // What came later, such as a report, is no part of the run.
        for name in part.digests.names().filter(|name| !OF_WHOLE.contains(name)) {
            let taken = files.contains_key(name);
            let own = if taken { format!("part-{}-{name}", part.shard.number()) } else { name.to_owned() };
            files.insert(own, part.path.join(name));
        }
    }
    let mut manifest = manifest_of(&parts[0], parts);
    manifest["blocks"] = blocks.into_values().collect();
    let text = |lines: BTreeMap<u32, String>| lines.into_values().collect::<String>().into_bytes();
    let written = [(TIMELINE.to_owned(), text(timeline)), (EVENTS.to_owned(), text(events))].into();
    Ok(MergedRun { experiment: parts[0].manifest.experiment.name.clone(), manifest, written, files, notes })
}

/// The manifest of a part as that of the whole.
fn manifest_of(part: &RunPart, parts: &[RunPart]) -> Value {
    let mut manifest = part.manifest.whole.clone();
    let host = |part: &RunPart| json!({"shard": part.shard, "host": part.manifest.whole.get("host")});
    manifest["host"]["parts"] = parts.iter().map(host).collect();
    if let Some(manifest) = manifest.as_object_mut() {
        manifest.remove("shard");
        manifest.remove("shard_by");
    }
    manifest
}

/// Users beside users: one arm in one block.
fn of_users(parts: &[RunPart], notes: Vec<String>) -> Result<MergedRun, FolderError> {
    let mut files = BTreeMap::new();
    let (mut timelines, mut events) = (Vec::new(), Vec::new());
    for part in parts {
        let lines = part.lines::<TimelineSecond>(TIMELINE)?;
        timelines.push(lines.into_iter().map(|(second, _)| second).collect());
        events.push(part.lines::<LiveEvent>(EVENTS)?);
    }
    let arm_parts: Vec<users::ArmPart<'_>> =
        parts.iter().map(|part| users::ArmPart { shard: part.shard, folder: &part.path }).collect();
    let (label, block) = users::arm_of(&parts[0].manifest);
    let whole = users::merged(&arm_parts, (label, block), timelines)?;
    for part in parts {
        let made = |name: &&str| !OF_WHOLE.contains(name) && !users::is_made(name, label, block);
        for name in part.digests.names().filter(made) {
            files.insert(users::own_name(name, label, block, part.shard), part.path.join(name));
        }
    }
    // What happened at the target, and no part's own result.
    let of_target = events.swap_remove(whole.of_target).into_iter();
    let lines = of_target.filter(|(event, _)| !matches!(event, LiveEvent::ArmFinished(_))).map(|(_, line)| line);
    let mut written = whole.written;
    written.insert(EVENTS.to_owned(), lines.collect::<String>().into_bytes());
    written.insert(TIMELINE.to_owned(), whole.timeline);
    let mut manifest = manifest_of(&parts[whole.of_target], parts);
    manifest["approximations"] = APPROXIMATIONS.iter().copied().collect();
    Ok(MergedRun { experiment: parts[0].manifest.experiment.name.clone(), manifest, written, files, notes })
}
