//! Samples in fixed memory.

use crate::model::fitted::Quantiles;

/// The largest number of stored values: quantiles of 4096 values are exact to about one percent.
const KEPT: usize = 4096;

/// A uniform sample of a stream of values (Vitter's algorithm R, ACM TOMS 11, 1985), with exact count, sum and
/// extremes. Fewer than 4096 values are all kept. The same values in the same order give the same sample.
#[derive(Debug, Clone)]
pub struct Sample {
    kept: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    state: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self { kept: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0, state: 0x5EED }
    }
}

impl Sample {
    /// Adds a value.
    pub fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if self.kept.len() < KEPT {
            self.kept.push(value);
            return;
        }
        let at = (u128::from(crate::generate::next(&mut self.state)) * u128::from(self.count)) >> 64;
        if let Some(place) = usize::try_from(at).ok().and_then(|at| self.kept.get_mut(at)) {
            *place = value;
        }
    }

    /// The number of values in the stream.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 if there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// The stored values, sorted.
    #[must_use]
    pub fn sorted(&self) -> Vec<u64> {
        let mut sorted = self.kept.clone();
        sorted.sort_unstable();
        sorted
    }

    /// The medians of a hundred equal parts of the stored values; of fewer than a hundred, all of them.
    #[must_use]
    pub fn curve(&self) -> Vec<u64> {
        middles(&self.sorted())
    }

    /// Quantiles; `None` if there is nothing.
    #[must_use]
    pub fn quantiles(&self) -> Option<Quantiles> {
        let sorted = self.sorted();
        let last = sorted.len().checked_sub(1)?;
        let at = |share: f64| sorted[((share * sorted.len() as f64) as usize).min(last)];
        let (count, mean, min, max) = (self.count, self.mean(), self.min, self.max);
        Some(Quantiles { count, mean, min, p50: at(0.5), p90: at(0.9), p99: at(0.99), max })
    }
}

/// The number of values that represent a sample.
const PARTS: usize = 100;

/// The medians of a hundred equal parts of a sorted sample; all values of a smaller one.
#[must_use]
pub fn middles(sorted: &[u64]) -> Vec<u64> {
    let parts = sorted.len().min(PARTS);
    (0..parts).map(|part| sorted[(2 * part + 1) * sorted.len() / (2 * parts)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_all_kept() {
        let mut sample = Sample::default();
        (1..=100).rev().for_each(|value| sample.add(value));
        let quantiles = sample.quantiles().expect("values");
        assert_eq!((quantiles.min, quantiles.p50, quantiles.p90, quantiles.p99, quantiles.max), (1, 51, 91, 100, 100));
        assert!((quantiles.mean - 50.5).abs() < 1e-9);
        assert_eq!(Sample::default().quantiles(), None);
        assert_eq!(sample.curve(), (1..=100).collect::<Vec<_>>());
        (101..=200).for_each(|value| sample.add(value));
        assert_eq!(sample.curve(), (1..=100).map(|part| 2 * part).collect::<Vec<_>>());
        assert!(Sample::default().curve().is_empty());
    }

    #[test]
    fn many_values_keep_their_shape_in_fixed_memory() {
        let mut sample = Sample::default();
        (0..1_000_000).for_each(|value| sample.add(value));
        assert_eq!((sample.kept.len(), sample.count), (KEPT, 1_000_000));
        let quantiles = sample.quantiles().expect("values");
        // Standard error of the median of 4096: 0.8 %.
        assert!(quantiles.p50.abs_diff(500_000) < 40_000, "{quantiles:?}");
        assert!(quantiles.p90.abs_diff(900_000) < 25_000, "{quantiles:?}");
    }
}
