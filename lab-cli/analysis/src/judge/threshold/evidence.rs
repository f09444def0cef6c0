//! Sources of the values.

use std::{collections::BTreeSet, fmt, ops::Range};

use super::metric::Metric;
use crate::{
    live::{GeneratorSecond, TargetSecond, TimelineSecond},
    summary::{Arm, PhaseSummary},
};

/// Gives a part of a phase of the arm with this index: its name, and the shares of its length from and to.
pub type Parts<'a> = &'a dyn Fn(usize, &str, Range<f64>) -> Option<PhaseSummary>;

/// The evidence of a run: its arms, the timeline of all of them, and parts of phases.
pub struct Evidence<'a> {
    /// Arms of the summary.
    pub arms: &'a [Arm],
    /// Blocks that say nothing.
    pub left_out: &'a BTreeSet<u32>,
    /// Every second of every arm.
    pub timeline: &'a [TimelineSecond],
    /// Parts of phases, from the histograms that were kept.
    pub parts: Parts<'a>,
}

impl fmt::Debug for Evidence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evidence").field("arms", &self.arms).finish_non_exhaustive()
    }
}

impl Evidence<'_> {
    /// Blocks that ran, in order.
    pub(super) fn blocks(&self) -> Vec<u32> {
        let all = self.arms.iter().map(|arm| arm.block);
        let mut blocks: Vec<u32> = all.filter(|block| !self.left_out.contains(block)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    /// A phase of an arm, or the part of it between two shares of its length.
    pub(super) fn phase(&self, of: &Metric, block: u32, part: Option<Range<f64>>) -> Option<PhaseSummary> {
        let index = self.arms.iter().position(|a| a.block == block && a.shown_name() == of.arm)?;
        match part {
            None => self.arms[index].phases.iter().find(|p| p.name == of.phase).cloned(),
            Some(part) => (self.parts)(index, &of.phase, part),
        }
    }

    /// A gauge or count of a stage, or a figure of the generator or of the target's process, second by second, over a phase or a part of it.
    pub(super) fn gauge(
        &self,
        of: &Metric,
        block: u32,
        part: Option<Range<f64>>,
        (stage, name): (&str, &str),
    ) -> Vec<Option<f64>> {
        let seconds: Vec<&TimelineSecond> = self.seconds(of, block).collect();
        let part = part.unwrap_or(0.0..1.0);
        let at = |share: f64| (share * seconds.len() as f64).round() as usize;
        seconds
            .get(at(part.start)..at(part.end))
            .unwrap_or_default()
            .iter()
            .map(|second| {
                let stages = second.target.as_ref().map_or(&[][..], |target| &target.stages);
                match stages.iter().find(|s| s.name == stage) {
                    Some(stage) => stage.shows(name),
                    None if stage == GeneratorSecond::STAGE => second.generator.shows(name),
                    None if stage == TargetSecond::STAGE => second.target.as_ref()?.shows(name),
                    None => second.reported.get(stage)?.shows(name),
                }
            })
            .collect()
    }

    /// Reason for which a stage has no values of a gauge: it showed none, with the stages of this phase that did.
    pub(super) fn shown_elsewhere(&self, of: &Metric, block: u32, (stage, name): (&str, &str)) -> String {
        let stages = self.seconds(of, block).flat_map(|second| second.target.iter().flat_map(|target| &target.stages));
        let showing: BTreeSet<&str> =
            stages.filter(|stage| stage.shows(name).is_some()).map(|stage| stage.name.as_str()).collect();
        let Metric { arm, phase, .. } = of;
        let mut why = format!("{arm}.{phase}: stage {stage} showed no {name}");
        if !showing.is_empty() {
            let showing: Vec<&str> = showing.into_iter().collect();
            why.push_str(&format!("; shown by: {}", showing.join(", ")));
        }
        why
    }

    /// The seconds of a phase of an arm.
    fn seconds(&self, of: &Metric, block: u32) -> impl Iterator<Item = &TimelineSecond> {
        self.timeline
            .iter()
            .filter(move |second| second.arm == of.arm && second.block == block && second.phase == of.phase)
    }
}
