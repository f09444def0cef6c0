//! Thresholds of runs that say nothing.

use super::threshold::Threshold;
use crate::summary::{RunSummary, ThresholdResult, Validity};

impl RunSummary {
    /// Thresholds of a run that is INVALID or partial have neither held nor failed. That requests were lost is known all the same, and so is
    /// what ended the run.
    pub fn leave_void_unjudged(&mut self) {
        let because = match (self.verdict, self.partial) {
            (Validity::Invalid, _) => "the run is INVALID",
            (_, true) => "the run is partial",
            _ => return,
        };
        let lost = |result: &ThresholdResult| {
            !result.held && Threshold::parse(&result.text).is_ok_and(|threshold| threshold.is_of_errors())
        };
        let void = |result: &&mut ThresholdResult| result.judged && result.aborted.is_none() && !lost(result);
        self.thresholds.iter_mut().filter(void).for_each(|result| result.leave_unjudged(because));
    }
}
