//! Fates of recorded requests, where a recording was replayed.

use crate::{
    summary::{Arm, Measured, RunSummary},
    text::{percent, table::Table},
};

/// A row for each arm that replayed something.
pub(super) fn table(summary: &RunSummary, head: &str, name: impl Fn(&Arm) -> String) -> Table {
    let mut table = Table::new(&[head, "recorded", "asked", "passed over", "cut off", "asked besides"], 1..);
    for arm in &summary.arms {
        let Some(found) = arm.replayed else { continue };
        let first = arm.sum(Measured::first_attempts);
        let share = match found.asked as f64 / found.recorded.max(1) as f64 {
            share if found.asked < found.recorded => format!("{} ({})", found.asked, percent(share)),
            _ => found.asked.to_string(),
        };
        let [recorded, passed_over, cut_off, besides] =
            [found.recorded, found.passed_over, found.cut_off, first.saturating_sub(found.asked)]
                .map(|count| count.to_string());
        table.row([name(arm), recorded, share, passed_over, cut_off, besides]);
    }
    table
}

#[cfg(test)]
mod tests {
    use measure::Replayed;

    use super::*;
    use crate::summary::PhaseSummary;

    #[test]
    fn what_was_cut_off_stands_beside_what_was_asked() {
        let measured = Measured { planned: 2300, retries: 34, ..Measured::default() };
        let replayed = Some(Replayed { recorded: 6152, asked: 2166, passed_over: 20, cut_off: 3966 });
        let phases = vec![PhaseSummary { measured, ..PhaseSummary::default() }];
        let arm =
            |replayed| Arm { policy: "none".to_owned(), block: 1, phases: phases.clone(), replayed, ..Arm::default() };
        let summary = |arm| RunSummary { arms: vec![arm], ..RunSummary::default() };
        let rows = |replayed| table(&summary(arm(replayed)), "recording", |arm| arm.policy.clone()).rows;
        assert_eq!(rows(None), [[""; 0]; 0]);
        assert_eq!(rows(replayed), [["none", "6152", "2166 (35 %)", "20", "3966", "100"]]);
    }
}
