//! The result as text: what a person reads at the end of a run, the answer first. A pure function of the summary.

use std::fmt::Write;

use crate::{
    recommend::{Recommendation, recommendation},
    summary::{Arm, GateFinding, PhaseSummary, RunSummary, verdict_and_codes},
    text::{percent, scrubbed, table::Table},
};

mod cautions;
mod columns;
mod comparison;
pub mod csv;
pub mod html;
pub mod junit;
pub mod markdown;
mod measures;
mod parts;
mod percentiles;
mod processes;
mod replay_lag;
mod replayed;
pub mod suite;
#[cfg(test)]
mod tests;
mod times;
pub mod tuned;
mod whole;

pub use percentiles::percentiles_of_all;
pub use times::{ArmTimes, TimeCounts};
pub use whole::RunFiles;

use columns::figures_but;
use percentiles::OF_ALL;

/// The answer, how a run until decided ended, cautions, thresholds that did not pass and verdict; behind them, where details are asked
/// for, every threshold and arm's run by phase, what can be said of them over time, both ledgers, comparisons and every finding of a gate.
pub fn text(summary: &RunSummary, details: bool) -> String {
    let parts = [
        answer(summary),
        comparison::decision(summary),
        lines("cautions", cautions::cautions(summary).iter().map(cautions::Caution::line)),
        lines("", identical(summary).into_iter()),
        thresholds(summary, details),
        if details { self::details(summary) } else { String::new() },
        verdict(summary),
        recommended(recommendation(summary).as_ref()),
    ];
    joined(parts)
}

/// The arm to deploy, in lines; nothing where there is no recommendation.
pub fn recommended(found: Option<&Recommendation>) -> String {
    lines("recommendation", found.into_iter().flat_map(Recommendation::lines))
}

