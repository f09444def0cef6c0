//! Counts of recorded steps by their result.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use measure::Replayed;

/// Counts steps, for all users of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steps(Arc<[AtomicU64; 3]>);

impl Steps {
    const RECORDED: usize = 0;
    const ASKED: usize = 1;
    const PASSED_OVER: usize = 2;

    pub(super) fn begun(&self, steps: usize) {
        self.0[Self::RECORDED].fetch_add(steps as u64, Relaxed);
    }

    pub(super) fn asked(&self) {
        self.0[Self::ASKED].fetch_add(1, Relaxed);
    }

    pub(super) fn passed_over(&self) {
        self.0[Self::PASSED_OVER].fetch_add(1, Relaxed);
    }

    /// The counts so far.
    pub(crate) fn seen(&self) -> Replayed {
        let [recorded, asked, passed_over] = [0, 1, 2].map(|what| self.0[what].load(Relaxed));
        Replayed { recorded, asked, passed_over, cut_off: 0 }.of(recorded)
    }
}
