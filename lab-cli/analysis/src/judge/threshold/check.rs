//! Names in a threshold against the names of the plan.

use std::ops::Range;

use super::{
    claim::Claim,
    error::{ThresholdError, error},
    metric::{Group, Metric, Part, Point},
};
use crate::text::suggestion;

/// Parts of a phase are kept in steps of this share of its length.
const STEP: f64 = 0.05;

/// Names that thresholds may use.
#[derive(Debug, Clone, Default)]
pub struct KnownNames<'a> {
    /// Arms, by policy or `as:`.
    pub arms: Vec<&'a str>,
    /// Phases with their length in seconds.
    pub phases: Vec<(&'a str, f64)>,
    /// Request types.
    pub types: Vec<&'a str>,
}

pub(super) fn claim(claim: &Claim, names: &KnownNames<'_>) -> Result<(), Vec<ThresholdError>> {
    let mut problems = Vec::new();
    for (at, metric) in claim.metrics() {
        names_of(metric, at, names, &mut problems);
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn names_of(metric: &Metric, at: usize, names: &KnownNames<'_>, problems: &mut Vec<ThresholdError>) {
    let Metric { arm, phase, part, group, .. } = metric;
    if !names.arms.contains(&arm.as_str()) {
        problems.push(error(at, format!("there is no arm {arm}"), suggestion(arm, &names.arms)));
    }
    match names.phases.iter().find(|(name, _)| name == phase) {
        None => {
            let known: Vec<&str> = names.phases.iter().map(|(name, _)| *name).collect();
            problems.push(error(at, format!("there is no phase {phase}"), suggestion(phase, &known)));
        }
        Some((_, seconds)) => {
            if let Some(part) = part
                && let Err(problem) = share(part, *seconds)
            {
                problems.push(problem);
            }
        }
    }
    if let Group::Type(kind) = group
        && !names.types.contains(&kind.as_str())
    {
        let message = format!("there is no request type or metric {kind}");
        problems.push(error(at, message, suggestion(kind, &names.types)));
    }
}

/// The steps in which parts of phases are kept, within a part.
pub(super) fn twentieths(part: &Range<f64>) -> impl Iterator<Item = Range<f64>> + use<> {
    let step = |share: f64| (share / STEP).round() as u32;
    (step(part.start)..step(part.end)).map(|n| f64::from(n) * STEP..f64::from(n + 1) * STEP)
}

/// The part as shares of the phase's length, on the grid on which parts are kept.
pub(super) fn share(part: &Part, seconds: f64) -> Result<Range<f64>, ThresholdError> {
    let of = |point: Option<Point>, otherwise: f64| match point {
        None => otherwise,
        Some(Point::Share(share)) => share,
        Some(Point::Seconds(at)) => at / seconds,
    };
    let (from, to) = (of(part.from, 0.0), of(part.to, 1.0));
    if !(0.0..1.0).contains(&from) || to <= from || to > 1.0 + 1e-9 {
        let hint = format!("the phase lasts {seconds} s; write the earlier end first");
        return Err(error(part.at, "this part of the phase is empty or lies outside of it", hint));
    }
    let on_grid = |share: f64| ((share / STEP).round() * STEP - share).abs() < 1e-6;
    if !on_grid(from) || !on_grid(to) {
        let step = seconds * STEP;
        let hint = format!("use multiples of 5 %, here {step} s");
        return Err(error(part.at, "parts of a phase are kept in steps of 5 % of its length", hint));
    }
    Ok((from / STEP).round() * STEP..(to / STEP).round() * STEP)
}
