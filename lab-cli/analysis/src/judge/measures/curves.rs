//! Figures over the load: what a single point hides. Without control goodput falls as more is asked for; with it, it should
//! stay.

use std::collections::BTreeSet;

use crate::{
    series::value::Value,
    summary::{Arm, Curve, CurvePoint, PhaseSummary, PlannedLoad, arm_names},
};

/// Loads from which on a picture is one of a curve.
const FEWEST: usize = 3;

/// One curve an arm, in the order in which the arms ran first; none for runs with fewer than three different loads of one kind.
pub fn curves(arms: &[Arm]) -> Vec<Curve> {
    arm_names(arms).into_iter().filter_map(|name| curve(name, arms)).collect()
}

fn curve(name: &str, arms: &[Arm]) -> Option<Curve> {
    let own: Vec<&Arm> = arms.iter().filter(|arm| arm.shown_name() == name && arm.is_comparable()).collect();
    let mut phases: Vec<&PhaseSummary> =
        own.first()?.phases.iter().filter(|phase| phase.measures.load.is_some() && !phase.cut_off).collect();
    let units: BTreeSet<&str> = phases.iter().filter_map(|phase| Some(phase.measures.load?.unit())).collect();
    phases.sort_by(|a, b| planned(a).total_cmp(&planned(b)));
    let mut loads: Vec<f64> = phases.iter().map(|phase| planned(phase)).collect();
    loads.dedup();
    if loads.len() < FEWEST || units.len() != 1 {
        return None;
    }
    let points = phases.into_iter().map(|phase| {
        let blocks: Vec<&PhaseSummary> = own.iter().filter_map(|arm| arm.whole_phase(&phase.name)).collect();
        point(phase, &blocks)
    });
    Some(Curve { arm: name.to_owned(), points: points.collect() })
}

fn planned(phase: &PhaseSummary) -> f64 {
    phase.measures.load.map_or(0.0, PlannedLoad::amount)
}

/// The median block of each figure: percentiles are never averaged.
fn point(phase: &PhaseSummary, blocks: &[&PhaseSummary]) -> CurvePoint {
    let all = |read: fn(&PhaseSummary) -> f64| {
        let mut values: Vec<f64> = blocks.iter().map(|phase| read(phase)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let goodput = all(|phase| phase.measured.goodput_per_s);
    let p99 = p99(blocks);
    CurvePoint {
        phase: phase.name.clone(),
        planned: planned(phase),
        blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
        offered_per_s: middle(&all(|phase| phase.measured.offered_per_s)),
        goodput_per_s: middle(&goodput),
        goodput_range: [goodput.first().copied().unwrap_or(0.0), goodput.last().copied().unwrap_or(0.0)],
        reject_fraction: middle(&all(|phase| phase.measured.reject_fraction)),
        p99_ms: p99.filter(|p99| !p99.at_least).map(|p99| p99.at),
        p99_at_least_ms: p99.filter(|p99| p99.at_least).map(|p99| p99.at),
    }
}

/// Bounds are longer than any number among them that is lower; if one is in the middle, so is the median a bound. Unknown in
/// one block, it is unknown.
fn p99(blocks: &[&PhaseSummary]) -> Option<Value> {
    let of = |phase: &&PhaseSummary| {
        let times = &phase.measured.response_time_ms;
        Value::of(times.p99, times.p99_at_least)
    };
    Value::median(&blocks.iter().map(of).collect::<Option<Vec<_>>>()?)
}

/// Median; of an even number the higher one of the two: a figure that was measured.
fn middle(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
