//! Response times of arms as their logs have them: asked for when their picture is looked at, and kept.

use analysis::report::ArmTimes;

use super::{ArmSeries, Compare, View};
use crate::requests::TimesWanted;

impl Compare {
    /// Response times of an arm; `None`: they are not there yet.
    pub fn times(&self, arm_series: ArmSeries) -> Option<&ArmTimes> {
        self.known.times.get(&arm_series)?.as_ref()
    }

    /// Response times that have to be read now, for the picture that is shown: once for each arm.
    pub fn times_wanted(&mut self) -> Option<TimesWanted> {
        let arm_series = self.chosen().filter(|_| self.look.view == View::Latencies)?;
        if self.known.times.contains_key(&arm_series) {
            return None;
        }
        self.known.times.insert(arm_series, None);
        let folder = self.runs[arm_series.run].folder.clone();
        Some(TimesWanted { folder, arm: self.arm_name(arm_series).to_owned(), block: self.drawn_block(arm_series.run) })
    }

    /// Keeps response times. Those of runs that are not shown any more are of no use.
    pub fn receive_times(&mut self, of: &TimesWanted, times: ArmTimes) {
        let is_it = |arm_series: &&ArmSeries| {
            self.runs[arm_series.run].folder == of.folder && self.arm_name(**arm_series) == of.arm
        };
        if let Some(arm_series) = self.all_series.iter().find(is_it).copied() {
            self.known.times.insert(arm_series, Some(times));
        }
    }
}
