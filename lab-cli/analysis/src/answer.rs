//! The answer of a run, which every report begins with: one sentence an arm that a person can repeat, and one table: arms in
//! calm, under overload and after it. A pure function of what the summary holds.
//!
//! Which phase stands for what is the plan's to say ([`PhaseRole`]): *calm* is the last calm phase before any overload or fault; *overload* the
//! phase that the comparisons are about, if it is one, else the one with the highest load; *after* the first phase behind it whose load
//! the service can serve again. A run without such a shape has a column a phase, up to four, and with more the phase that it is compared in.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    judge::gates,
    series::value::Value,
    summary::{
        AnswerColumn, Arm, ArmAnswer, ColumnFigures, LowerPercentile, Measured, PhaseRole, PhaseSummary,
        RecoveryAnswer, RunAnswer, RunSummary, arm_names, busiest,
    },
    text::scrubbed,
};

mod middle;
mod order;
mod sentence;
pub mod table;
#[cfg(test)]
mod tests;
mod verdict;

use middle::{known, of_values};

/// Phases of a run without overload that have a column each; with more it is the phase of the comparisons.
const MOST_COLUMNS: usize = 4;

/// The answer of a run. `order`: its arms in the order of the file; `hindsight`: those that know what no policy can know; `phase`: the one
/// that it is about by its file.
pub fn answer(summary: &RunSummary, order: &[String], hindsight: &[String], phase: Option<&str>) -> RunAnswer {
    let turns = Turns::of(&summary.arms);
    let baseline = summary.comparisons.first().map(|comparison| comparison.baseline.clone());
    let baseline = baseline.or_else(|| order.first().cloned()).unwrap_or_default();
    let about = summary.comparisons.first().map(|comparison| comparison.phase.as_str()).or(phase);
    let (columns, about) = columns(&turns, about);
    let named = |name: &&String| summary.arms.iter().any(|arm| arm.shown_name() == **name);
    let arms: Vec<ArmAnswer> = order
        .iter()
        .filter(named)
        .map(|name| {
            let own: Vec<&Arm> = turns.of_arm(name).collect();
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
        found.order = order::order(&found, summary, &turns);
        sentence::fill_in(&mut found, summary, &turns);
    }
    found
}

/// The answer that a summary has, or, for one of an earlier version, the one that it would have.
pub fn of_summary(summary: &RunSummary) -> RunAnswer {
    let order: Vec<String> = arm_names(&summary.arms).into_iter().map(str::to_owned).collect();
    summary.answer.clone().unwrap_or_else(|| answer(summary, &order, &[], None))
}

/// What every report says of an INVALID run in place of sentences.
pub const NO_CONCLUSION: &str = "INVALID: the measurement went wrong, and no conclusion may be drawn from its figures.";

/// A line at the head of what is said of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The arm that it is about; `None`: all of them.
    pub arm: Option<String>,
    /// No conclusion may be drawn.
    pub is_warning: bool,
    /// What it says.
    pub text: String,
}

/// What every report begins with: the order of the arms and a sentence an arm, or of an INVALID run why there is none.
pub fn opening(summary: &RunSummary) -> Vec<Opening> {
    if !summary.valid {
        return vec![Opening { arm: None, is_warning: true, text: NO_CONCLUSION.to_owned() }];
    }
    let RunAnswer { order, arms, .. } = of_summary(summary);
    let order = order.map(|text| Opening { arm: None, is_warning: false, text });
    let said = |arm: ArmAnswer| Some(Opening { arm: Some(arm.arm), is_warning: false, text: arm.sentence? });
    order.into_iter().chain(arms.into_iter().filter_map(said)).collect()
}

/// Turns that figures are made of: those that count in comparisons, or all of an arm that has none.
pub(crate) struct Turns<'a> {
    arms: Vec<&'a Arm>,
}

impl<'a> Turns<'a> {
    fn of(arms: &'a [Arm]) -> Self {
        let left_out = gates::excluded(arms);
        let counts = |arm: &&Arm| arm.is_comparable() && !left_out.contains(&arm.block);
        let counted: BTreeSet<&str> = arms.iter().filter(counts).map(Arm::shown_name).collect();
        let kept = arms.iter().filter(|arm| counts(arm) || !counted.contains(arm.shown_name()));
        Self { arms: kept.collect() }
    }

