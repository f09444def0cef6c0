//! Sentence of an arm that can be repeated: what it kept under overload, whether it recovered, what it cost in calm.

use super::{
    columns::when,
    counted_runs::{CountedRuns, of_phase},
    figures::measured_percentile,
    middle::known,
    table,
};
use crate::{
    summary::{Arm, ArmAnswer, Collapse, ColumnFigures, PhaseRole, RunAnswer, RunSummary},
    text::{percent, rate, scrubbed, time},
};

/// Below this share of what another arm keeps that can be chosen, an arm keeps *only* that.
const ONLY: f64 = 0.5;
/// Differences of goodput in calm up to this share are told as none.
const NOTHING: f64 = 0.01;
/// Rejects from this share on are told.
const REJECTED: f64 = 0.005;

/// Writes a sentence for every arm that has figures.
pub(super) fn fill_in(answer: &mut RunAnswer, summary: &RunSummary, runs: &CountedRuns<'_>) {
    let writer = Writer { answer, summary, runs };
    let sentences: Vec<Option<String>> = answer.arms.iter().map(|arm| writer.sentence(arm)).collect();
    for (arm, sentence) in answer.arms.iter_mut().zip(sentences) {
        arm.sentence = sentence;
    }
}

struct Writer<'a> {
    answer: &'a RunAnswer,
    summary: &'a RunSummary,
    runs: &'a CountedRuns<'a>,
}

