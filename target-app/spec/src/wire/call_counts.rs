//! Counts of attempts of calls.

use serde::{Deserialize, Serialize};

/// Counts of attempts by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Attempts, in all.
    pub attempts: u64,
    /// Attempts after the first of a call.
    pub retries: u64,
    /// Attempts that the caller's own policy refused.
    pub refused_locally: u64,
    /// Attempts that the called service refused.
    pub refused: u64,
    /// Attempts that were answered.
    pub answered: u64,
    /// Attempts that failed or were not answered in time.
    pub failed: u64,
    /// Attempts that are under way or held by the caller's own policy.
    pub open: u64,
}

impl CallCounts {
    /// True if every attempt is counted exactly once by how it ended.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.attempts == self.refused_locally + self.refused + self.answered + self.failed + self.open
    }

    /// Counts an attempt: the first of a call is number 0.
    pub fn begins(&mut self, attempt: u8) {
        self.attempts += 1;
        self.open += 1;
        self.retries += u64::from(attempt > 0);
    }

    /// Counts a refusal by the caller's own policy.
    pub fn refused_at_home(&mut self) {
        self.open -= 1;
        self.refused_locally += 1;
    }

    /// Adds the counts of another task.
    pub fn add(&mut self, one: &Self) {
        self.attempts += one.attempts;
        self.retries += one.retries;
        self.refused_locally += one.refused_locally;
        self.refused += one.refused;
        self.answered += one.answered;
        self.failed += one.failed;
        self.open += one.open;
    }
}
