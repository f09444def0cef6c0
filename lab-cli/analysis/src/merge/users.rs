//! The parts of one arm's users: their records stay as they are, beside a record of the whole that has no figures of its own.

use std::{collections::BTreeMap, path::Path};

use measure::Shard;
use serde_json::Value;

use super::timeline;
use crate::{
    FolderError, Manifest, histograms,
    live::TimelineSecond,
    record::{self, ArmRecord},
    run_file, seconds_log, whole_arm,
};

/// A part, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArmPart<'a> {
    pub shard: Shard,
    pub folder: &'a Path,
}

/// The arm of the whole, without what is computed from it.
#[derive(Debug)]
pub(super) struct MergedArm {
    /// Files by name.
    pub written: BTreeMap<String, Vec<u8>>,
    /// Text of the timeline.
    pub timeline: Vec<u8>,
    /// Index of the part that saw the target; the first where none did.
    pub of_target: usize,
}

/// The one arm, and its block.
pub(super) fn arm_of(manifest: &Manifest) -> (&str, u32) {
    let block = manifest.blocks.first();
    let arm = block.and_then(|block| block.order.first());
    (arm.map_or("", String::as_str), block.map_or(1, |block| block.block))
}

/// True for files that the whole has of its own.
pub(super) fn is_made(name: &str, label: &str, block: u32) -> bool {
    name == histograms::file_name(label, block) || name == seconds_log::file_name(label, block)
}

/// The name of a part's file in the folder of the whole.
pub(super) fn own_name(name: &str, label: &str, block: u32, shard: Shard) -> String {
    if name == record::file_name(label, block) {
        whole_arm::file_name(label, block, shard)
    } else {
        format!("part-{}-{name}", shard.number())
    }
}

/// Puts them together.
///
/// # Errors
/// A file cannot be read.
pub(super) fn merged(
    parts: &[ArmPart<'_>],
    (label, block): (&str, u32),
    timelines: Vec<Vec<TimelineSecond>>,
) -> Result<MergedArm, FolderError> {
    let (mut records, mut logs) = (Vec::new(), Vec::new());
    for part in parts {
        let mut record: ArmRecord = run_file::json(&part.folder.join(record::file_name(label, block)))?;
        // All that is asked of it here is what it saw.
        record.measured = None;
        records.push(record);
        let log = part.folder.join(seconds_log::file_name(label, block));
        logs.extend(run_file::if_there(run_file::read(&log))?);
    }
    let servers = records.iter().filter_map(|record| record.seen.server.as_ref());
    let servers: Vec<Value> = servers.map(serde_json::to_value).collect::<Result<_, _>>()?;
    let of_target = records.iter().position(|record| record.seen.server.is_some() || record.seen.service.is_some());
    let of_target = of_target.unwrap_or(0);
    let folder = parts[of_target].folder;
    let times = timeline::times(&logs).map_err(FolderError::senseless(folder))?;
    let mut record = ArmRecord { part: None, parts: parts[of_target].shard.of(), ..records.swap_remove(of_target) };
    (record.seen.part, record.seen.requests) = (None, None);
    // In virtual time each part has a service of its own, which counts that part.
    record.seen.server = servers.into_iter().reduce(added).map(serde_json::from_value).transpose()?;
    let mut written: BTreeMap<String, Vec<u8>> =
        [(record::file_name(label, block), serde_json::to_vec(&record)?)].into();
    if !logs.is_empty() {
        let log = timeline::log(&times).map_err(FolderError::senseless(folder))?;
        written.insert(seconds_log::file_name(label, block), log);
    }
    let mut text = Vec::new();
    for second in timeline::seconds(timelines, &times) {
        serde_json::to_writer(&mut text, &second)?;
        text.push(b'\n');
    }
    Ok(MergedArm { written, timeline: text, of_target })
}

/// Counts and counts of counts, added up.
fn added(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            for (name, value) in b {
                let sum = match a.remove(&name) {
                    Some(known) => added(known, value),
                    None => value,
                };
                a.insert(name, sum);
            }
            Value::Object(a)
        }
        (Value::Array(a), Value::Array(b)) => a.into_iter().zip(b).map(|(a, b)| added(a, b)).collect(),
        (Value::Number(a), Value::Number(b)) => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) => (a + b).into(),
            _ => (a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()).into(),
        },
        (a, _) => a,
    }
}
