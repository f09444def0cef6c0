//! All that is known of a run that is over: what reports are made from.

use std::path::Path;

use super::times::ArmTimes;
use crate::{
    FolderError, Manifest, Recorded,
    answer::answer,
    folder::shape,
    judge::gates::first_kept,
    live::{LiveEvent, Shape, TimelineSecond},
    summary::{Arm, Comparison, RunAnswer, RunSummary, busiest},
};

/// A run's files.
#[derive(Debug)]
pub struct RunFiles {
    /// The name of its folder.
    pub name: String,
    /// Manifest of the run.
    pub manifest: Manifest,
    /// Summary of the run.
    pub summary: RunSummary,
    /// Every second.
    pub timeline: Vec<TimelineSecond>,
    /// Events in their order.
    pub events: Vec<LiveEvent>,
    /// Response times of the block that is drawn, where they were read ([`RunFiles::with_times`]).
    pub times: Vec<ArmTimes>,
}

impl RunFiles {
    /// Reads a run. `None`: it was killed, or failed, before its first arm ended.
    ///
    /// # Errors
    /// If its files cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>, FolderError> {
        let manifest = Manifest::read(folder)?;
        let recorded = Recorded::read(folder)?;
        let Some(summary) = recorded.summary else { return Ok(None) };
        let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let name = name.unwrap_or_else(|| folder.display().to_string());
        Ok(Some(Self {
            name,
            manifest,
            summary,
            timeline: recorded.timeline,
            events: recorded.events,
            times: Vec::new(),
        }))
    }

    /// Adds the response times of the block that is drawn, for pictures of them.
    #[must_use]
    pub fn with_times(mut self, folder: &Path) -> Self {
        let block = self.drawn_block();
        let drawn = self.summary.arms.iter().filter(|arm| arm.block == block && !arm.bound);
        self.times = drawn.map(|arm| ArmTimes::read(folder, arm.shown_name(), block)).collect();
        self
    }

    /// Shape of the run as it was planned.
    pub fn shape(&self) -> Option<&Shape> {
        shape(&self.events)
    }

    /// Lines for people.
    pub fn notes(&self) -> Vec<&str> {
        let texts = self.events.iter().filter_map(|event| match event {
            LiveEvent::Note { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// True if there are several blocks.
    pub fn several_blocks(&self) -> bool {
        self.summary.arms.iter().any(|arm| arm.block > 1)
    }

    /// The block that is drawn over time: the first that the machine did not spoil.
    pub fn drawn_block(&self) -> u32 {
        first_kept(&self.summary.arms)
    }

    /// An arm's name, with its block where there are several.
    pub fn turn(&self, arm: &Arm) -> String {
        let bound = if arm.bound { " (bound)" } else { "" };
        if self.several_blocks() {
            format!("{}{bound}, block {}", arm.shown_name(), arm.block)
        } else {
            format!("{}{bound}", arm.shown_name())
        }
    }

    /// Answer of the run; of an earlier version's, what it would have been.
    pub fn answer(&self) -> RunAnswer {
        let (manifest, known) = (&self.manifest, self.summary.answer.clone());
        let phase = manifest.experiment.compare.phase.as_deref();
        known.unwrap_or_else(|| answer(&self.summary, &manifest.arms(), &manifest.with_hindsight(), phase))
    }

    /// Comparisons that may be concluded from: none of an INVALID run, and none of one block.
    pub fn verdicts(&self) -> Vec<&Comparison> {
        let decides = |comparison: &&Comparison| self.summary.valid && comparison.blocks > 1;
        self.summary.comparisons.iter().filter(decides).collect()
    }

    /// The phase that the comparisons are about, else the busiest.
    pub fn busiest(&self) -> Option<&str> {
        let compared = self.summary.comparisons.first().map(|comparison| comparison.phase.as_str());
        let of_first = || busiest(&self.summary.arms.first()?.phases).map(|phase| phase.name.as_str());
        compared.or_else(of_first)
    }
}

#[cfg(test)]
pub(crate) mod sample;
