//! From epochs to estimates, and back again when the server has changed (sections IV-B and IV-C).

use super::super::{ChangeDetector, EpochSample, Estimate};

/// The oldest part of the epochs that an estimate without success drops: one tenth.
const DROPPED: usize = 10;

/// Twice the error of the fit, as published.
const CHANGE_TIMES: f64 = 2.0;

/// Epochs that a change is seen in.
const CHANGE_EPOCHS: usize = 3;

/// The estimator of one server.
#[derive(Debug)]
pub(super) struct Training {
    epochs: usize,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Collecting(Vec<EpochSample>),
    /// The host computes; the epochs are kept for the case that it finds nothing.
    Computing(Vec<EpochSample>),
    Watching(ChangeDetector),
}

/// What an epoch has led to.
pub(super) enum TrainingNews {
    /// These epochs are enough for an estimate.
    Complete(Vec<EpochSample>),
    /// The server is not the one that was measured.
    Changed,
}

impl Training {
    pub(super) fn new(epochs: usize) -> Self {
        Self { epochs: epochs.max(1), phase: Phase::Collecting(Vec::new()) }
    }

    pub(super) fn see(&mut self, sample: EpochSample) -> Option<TrainingNews> {
        match &mut self.phase {
            Phase::Collecting(samples) => {
                samples.push(sample);
                if samples.len() < self.epochs {
                    return None;
                }
                let samples = std::mem::take(samples);
                self.phase = Phase::Computing(samples.clone());
                Some(TrainingNews::Complete(samples))
            }
            Phase::Computing(_) => None,
            Phase::Watching(detector) => {
                if !detector.see(&sample) {
                    return None;
                }
                self.phase = Phase::Collecting(Vec::new());
                Some(TrainingNews::Changed)
            }
        }
    }

    pub(super) fn succeeded(&mut self, estimate: Estimate) {
        self.phase = Phase::Watching(ChangeDetector::new(estimate, CHANGE_TIMES, CHANGE_EPOCHS));
    }

    /// Collects again, beginning with the younger epochs.
    pub(super) fn failed(&mut self) {
        if let Phase::Computing(samples) = &mut self.phase {
            let mut samples = std::mem::take(samples);
            samples.drain(..samples.len().div_ceil(DROPPED));
            self.phase = Phase::Collecting(samples);
        }
    }
}
