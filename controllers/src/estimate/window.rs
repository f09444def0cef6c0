//! Counts over a sliding window, in fixed memory.

use std::time::Duration;

use crate::Timestamp;

/// The window is a ring of this many buckets: an event is forgotten after 59/60 to one full window (for two minutes:
/// 118 to 120 s).
const BUCKETS: usize = 60;

/// `N` counters over a sliding window. Time must not go back.
#[derive(Debug, Clone)]
pub struct WindowCounts<const N: usize> {
    width_ns: u64,
    /// The current bucket, counted from time zero.
    newest: u64,
    buckets: [[u32; N]; BUCKETS],
    totals: [u64; N],
}

impl<const N: usize> WindowCounts<N> {
    /// An empty window.
    pub fn new(window: Duration) -> Self {
        let width = window.as_nanos() / BUCKETS as u128;
        Self {
            width_ns: u64::try_from(width).unwrap_or(u64::MAX).max(1),
            newest: 0,
            buckets: [[0; N]; BUCKETS],
            totals: [0; N],
        }
    }

    /// Increments counter `which`.
    pub fn count(&mut self, now: Timestamp, which: usize) {
        self.forget(now);
        let counter = &mut self.buckets[slot(self.newest)][which];
        // A full bucket counts no further, so that exactly its sum is subtracted later.
        if let Some(more) = counter.checked_add(1) {
            *counter = more;
            self.totals[which] += 1;
        }
    }

    /// The counts of the window that ends now.
    pub fn totals(&mut self, now: Timestamp) -> [u64; N] {
        self.forget(now);
        self.totals
    }

    /// The counts as of the last call with a time.
    pub fn last_totals(&self) -> [u64; N] {
        self.totals
    }

    fn forget(&mut self, now: Timestamp) {
        let current = now.as_nanos() / self.width_ns;
        if current <= self.newest {
            return;
        }
        let passed = (current - self.newest).min(BUCKETS as u64);
        for bucket in current + 1 - passed..=current {
            let old = std::mem::replace(&mut self.buckets[slot(bucket)], [0; N]);
            for (total, count) in self.totals.iter_mut().zip(old) {
                *total -= u64::from(count);
            }
        }
        self.newest = current;
    }
}

fn slot(bucket: u64) -> usize {
    (bucket % BUCKETS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_forgotten_after_a_window_bucket_by_bucket() {
        // A window of 60 s has buckets of 1 s.
        let mut counts = WindowCounts::<2>::new(Duration::from_secs(60));
        counts.count(Timestamp::from_millis(0), 0);
        counts.count(Timestamp::from_millis(999), 1);
        counts.count(Timestamp::from_millis(1000), 1);
        assert_eq!(counts.totals(Timestamp::from_millis(59_999)), [1, 2]);
        // Bucket 60 takes the place of bucket 0, bucket 61 that of bucket 1.
        assert_eq!(counts.totals(Timestamp::from_millis(60_000)), [0, 1]);
        assert_eq!(counts.totals(Timestamp::from_millis(60_999)), [0, 1]);
        assert_eq!(counts.totals(Timestamp::from_millis(61_000)), [0, 0]);
    }

    #[test]
    fn a_long_silence_empties_it() {
        let mut counts = WindowCounts::<1>::new(Duration::from_secs(60));
        for second in 0..60 {
            counts.count(Timestamp::from_secs(second), 0);
        }
        assert_eq!(counts.last_totals(), [60]);
        assert_eq!(counts.totals(Timestamp::from_secs(1_000_000)), [0]);
        counts.count(Timestamp::from_secs(1_000_000), 0);
        assert_eq!(counts.totals(Timestamp::from_secs(1_000_059)), [1]);
    }
}
