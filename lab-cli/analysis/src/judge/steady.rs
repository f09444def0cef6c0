//! Has a phase settled, and does it stay as it is?
//!
//! Percentiles of a phase that is still warming up are about the warm-up too; those of one whose backlog grows are about how
//! long it was measured. Both look like any other number. The warm-up is found by MSER (White 1997; the rule that did best
//! in Hoad, Robinson and Davies' survey, "Automating warm-up length estimation", 2010), which is known to be fooled at
//! times (Wang and Glynn 2016): so it counts only where what it cuts off is really different. A trend is a slope (Theil and
//! Sen) that Mann and Kendall's test does not put down to chance.

mod statistics;

pub(super) use statistics::median;

use crate::{live::TimelineSecond, summary::Steadiness};
use statistics::{mann_kendall, mean, mser, spread, theil_sen};

/// Seconds of a phase below which nothing is said.
pub const SHORTEST_S: usize = 20;
/// A phase is cut into at least so many batches.
const FEWEST: usize = 12;
/// And at most into so many: slopes are taken between all pairs.
const MOST: usize = 240;
/// Length of a batch where there is time for it: five seconds, as in MSER-5 with an observation a second.
const BATCH_S: usize = 5;
/// Chance at which a trend is believed.
const CHANCE: f64 = 0.01;
/// Change over the time that was looked at, as a share of the median, that matters.
const MATTERS: f64 = 0.10;
/// Growth of the requests in flight, as a share of those that come, that matters: one in a hundred is never answered.
const GROWTH: f64 = 0.01;
/// A share of next to nothing is told as so many times: JSON has no infinity.
const ENDLESS: f64 = 1000.0;
/// A difference counts if it is so many standard deviations of what comes after it.
const CLEAR: f64 = 3.0;

/// Judges the seconds of one phase under one load. `None` if there are too few.
pub fn judge(seconds: &[&TimelineSecond]) -> Option<Steadiness> {
    if seconds.len() < SHORTEST_S {
        return None;
    }
    let batch = BATCH_S.min(seconds.len() / FEWEST).max(seconds.len().div_ceil(MOST)).max(1);
    let each = |read: fn(&TimelineSecond) -> Option<f64>| -> Option<Vec<f64>> {
        // A last batch that is not whole is left out.
        let batches = seconds.chunks_exact(batch).map(|batch| {
            let known: Vec<f64> = batch.iter().filter_map(|second| read(second)).collect();
            (!known.is_empty()).then(|| mean(&known))
        });
        batches.collect()
    };
    let goodput = each(|second| Some(second.goodput as f64));
    let median_time = each(|second| second.p50_ms);
    let in_flight = each(|second| Some(second.in_flight as f64));
    let queued = each(queued);
    let planned: f64 = seconds.iter().map(|second| second.planned as f64).sum::<f64>() / seconds.len() as f64;
    let all = [&goodput, &median_time, &in_flight];
    let warm_ups: Vec<WarmUp> = all.into_iter().flatten().filter_map(|values| warm_up(values)).collect();
    let cut = warm_ups.iter().map(|warm_up| warm_up.batches).max().unwrap_or(0);
    let trends = [&goodput, &median_time].into_iter().flatten().map(|values| trend(&values[cut..]));
    Some(Steadiness {
        declared: None,
        transient: false,
        batch_s: batch as f64,
        batches: (seconds.len() / batch) as u64,
        warm_up_s: (cut * batch) as f64,
        warm_up_effect: warm_ups.iter().map(|warm_up| warm_up.effect).fold(0.0, f64::max),
        trend: trends.fold(0.0, f64::max),
        growth_per_s: [in_flight, queued]
            .into_iter()
            .flatten()
            .map(|values| growth(&values, batch as f64, planned))
            .fold(0.0, f64::max),
    })
}

/// What waits at the service: also work whose users have left, which is in flight for nobody. `None`: it did not say.
fn queued(second: &TimelineSecond) -> Option<f64> {
    let stages = &second.target.as_ref()?.stages;
    Some(stages.iter().map(|stage| f64::from(stage.queue)).sum())
}

/// What comes before a phase has settled.
struct WarmUp {
    batches: usize,
    effect: f64,
}

/// `None` if MSER cuts nothing off, or nothing that is different.
fn warm_up(values: &[f64]) -> Option<WarmUp> {
    let batches = mser(values);
    let (before, after) = values.split_at(batches);
    if before.is_empty() {
        return None;
    }
    let difference = (mean(before) - mean(after)).abs();
    let effect = (difference / mean(after).abs().max(f64::MIN_POSITIVE)).min(ENDLESS);
    (effect > MATTERS && difference > CLEAR * spread(after)).then_some(WarmUp { batches, effect })
}

/// Change over these batches as a share of their median; 0 where it may be chance, or does not matter.
fn trend(values: &[f64]) -> f64 {
    let change = theil_sen(values).abs() * values.len() as f64;
    let share = (change / median(values).abs().max(f64::MIN_POSITIVE)).min(ENDLESS);
    if share > MATTERS && mann_kendall(values).two_sided < CHANCE { share } else { 0.0 }
}

/// How fast requests in flight grow, a second; 0 where they do not. The first third is left out: a crowd that has just come
/// is no growth. Two ways, since a backlog may grow evenly, or in fits.
fn growth(in_flight: &[f64], batch_s: f64, planned_per_s: f64) -> f64 {
    let later = &in_flight[in_flight.len() / 3..];
    let enough = |per_s: f64| per_s > GROWTH * planned_per_s;
    let evenly = theil_sen(later) / batch_s;
    let change = evenly * batch_s * later.len() as f64;
    if enough(evenly) && change > MATTERS * median(later) && mann_kendall(later).upwards < CHANCE {
        return evenly;
    }
    let (middle, end) = later.split_at(later.len() / 2);
    let in_fits = (mean(end) - mean(middle)) / (batch_s * end.len() as f64);
    // Twice as much: and the worst of the middle is left behind for good.
    let left_behind = end.iter().copied().fold(f64::INFINITY, f64::min) > middle.iter().copied().fold(0.0, f64::max);
    if enough(in_fits) && left_behind && mean(end) > 2.0 * mean(middle) { in_fits } else { 0.0 }
}

#[cfg(test)]
mod tests;
