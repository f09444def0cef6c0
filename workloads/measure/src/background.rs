//! The books of those who are there without asking for anything: no ledger has them, and no goodput.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Fate;

/// Connections that were opened for their own sake or for health checks, and these checks: in no ledger of requests, and no
/// goodput. Whatever began in a phase is counted there.
///
/// ```text
/// checks = answered + refused + failed + in_flight
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "Beside")]
pub struct BackgroundLedger {
    /// Connections made.
    pub connections: u64,
    /// Connections that were not made: refused, or not within the connect time-out.
    pub connect_failed: u64,
    /// Health checks begun.
    pub checks: u64,
    /// Answered as asked.
    pub answered: u64,
    /// Refused because of load (503, 429).
    pub refused: u64,
    /// Answered otherwise, or not at all: without a connection, within the time-out, or the connection broke.
    pub failed: u64,
    /// Open as the run ended.
    pub in_flight: u64,
}

/// What came of a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckResult {
    /// Answered as asked.
    Answered,
    /// Refused because of load (503, 429).
    Refused,
    /// Answered otherwise, or not at all.
    Failed,
}

impl BackgroundLedger {
    /// True if nothing went on.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn begin(&mut self, check: bool) {
        self.checks += u64::from(check);
    }

    pub(crate) fn connected(&mut self) {
        self.connections += 1;
    }

    pub(crate) fn end(&mut self, fate: Fate, check: Option<CheckResult>) {
        self.connect_failed += u64::from(matches!(fate, Fate::ConnectFailed | Fate::ConnectTimedOut));
        match check {
            None => {}
            Some(CheckResult::Answered) => self.answered += 1,
            Some(CheckResult::Refused) => self.refused += 1,
            Some(CheckResult::Failed) => self.failed += 1,
        }
    }

    /// With what has begun and not ended as in flight.
    #[must_use]
    pub fn closed(self) -> Self {
        Self { in_flight: self.checks - self.answered - self.refused - self.failed, ..self }
    }
}

impl AddAssign for BackgroundLedger {
    fn add_assign(&mut self, other: Self) {
        self.connections += other.connections;
        self.connect_failed += other.connect_failed;
        self.checks += other.checks;
        self.answered += other.answered;
        self.refused += other.refused;
        self.failed += other.failed;
        self.in_flight += other.in_flight;
    }
}
