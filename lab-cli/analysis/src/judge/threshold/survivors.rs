//! Times of different requests: an arm that refuses half of them answers the rest sooner, so that of two arms that answer unequal shares
//! those of the one that answers fewer are lower bounds.

use super::{
    claim::Claim,
    metric::{Metric, Quantity, Requests},
};
use crate::text::percent;

/// Answered shares that differ by more than this are of different requests: the margin of a percentile in comparisons.
const APART: f64 = 0.10;

/// The claim with the metrics marked that are of fewer requests than another arm's, and what is to be said of its requests, to go
/// behind what was found. `share`: the share of a metric's requests that had an answer.
pub(super) fn told_apart(claim: &Claim, share: impl Fn(&Metric) -> Option<f64>) -> (Claim, String) {
    let of = |wanted: Requests| {
        let is = |metric: &Metric| matches!(&metric.quantity, Quantity::Times(times, statistic) if times.of == wanted && statistic.is_time());
        let mut found: Vec<(Metric, f64)> = Vec::new();
        claim.clone().each_metric(&mut |metric| {
            let share = if is(metric) { share(metric) } else { None };
            found.extend(share.map(|share| (metric.clone(), share)));
        });
        found
    };
    let answered = of(Requests::Answered);
    let is_fewer = |metric: &Metric, share: f64| {
        answered.iter().any(|(other, of_other)| other.arm != metric.arm && of_other - share > APART)
    };
    let fewer: Vec<&Metric> =
        answered.iter().filter(|(metric, share)| is_fewer(metric, *share)).map(|(metric, _)| metric).collect();
    let mut marked = claim.clone();
    marked.each_metric(&mut |metric| metric.of_fewer = fewer.contains(&&*metric));
    let shares = |found: &[(Metric, f64)]| {
        let mut told: Vec<String> = Vec::new();
        for (metric, share) in found {
            let words = format!("{} answers {}", metric.arm, percent(*share));
            if !told.contains(&words) {
                told.push(words);
            }
        }
        told.join(", ")
    };
    let mut aside = String::new();
    if !fewer.is_empty() {
        aside = format!("; {}: percentiles of different requests", shares(&answered));
    }
    let all: Vec<(Metric, f64)> = of(Requests::All).into_iter().filter(|(_, share)| *share < 1.0).collect();
    if !all.is_empty() {
        aside += &format!("; {}", shares(&all));
    }
    (marked, aside)
}
