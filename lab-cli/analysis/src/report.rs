//! The result as text: what a person reads at the end of a run. A pure function of the summary.

use std::fmt::Write;

use crate::{
    summary::{Arm, Joined, Measured, Phase, Reason, Summary},
    text::{
        columns::{Align, Columns},
        known_or_at_least, percent, rate, scrubbed,
    },
};

mod behind;
mod comparison;
pub mod csv;
pub mod html;
pub mod junit;
pub mod markdown;
mod measures;
mod replayed;
#[cfg(test)]
mod tests;
mod whole;

pub use whole::Whole;

/// Everything: arms by phase, what can be said of them over time, both ledgers, comparisons, thresholds, and last the verdict.
pub fn text(summary: &Summary) -> String {
    let mut out = String::new();
    out.push_str(&arms(summary));
    out.push_str(measures::footnote(summary));
    for table in [measures::table(summary), behind::table(summary)].iter().filter(|table| !table.is_empty()) {
        out.push('\n');
        out.push_str(table);
    }
    out.push('\n');
    out.push_str(&ledgers(summary));
    let recording = replayed::table(summary);
    if !recording.is_empty() {
        out.push('\n');
        out.push_str(&recording);
    }
    let compared = comparison::table(summary);
    // No winner is named where no conclusion may be drawn.
    if summary.valid && !compared.is_empty() {
        out.push('\n');
        out.push_str(&compared);
    }
    let identical = identical(summary);
    if !identical.is_empty() {
        out.push('\n');
        identical.iter().for_each(|line| out.push_str(&format!("{line}\n")));
    }
    if !summary.thresholds.is_empty() {
        out.push('\n');
        out.push_str(&thresholds(summary));
    }
    if !summary.reasons.is_empty() {
        out.push('\n');
        out.push_str(&reasons(&summary.reasons));
    }
    out.push('\n');
    out.push_str(&verdict(summary));
    out
}

/// Arms whose setting never acted, a sentence each.
pub fn identical(summary: &Summary) -> Vec<String> {
    let sentence = |[first, other]: &[String; 2]| {
        let (first, other) = (scrubbed(first), scrubbed(other));
        format!("{other} did exactly what {first} did, request for request: what sets them apart had no effect here.")
    };
    summary.identical.iter().map(sentence).collect()
}

/// Behind goodput: what share of the oracle's that is.
const OF_ORACLE: usize = 6;
/// Cells of a row that a bound has: up to goodput.
const NOT_RUN: usize = 6;

/// One line a phase of an arm.
fn arms(summary: &Summary) -> String {
    let of_oracle = summary.arms.iter().flat_map(|arm| &arm.phases).any(|phase| phase.of_oracle.is_some());
    let mut header = vec![
        ("arm", Align::Left),
        ("phase", Align::Left),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("in time/s", Align::Right),
        ("rejected", Align::Right),
        ("timed out", Align::Right),
        ("no connect", Align::Right),
        ("failed", Align::Right),
    ];
    if of_oracle {
        let bound = summary.arms.iter().any(|arm| arm.bound);
        header.insert(OF_ORACLE, (if bound { "of bound" } else { "of oracle" }, Align::Right));
    }
    let mut table = Columns::new(&header);
    for arm in &summary.arms {
        for (index, phase) in arm.phases.iter().enumerate() {
            let name = if index == 0 { name(arm, summary) } else { String::new() };
            let mut row = phase_row(name, phase);
            if arm.bound {
                // Counts that nobody counted.
                row.truncate(NOT_RUN);
                row.resize(header.len() - usize::from(of_oracle), "-".to_owned());
            }
            if of_oracle {
                row.insert(OF_ORACLE, phase.of_oracle.map_or_else(|| "-".to_owned(), percent));
            }
            table.row(row);
        }
    }
    table.into_text()
}

fn phase_row(arm: String, phase: &Phase) -> Vec<String> {
    let Measured { response_time_ms: times, goodput_per_s, reject_fraction, .. } = &phase.measured;
    vec![
        arm,
        phase.shown_name(),
        of_phase(phase, times.p50, times.p50_at_least),
        of_phase(phase, times.p90, times.p90_at_least),
        of_phase(phase, times.p99, times.p99_at_least),
        rate(*goodput_per_s),
        percent(*reject_fraction),
        count(phase.measured.timed_out),
        count(phase.measured.connect_failed),
        count(phase.measured.failed),
    ]
}

/// A percentile, or its bound.
pub(crate) fn percentile(value: Option<f64>, bound: Option<f64>) -> String {
    known_or_at_least(value, bound)
}

