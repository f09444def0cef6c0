//! The ledger of background activity, which counts in no ledger of requests and no goodput.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Fate;

/// Counts of connections that were opened for their own sake or for health checks, and of these checks: they count in
/// no ledger of requests and no goodput. An activity belongs to the phase in which it began.
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
    /// Connections that failed: refused, or not established within the connect time-out.
    pub connect_failed: u64,
    /// Health checks begun.
    pub checks: u64,
    /// Answered as requested.
    pub answered: u64,
    /// Refused because of load (503, 429).
    pub refused: u64,
    /// Answered otherwise, or not at all: no connection, no answer within the time-out, or a broken connection.
    pub failed: u64,
    /// Open at the end of the run.
    pub in_flight: u64,
}

/// The result of a health check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckResult {
    /// Answered as requested.
    Answered,
    /// Refused because of load (503, 429).
    Refused,
    /// Answered otherwise, or not at all.
    Failed,
}

impl BackgroundLedger {
    /// True if there was no background activity.
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

    /// Counts activities that have begun and not ended as in flight.
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
