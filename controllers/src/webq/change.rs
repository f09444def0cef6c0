//! Whether the server is still the one that was measured (section IV-C).
//!
//! # Deviations from the paper
//!
//! - The distance is the root of the mean square over some epochs, and the error that of the fit: the paper's "twice the least
//!   square regression error" does not say which mean, and a single epoch lies beyond two deviations once in twenty.
//! - Loads outside of those that were seen in training say nothing: a cubic is no law beyond its points.

use std::collections::VecDeque;

use super::{EpochSample, Estimate};

/// Errors below this part of the highest power ratio count as this part: a fit to few points can be better than any
/// epoch.
const LEAST_ERROR: f64 = 0.02;

/// Compares epochs with the curve of an estimate.
#[derive(Debug)]
pub struct ChangeDetector {
    estimate: Estimate,
    /// How often the error of the fit a distance must be: the paper has 2.
    times: f64,
    epochs: usize,
    squares: VecDeque<f64>,
}

impl ChangeDetector {
    /// A change is a distance over `times` the error of the fit (the paper: 2), over this many epochs, at least 1.
    #[must_use]
    pub fn new(estimate: Estimate, times: f64, epochs: usize) -> Self {
        Self { estimate, times, epochs: epochs.max(1), squares: VecDeque::new() }
    }

    /// True if the server has changed.
    pub fn see(&mut self, sample: &EpochSample) -> bool {
        let Some(point) = sample.scaled(&self.estimate.hardness) else { return false };
        if !self.estimate.curve.covers(point.load) {
            return false;
        }
        let distance = point.power - self.estimate.curve.at(point.load);
        if self.squares.len() == self.epochs {
            self.squares.pop_front();
        }
        self.squares.push_back(distance * distance);
        let full = self.squares.len() == self.epochs;
        full && self.distance().is_some_and(|distance| distance > self.limit())
    }

    /// The root of the mean squared distance of the last epochs, in the unit of power ratios.
    #[must_use]
    pub fn distance(&self) -> Option<f64> {
        let sum: f64 = self.squares.iter().sum();
        (!self.squares.is_empty()).then(|| libm::sqrt(sum / self.squares.len() as f64))
    }

    /// The distance that is a change.
    #[must_use]
    pub fn limit(&self) -> f64 {
        let highest = self.estimate.curve.at(self.estimate.capacity);
        self.times * self.estimate.error.max(LEAST_ERROR * highest)
    }
}