    fn of_arm<'t>(&'t self, name: &'t str) -> impl Iterator<Item = &'a Arm> + 't {
        self.arms.iter().copied().filter(move |arm| arm.shown_name() == name)
    }

    /// Goodput of two arms in this phase, in each block that has it of both.
    fn goodput_in_blocks(&self, arms: [&str; 2], phase: &str) -> Vec<[f64; 2]> {
        let [ours, theirs] = arms.map(|name| {
            let goodput = |turn: &Arm| Some((turn.block, turn.whole_phase(phase)?.measured.goodput_per_s));
            self.of_arm(name).filter_map(goodput).collect::<BTreeMap<_, _>>()
        });
        ours.into_iter().filter_map(|(block, ours)| Some([ours, *theirs.get(&block)?])).collect()
    }
}

/// `under overload`, `during the fault`, `in PHASE`.
fn when(column: &AnswerColumn) -> String {
    match column.role {
        Some(PhaseRole::Fault) => "during the fault".to_owned(),
        Some(role) if role.is_stress() => "under overload".to_owned(),
        _ => format!("in {}", scrubbed(&column.phase)),
    }
}

/// Phases that the answer is about, and of these the one that a run without overload is about: the one that is named, else the busiest.
fn columns(turns: &Turns<'_>, named: Option<&str>) -> (Vec<AnswerColumn>, Option<String>) {
    let run = || turns.arms.iter().filter(|arm| !arm.bound);
    let Some(arm) = run().max_by_key(|arm| arm.phases.len()) else { return (Vec::new(), None) };
    let phases = &arm.phases[..];
    let about = named.and_then(|name| place(phases, name));
    let about = about.or_else(|| place(phases, &busiest(phases)?.name));
    let chosen = match stressed(phases, named) {
        Some(chosen) => chosen,
        None if phases.len() <= MOST_COLUMNS => (0..phases.len()).collect(),
        None => about.into_iter().collect(),
    };
    let column = |at: usize| AnswerColumn {
        phase: phases[at].name.clone(),
        role: phases[at].measures.role,
        load: phases[at].measures.load,
    };
    (chosen.into_iter().map(column).collect(), about.map(|at| phases[at].name.clone()))
}

/// Calm, overload and after, as far as there are; `None` without overload and fault.
fn stressed(phases: &[PhaseSummary], compared: Option<&str>) -> Option<Vec<usize>> {
    let role = |at: usize| phases[at].measures.role;
    let is = |at: &usize, wanted: PhaseRole| role(*at) == Some(wanted);
    let stress: Vec<usize> = (0..phases.len()).filter(|at| role(*at).is_some_and(PhaseRole::is_stress)).collect();
    let first = *stress.first()?;
    let named = stress.iter().copied().find(|at| Some(phases[*at].name.as_str()) == compared);
    let busiest = || place(phases, &busiest(phases)?.name).filter(|at| stress.contains(at));
    let over = named.or_else(busiest).unwrap_or(first);
    let calm = (0..first).rev().find(|at| is(at, PhaseRole::Calm));
    let after = (over + 1..phases.len()).find(|at| is(at, PhaseRole::After));
    Some(calm.into_iter().chain([over]).chain(after).collect())
}

fn place(phases: &[PhaseSummary], name: &str) -> Option<usize> {
    phases.iter().position(|phase| phase.name == name)
}

/// This phase of these turns: the whole ones, or, where there is none, those that were cut off.
fn of_phase<'a>(turns: &[&'a Arm], name: &str) -> Vec<&'a PhaseSummary> {
    let whole: Vec<_> = turns.iter().filter_map(|arm| arm.whole_phase(name)).collect();
    let begun = |phase: &&PhaseSummary| phase.name == name && phase.seconds > 0.0;
    if whole.is_empty() { turns.iter().filter_map(|arm| arm.phases.iter().find(begun)).collect() } else { whole }
}

