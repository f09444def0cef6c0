//! Jobs finished per second, window by window.

use std::time::Duration;

use crate::{Timestamp, estimate::Ewma};

/// Turns a count of finished jobs into a smoothed rate, once a window.
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

    /// Takes in a count; true when a window has ended. The first count only opens the first window. A sample that comes
    /// late ends one longer window, not several.
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

    /// Jobs per second, smoothed.
    pub(super) fn per_s(&self) -> f64 {
        self.per_s.current()
    }
}
