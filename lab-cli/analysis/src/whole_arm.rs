//! Parts of an arm's users, each sent by a generator of its own, as one arm.
//!
//! The record of the whole has no figures of its own: they are added up from the parts' records whenever they are asked for.

use std::path::Path;

use measure::{RecordSum, Report, Shard};
use traces::UserModel;

use crate::{
    FolderError,
    judge::gates,
    live::TimelineSecond,
    record::{self, ArmRecord, PartFacts, PartStart},
    run_file,
    summary::{Arm, PartSummary, Touched},
};

/// What is not exact where users are shared, in the words of manifests and reports.
pub const APPROXIMATIONS: [&str; 4] = [
    "requests of both sides are not joined one by one",
    "percentiles of single seconds and of report windows are those of histogram buckets, of all types together",
    "seconds have no gauges of the service in virtual time, where each part has one of its own",
    "limits that users share (connections, requests) are divided among the parts",
];

/// An arm of several parts.
#[derive(Debug)]
pub struct WholeArm {
    /// The arm, judged.
    pub arm: Arm,
    /// The report of all.
    pub report: Report,
}

/// The name of a part's record in the folder of the whole.
pub fn file_name(arm: &str, block: u32, shard: Shard) -> String {
    format!("{arm}-{block}.part-{}-of-{}.record.json", shard.number(), shard.of())
}

/// A part's record; `None`: it is missing.
pub type PartRecord = Result<(Shard, Option<ArmRecord>), FolderError>;

/// Records of the parts of an arm, one after the other. `kept`: the record of the whole.
pub(crate) fn records<'a>(folder: &'a Path, kept: &'a ArmRecord) -> impl Iterator<Item = PartRecord> + 'a {
    (1..=kept.parts).map(move |number| {
        let shard =
            Shard::new(number, kept.parts).ok_or_else(|| FolderError::senseless(folder)("its number of parts"))?;
        let path = folder.join(file_name(kept.seen.shown_name(), kept.seen.block, shard));
        Ok((shard, run_file::if_there(run_file::json(&path))?))
    })
}

/// Adds up the parts of an arm, which need not be in memory at the same time. `kept`: the record of the whole; `plan`: its digest, and
/// `lab` its version, by the manifest; `folder`: for messages.
///
/// # Errors
/// A record cannot be read, or they are not parts of one arm.
pub fn whole_arm(
    folder: &Path,
    (kept, parts): (&ArmRecord, impl IntoIterator<Item = PartRecord>),
    (plan, lab): (Option<&str>, &str),
    model: Option<&UserModel>,
    seconds: &[TimelineSecond],
) -> Result<WholeArm, FolderError> {
    let (label, block) = (kept.seen.shown_name(), kept.seen.block);
    let (mut found, mut sum) = (Vec::new(), RecordSum::default());
    for part in parts {
        let (shard, part) = part?;
        let named = kept.agents.get(shard.number() as usize - 1).cloned();
        let Some(part) = part else {
            let wrong = Some("missing".to_owned());
            found.push(PartFound { shard, agent: named, wrong, facts: None, arm: Arm::default() });
            continue;
        };
        let path = folder.join(file_name(label, block, shard));
        let (arm, _) = part.arm(model, &[]).map_err(FolderError::senseless(&path))?;
        let facts = part.part.clone();
        let agent = facts.as_ref().and_then(|facts| facts.agent.clone()).or(named);
        let wrong = wrong(facts.as_ref().zip(arm.part), shard, plan, lab);
        found.push(PartFound { shard, agent, wrong, facts, arm });
        if let Some(measured) = &part.measured {
            sum.add(measured).map_err(FolderError::senseless(&path))?;
        }
    }
    let file = folder.join(record::file_name(label, block));
    let measured = sum.of_those_added().map_err(FolderError::senseless(&file))?;
    let merged = ArmRecord { measured: Some(measured), ..kept.clone() };
    let (mut arm, report) = merged.arm(model, seconds).map_err(FolderError::senseless(&file))?;
    let report = report.ok_or_else(|| FolderError::senseless(&file)("it has no part"))?;
    name_stopped(&mut found);
    arm.parts = summaries(&found);
    // Those of the part with the target are told by the events too.
    let touches: Vec<Touched> = found.iter().flat_map(|part| part.arm.touches.iter().cloned()).collect();
    if !touches.is_empty() {
        arm.touches = touches;
    }
    let of_parts: Vec<(Shard, &Arm)> = found.iter().map(|part| (part.shard, &part.arm)).collect();
    gates::stamp_whole(&mut arm, &kept.context, &of_parts);
    Ok(WholeArm { arm, report })
}

struct PartFound {
    shard: Shard,
    agent: Option<String>,
    wrong: Option<String>,
    facts: Option<PartFacts>,
    arm: Arm,
}

fn wrong(facts: Option<(&PartFacts, Shard)>, shard: Shard, plan: Option<&str>, lab: &str) -> Option<String> {
    let Some((facts, is)) = facts else { return Some("not marked as a part".to_owned()) };
    if is != shard {
        Some(format!("part {is} in its place"))
    } else if plan.is_some_and(|plan| plan != facts.plan) {
        Some("of another plan".to_owned())
    } else if facts.lab != lab {
        Some(format!("of version {}", facts.lab))
    } else {
        facts.stopped.as_ref().map(|why| format!("not whole ({why})"))
    }
}

/// Names parts that were stopped. Where agents' coordinator has stopped all that are there, the load is partial, and they are whole.
fn name_stopped(found: &mut [PartFound]) {
    let is_cut = |part: &PartFound| part.arm.phases.iter().any(|phase| phase.cut_off);
    let by_agent = |facts: &PartFacts| facts.agent.is_some();
    let mut there = found.iter().filter(|part| part.facts.is_some());
    if there.all(|part| is_cut(part) && part.facts.as_ref().is_some_and(by_agent)) {
        return;
    }
    for part in found.iter_mut().filter(|part| part.wrong.is_none() && is_cut(part)) {
        part.wrong = Some("not whole (it was stopped)".to_owned());
    }
}

fn summaries(found: &[PartFound]) -> Vec<PartSummary> {
    let began = |part: &PartFound| part.facts.as_ref().and_then(|facts| facts.began.clone());
    let first = found.iter().filter_map(|part| Some(began(part)?.unix_us)).min().unwrap_or(0);
    let kernel = found.iter().find_map(|part| Some(began(part)?.kernel));
    let one_clock = found.iter().filter_map(began).all(|began| Some(&began.kernel) == kernel.as_ref());
    let summary = |part: &PartFound| {
        let began = began(part);
        let error_us = |began: &PartStart| if one_clock { Some(0) } else { began.error_us };
        PartSummary {
            shard: part.shard,
            agent: part.agent.clone(),
            wrong: part.wrong.clone(),
            planned: part.arm.sum(|measured| measured.planned),
            sent: part.arm.sum(|measured| measured.sent),
            send_lag_p99_ms: part.arm.generator.send_lag_p99_ms,
            cpu: part.arm.generator.cpu,
            begins_ms: began.as_ref().map(|began| began.unix_us.abs_diff(first) as f64 / 1e3),
            clock_error_ms: began.as_ref().and_then(error_us).map(|error| error as f64 / 1e3),
            verdict: gates::verdict(&gates::of_generator(&part.arm)),
        }
    };
    found.iter().map(summary).collect()
}
