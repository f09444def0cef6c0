//! Lag of requests behind their recorded times, where a recording was replayed.

use super::percentiles::percentiles;
use crate::{
    summary::{Arm, RunSummary},
    text::{table::Table, time},
};

/// A row for each phase that was replayed.
pub(super) fn table(summary: &RunSummary, head: &str, name: impl Fn(&Arm) -> String) -> Table {
    let mut table = Table::new(&[head, "phase", "p50", "p90", "p99", "most"], 2..);
    for arm in &summary.arms {
        for phase in &arm.phases {
            let Some(times) = &phase.measured.behind_ms else { continue };
            let [p50, p90, p99] = percentiles(times);
            let most = times.max.map_or_else(|| "-".to_owned(), time);
            table.row([name(arm), phase.name.clone(), p50, p90, p99, most]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Measured, PhaseSummary, Times};

    #[test]
    fn phases_that_were_replayed_are_told_and_others_are_not() {
        let phase = |name: &str, behind_ms: Option<Times>| PhaseSummary {
            name: name.to_owned(),
            measured: Measured { behind_ms, ..Measured::default() },
            ..PhaseSummary::default()
        };
        let behind = Times { p50: Some(0.0), p90: Some(1420.0), max: Some(9000.0), count: 100, ..Times::default() };
        let arm = |phases| Arm { policy: "none".to_owned(), block: 1, phases, ..Arm::default() };
        let summary = |phases| RunSummary { arms: vec![arm(phases)], ..RunSummary::default() };
        let table = |phases| table(&summary(phases), "behind the recording", |arm| arm.policy.clone());
        assert_eq!(table(vec![phase("calm", None)]).rows, [[""; 0]; 0]);
        let table = table(vec![phase("calm", None), phase("replay", Some(behind))]);
        assert_eq!(table.rows, [["none", "replay", "0.00 ms", "1.42 s", "-", "9.00 s"]]);
    }
}