/// Parts with an empty line between them.
fn joined(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Lines below a head, if there are any.
fn lines(head: &str, lines: impl Iterator<Item = String>) -> String {
    let indent = if head.is_empty() { "" } else { "  " };
    let lines: String = lines.map(|line| format!("{indent}{}\n", scrubbed(&line))).collect();
    if lines.is_empty() || head.is_empty() { lines } else { format!("{head}\n{lines}") }
}

/// The order of the arms, one sentence an arm, and one table.
fn answer(summary: &RunSummary) -> String {
    let found = crate::answer::of_summary(summary);
    let first = lines("", crate::answer::opening(summary).into_iter().map(|line| line.text));
    let table = crate::answer::table::table(&found);
    if table.rows.is_empty() {
        return first;
    }
    let caption = crate::answer::table::caption(&found, summary);
    joined([first, format!("{}{}", table.to_text(), lines("", caption.into_iter()))])
}

/// Everything that is known, run by run of each arm.
fn details(summary: &RunSummary) -> String {
    let name = |arm: &Arm| name(arm, summary);
    let if_any = |table: &Table| if table.rows.is_empty() { String::new() } else { table.to_text() };
    // No winner is named where no conclusion may be drawn.
    let compared = if summary.valid { comparison::table(summary) } else { String::new() };
    joined([
        arms(summary) + measures::footnote(summary),
        if_any(&measures::table(summary, name)),
        if_any(&replay_lag::table(summary, "behind the recording", name)),
        ledgers(summary).to_text(),
        if_any(&processes::table(summary, "processes", name))
            + &processes::unknown(summary).map_or_else(String::new, |why| why + "\n"),
        if_any(&parts::table(summary, "parts", name)),
        if_any(&replayed::table(summary, "recording", name)),
        compared,
        reasons(&summary.reasons),
    ])
}

/// Arms whose setting never acted, and those that were meant to be the same and could be nothing else, a sentence each.
pub fn identical(summary: &RunSummary) -> Vec<String> {
    let sentence = |[first, other]: &[String; 2]| {
        let (first, other) = (scrubbed(first), scrubbed(other));
        format!("{other} did exactly what {first} did, request for request: what sets them apart had no effect here.")
    };
    let void = |[first, twin]: &[String; 2]| {
        let (first, twin) = (scrubbed(first), scrubbed(twin));
        format!(
            "{twin} is {first} again: in virtual time they are the same bits, so that this A/A is void and says nothing about \
             noise. A live run does, and other seeds show what chance does (--repeat)."
        )
    };
    summary.identical.iter().map(sentence).chain(summary.void_twins.iter().map(void)).collect()
}

/// A share of what a bound has in a phase.
type Share = fn(&PhaseSummary) -> Option<f64>;

/// One line a phase of an arm.
fn arms(summary: &RunSummary) -> String {
    let any = |share: Share| summary.arms.iter().flat_map(|arm| &arm.phases).any(|phase| share(phase).is_some());
    let bound = summary.arms.iter().any(|arm| arm.bound);
    let shares: [(&str, Share); 2] =
        [(if bound { "of bound" } else { "of oracle" }, |phase| phase.of_oracle), ("of blind", |phase| phase.of_blind)];
    let shares: Vec<_> = shares.into_iter().filter(|(_, share)| any(*share)).collect();
    let figures = figures_but(&["mean", "offered/s"], summary);
    let (served, others) = figures.split_at(figures.iter().position(|(head, _)| *head == "late").unwrap_or(0));
    let heads = ["arm", "phase"].into_iter().chain(served.iter().map(|(head, _)| *head));
    let heads = heads.chain(shares.iter().map(|(head, _)| *head)).chain(others.iter().map(|(head, _)| *head));
    let mut table = Table::new(&heads.collect::<Vec<_>>(), 2..);
    let dash = || "-".to_owned();
    for arm in &summary.arms {
        for (index, phase) in arm.phases.iter().enumerate() {
            let mut row = vec![if index == 0 { name(arm, summary) } else { String::new() }, phase.shown_name()];
            row.extend(served.iter().map(|(head, cell)| match *head {
                "goodput/s" => cell(&phase.measured),
                OF_ALL if arm.bound => dash(),
                _ => of_phase(phase, cell(&phase.measured)),
            }));
            row.extend(shares.iter().map(|(_, share)| share(phase).map_or_else(dash, percent)));
            // Counts that a bound, which is not run, does not have.
            row.extend(others.iter().map(|(_, cell)| if arm.bound { dash() } else { cell(&phase.measured) }));
            table.row(row);
        }
    }
    table.to_text()
}

/// Percentile of a phase, in parentheses where it depends on how long the phase was.
fn of_phase(phase: &PhaseSummary, shown: String) -> String {
    if phase.measures.is_unstable() && shown != "-" { format!("({shown})") } else { shown }
}

/// Table of what clients wrote against what the service read.
fn ledgers(summary: &RunSummary) -> Table {
    let arms: Vec<&Arm> = summary.arms.iter().collect();
    columns::ledgers("ledger", &arms, false, |arm| name(arm, summary))
}

/// Thresholds that did not pass; where details are asked for, all of them.
fn thresholds(summary: &RunSummary, details: bool) -> String {
    let mut shown = summary.thresholds.iter().filter(|threshold| details || threshold.outcome() != "passed").peekable();
    let mut text = if shown.peek().is_none() { "" } else { "thresholds\n" }.to_owned();
    for threshold in shown {
        let spaced: Vec<&str> = threshold.text.split_whitespace().collect();
        let (wanted, why) = (scrubbed(&spaced.join(" ")), scrubbed(&threshold.why));
        let _ = writeln!(text, "  {:6}  {wanted}\n          {why}", threshold.outcome());
    }
    text
}

/// Arms that are named with one finding: with many blocks a busy machine is in all of them.
const PLACES: usize = 5;

/// The same finding in several arms is said once.
fn reasons(reasons: &[GateFinding]) -> String {
    let mut text = if reasons.is_empty() { "" } else { "findings of gates\n" }.to_owned();
    // Arms with the same finding may have other limits.
    let mut said: Vec<(&GateFinding, Vec<String>)> = Vec::new();
    for reason in reasons {
        let arm = if reason.arm.is_empty() { String::new() } else { format!(" ({})", reason.arm) };
        let place = format!("{}; limit: {}", scrubbed(&format!("{}{arm}", reason.value)), scrubbed(&reason.threshold));
        let same = |other: &GateFinding| {
            (&other.code, other.verdict, &other.message, &other.remedy)
                == (&reason.code, reason.verdict, &reason.message, &reason.remedy)
        };
        match said.iter_mut().find(|(other, _)| same(other)) {
            Some((_, places)) => places.push(place),
            None => said.push((reason, vec![place])),
        }
    }
    for (reason, places) in said {
        let found = verdict_and_codes(reason.verdict, [reason.code.as_str()]);
        let _ = writeln!(text, "  {}: {}", scrubbed(&found), scrubbed(&reason.message));
        for place in places.iter().take(PLACES) {
            let _ = writeln!(text, "    {place}");
        }
        if places.len() > PLACES {
            let _ = writeln!(text, "    and in {} more arms: summary.json has all", places.len() - PLACES);
        }
        let _ = writeln!(text, "    {}", scrubbed(&reason.remedy));
    }
    text
}

/// `verdict: VALID; 5 of 6 thresholds passed`.
fn verdict(summary: &RunSummary) -> String {
    let mut text = format!("verdict: {}", summary.verdict.word());
    let codes: Vec<&str> = summary.codes().into_iter().collect();
    if !codes.is_empty() {
        let _ = write!(text, " ({})", scrubbed(&codes.join(", ")));
    }
    if !summary.valid {
        text.push_str(": no conclusion may be drawn from these figures");
    }
    if let Some(partial) = summary.partial_in_words() {
        let _ = write!(text, "; {partial}");
    }
    if summary.valid && !summary.thresholds.is_empty() {
        let _ = write!(text, "; {}", summary.passed_in_words());
    }
    text.push('\n');
    text
}

/// Name of an arm, with its block where there are several.
fn name(arm: &Arm, summary: &RunSummary) -> String {
    let several = summary.arms.iter().any(|arm| arm.block > 1);
    let shown = if arm.bound { format!("{} (bound)", arm.shown_name()) } else { arm.shown_name().to_owned() };
    if several { format!("{shown} ({})", arm.block) } else { shown }
}
