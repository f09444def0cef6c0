//! Columns of figures, of which each form of a report shows some.

use std::cmp::Reverse;

use super::percentiles::{OF_ALL, any_not_served, p90_of_all, percentiles};
use crate::{
    summary::{Arm, Joined, Measured, RunSummary},
    text::{percent, rate, scrubbed, table::Table, time},
};

/// The head of a column, and its cell in the row of a phase, type or class.
pub(super) type Column = (&'static str, fn(&Measured) -> String);

/// All that is shown of a phase, type or class.
pub(super) const FIGURES: [Column; 12] = [
    ("p50", |measured| percentiles(&measured.response_time_ms)[0].clone()),
    ("p90", |measured| percentiles(&measured.response_time_ms)[1].clone()),
    ("p99", |measured| percentiles(&measured.response_time_ms)[2].clone()),
    (OF_ALL, p90_of_all),
    ("mean", mean),
    ("offered/s", |measured| rate(measured.offered_per_s)),
    ("goodput/s", |measured| rate(measured.goodput_per_s)),
    ("late", |measured| measured.served_late.to_string()),
    ("rejected", |measured| percent(measured.reject_fraction)),
    ("timed out", |measured| measured.timed_out.to_string()),
    ("conn. errors", |measured| measured.connect_failed.to_string()),
    ("failed", |measured| measured.failed.to_string()),
];

/// Columns for a report with little room: without these, and without [`OF_ALL`] where all requests were served.
pub(super) fn figures_but(left_out: &[&str], summary: &RunSummary) -> Vec<Column> {
    let is_shown = |head: &str| !left_out.contains(&head) && (head != OF_ALL || any_not_served(summary));
    FIGURES.into_iter().filter(|(head, _)| is_shown(head)).collect()
}

/// Time-outs are longer than what is known: a mean of the known ones would be too small.
fn mean(measured: &Measured) -> String {
    let times = &measured.response_time_ms;
    times.mean.filter(|_| times.censored == 0).map_or_else(|| "-".to_owned(), time)
}

/// The head of a count, whether it is always shown, and the count.
type Count = (&'static str, bool, fn(&Measured) -> u64);

/// Table of what users wrote against what the service read; the first column is named `head`. Of what most runs do not have, such as users with
/// a policy of their own, there are columns where any of these arms has it, or where `all` is asked for.
pub(super) fn ledgers(head: &str, arms: &[&Arm], all: bool, name: impl Fn(&Arm) -> String) -> Table {
    let arms = || arms.iter().filter(|arm| !arm.bound);
    let counts: [Count; 6] = [
        ("planned", true, |m| m.planned),
        ("unsent", true, |m| m.unsent),
        ("refused locally", all, |m| m.refused_locally),
        ("conn. errors", true, |m| m.connect_failed),
        ("written", true, Measured::written),
        ("resent", all, |m| m.resent),
    ];
    let mut counts = counts.to_vec();
    counts.retain(|(_, always, count)| *always || arms().any(|arm| arm.sum(count) > 0));
    let reasons = all || arms().any(|arm| refusals(arm).is_some());
    let heads =
        [head].into_iter().chain(counts.iter().map(|(head, ..)| *head)).chain(["read by service", "difference"]);
    let heads: Vec<&str> = heads.chain(reasons.then_some(REFUSALS)).collect();
    let mut table = Table::new(&heads, 1..counts.len() + 2);
    for arm in arms() {
        let mut row = vec![name(arm)];
        row.extend(counts.iter().map(|(.., count)| arm.sum(count).to_string()));
        row.extend(read_and_difference(arm));
        row.extend(reasons.then(|| refusals(arm).unwrap_or_else(|| "-".to_owned())));
        table.row(row);
    }
    table
}

/// Requests of an arm that the service read, and how far that is from what was written.
fn read_and_difference(arm: &Arm) -> [String; 2] {
    let Some(server) = &arm.server else { return ["-", "-"].map(str::to_owned) };
    let written = arm.sum(Measured::written);
    [server.requests_read.to_string(), difference(written, server.requests_read, arm.requests.as_ref())]
}

pub(super) const REFUSALS: &str = "refused, by reason";

/// `1520 rate, 3 queue-full`: what the service refused of an arm's requests, the most frequent reason first. `None`: nothing.
pub(super) fn refusals(arm: &Arm) -> Option<String> {
    let mut counts: Vec<_> =
        arm.server.iter().flat_map(|server| &server.refused).filter(|(_, count)| **count > 0).collect();
    counts.sort_by_key(|(_, count)| Reverse(**count));
    let said: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {}", scrubbed(reason))).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// `16, timed out unread`, or `16 unread: 2 in flight, 14 timed out`.
pub(super) fn difference(written: u64, read: u64, joined: Option<&Joined>) -> String {
    let difference = i128::from(written) - i128::from(read);
    match joined {
        Some(joined) if joined.unread() > 0 && difference == i128::from(joined.unread()) => {
            let names = joined.unread.keys().map(|name| name.replace('_', " "));
            let counts = names.zip(joined.unread.values()).collect::<Vec<_>>();
            match &counts[..] {
                [(only, _)] => format!("{difference}, {only} unread"),
                all => {
                    let parts = all.iter().map(|(name, count)| format!("{count} {name}"));
                    format!("{difference} unread: {}", parts.collect::<Vec<_>>().join(", "))
                }
            }
        }
        _ => difference.to_string(),
    }
}
