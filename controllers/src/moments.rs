//! Count, sum and sum of squares of a series of times.

use serde::{Deserialize, Serialize};

/// Count, sum and sum of squares of times, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// The number of times.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The sum of their squares.
    pub squares: f64,
}

impl Moments {
    /// Adds a time.
    pub fn add(&mut self, seconds: f64) {
        self.count += 1;
        self.sum += seconds;
        self.squares += seconds * seconds;
    }

    /// Adds those of another sentry or period.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Mean and variance. `None`: no times.
    #[must_use]
    pub fn mean_and_variance(&self) -> Option<(f64, f64)> {
        let count = self.count as f64;
        (self.count > 0).then(|| {
            let mean = self.sum / count;
            (mean, (self.squares / count - mean * mean).max(0.0))
        })
    }
}
