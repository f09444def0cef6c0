//! Exponentially weighted moving average.

/// `current = old_weight × current + (1 − old_weight) × sample` (the α of USITS'03, section 3.2).
#[derive(Debug, Clone, Copy)]
pub struct Ewma {
    old_weight: f64,
    /// `None`: no sample yet, and the first one sets the average.
    current: Option<f64>,
}

/// The original code sets smaller averages to zero, so that they do not approach zero without end. Seconds.
const NEGLIGIBLE: f64 = 1e-8;

impl Ewma {
    /// Starts at zero, so that the first sample has only its weight, as coded in SEDA.
    pub const fn from_zero(old_weight: f64) -> Self {
        Self { old_weight, current: Some(0.0) }
    }

    /// Starts at the first sample.
    pub const fn from_first(old_weight: f64) -> Self {
        Self { old_weight, current: None }
    }

    /// Adds a sample and returns the average.
    pub fn add(&mut self, sample: f64) -> f64 {
        let next = match self.current {
            Some(current) => self.old_weight * current + (1.0 - self.old_weight) * sample,
            None => sample,
        };
        let next = if next.abs() < NEGLIGIBLE { 0.0 } else { next };
        self.current = Some(next);
        next
    }

    /// The average; zero before the first sample.
    pub fn current(&self) -> f64 {
        self.current.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_zero_the_first_sample_counts_three_tenths() {
        let mut average = Ewma::from_zero(0.7);
        // 0.7 × 0 + 0.3 × 10 = 3; 0.7 × 3 + 0.3 × 10 = 5.1
        assert!((average.add(10.0) - 3.0).abs() < 1e-12);
        assert!((average.add(10.0) - 5.1).abs() < 1e-12);
    }

    #[test]
    fn from_first_the_first_sample_counts_in_full() {
        let mut average = Ewma::from_first(0.7);
        // 10, then 0.7 × 10 + 0.3 × 20 = 13
        assert!((average.add(10.0) - 10.0).abs() < 1e-12);
        assert!((average.add(20.0) - 13.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_negligible_becomes_zero() {
        let mut average = Ewma::from_zero(0.7);
        average.add(1e-9);
        assert!(average.current() == 0.0);
    }
}
