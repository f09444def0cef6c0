//! Where the values come from.

use std::{collections::BTreeSet, fmt, ops};

use crate::{
    live::TimelineSecond,
    summary::{Arm, PhaseSummary},
};

/// What a run found, by arm, block and phase.
pub trait Evidence {
    /// Blocks that ran, in order.
    fn blocks(&self) -> Vec<u32>;

    /// A phase of an arm, or the part of it between two shares of its length.
    fn phase(&self, arm: &str, block: u32, phase: &str, part: Option<ops::Range<f64>>) -> Option<PhaseSummary>;

    /// A gauge or count of a stage, second by second, over a phase or a part of it.
    fn gauge(
        &self,
        arm: &str,
        block: u32,
        phase: &str,
        part: Option<ops::Range<f64>>,
        gauge: (&str, &str),
    ) -> Vec<Option<f64>>;
}

/// Gives a part of a phase of the arm with this index: its name, and the shares of its length from and to.
pub type Parts<'a> = &'a dyn Fn(usize, &str, ops::Range<f64>) -> Option<PhaseSummary>;

/// The evidence of a run: its arms, the timeline of all of them, and parts of phases.
pub struct RunEvidence<'a> {
    /// As in the summary.
    pub arms: &'a [Arm],
    /// Blocks that say nothing.
    pub left_out: &'a BTreeSet<u32>,
    /// Every second of every arm.
    pub timeline: &'a [TimelineSecond],
    /// Parts of phases, from the histograms that were kept.
    pub parts: Parts<'a>,
}

impl fmt::Debug for RunEvidence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunEvidence").field("arms", &self.arms).finish_non_exhaustive()
    }
}

impl Evidence for RunEvidence<'_> {
    fn blocks(&self) -> Vec<u32> {
        let all = self.arms.iter().map(|arm| arm.block);
        let mut blocks: Vec<u32> = all.filter(|block| !self.left_out.contains(block)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }

    fn phase(&self, arm: &str, block: u32, phase: &str, part: Option<ops::Range<f64>>) -> Option<PhaseSummary> {
        let index = self.arms.iter().position(|a| a.block == block && a.shown_name() == arm)?;
        match part {
            None => self.arms[index].phases.iter().find(|p| p.name == phase).cloned(),
            Some(part) => (self.parts)(index, phase, part),
        }
    }

    fn gauge(
        &self,
        arm: &str,
        block: u32,
        phase: &str,
        part: Option<ops::Range<f64>>,
        (stage, name): (&str, &str),
    ) -> Vec<Option<f64>> {
        let seconds: Vec<&TimelineSecond> = self
            .timeline
            .iter()
            .filter(|second| second.arm == arm && second.block == block && second.phase == phase)
            .collect();
        let part = part.unwrap_or(0.0..1.0);
        let at = |share: f64| (share * seconds.len() as f64).round() as usize;
        seconds
            .get(at(part.start)..at(part.end))
            .unwrap_or_default()
            .iter()
            .map(|second| second.target.as_ref()?.stages.iter().find(|s| s.name == stage)?.shows(name))
            .collect()
    }
}
