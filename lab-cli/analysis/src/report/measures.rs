//! Measures of a run over time: only what is worth a line.

use std::ops::RangeBounds;

use crate::{
    summary::{Arm, MeasureColumn, Measures, PhaseSummary, RunSummary},
    text::table::Table,
};

/// Meaning of parentheses in the table, if there are any.
pub(super) fn footnote(summary: &RunSummary) -> &'static str {
    let any = summary.arms.iter().flat_map(|arm| &arm.phases).any(|phase| phase.measures.is_unstable());
    if any {
        "(in parentheses: no steady state, the backlog kept growing: the value depends on the length of the phase)\n"
    } else {
        ""
    }
}

/// A row for each phase of which there is something to say.
pub(super) fn table(summary: &RunSummary, name: impl Fn(&Arm) -> String) -> Table {
    let columns = MeasureColumn::all();
    let mut table = with_columns(["over time", "phase"], &columns, 2..=columns.len());
    for arm in summary.arms.iter().filter(|arm| !arm.bound) {
        for phase in &arm.phases {
            let measures = shown(phase);
            if columns.iter().any(|column| (column.tells)(&measures)) {
                let cells = columns.iter().map(|column| column.shown(&measures));
                table.row([name(arm), phase.shown_name()].into_iter().chain(cells).collect::<Vec<_>>());
            }
        }
    }
    table
}

/// A table without rows of two columns and these.
pub(super) fn with_columns(first: [&str; 2], columns: &[MeasureColumn], numbers: impl RangeBounds<usize>) -> Table {
    let heads: Vec<&str> = first.into_iter().chain(columns.iter().map(|column| column.head)).collect();
    Table::new(&heads, numbers)
}

/// Measures as they are shown: fairness between users that come for one request is the share that was served, which stands
/// in another table.
pub(super) fn shown(phase: &PhaseSummary) -> Measures {
    let several = |users: u64| phase.measured.first_attempts() >= 2 * users;
    let user_fairness = phase.measures.user_fairness.filter(|found| several(found.users));
    Measures { user_fairness, ..phase.measures.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Fairness, Measured, Recovery, Steadiness};

    fn summary(measures: Measures) -> RunSummary {
        let measured = Measured { planned: 100, ..Measured::default() };
        let phase =
            PhaseSummary { name: "after".to_owned(), seconds: 60.0, measures, measured, ..PhaseSummary::default() };
        let arm = Arm { policy: "none".to_owned(), block: 1, phases: vec![phase], ..Arm::default() };
        RunSummary { arms: vec![arm], ..RunSummary::default() }
    }

    fn rows(measures: Measures) -> Vec<Vec<String>> {
        table(&summary(measures), |arm| arm.policy.clone()).rows
    }

    fn cells(measures: Measures) -> Vec<String> {
        rows(measures).pop().expect("a row")
    }

    #[test]
    fn nothing_is_said_where_nothing_happened() {
        let calm = Measures {
            amplification: Some(1.0),
            wasted: Some(0.0),
            user_fairness: Some(Fairness { users: 3, jain: 0.99, worst_tenth: 0.97 }),
            steadiness: Some(Steadiness::default()),
            ..Measures::default()
        };
        assert_eq!((rows(calm.clone()), footnote(&summary(calm))), (vec![], ""));
    }

    #[test]
    fn everything_that_is_known_is_in_the_row() {
        let recovery = Recovery { after_s: Some(12.0), verdict: "recovered".to_owned(), ..Recovery::default() };
        let measures = Measures {
            amplification: Some(2.5),
            wasted: Some(0.5),
            user_fairness: Some(Fairness { users: 10, jain: 0.5, worst_tenth: 0.01 }),
            class_fairness: Some(0.75),
            steadiness: Some(Steadiness { growth_per_s: 42.0, ..Steadiness::default() }),
            hysteresis: Some(0.2),
            recovery: Some(recovery),
            ..Measures::default()
        };
        let wanted = ["none", "after", "2.50", "50 %", "0.50", "1.0 %", "0.75", "+42/s", "20 %", "after 12.0 s"];
        assert_eq!(cells(measures.clone()), wanted);
        assert!(footnote(&summary(measures)).starts_with("(in parentheses"));
    }

    #[test]
    fn of_users_that_come_once_fairness_says_nothing_new() {
        let users = Fairness { users: 51, jain: 0.2, worst_tenth: 0.0 };
        assert_eq!(rows(Measures { user_fairness: Some(users), ..Measures::default() }), [[""; 0]; 0]);
        let users = Fairness { users: 50, ..users };
        let found = cells(Measures { user_fairness: Some(users), ..Measures::default() });
        assert!(found.contains(&"0.20".to_owned()), "{found:?}");
    }

    #[test]
    fn what_did_not_get_well_is_told_with_how_long_it_was_watched() {
        let said = |verdict: &str| {
            let recovery = Recovery {
                after_s_at_least: Some(51.0),
                verdict: verdict.to_owned(),
                watched_s: 60.0,
                watch_needed_s: 120.0,
                ..Recovery::default()
            };
            cells(Measures { recovery: Some(recovery), ..Measures::default() }).pop().expect("a cell")
        };
        assert_eq!(said("metastable"), "not within 51.0 s: metastable");
        assert_eq!(said("undecided"), "not within 51.0 s; watched for 60 s of 120");
    }
}
