//! Parts of an arm's users, where several generators sent them.

use crate::{
    summary::{Arm, RunSummary, Validity},
    text::{percent, table::Table, time},
};

/// Rows of parts that are VALID; of more of them those that are not are enough.
const VALID_ROWS: usize = 20;

/// A row for each part.
pub(super) fn table(summary: &RunSummary, head: &str, name: impl Fn(&Arm) -> String) -> Table {
    let mut table =
        Table::new(&[head, "part", "planned", "sent", "lag p99", "CPU", "began", "clock", "generator"], 2..8);
    for arm in &summary.arms {
        let mut valid = 0;
        for part in &arm.parts {
            valid += usize::from(part.verdict == Validity::Valid && part.wrong.is_none());
            if valid > VALID_ROWS && part.verdict == Validity::Valid && part.wrong.is_none() {
                continue;
            }
            let or_dash = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), time);
            table.row([
                name(arm),
                part.shown_name(),
                part.planned.to_string(),
                part.sent.to_string(),
                time(part.send_lag_p99_ms),
                percent(part.cpu),
                or_dash(part.begins_ms),
                or_dash(part.clock_error_ms),
                part.wrong.clone().unwrap_or_else(|| part.verdict.word().to_owned()),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::PartSummary;

    #[test]
    fn of_many_parts_those_that_are_sound_are_not_all_told() {
        let part = |number: u32| PartSummary {
            agent: (number == 50).then(|| "g17".to_owned()),
            shard: format!("{number}/50").parse().expect("a part"),
            wrong: (number == 50).then(|| "missing".to_owned()),
            planned: 10,
            sent: 10,
            send_lag_p99_ms: 0.5,
            cpu: 0.03,
            begins_ms: Some(0.0),
            clock_error_ms: None,
            verdict: if number == 40 { Validity::Warn } else { Validity::Valid },
        };
        let arm = Arm { policy: "none".to_owned(), parts: (1..=50).map(part).collect(), ..Arm::default() };
        let summary = RunSummary { arms: vec![arm, Arm::default()], ..RunSummary::default() };
        let found = table(&summary, "parts", |arm| arm.policy.clone());
        assert_eq!(found.rows.len(), 22);
        assert_eq!(found.rows[20][1..], ["40/50", "10", "10", "0.50 ms", "3.0 %", "0.00 ms", "-", "WARN"]);
        assert_eq!((&*found.rows[21][1], &*found.rows[21][8]), ("50/50 (g17)", "missing"));
    }
}
