//! Runs of arms and their phases, as figures of an answer count them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    judge::gates,
    summary::{Arm, PhaseSummary},
};

/// Runs of arms that figures are made of: those that count in comparisons, or all of an arm that has none.
pub(crate) struct CountedRuns<'a> {
    pub arms: Vec<&'a Arm>,
}

impl<'a> CountedRuns<'a> {
    pub fn of(arms: &'a [Arm]) -> Self {
        let left_out = gates::excluded(arms);
        let counts = |arm: &&Arm| arm.is_comparable() && !left_out.contains(&arm.block);
        let counted: BTreeSet<&str> = arms.iter().filter(counts).map(Arm::shown_name).collect();
        let kept = arms.iter().filter(|arm| counts(arm) || !counted.contains(arm.shown_name()));
        Self { arms: kept.collect() }
    }

    pub fn of_arm<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'a Arm> + 't {
        self.arms.iter().copied().filter(move |arm| arm.shown_name() == name)
    }

    /// Goodput of two arms in this phase, in each block that has it of both.
    pub fn goodput_in_blocks(&self, arms: [&str; 2], phase: &str) -> Vec<[f64; 2]> {
        let [ours, theirs] = arms.map(|name| {
            let goodput = |run: &Arm| Some((run.block, run.whole_phase(phase)?.measured.goodput_per_s));
            self.of_arm(name).filter_map(goodput).collect::<BTreeMap<_, _>>()
        });
        ours.into_iter().filter_map(|(block, ours)| Some([ours, *theirs.get(&block)?])).collect()
    }
}

/// This phase of these runs: the whole ones, or, where there is none, those that were cut off.
pub(super) fn of_phase<'a>(runs: &[&'a Arm], name: &str) -> Vec<&'a PhaseSummary> {
    let whole: Vec<_> = runs.iter().filter_map(|arm| arm.whole_phase(name)).collect();
    let begun = |phase: &&PhaseSummary| phase.name == name && phase.seconds > 0.0;
    if whole.is_empty() { runs.iter().filter_map(|arm| arm.phases.iter().find(begun)).collect() } else { whole }
}
