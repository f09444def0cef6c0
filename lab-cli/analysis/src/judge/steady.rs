//! Steadiness of a phase: has it settled, and does it stay as it is?
//!
//! Percentiles of a phase that is still warming up are about the warm-up too; those of one whose backlog grows are about how
//! long it was measured. Both look like any other number. A backlog that grows is a slope (Theil and Sen) that Mann and Kendall's
//! test does not put down to chance, and that takes it farther than a random walk goes: a queue near saturation wanders.

#[cfg(test)]
mod calibration;
mod ends;
mod statistics;

pub use ends::{EndShift, beginning, end, in_most_blocks};
pub(super) use statistics::{median, quartiles};

use crate::{live::TimelineSecond, summary::Steadiness};
use ends::{MATTERS, Parts, strays};
use statistics::{average, mann_kendall, mean, theil_sen};

/// Seconds of a phase below which nothing is said.
pub const SHORTEST_S: usize = 20;
/// For its growth a phase is cut into at least so many batches.
const FEWEST: usize = 12;
/// And at most into so many: slopes are taken between all pairs.
const MOST: usize = 240;
/// Length of a batch where there is time for it.
const BATCH_S: usize = 5;
/// Chance at which a slope is believed.
const CHANCE: f64 = 0.01;
/// Growth of the requests in flight, as a share of those that come, that matters: one in a hundred is never answered.
const GROWTH: f64 = 0.01;
/// Standard deviations of a random walk that growth exceeds: a stationary M/M/1 queue at a load of up to 0.95 does in one phase of 400.
const STRAY: f64 = 2.5;

/// Judges the seconds of one phase under one load. `None` if there are too few.
pub fn judge(seconds: &[&TimelineSecond]) -> Option<Steadiness> {
    if seconds.len() < SHORTEST_S {
        return None;
    }
    let batch = BATCH_S.min(seconds.len() / FEWEST).max(seconds.len().div_ceil(MOST)).max(1);
    // A last batch that is not whole is left out.
    let each = |read: fn(&TimelineSecond) -> Option<f64>| -> Option<Vec<f64>> {
        seconds.chunks_exact(batch).map(|batch| average(batch, read)).collect()
    };
    let in_flight = each(|second| Some(second.in_flight as f64));
    let queued = each(queued);
    let planned: f64 = seconds.iter().map(|second| second.planned as f64).sum::<f64>() / seconds.len() as f64;
    let parts = Parts::of(seconds);
    let part_s = parts.as_ref().map_or(0.0, |parts| parts.seconds);
    let beginning = parts.as_ref().and_then(Parts::beginning);
    let end = parts.and_then(|parts| parts.reversed().beginning()).unwrap_or_default();
    let warm_up = beginning.unwrap_or_default();
    Some(Steadiness {
        declared: None,
        transient: false,
        part_s,
        judged: beginning.is_some(),
        warm_up_s: warm_up.seconds,
        warm_up_effect: warm_up.effect,
        late_s: end.seconds,
        late_effect: end.effect,
        growth_per_s: [in_flight, queued]
            .into_iter()
            .flatten()
            .map(|values| growth(&values, batch as f64, planned))
            .fold(0.0, f64::max),
    })
}

/// Work that waits at the service: also that whose users have left, which is in flight for nobody. `None`: it did not
/// say.
fn queued(second: &TimelineSecond) -> Option<f64> {
    let stages = &second.target.as_ref()?.stages;
    Some(stages.iter().map(|stage| f64::from(stage.queue)).sum())
}

/// Growth of requests in flight, a second; 0 where they do not grow. The first third is left out: a crowd that has
/// just come is no growth. Two ways, since a backlog may grow evenly, or in fits.
fn growth(in_flight: &[f64], batch_s: f64, planned_per_s: f64) -> f64 {
    let later = &in_flight[in_flight.len() / 3..];
    let lasts_s = batch_s * later.len() as f64;
    let strays = |per_s: f64| strays(per_s * lasts_s, STRAY, planned_per_s * lasts_s);
    let enough = |per_s: f64| per_s > GROWTH * planned_per_s && strays(per_s);
    let evenly = theil_sen(later) / batch_s;
    if enough(evenly) && evenly * lasts_s > MATTERS * median(later) && mann_kendall(later) < CHANCE {
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
