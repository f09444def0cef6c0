//! What became of recorded steps.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of recorded requests: `recorded = asked + passed_over + cut_off`. A host knows of those whose sessions began, and whoever
/// has the recording of the others ([`Replayed::of`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// Requests that the recording has.
    pub recorded: u64,
    /// Of these: asked for, once or with retries.
    pub asked: u64,
    /// Of these: not asked for, as no page offered them or users do not make such requests.
    pub passed_over: u64,
    /// Of these: never come to, as the time was over first, or the user had given up.
    pub cut_off: u64,
}

impl Replayed {
    /// The same for this many requests, including those of sessions that never began.
    #[must_use]
    pub fn of(self, recorded: u64) -> Self {
        let recorded = recorded.max(self.recorded);
        Self { recorded, cut_off: recorded - self.asked.saturating_add(self.passed_over).min(recorded), ..self }
    }
}

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

    /// So far.
    pub(crate) fn seen(&self) -> Replayed {
        let [recorded, asked, passed_over] = [0, 1, 2].map(|what| self.0[what].load(Relaxed));
        Replayed { recorded, asked, passed_over, cut_off: 0 }.of(recorded)
    }
}
