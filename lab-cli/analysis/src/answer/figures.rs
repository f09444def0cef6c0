//! Figures of an arm in a column: medians over its blocks, of all requests and by class.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    counted_runs::of_phase,
    middle::{known, of_values},
};
use crate::{
    series::value::Value,
    summary::{AnswerColumn, Arm, ColumnFigures, LowerPercentile, Measured, PhaseSummary, RunSummary},
};

pub(super) fn figures(runs: &[&Arm], column: &AnswerColumn, summary: &RunSummary) -> Option<ColumnFigures> {
    let phases = of_phase(runs, &column.phase);
    let bound = runs.iter().any(|arm| arm.bound);
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
    let (known, bound) = measured.response_time_ms.percentile(measured_percentile(percentile));
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

/// Figures by class, where there are several.
pub(super) fn classes(
    runs: &[&Arm],
    columns: &[AnswerColumn],
    summary: &RunSummary,
) -> BTreeMap<String, Vec<Option<ColumnFigures>>> {
    let names: BTreeSet<&String> =
        runs.iter().flat_map(|arm| &arm.phases).flat_map(|phase| phase.by_class.keys()).collect();
    if names.len() < 2 {
        return BTreeMap::new();
    }
    let of = |class: &String, column: &AnswerColumn| {
        let phases = of_phase(runs, &column.phase);
        let blocks: Vec<&Measured> = phases.iter().filter_map(|phase| phase.by_class.get(class)).collect();
        of_measured(&blocks, summary.objective.percentile, false)
    };
    let each =
        |class: &String| -> Vec<Option<ColumnFigures>> { columns.iter().map(|column| of(class, column)).collect() };
    names.into_iter().map(|class| (class.clone(), each(class))).collect()
}
