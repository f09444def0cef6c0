//! Finished jobs per second, by window.

use std::time::Duration;

use crate::{Timestamp, estimate::Ewma};

/// Converts a count of finished jobs to a smoothed rate, once per window.
#[derive(Debug)]
pub(super) struct Throughput {
    window: Duration,
    per_s: Ewma,
    last: Option<(Timestamp, u64)>,
}

impl Throughput {
    pub(super) fn new(window: Duration, old_weight: f64) -> Self {
        Self { window, per_s: Ewma::from_zero(old_weight), last: None }
    }

    /// Adds a count. True: a window has ended. The first count only opens the first window. A late sample ends one
    /// longer window, not several.
    pub(super) fn count(&mut self, now: Timestamp, completed: u64) -> bool {
        let Some((since, before)) = self.last else {
            self.last = Some((now, completed));
            return false;
        };
        let elapsed = now.since(since);
        if elapsed < self.window {
            return false;
        }
        self.last = Some((now, completed));
        self.per_s.add(completed.saturating_sub(before) as f64 / elapsed.as_secs_f64());
        true
    }

    /// The smoothed rate, jobs per second.
    pub(super) fn per_s(&self) -> f64 {
        self.per_s.current()
    }
}
