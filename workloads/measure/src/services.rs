//! The books of several services, as `summary.json` has them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One service among several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Service")]
pub struct ServiceTotals {
    /// Its name.
    pub name: String,
    /// Users' requests whose head was read whole.
    pub users_requests_read: u64,
    /// Requests of users and services that each of its tasks has read.
    pub read_by_task: Vec<u64>,
    /// Other services' calls that were read: served, refused, failed, their callers gone, or in flight.
    pub calls_read: u64,
    /// Answered as asked.
    pub calls_served: u64,
    /// Refused, by reason.
    pub calls_refused: BTreeMap<String, u64>,
    /// Failed.
    pub calls_failed: u64,
    /// The caller had gone.
    pub callers_gone: u64,
    /// Not finished when it was asked.
    pub calls_in_flight: u64,
    /// What it asked of others itself.
    pub calls: Vec<Calls>,
}

/// Calls of a service: `attempts = refused_locally + refused + answered + failed + open`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calls {
    /// Whom.
    pub to: String,
    /// Attempts that were wanted.
    pub attempts: u64,
    /// Of these, beyond the first of a call.
    pub retries: u64,
    /// Refused on the caller's own side.
    pub refused_locally: u64,
    /// Written to a connection.
    pub written: u64,
    /// Refused by the service called.
    pub refused: u64,
    /// Answered.
    pub answered: u64,
    /// Failed, or not answered in time.
    pub failed: u64,
    /// Under way at the end.
    pub open: u64,
}

impl ServiceTotals {
    /// True if every call that was read is in exactly one place.
    #[must_use]
    pub fn balances(&self) -> bool {
        let refused: u64 = self.calls_refused.values().sum();
        self.calls_read == self.calls_served + refused + self.calls_failed + self.callers_gone + self.calls_in_flight
    }
}

impl Calls {
    /// True if every attempt is in exactly one place.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.attempts == self.refused_locally + self.refused + self.answered + self.failed + self.open
    }

    /// Calls that were written to this service.
    #[must_use]
    pub fn written_to(&self, service: &ServiceTotals) -> u64 {
        if self.to == service.name { self.written } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_in_one_place() {
        let refused = [("rate".to_owned(), 2)].into();
        let service = ServiceTotals {
            calls_read: 7,
            calls_served: 4,
            callers_gone: 1,
            calls_refused: refused,
            ..ServiceTotals::default()
        };
        assert!(service.balances() && !ServiceTotals { calls_read: 8, ..service }.balances());
        let calls = Calls { attempts: 6, refused_locally: 1, refused: 2, answered: 2, open: 1, ..Calls::default() };
        assert!(calls.balances() && !Calls { failed: 1, ..calls }.balances());
    }
}
