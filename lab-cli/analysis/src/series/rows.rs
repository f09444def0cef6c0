//! Whole numbers in columns.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{ArmSeries, arms};
use crate::{
    live::{ReportedTimes, TimelineSecond},
    text::table::Table,
};

/// Gauges that say what a policy has decided, with the factor that makes whole numbers of them.
const DECISIONS: [(&str, &str, f64); 5] = [
    ("admission_rate_per_s", "rate/100 s", 100.0),
    ("limit", "limit", 1.0),
    ("admission_level", "level", 1.0),
    ("dropping", "dropping", 1.0),
    ("quality", "quality %", 100.0),
];

/// Every second of every arm: requests meant to be sent, served in time, served late, refused, given up (timed out,
/// abandoned, not connected, failed), median and 90th percentile of what was served in milliseconds (`-`: too few; `>=`: hidden
/// by what was given up, and at least that), the 90th percentile of what ended in five seconds, in the last of them, and what the policy had decided at its end, by stage.
pub fn rows(seconds: &[TimelineSecond]) -> String {
    let mut text = String::new();
    for arm in arms(seconds) {
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{}", arm.name);
        text.push_str(&table(&arm));
    }
    text
}

/// A gauge of a stage: which stage, which of [`DECISIONS`].
type Shown = (String, usize);

fn table(arm: &ArmSeries<'_>) -> String {
    let decisions = decisions(arm);
    let names: Vec<String> =
        decisions.iter().map(|(stage, which)| format!("{stage} {}", DECISIONS[*which].1)).collect();
    let fixed = ["s", "offered", "in time", "late", "refused", "given up", "p50 ms", "p90 ms", "5 s p90"];
    let heads: Vec<&str> = fixed.into_iter().chain(names.iter().map(String::as_str)).collect();
    let mut table = Table::new(&heads, ..);
    for second in &arm.seconds {
        let refused = second.rejected + second.refused_locally;
        let given_up = second.timed_out + second.abandoned + second.connect_failed + second.failed;
        let counts = [u64::from(second.second), second.planned, second.served, second.served_late, refused, given_up];
        let mut cells: Vec<String> = counts.iter().map(u64::to_string).collect();
        cells
            .extend([at_least(second.p50_ms, second.p50_at_least_ms), at_least(second.p90_ms, second.p90_at_least_ms)]);
        cells.push(whole(second.reported.get(ReportedTimes::OF_ALL).and_then(|reported| reported.p90_ms)));
        cells.extend(decisions.iter().map(|shown| whole(decided(second, shown))));
        table.row(cells);
    }
    table.to_text()
}

/// The decisions that ever were to be seen, in order.
fn decisions(arm: &ArmSeries<'_>) -> Vec<Shown> {
    let mut found = BTreeSet::new();
    for target in arm.seconds.iter().filter_map(|second| second.target.as_ref()) {
        for stage in &target.stages {
            let shown = DECISIONS.iter().enumerate().filter(|(_, (gauge, ..))| stage.gauges.contains_key(*gauge));
            found.extend(shown.map(|(which, _)| (stage.name.clone(), which)));
        }
    }
    found.into_iter().collect()
}

fn decided(second: &TimelineSecond, (stage, which): &Shown) -> Option<f64> {
    let (gauge, _, times) = DECISIONS[*which];
    let stage = second.target.as_ref()?.stages.iter().find(|found| found.name == *stage)?;
    stage.gauges.get(gauge).map(|value| value * times)
}

/// Value, or a bound: what is hidden by requests that were given up is at least something.
fn at_least(known: Option<f64>, bound: Option<f64>) -> String {
    match (known, bound) {
        (None, Some(bound)) => format!(">={:.0}", bound.round()),
        (known, _) => whole(known),
    }
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.0}", value.round()))
}
