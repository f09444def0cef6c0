//! A percentile of a fixed number of samples.

use std::time::Duration;

/// Collects up to `full` samples and returns one of them: of n sorted samples, element floor(p × n), counted from 0, as
/// SEDA computes its 90th percentile (USITS'03, section 3.2).
#[derive(Debug, Clone)]
pub struct PercentileOfN {
    percent: usize,
    full: usize,
    nanos: Vec<u64>,
}

impl PercentileOfN {
    /// `percent`: 0 to 99; `full`: at least 1.
    pub fn new(percent: usize, full: usize) -> Self {
        Self { percent, full, nanos: Vec::with_capacity(full) }
    }

    /// The percentile, percent.
    pub fn percent(&self) -> usize {
        self.percent
    }

    /// Adds a sample; once full, further samples are dropped until [`Self::take`].
    pub fn record(&mut self, sample: Duration) {
        if !self.is_full() {
            self.nanos.push(u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// True once `full` samples are collected.
    pub fn is_full(&self) -> bool {
        self.nanos.len() >= self.full
    }

    /// True if there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nanos.is_empty()
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.nanos.len()
    }

    /// The percentile of the samples, seconds; removes all samples. `None`: there are none.
    pub fn take(&mut self) -> Option<f64> {
        let last = self.nanos.len().checked_sub(1)?;
        let index = (self.nanos.len() * self.percent / 100).min(last);
        let (_, nanos, _) = self.nanos.select_nth_unstable(index);
        let seconds = *nanos as f64 / 1e9;
        self.nanos.clear();
        Some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl IntoIterator<Item = u64>, full: usize) -> Option<f64> {
        let mut percentile = PercentileOfN::new(90, full);
        for ms in samples {
            percentile.record(Duration::from_millis(ms));
        }
        percentile.take()
    }

    #[test]
    fn of_a_hundred_it_is_the_ninety_first_smallest() {
        // Sorted 1..=100 ms, counted from 0: element 90 is 91 ms.
        assert_eq!(of((1..=100).rev(), 100), Some(0.091));
    }

    #[test]
    fn of_few_it_is_the_same_rule() {
        // n = 1: floor(0.9) = 0. n = 2: floor(1.8) = 1, the larger. n = 11: floor(9.9) = 9, the tenth.
        assert_eq!(of([7], 100), Some(0.007));
        assert_eq!(of([7, 3], 100), Some(0.007));
        assert_eq!(of(1..=11, 100), Some(0.010));
        assert_eq!(of([], 100), None);
    }

    #[test]
    fn samples_beyond_the_number_are_dropped_until_it_is_taken() {
        assert_eq!(of([1, 2, 500], 2), Some(0.002));
    }
}
