//! Ends of a phase: does it begin, or end, otherwise than the rest of it goes?
//!
//! A queue near saturation wanders: it is long for seconds or minutes, then short, and stationary all the same. Values that follow each
//! other are alike, so a test that takes them for independent (MSER, Mann and Kendall) finds a warm-up in many stationary
//! M/M/1 queues. Here the parts at one end have to lie far outside of all that the third at the other end shows; a phase has to last for
//! many relaxation times of its queue to be judged at all; and several blocks are asked, which is how a warm-up, which they all have, is
//! told from chance (Welch's replications). `calibration` counts how often stationary queues are found all the same.

use super::statistics::{average, mean};
use crate::{live::TimelineSecond, summary::Steadiness};

/// Parts that a phase is cut into, equal to a second.
pub(super) const PARTS: usize = 24;
/// Parts that the other end is held against: a third of the phase.
const REFERENCE: usize = 8;
/// Parts that have to differ: an eighth of the phase.
const FEWEST: usize = 3;
/// And if there is no second block: a quarter.
const FEWEST_ALONE: usize = 6;
/// Distance by which they have to lie outside of the range of the reference, in widths of that range.
const CLEAR: f64 = 0.5;
/// Relaxation times that a phase has to last for.
const RELAXATIONS: f64 = 12.0;
/// Requests in flight in an M/M/1 queue at a load of 0.95. If there are more they are served side by side, or the load is higher: for
/// those this rule is not calibrated.
const MOST_IN_FLIGHT: f64 = 19.0;
/// Standard deviations that a random walk does not stray.
const STRAY: f64 = 3.0;
/// Change as a share of what it is held against, that matters.
pub(super) const MATTERS: f64 = 0.10;
/// A share of next to nothing is told as so many times: JSON has no infinity.
const ENDLESS: f64 = 1000.0;

/// Shift of the beginning of a phase against its last third.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EndShift {
    /// For how long.
    pub seconds: f64,
    /// Share of the latter by which it differs: the most of goodput, median response time and requests in flight.
    pub effect: f64,
}

/// Goodput, median response time and requests in flight, part by part.
pub(super) struct Parts {
    series: Vec<Vec<f64>>,
    in_flight: Vec<f64>,
    requests: f64,
    /// Length of one, on average.
    pub seconds: f64,
}

impl Parts {
    /// `None`: too short to be cut.
    pub fn of(phase: &[&TimelineSecond]) -> Option<Self> {
        if phase.len() < PARTS {
            return None;
        }
        let each = |read: fn(&TimelineSecond) -> Option<f64>| -> Option<Vec<f64>> {
            let part = |part: usize| &phase[part * phase.len() / PARTS..(part + 1) * phase.len() / PARTS];
            (0..PARTS).map(|number| average(part(number), read)).collect()
        };
        let in_flight = each(|second| Some(second.in_flight as f64))?;
        let others = [each(|second| Some(second.goodput as f64)), each(|second| second.p50_ms)];
        let series = others.into_iter().flatten().chain([in_flight.clone()]).collect();
        let requests = phase.iter().map(|second| second.planned as f64).sum();
        Some(Self { series, in_flight, requests, seconds: phase.len() as f64 / PARTS as f64 })
    }

    /// The same from the end to the beginning.
    pub fn reversed(mut self) -> Self {
        self.series.iter_mut().chain([&mut self.in_flight]).for_each(|values| values.reverse());
        self
    }

    /// `None`: not judged, since the phase is too short for its queue.
    ///
    /// The relaxation time of M/M/1 is that of 1/(1-√ρ)² services, which is less than 4/(1-ρ)² = 4(1+L)² with L requests in flight. L is
    /// the most of the parts of the reference: a mean over a short time may be low by chance, just as the reference is then. At any load
    /// the queue moves no farther than a random walk of as many arrivals and departures: what goes farther is judged in any case.
    pub fn beginning(&self) -> Option<EndShift> {
        let (before, reference) = self.in_flight.split_at(PARTS - REFERENCE);
        let most = reference.iter().copied().fold(0.0, f64::max).min(MOST_IN_FLIGHT);
        let is_long = self.requests >= RELAXATIONS * 4.0 * (1.0 + most) * (1.0 + most);
        let moved = (mean(&before[..FEWEST]) - mean(reference)).abs();
        if !is_long && !strays(moved, STRAY, self.requests) {
            return None;
        }
        let found = self.series.iter().map(|values| difference(values));
        let (parts, effect) = found.fold((0, 0.0), |most, one| (most.0.max(one.0), f64::max(most.1, one.1)));
        Some(EndShift { seconds: parts as f64 * self.seconds, effect })
    }
}

/// True if requests in flight moved by more standard deviations than these of a random walk of so many arrivals, and as many departures.
pub(super) fn strays(moved: f64, deviations: f64, requests: f64) -> bool {
    moved > deviations * (2.0 * requests).sqrt()
}

/// Number of parts at the beginning that differ from the last third, and by how much.
fn difference(values: &[f64]) -> (usize, f64) {
    let (before, reference) = values.split_at(PARTS - REFERENCE);
    let least = reference.iter().copied().fold(f64::INFINITY, f64::min);
    let most = reference.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (usual, clear) = (mean(reference), CLEAR * (most - least));
    let over = |value: f64| value > most + clear && value > (1.0 + MATTERS) * usual;
    let under = |value: f64| value < least - clear && value < (1.0 - MATTERS) * usual;
    let count = |differs: &dyn Fn(f64) -> bool| before.iter().take_while(|value| differs(**value)).count();
    let parts = count(&over).max(count(&under));
    if parts < FEWEST {
        return (0, 0.0);
    }
    let effect = (mean(&before[..parts]) - usual).abs() / usual.abs().max(f64::MIN_POSITIVE);
    (parts, effect.min(ENDLESS))
}

/// The longest difference of one phase in the blocks of an arm, and in how many of them there is one, if these are more than half.
/// `None` among them: not judged there.
pub fn in_most_blocks(blocks: &[Option<Steadiness>], read: fn(Steadiness) -> EndShift) -> Option<(EndShift, usize)> {
    let fewest = if blocks.len() > 1 { FEWEST } else { FEWEST_ALONE };
    let long = |block: &&Steadiness| block.part_s > 0.0 && read(**block).seconds > (fewest as f64 - 0.5) * block.part_s;
    let found: Vec<EndShift> = blocks.iter().flatten().filter(long).map(|block| read(*block)).collect();
    let longest = found.iter().copied().max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    (2 * found.len() > blocks.len()).then_some((longest, found.len()))
}

/// Shift of the beginning against the rest.
pub fn beginning(found: Steadiness) -> EndShift {
    EndShift { seconds: found.warm_up_s, effect: found.warm_up_effect }
}

/// Shift of the end against the beginning.
pub fn end(found: Steadiness) -> EndShift {
    EndShift { seconds: found.late_s, effect: found.late_effect }
}
