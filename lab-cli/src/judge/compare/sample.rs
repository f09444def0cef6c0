//! What a decision asks of figures that were held against each other, in pairs or not.

use super::{paired::Paired, unpaired::Unpaired, verdict::LEVEL};

/// Differences between two arms, on the scale of their metric.
pub trait Sample {
    /// How large the difference is, in the middle.
    fn effect(&self) -> f64;

    /// Where it lies, with at least this confidence; `None` with too few runs.
    fn interval(&self, confidence: f64) -> Option<[f64; 2]>;

    /// The chance of one at least as large if there is none.
    fn p(&self) -> f64;

    /// Standard deviation of one block's difference; `None` where there is one block.
    fn deviation(&self) -> Option<f64>;

    /// Blocks of each arm; where they have not as many, of the one with fewer.
    fn len(&self) -> usize;

    /// The fewest blocks with which a difference can be found, over so many comparisons.
    fn least(&self, family: usize) -> u32;
}

impl Sample for Paired {
    fn effect(&self) -> f64 {
        Paired::effect(self)
    }

    fn interval(&self, confidence: f64) -> Option<[f64; 2]> {
        Paired::interval(self, confidence)
    }

    fn p(&self) -> f64 {
        Paired::p(self)
    }

    fn deviation(&self) -> Option<f64> {
        Paired::deviation(self)
    }

    fn len(&self) -> usize {
        Paired::len(self)
    }

    fn least(&self, family: usize) -> u32 {
        least_blocks(family)
    }
}

impl Sample for Unpaired {
    fn effect(&self) -> f64 {
        Unpaired::effect(self)
    }

    fn interval(&self, confidence: f64) -> Option<[f64; 2]> {
        Unpaired::interval(self, confidence)
    }

    fn p(&self) -> f64 {
        Unpaired::p(self)
    }

    fn deviation(&self) -> Option<f64> {
        Unpaired::deviation(self)
    }

    fn len(&self) -> usize {
        Unpaired::len(self)
    }

    fn least(&self, family: usize) -> u32 {
        least_runs(family)
    }
}

/// The fewest blocks with which the smallest p value, after Holm over so many comparisons, is below the level.
pub fn least_blocks(family: usize) -> u32 {
    let family = family.max(1) as f64;
    (1..).find(|&n| family * 2.0 / 2_f64.powi(n) < LEVEL).map_or(6, |n| n as u32)
}

/// The fewest unpaired runs of each arm for the same.
pub fn least_runs(family: usize) -> u32 {
    let family = family.max(1) as f64;
    // All runs of one arm above all of the other: two of the ways to choose n of 2n.
    let ways = |n: u32| (1..=n).fold(1.0, |ways, k| ways * f64::from(n + k) / f64::from(k));
    (1..100).find(|&n| family * 2.0 / ways(n) < LEVEL).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewest_runs_as_in_the_usual_table() {
        assert_eq!([1, 3, 6, 10, 15, 28].map(least_runs), [4, 5, 5, 6, 6, 7]);
    }
}
