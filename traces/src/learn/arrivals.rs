//! Arrivals of sessions.

use std::time::Duration;

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::model::fitted::Arrivals;

/// The largest number of bins. If a trace needs more, pairs of bins are merged.
const BINS: usize = 240;

/// Counts over time, in bins that grow with the trace: fixed memory.
#[derive(Debug)]
pub struct Bins {
    counts: Vec<u64>,
    /// Microseconds.
    width: u64,
    total: u64,
}

impl Default for Bins {
    fn default() -> Self {
        Self { counts: Vec::new(), width: 1_000_000, total: 0 }
    }
}

impl Bins {
    /// Adds an arrival at this offset, microseconds.
    pub fn add(&mut self, at: u64) {
        self.total += 1;
        self.widen(at);
        let bin = (at / self.width) as usize;
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
    }

    fn widen(&mut self, at: u64) {
        while at / self.width >= BINS as u64 {
            self.width *= 2;
            self.counts = self.counts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    /// The result for a trace of this length, microseconds.
    #[must_use]
    pub fn arrivals(mut self, length: u64) -> Arrivals {
        self.widen(length);
        // The last bin is incomplete.
        let whole = (length / self.width) as usize;
        self.counts.resize(whole.max(self.counts.len()), 0);
        let test = dispersion(&self.counts[..whole.min(self.counts.len())]);
        Arrivals {
            per_second: self.total as f64 / (length.max(1) as f64 / 1e6),
            bin: Duration::from_micros(self.width),
            bins: self.counts,
            dispersion: test.map(|(dispersion, _)| dispersion),
            p: test.map(|(_, p)| p),
        }
    }
}

/// The variance over the mean, and the probability of one at least as far from 1 if counts have a Poisson distribution
/// (Fisher's test of dispersion).
fn dispersion(bins: &[u64]) -> Option<(f64, f64)> {
    let n = bins.len() as f64;
    let mean = bins.iter().sum::<u64>() as f64 / n;
    if bins.len() < 2 || mean <= 0.0 {
        return None;
    }
    let squares: f64 = bins.iter().map(|&count| (count as f64 - mean) * (count as f64 - mean)).sum();
    let law = ChiSquared::new(n - 1.0).ok()?;
    let statistic = squares / mean;
    let p = 2.0 * law.cdf(statistic).min(law.sf(statistic));
    Some((squares / (n - 1.0) / mean, p.min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_grow_and_lose_nothing() {
        let mut bins = Bins::default();
        (0..10_000).for_each(|second| bins.add(second * 1_000_000));
        let arrivals = bins.arrivals(10_000_000_000);
        assert_eq!((arrivals.bins.len(), arrivals.bin.as_secs()), (157, 64));
        assert_eq!(arrivals.bins.iter().sum::<u64>(), 10_000);
        assert!((arrivals.per_second - 1.0).abs() < 1e-9);
        // Exactly one a second is far too even for a Poisson process.
        assert!(arrivals.dispersion < Some(0.01) && arrivals.p < Some(1e-9), "{arrivals:?}");
    }

    #[test]
    fn dispersion_is_as_worked_by_hand() {
        // Mean 4, squares 4 + 0 + 4 = 8, statistic 2 of two degrees: p = 2 · (1 - exp(-1)) up to 1; here sf = 0.3679.
        let (dispersion, p) = dispersion(&[2, 4, 6]).expect("bins");
        assert!((dispersion - 1.0).abs() < 1e-9 && (p - 0.7358).abs() < 1e-4, "{dispersion} {p}");
        assert_eq!(super::dispersion(&[5]), None);
        assert_eq!(super::dispersion(&[0, 0]), None);
    }
}