fn figures(turns: &[&Arm], column: &AnswerColumn, summary: &RunSummary) -> Option<ColumnFigures> {
    let phases = of_phase(turns, &column.phase);
    let bound = turns.iter().any(|arm| arm.bound);
    let shares = |read: fn(&PhaseSummary) -> Option<f64>| {
        let shares: Vec<Value> = phases.iter().filter_map(|phase| read(phase)).map(Value::known).collect();
        of_values(&shares)
    };
    let measured: Vec<&Measured> = phases.iter().map(|phase| &phase.measured).collect();
    let mut found = of_measured(&measured, summary.objective.percentile, bound)?;
    found.cut_off = phases.iter().any(|phase| phase.cut_off);
    (found.of_oracle, found.of_blind) = (shares(|phase| phase.of_oracle), shares(|phase| phase.of_blind));
    // What single runs may add: the most of any block.
    found.by_chance_per_s = phases.iter().filter_map(|phase| phase.by_chance_per_s).max_by(f64::total_cmp);
    Some(found)
}

fn of_measured(blocks: &[&Measured], percentile: f64, bound: bool) -> Option<ColumnFigures> {
    let each = |read: fn(&Measured) -> f64| known(blocks.iter().map(|one| read(one)));
    // Too few samples in one block: nobody knows which one is in the middle.
    let time = |percentile: f64| {
        let all: Option<Vec<Value>> = blocks.iter().map(|one| time_at(one, percentile)).collect();
        of_values(&all?)
    };
    let p99_ms = time(99.0).filter(|_| !bound);
    let lower = |percentile: f64| {
        Some(LowerPercentile { percentile: measured_percentile(percentile).to_owned(), ms: time(percentile)? })
    };
    Some(ColumnFigures {
        cut_off: false,
        offered_per_s: each(|one| one.offered_per_s)?,
        goodput_per_s: each(|one| one.goodput_per_s)?,
        objective_ms: time(percentile).filter(|_| !bound),
        below_p99: if p99_ms.is_none() && !bound { [95.0, 90.0, 50.0].into_iter().find_map(lower) } else { None },
        p99_ms,
        reject_fraction: each(|one| one.reject_fraction).filter(|_| !bound),
        of_oracle: None,
        of_blind: None,
        by_chance_per_s: None,
    })
}

/// The response time at this percentile, or at the nearest below it that is measured.
fn time_at(measured: &Measured, percentile: f64) -> Option<Value> {
    let times = &measured.response_time_ms;
    let (known, bound) = match measured_percentile(percentile) {
        "p99.9" => (times.p999, times.p999_at_least),
        "p99" => (times.p99, times.p99_at_least),
        "p95" => (times.p95, times.p95_at_least),
        "p90" => (times.p90, times.p90_at_least),
        _ => (times.p50, times.p50_at_least),
    };
    Value::of(known, bound)
}

/// The measured percentile that stands for this one.
pub fn measured_percentile(percentile: f64) -> &'static str {
    match percentile {
        p if p >= 99.9 => "p99.9",
        p if p >= 99.0 => "p99",
        p if p >= 95.0 => "p95",
        p if p >= 90.0 => "p90",
        _ => "p50",
    }
}

/// By class, where there are several.
fn classes(
    turns: &[&Arm],
    columns: &[AnswerColumn],
    summary: &RunSummary,
) -> BTreeMap<String, Vec<Option<ColumnFigures>>> {
    let names: BTreeSet<&String> =
        turns.iter().flat_map(|arm| &arm.phases).flat_map(|phase| phase.by_class.keys()).collect();
    if names.len() < 2 {
        return BTreeMap::new();
    }
    let of = |class: &String, column: &AnswerColumn| {
        let phases = of_phase(turns, &column.phase);
        let blocks: Vec<&Measured> = phases.iter().filter_map(|phase| phase.by_class.get(class)).collect();
        of_measured(&blocks, summary.objective.percentile, false)
    };
    let each =
        |class: &String| -> Vec<Option<ColumnFigures>> { columns.iter().map(|column| of(class, column)).collect() };
    names.into_iter().map(|class| (class.clone(), each(class))).collect()
}

/// Over the blocks: of the phase after the overload, else of the last phase that has one.
fn recovery(turns: &[&Arm], columns: &[AnswerColumn]) -> Option<RecoveryAnswer> {
    let after = columns.iter().rev().find(|column| column.role == Some(PhaseRole::After));
    let named = |phase: &&PhaseSummary| after.is_some_and(|after| after.phase == phase.name);
    let of_turn = |arm: &&Arm| {
        let with = || arm.phases.iter().filter(|phase| phase.measures.recovery.is_some());
        with().find(named).or_else(|| with().next_back())?.measures.recovery.clone()
    };
    let all: Vec<_> = turns.iter().filter_map(of_turn).collect();
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
