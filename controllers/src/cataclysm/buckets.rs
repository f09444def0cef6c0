//! Ranges of service times: the buckets of a class (WWW'05, section 3.2).

use super::setup_error::{SetupError, require};

/// The upper bounds of the buckets of each class, seconds, ascending.
///
/// Bucket `i` holds requests with an estimate in `(s_i, s_{i+1}]`, the first from 0. Beyond the last bound is one more
/// bucket without an upper bound.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceRanges {
    bounds_s: Vec<f64>,
}

impl ServiceRanges {
    /// Ranges with these upper bounds, seconds.
    ///
    /// # Errors
    /// If there is no bound, more than 1000, or if they are not ascending from over 0.
    pub fn new(bounds_s: Vec<f64>) -> Result<Self, SetupError> {
        let from_zero = std::iter::once(&0.0).chain(&bounds_s);
        let ascending = from_zero.zip(&bounds_s).all(|(low, high)| low < high && high.is_finite());
        require(
            (1..=1000).contains(&bounds_s.len()) && ascending,
            "ranges",
            "1 to 1000 bounds in seconds are needed, each over the one before and over 0",
        )?;
        Ok(Self { bounds_s })
    }

    /// `count` ranges, the first up to `first_s` seconds, each bound `growth` times the one before.
    ///
    /// # Errors
    /// As [`ServiceRanges::new`].
    pub fn growing(first_s: f64, growth: f64, count: u32) -> Result<Self, SetupError> {
        Self::new((0..count).scan(first_s, |bound, _| Some(std::mem::replace(bound, *bound * growth))).collect())
    }

    /// As [`ServiceRanges::growing`], each bound double the one before.
    ///
    /// # Errors
    /// As [`ServiceRanges::new`].
    pub fn doubling(first_s: f64, count: u32) -> Result<Self, SetupError> {
        Self::growing(first_s, 2.0, count)
    }

    /// The number of buckets, with the one beyond the last bound.
    #[must_use]
    pub fn buckets(&self) -> usize {
        self.bounds_s.len() + 1
    }

    /// The bucket of a request with this estimate, seconds.
    #[must_use]
    pub fn bucket(&self, service_s: f64) -> usize {
        self.bounds_s.partition_point(|bound| *bound < service_s)
    }

    /// The service time that represents a bucket, seconds: the middle of its range, `S = (s_i + s_{i+1}) / 2`. The
    /// bucket beyond the last bound has no middle: the largest estimate in it stands for all.
    #[must_use]
    pub fn represented_by(&self, bucket: usize, largest_s: f64) -> f64 {
        match self.bounds_s.get(bucket) {
            Some(high) => {
                let low = bucket.checked_sub(1).map_or(0.0, |below| self.bounds_s[below]);
                f64::midpoint(low, *high)
            }
            None => largest_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_in_the_range_of_its_service_time() {
        // (0, 10], (10, 30], (30, 100] and beyond, in milliseconds.
        let ranges = ServiceRanges::new(vec![0.010, 0.030, 0.100]).expect("ascending");
        assert_eq!(ranges.buckets(), 4);
        for (service_s, bucket) in [(0.0, 0), (0.010, 0), (0.0101, 1), (0.030, 1), (0.1, 2), (0.2, 3)] {
            assert_eq!(ranges.bucket(service_s), bucket, "{service_s}");
        }
        // Middles: 5, 20 and 65 ms; beyond, the largest estimate.
        for (bucket, middle_s) in [(0, 0.005), (1, 0.020), (2, 0.065), (3, 0.4)] {
            assert!((ranges.represented_by(bucket, 0.4) - middle_s).abs() < 1e-12, "{bucket}");
        }
    }

    #[test]
    fn doubling_ranges() {
        let ranges = ServiceRanges::doubling(0.01, 3).expect("ascending");
        assert_eq!(ranges, ServiceRanges::new(vec![0.01, 0.02, 0.04]).expect("ascending"));
    }

    #[test]
    fn bounds_must_ascend_from_over_zero() {
        for wrong in [vec![], vec![0.0], vec![0.2, 0.1], vec![0.1, 0.1], vec![f64::NAN], vec![f64::INFINITY]] {
            assert!(ServiceRanges::new(wrong.clone()).is_err(), "{wrong:?}");
        }
    }
}
