//! The spread of arrivals: whether they were as independent as planned.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Arrivals as the generator let them come, also those that a client-side policy then refused, in windows of a tenth of
/// a second. Memory grows with the length of a phase, not with the number of arrivals.
#[derive(Debug, Clone, Default)]
pub(super) struct Spread(Vec<u32>);

/// The independence of arrivals in a phase that was planned with independent arrivals at one rate: the variation of
/// their number from window to window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Dispersion {
    /// The number of windows of a tenth of a second.
    pub windows: u64,
    /// The mean number of arrivals in a window.
    pub per_window: f64,
    /// The variance of that number over its mean: 1 for independent arrivals, less for even ones, more for bunches.
    #[serde(rename = "dispersion")]
    pub index: f64,
}

impl Spread {
    /// The length of a window: long compared with a sender's lateness, short compared with what a user would notice.
    const WINDOW: Duration = Duration::from_millis(100);
    /// The largest number of windows, about eleven days: later arrivals of a longer phase are not counted.
    const MOST: usize = 10_000_000;

    /// The counts by window.
    pub(super) fn counts(&self) -> &[u32] {
        &self.0
    }

    /// A spread with these counts.
    pub(super) fn of_counts(counts: Vec<u32>) -> Self {
        Self(counts)
    }

    /// Adds the arrivals of another part of the plan.
    pub(super) fn add_all(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(count, more)| *count = count.saturating_add(*more));
    }

    /// Counts an arrival, this long after the start of its phase.
    pub(super) fn add(&mut self, into: Duration) {
        let window = usize::try_from(into.as_nanos() / Self::WINDOW.as_nanos()).unwrap_or(usize::MAX);
        if window >= Self::MOST {
            return;
        }
        if self.0.len() <= window {
            self.0.resize(window + 1, 0);
        }
        self.0[window] += 1;
    }

    /// The dispersion over the whole windows of a phase of this length. A phase that was stopped ends with its last
    /// arrival. `None` for fewer than two windows, or without any arrival.
    pub(super) fn dispersion(&self, lasts: Duration) -> Option<Dispersion> {
        let whole = usize::try_from(lasts.as_nanos() / Self::WINDOW.as_nanos()).unwrap_or(usize::MAX);
        let counts = &self.0[..whole.min(self.0.len())];
        let n = counts.len() as f64;
        let mean = counts.iter().copied().map(f64::from).sum::<f64>() / n;
        if counts.len() < 2 || mean <= 0.0 {
            return None;
        }
        let squares: f64 = counts.iter().map(|&count| (f64::from(count) - mean) * (f64::from(count) - mean)).sum();
        Some(Dispersion { windows: counts.len() as u64, per_window: mean, index: squares / (n - 1.0) / mean })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(arrivals: impl IntoIterator<Item = Duration>) -> f64 {
        let mut spread = Spread::default();
        arrivals.into_iter().for_each(|at| spread.add(at));
        spread.dispersion(Duration::from_secs(20)).expect("windows").index
    }

    #[test]
    fn even_gaps_vary_too_little_and_bunches_too_much() {
        assert!(index((0..2000).map(|n| Duration::from_millis(n * 10))) < 0.05);
        // None in every other window, and twice as many in those between.
        let bunches = (0..100).flat_map(|n| [Duration::from_millis(n * 200); 20]);
        assert!(index(bunches) > 5.0);
    }

    #[test]
    fn windows_end_with_the_phase_or_with_the_last_arrival() {
        let mut spread = Spread::default();
        for n in 0..100 {
            spread.add(Duration::from_millis(n * 100));
        }
        assert_eq!(spread.dispersion(Duration::from_secs(20)).expect("windows").windows, 100);
        let found = spread.dispersion(Duration::from_millis(5050)).expect("windows");
        assert_eq!((found.windows, found.per_window, found.index), (50, 1.0, 0.0));
        assert_eq!(Spread::default().dispersion(Duration::from_secs(1)), None);
    }
}
