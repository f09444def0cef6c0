//! Runs of arms, computed again from the files of a run: for its recheck, and for figures.

use std::{ops::Range, path::Path};

use measure::Report;

use crate::{
    FolderError, Manifest, Recorded, arm_metrics,
    live::{LiveEvent, TimelineSecond},
    record::{self, ArmRecord},
    run_file,
    summary::{Arm, Headroom, PhaseSummary, Touched},
    whole_arm::{records, whole_arm},
};

/// Run of an arm in a block, computed again.
pub(crate) struct ArmRun {
    /// Ability of the generator, as it was measured before the first arm.
    pub headroom: Option<Headroom>,
    pub arm: Arm,
    /// `None` of a bound.
    pub report: Option<Report>,
}

impl ArmRun {
    /// A part of a phase, from and to a share of its length, where its parts were kept.
    pub fn part(&self, phase: &str, part: Range<f64>) -> Option<PhaseSummary> {
        self.report.as_ref()?.part(phase, part).map(|found| arm_metrics::phase(&found))
    }
}

/// Runs of arms that have a record, in the order in which they ran.
pub(crate) fn arm_runs(
    path: &Path,
    manifest: &Manifest,
    recorded: &Recorded,
    notes: &mut Vec<String>,
) -> Result<Vec<ArmRun>, FolderError> {
    let model = manifest.model();
    let mut arm_runs = Vec::new();
    let mut missing = 0;
    for block in &manifest.blocks {
        for label in &block.order {
            let file = path.join(record::file_name(label, block.block));
            let Some(mut kept): Option<ArmRecord> = run_file::if_there(run_file::json(&file))? else {
                missing += 1;
                continue;
            };
            let senseless = FolderError::senseless(&file);
            if (kept.seen.shown_name(), kept.seen.block) != (label.as_str(), block.block) {
                return Err(senseless("it is another arm's"));
            }
            if kept.context.objective != manifest.experiment.objective {
                return Err(senseless("it has another objective than the manifest"));
            }
            let of_plan = (manifest.closed(), manifest.kernel_backlog_declared(label), manifest.tasks_crash());
            let judged = &kept.context;
            if (judged.closed, judged.kernel_backlog_declared, judged.tasks_crash) != of_plan {
                return Err(senseless("it was judged by other declarations than the manifest's"));
            }
            kept.seen.touches = touches(&recorded.events, label, block.block);
            let of_arm_run =
                |second: &&TimelineSecond| (second.arm.as_str(), second.block) == (label.as_str(), block.block);
            let seconds: Vec<TimelineSecond> = recorded.timeline.iter().filter(of_arm_run).cloned().collect();
            let (arm, report) = if kept.parts > 0 {
                let of_plan = (block.plan.as_deref(), manifest.lab.as_str());
                let whole = whole_arm(path, (&kept, records(path, &kept)), of_plan, model.as_ref(), &seconds)?;
                (whole.arm, Some(whole.report))
            } else {
                kept.arm(model.as_ref(), &seconds).map_err(FolderError::senseless(&file))?
            };
            arm_runs.push(ArmRun { headroom: kept.context.headroom, arm, report });
        }
    }
    if missing > 0 && !arm_runs.is_empty() {
        notes.push(format!("{missing} turns of arms have no record: the run ended before them"));
    }
    Ok(arm_runs)
}

/// The seconds of an arm in a block.
pub(crate) fn of_arm_run<'a>(
    timeline: &'a [TimelineSecond],
    arm: &'a str,
    block: u32,
) -> impl Iterator<Item = &'a TimelineSecond> {
    timeline.iter().filter(move |second| second.arm == arm && second.block == block)
}

/// Changes by a person in a run of an arm: the events between its beginning and that of the next one.
fn touches(events: &[LiveEvent], label: &str, in_block: u32) -> Vec<Touched> {
    let mut own = false;
    let mut found = Vec::new();
    for event in events {
        if let LiveEvent::ArmStarted { arm, block, .. } = event {
            own = (arm.as_str(), *block) == (label, in_block);
        }
        found.extend(event.touched().filter(|_| own));
    }
    found
}
