//! Response times at a waiting room: from the moment that a request is let in to its answer, without the wait before it.

use std::time::Duration;

/// Each bucket ends at 1.05 times the end of the one before.
const STEP: f64 = 1.05;
/// The end of the first bucket, milliseconds.
const FIRST_MS: f64 = 0.01;
/// Up to about five hours.
const BUCKETS: usize = 440;

/// Response times since the start.
#[derive(Debug, Clone)]
pub(super) struct Responses {
    buckets: Vec<u64>,
    count: u64,
    sum_ms: f64,
    squares: f64,
}

impl Default for Responses {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], count: 0, sum_ms: 0.0, squares: 0.0 }
    }
}

impl Responses {
    pub(super) fn add(&mut self, response: Duration) {
        let ms = response.as_secs_f64() * 1e3;
        let bucket = (libm::log(ms.max(FIRST_MS) / FIRST_MS) / libm::log(STEP)).ceil() as usize;
        self.buckets[bucket.min(BUCKETS - 1)] += 1;
        self.count += 1;
        self.sum_ms += ms;
        self.squares += ms * ms;
    }

    /// The 99th percentile, at most 5 % too high.
    pub(super) fn p99_ms(&self) -> Option<f64> {
        let rank = (self.count as f64 * 0.99).ceil() as u64;
        let mut below = 0;
        let bucket = self.buckets.iter().position(|count| {
            below += count;
            below >= rank && rank > 0
        })?;
        Some(FIRST_MS * libm::pow(STEP, bucket as f64))
    }

    /// Standard deviation divided by mean.
    pub(super) fn variation(&self) -> Option<f64> {
        let n = self.count as f64;
        let mean = self.sum_ms / n;
        (self.count > 1 && mean > 0.0).then(|| libm::sqrt((self.squares / n - mean * mean).max(0.0)) / mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let mut responses = Responses::default();
        assert_eq!((responses.p99_ms(), responses.variation()), (None, None));
        (0..98).for_each(|_| responses.add(Duration::from_millis(10)));
        (0..2).for_each(|_| responses.add(Duration::from_millis(510)));
        // Mean 20 ms, mean square 98 + 5202 = 5300 ms2, variance 4900: 70 / 20.
        assert!((responses.variation().unwrap() - 3.5).abs() < 1e-9);
        let p99 = responses.p99_ms().unwrap();
        assert!((510.0..=510.0 * STEP).contains(&p99), "{p99}");
    }
}