/// In parentheses where it depends on how long the phase was.
fn of_phase(phase: &Phase, value: Option<f64>, bound: Option<f64>) -> String {
    let shown = percentile(value, bound);
    if measures::is_unstable(phase) && shown != "-" { format!("({shown})") } else { shown }
}

/// What clients wrote against what the service read.
fn ledgers(summary: &Summary) -> String {
    let refused = |arm: &Arm| arm.phases.iter().map(|phase| phase.measured.refused_locally).sum::<u64>();
    // A column for runs whose users have a policy of their own.
    let any_refused = summary.arms.iter().any(|arm| refused(arm) > 0);
    let mut header = vec![
        ("ledger", Align::Left),
        ("planned", Align::Right),
        ("unsent", Align::Right),
        ("no connect", Align::Right),
        ("written", Align::Right),
        ("read by the service", Align::Right),
        ("difference", Align::Left),
    ];
    if any_refused {
        header.insert(3, ("refused locally", Align::Right));
    }
    let mut table = Columns::new(&header);
    for arm in summary.arms.iter().filter(|arm| !arm.bound) {
        let sum = |read: fn(&Measured) -> u64| arm.phases.iter().map(|phase| read(&phase.measured)).sum::<u64>();
        let written = sum(Measured::written);
        let (read, difference) = match &arm.server {
            None => ("-".to_owned(), "-".to_owned()),
            Some(server) => {
                (count(server.requests_read), difference(written, server.requests_read, arm.requests.as_ref()))
            }
        };
        let mut row = vec![
            name(arm, summary),
            count(sum(|m| m.planned)),
            count(sum(|m| m.unsent)),
            count(sum(|m| m.connect_failed)),
            count(written),
            read,
            difference,
        ];
        if any_refused {
            row.insert(3, count(refused(arm)));
        }
        table.row(row);
    }
    table.into_text()
}

/// `16, timed out unread`, or `16 unread: 2 in flight, 14 timed out`.
pub(crate) fn difference(written: u64, read: u64, joined: Option<&Joined>) -> String {
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

fn thresholds(summary: &Summary) -> String {
    let mut text = "thresholds\n".to_owned();
    for threshold in &summary.thresholds {
        let spaced: Vec<&str> = threshold.text.split_whitespace().collect();
        let _ = writeln!(text, "  {:6}  {}\n          {}", threshold.word(), spaced.join(" "), threshold.why);
    }
    text
}

/// The same finding in several arms is said once.
fn reasons(reasons: &[Reason]) -> String {
    let mut text = "validity\n".to_owned();
    let mut said: Vec<(&Reason, Vec<String>)> = Vec::new();
    for reason in reasons {
        let place = format!(
            "{}{}",
            reason.value,
            if reason.arm.is_empty() { String::new() } else { format!(" ({})", reason.arm) }
        );
        let same = |other: &Reason| {
            (&other.code, other.verdict, &other.message) == (&reason.code, reason.verdict, &reason.message)
        };
        match said.iter_mut().find(|(other, _)| same(other)) {
            Some((_, places)) => places.push(place),
            None => said.push((reason, vec![place])),
        }
    }
    for (reason, places) in said {
        let word = reason.verdict.word();
        let _ = writeln!(text, "  {word} {}: {}", reason.code, reason.message);
        for place in places {
            let _ = writeln!(text, "    {}; limit: {}", scrubbed(&place), reason.threshold);
        }
        let _ = writeln!(text, "    {}", reason.remedy);
    }
    text
}

/// `verdict: VALID; 5 of 6 thresholds held`.
fn verdict(summary: &Summary) -> String {
    let mut text = format!("verdict: {}", summary.verdict.word());
    let codes: Vec<&str> = summary.codes().into_iter().collect();
    if !codes.is_empty() {
        let _ = write!(text, " ({})", codes.join(", "));
    }
    if !summary.valid {
        text.push_str(": no conclusion may be drawn from these figures");
    }
    if let Some(partial) = summary.partial_in_words() {
        let _ = write!(text, "; {partial}");
    }
    if summary.valid && !summary.thresholds.is_empty() {
        let _ = write!(text, "; {}", summary.held_in_words("thresholds"));
    }
    text.push('\n');
    text
}

/// With its block where there are several.
fn name(arm: &Arm, summary: &Summary) -> String {
    let several = summary.arms.iter().any(|arm| arm.block > 1);
    let shown = if arm.bound { format!("{} (bound)", arm.shown_name()) } else { arm.shown_name().to_owned() };
    if several { format!("{shown} ({})", arm.block) } else { shown }
}

fn count(count: u64) -> String {
    count.to_string()
}
