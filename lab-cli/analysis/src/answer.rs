//! The answer of a run, which every report begins with: one sentence an arm that a person can repeat, and one table: arms in
//! calm, under overload and after it. A pure function of what the summary holds.
//!
//! Which phase stands for what is the plan's to say ([`PhaseRole`]): *calm* is the last calm phase before any overload or fault; *overload* the
//! phase that the comparisons are about, if it is one, else the one with the highest load; *after* the first phase behind it whose load
//! the service can serve again. A run without such a shape has a column a phase, up to four, and with more the phase that it is compared in.

use crate::{
    series::value::Value,
    summary::{
        AnswerColumn, Arm, ArmAnswer, PhaseRole, PhaseSummary, RecoveryAnswer, RunAnswer, RunSummary, Validity,
        arm_names,
    },
};

mod columns;
mod counted_runs;
mod figures;
mod middle;
mod order;
mod sentence;
pub mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub use figures::measured_percentile;

use columns::columns;
pub(crate) use counted_runs::CountedRuns;
use figures::{classes, figures};
use middle::of_values;

/// The answer of a run. `order`: its arms in the order of the file; `hindsight`: those that know what no policy can know; `phase`: the one
/// that it is about by its file.
pub fn answer(summary: &RunSummary, order: &[String], hindsight: &[String], phase: Option<&str>) -> RunAnswer {
    let runs = CountedRuns::of(&summary.arms);
    let baseline = summary.comparisons.first().map(|comparison| comparison.baseline.clone());
    let baseline = baseline.or_else(|| order.first().cloned()).unwrap_or_default();
    let about = summary.comparisons.first().map(|comparison| comparison.phase.as_str()).or(phase);
    let (columns, about) = columns(&runs, about);
    let named = |name: &&String| summary.arms.iter().any(|arm| arm.shown_name() == **name);
    let arms: Vec<ArmAnswer> = order
        .iter()
        .filter(named)
        .map(|name| {
            let own: Vec<&Arm> = runs.of_arm(name).collect();
            ArmAnswer {
                arm: name.clone(),
                sentence: None,
                hindsight: hindsight.contains(name),
                columns: columns.iter().map(|column| figures(&own, column, summary)).collect(),
                recovery: recovery(&own, &columns),
                verdict: verdict::of(name, &baseline, summary),
                classes: classes(&own, &columns, summary),
            }
        })
        .collect();
    let mut found = RunAnswer { baseline, phase: about, order: None, columns, arms };
    if summary.valid {
        found.order = order::order(&found, summary, &runs);
        sentence::fill_in(&mut found, summary, &runs);
    }
    found
}

/// The answer that a summary has, or, for one of an earlier version, the one that it would have.
pub fn of_summary(summary: &RunSummary) -> RunAnswer {
    let order: Vec<String> = arm_names(&summary.arms).into_iter().map(str::to_owned).collect();
    summary.answer.clone().unwrap_or_else(|| answer(summary, &order, &[], None))
}

/// Sentence of every report on an INVALID run, in place of those on arms.
pub const NO_CONCLUSION: &str = "INVALID: the measurement went wrong, and no conclusion may be drawn from its figures.";

/// The same where other programs are the reason, and nothing else.
const TOO_BUSY: &str = "INVALID: this machine was too busy to measure on, which says nothing against the service; no conclusion may be drawn \
                        from these figures.";
/// Gates that find other programs on the processors.
const OTHERS: [&str; 4] = ["NOISE", "STEAL", "STARVED", "CROWDED"];
/// Gates that find what those do to a generator.
const THEIR_EFFECT: [&str; 3] = ["LAG", "HICCUP", "GAP"];

/// Sentence of every report on this INVALID run, in place of those on arms.
pub fn no_conclusion(summary: &RunSummary) -> &'static str {
    let mut codes =
        summary.reasons.iter().filter(|reason| reason.verdict == Validity::Invalid).map(|reason| &*reason.code);
    let is_busy = codes.clone().any(|code| OTHERS.contains(&code))
        && codes.all(|code| OTHERS.contains(&code) || THEIR_EFFECT.contains(&code));
    if is_busy { TOO_BUSY } else { NO_CONCLUSION }
}

/// A line at the head of what is said of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The arm that it is about; `None`: all of them.
    pub arm: Option<String>,
    /// No conclusion may be drawn.
    pub is_warning: bool,
    /// Text of the line.
    pub text: String,
}

/// Opening of every report: the order of the arms and a sentence an arm, or of an INVALID run why there is none.
pub fn opening(summary: &RunSummary) -> Vec<Opening> {
    if !summary.valid {
        return vec![Opening { arm: None, is_warning: true, text: no_conclusion(summary).to_owned() }];
    }
    let RunAnswer { order, arms, .. } = of_summary(summary);
    let order = order.map(|text| Opening { arm: None, is_warning: false, text });
    let said = |arm: ArmAnswer| Some(Opening { arm: Some(arm.arm), is_warning: false, text: arm.sentence? });
    order.into_iter().chain(arms.into_iter().filter_map(said)).collect()
}

/// Over the blocks: of the phase after the overload, else of the last phase that has one.
fn recovery(runs: &[&Arm], columns: &[AnswerColumn]) -> Option<RecoveryAnswer> {
    let after = columns.iter().rev().find(|column| column.role == Some(PhaseRole::After));
    let named = |phase: &&PhaseSummary| after.is_some_and(|after| after.phase == phase.name);
    let of_run = |arm: &&Arm| {
        let with = || arm.phases.iter().filter(|phase| phase.measures.recovery.is_some());
        with().find(named).or_else(|| with().next_back())?.measures.recovery.clone()
    };
    let all: Vec<_> = runs.iter().filter_map(of_run).collect();
    let times: Vec<Value> = all.iter().filter_map(|one| Value::of(one.after_s, one.after_s_at_least)).collect();
    let count = |word: &str| u32::try_from(all.iter().filter(|one| one.verdict == word).count()).unwrap_or(u32::MAX);
    Some(RecoveryAnswer {
        from: all.first()?.from.clone(),
        after_s: of_values(&times)?,
        recovered: count("recovered"),
        metastable: count("metastable"),
        undecided: count("undecided"),
    })
}
