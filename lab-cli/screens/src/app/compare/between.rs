//! One run against another, arm by arm, as `lab compare OLD NEW` finds it.

use analysis::judge::compare::Across;

use super::{ArmSeries, Compare};
use crate::{column::Column, messages::RunsCompared};

impl Compare {
    /// Both runs are held against each other from here on, if they can be.
    pub fn receive_between(&mut self, found: RunsCompared) {
        if self.runs.iter().map(|run| &run.folder).eq(&found.folders) {
            self.look.across = found.phases.values().any(|found| !found.is_empty());
            self.known.between = Some(found);
        }
    }

    /// Run against run, or back.
    ///
    /// # Errors
    /// Why they cannot be held against each other.
    pub fn toggle_across(&mut self) -> Result<(), String> {
        let Some(found) = self.known.between.as_ref().filter(|_| self.runs.len() == 2) else {
            return Err("two runs are held against each other: tick two of the past runs".to_owned());
        };
        if found.phases.values().all(Vec::is_empty) {
            return Err(found.notes.join("; "));
        }
        (self.look.across, self.look.baseline) = (!self.look.across, None);
        Ok(())
    }

    /// The comparison of both runs, where there are two.
    pub fn between(&self) -> Option<&RunsCompared> {
        self.known.between.as_ref()
    }

    /// The comparison of an arm with its like in the other run, in the phase that is shown.
    pub fn across(&self, arm_series: ArmSeries, column: Column) -> Option<&Across> {
        let own = self.side(arm_series);
        let is_it = |found: &&Across| {
            let of = &found.comparison;
            of.metric == column.metric() && (of.policy == own || of.baseline == own)
        };
        self.known.between.as_ref()?.phases.get(self.phase_name())?.iter().find(is_it)
    }

    /// The place of a row while runs are held against each other: each arm of the second run below its like, the others
    /// last.
    pub(super) fn beside_its_like(&self, arm_series: ArmSeries) -> (usize, usize) {
        if arm_series.run == 0 {
            return (arm_series.arm, 0);
        }
        let own = self.side(arm_series);
        let all = self.known.between.iter().flat_map(|found| found.phases.values().flatten());
        let like = all.map(|found| &found.comparison).find(|found| found.policy == own).and_then(|found| {
            self.all_series.iter().find(|first| first.run == 0 && self.side(**first) == found.baseline)
        });
        (like.map_or(usize::MAX, |like| like.arm), arm_series.run)
    }

    /// The name of an arm of a run, as `lab compare` has it.
    fn side(&self, arm_series: ArmSeries) -> String {
        format!("{}:{}", self.runs[arm_series.run].name, self.arm_name(arm_series))
    }
}
