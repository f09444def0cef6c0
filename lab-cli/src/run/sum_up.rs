//! From arms that were judged to the summary of a run: a pure function, which a run and its recheck share.

use super::of_oracle;
use crate::{
    judge::{
        compare, gates, measures,
        threshold::{Abort, Parts, RunEvidence, Threshold},
    },
    live::Second,
    spec::plan::Compare,
    summary::{Arm, Capacity, Comparison, Headroom, LimitSearch, Mode, Objective, SCHEMA, Summary, Verdict},
};

/// What a summary is made from.
pub struct Findings<'a> {
    /// Name of the experiment.
    pub experiment: &'a str,
    /// How the figures came about.
    pub mode: Mode,
    /// Arms or phases are missing.
    pub partial: bool,
    /// The promise.
    pub objective: Objective,
    /// The work knob, where it was looked for.
    pub capacity: Option<&'a Capacity>,
    /// Limits that were looked for.
    pub searches: &'a [LimitSearch],
    /// What the generator can do here, where that was measured.
    pub headroom: Option<Headroom>,
    /// Judged, in the order in which they ran.
    pub arms: &'a [Arm],
    /// What must hold.
    pub thresholds: &'a [Threshold],
    /// One of them ended the run.
    pub abort: Option<&'a Abort>,
    /// Seconds of the arms whose gauges are asked for.
    pub timeline: &'a [Second],
    /// Parts of phases.
    pub parts: Parts<'a>,
    /// Arms in the order of the file.
    pub order: &'a [String],
    /// Pairs of arms that are the same but for their names.
    pub twins: &'a [[String; 2]],
    /// How arms are compared.
    pub compare: &'a Compare,
}

/// Arms that are the same but for their names, against each other: what differs there is noise.
fn noise_floor(found: &Findings<'_>) -> Vec<Comparison> {
    let compared = found.twins.iter().flat_map(|twins| {
        let family = compare::Family { baseline: None, ..found.compare.family(twins) };
        compare::against_the_baseline(found.arms, family)
    });
    compared.collect()
}

/// The summary.
pub fn sum_up(found: &Findings<'_>) -> Summary {
    let mut reasons: Vec<_> = found.arms.iter().flat_map(|arm| arm.reasons.iter().cloned()).collect();
    let noise_floor = noise_floor(found);
    reasons.extend(gates::judge_twins(&noise_floor));
    reasons.extend(gates::judge_drift(found.arms));
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.verdict));
    let verdict = gates::verdict(&reasons);
    let evidence = RunEvidence { arms: found.arms, timeline: found.timeline, parts: found.parts };
    let mut thresholds: Vec<_> = found.thresholds.iter().map(|threshold| threshold.judge(&evidence)).collect();
    if let Some(abort) = found.abort
        && let Some(result) = thresholds.get_mut(abort.threshold)
    {
        // Whatever the part of the run that there is comes to: it was against it for too long.
        result.held = false;
        result.why = format!("{}; {}", abort.found, result.why);
        result.aborted = Some(abort.found.clone());
    }
    let mut arms = found.arms.to_vec();
    of_oracle::fill_in(&mut arms);
    Summary {
        schema: SCHEMA,
        experiment: found.experiment.to_owned(),
        mode: found.mode,
        partial: found.partial,
        verdict,
        valid: verdict != Verdict::Invalid,
        reasons,
        objective: found.objective,
        capacity: found.capacity.cloned(),
        headroom: found.headroom,
        searches: found.searches.to_vec(),
        curves: measures::curves(&arms),
        arms,
        thresholds,
        comparisons: compare::against_the_baseline(found.arms, found.compare.family(found.order)),
        noise_floor,
    }
}