impl Writer<'_> {
    fn sentence(&self, arm: &ArmAnswer) -> Option<String> {
        let stress = self.answer.columns.iter().position(|column| column.role.is_some_and(PhaseRole::is_stress));
        let mut clauses: Vec<String> = match stress {
            Some(at) => [self.under_stress(arm, at), recovered(arm)].into_iter().flatten().collect(),
            None => self.in_the_phase(arm).into_iter().collect(),
        };
        if clauses.is_empty() {
            return None;
        }
        clauses.extend(self.in_calm(arm));
        Some(format!("{} {}.", self.subject(arm), clauses.join("; ")))
    }

    /// `Without control,`, or the arm's name and a colon.
    fn subject(&self, arm: &ArmAnswer) -> String {
        let of = self.runs.of_arm(&arm.arm).next();
        match of {
            Some(of) if of.policy == "none" && of.client.is_none() && of.shown_name() == "none" => {
                "Without control:".to_owned()
            }
            Some(of) if of.bound => format!("{} (a bound, not run):", scrubbed(&arm.arm)),
            _ if arm.hindsight => {
                let search = self.summary.searches.iter().find(|search| search.arm == arm.arm);
                let limit = search.map_or_else(String::new, |search| format!(", limit {}", search.limit));
                format!("{} (hindsight{limit}):", scrubbed(&arm.arm))
            }
            _ => format!("{}:", scrubbed(&arm.arm)),
        }
    }

    fn under_stress(&self, arm: &ArmAnswer, at: usize) -> Option<String> {
        let column = &self.answer.columns[at];
        let during = when(column);
        if let Some(collapse) = self.collapse(arm, &column.phase) {
            let when = match collapse.after_s {
                at if at < 1.0 => "at once".to_owned(),
                at => format!("after {at:.0} s"),
            };
            return Some(format!(
                "goodput collapses {during} {when}, from {}/s to {}/s",
                rate(collapse.peak_per_s),
                rate(collapse.goodput_per_s)
            ));
        }
        let own = arm.columns[at].as_ref()?;
        let choosable = self.answer.arms.iter().filter(|other| !other.hindsight);
        let best = choosable.filter_map(|other| Some(other.columns[at].as_ref()?.goodput_per_s.median));
        let only = own.goodput_per_s.median < ONLY * best.fold(0.0, f64::max);
        let keeps = if only { "keeps only" } else { "keeps" };
        Some(format!("{keeps} {}{} {during}{}", self.goodput(own), self.at_percentile(own), rejected(own)))
    }

    /// The collapse of the block in the middle, if most blocks have one.
    fn collapse(&self, arm: &ArmAnswer, phase: &str) -> Option<Collapse> {
        let runs: Vec<&Arm> = self.runs.of_arm(&arm.arm).collect();
        let phases = of_phase(&runs, phase);
        let mut all: Vec<Collapse> = phases.iter().filter_map(|phase| phase.measures.collapse).collect();
        if 2 * all.len() <= phases.len() {
            return None;
        }
        all.sort_by(|a, b| a.after_s.total_cmp(&b.after_s));
        all.get(all.len() / 2).copied()
    }

    /// Clause of a run without overload: the phase that it is compared in, or the busiest of those shown.
    fn in_the_phase(&self, arm: &ArmAnswer) -> Option<String> {
        let at = table::deciding(self.answer)?;
        let own = arm.columns[at].as_ref()?;
        let phase = match self.answer.columns.len() {
            1 => String::new(),
            _ => format!(" in {}", scrubbed(&self.answer.columns[at].phase)),
        };
        let of = if arm.columns[at].as_ref().is_some_and(|own| own.reject_fraction.is_none()) {
            String::new()
        } else {
            format!(" of {}/s offered", rate(own.offered_per_s.median))
        };
        Some(format!("{}{of}{phase}{}{}", self.goodput(own), self.at_percentile(own), rejected(own)))
    }

    fn goodput(&self, own: &ColumnFigures) -> String {
        format!("{}/s", rate(own.goodput_per_s.median))
    }

    /// ` at p90 54 ms`.
    fn at_percentile(&self, own: &ColumnFigures) -> String {
        let percentile = measured_percentile(self.summary.objective.percentile);
        own.objective_ms.map_or_else(String::new, |found| format!(" at {percentile} {}", table::shown(&found, time)))
    }

    /// Against the baseline, block by block.
    fn in_calm(&self, arm: &ArmAnswer) -> Option<String> {
        let column = self.answer.columns.iter().find(|column| column.role == Some(PhaseRole::Calm))?;
        if arm.arm == self.answer.baseline || arm.hindsight {
            return None;
        }
        let pairs = self.runs.goodput_in_blocks([&arm.arm, &self.answer.baseline], &column.phase);
        let ratio = |[ours, theirs]: [f64; 2]| (theirs > 0.0).then_some(ours / theirs);
        let change = known(pairs.into_iter().filter_map(ratio))?.median - 1.0;
        // Who is refused and comes back costs no goodput, and has waited.
        let at = self.answer.columns.iter().position(|other| other.phase == column.phase)?;
        let refused = arm.columns[at].as_ref().map_or_else(String::new, rejected);
        Some(match change {
            change if change.abs() <= NOTHING && refused.is_empty() => "costs nothing in calm".to_owned(),
            change if change.abs() <= NOTHING => format!("as much in calm{refused}"),
            change if change < 0.0 => format!("{} less in calm{refused}", percent(-change)),
            change => format!("{} more in calm{refused}", percent(change)),
        })
    }
}

fn rejected(own: &ColumnFigures) -> String {
    let share = own.reject_fraction.map_or(0.0, |found| found.median);
    if share >= REJECTED { format!(", {} rejected", percent(share)) } else { String::new() }
}

/// Recovery in most blocks.
fn recovered(arm: &ArmAnswer) -> Option<String> {
    let found = arm.recovery.as_ref()?;
    let blocks = found.recovered + found.metastable + found.undecided;
    let waited = time(found.after_s.median * 1e3);
    Some(if 2 * found.metastable > blocks {
        format!("does not recover within {waited} (metastable)")
    } else if found.after_s.at_least {
        format!("has not recovered after {waited}")
    } else if found.after_s.median < 1.0 {
        "recovers at once".to_owned()
    } else {
        format!("recovers in {waited}")
    })
}
