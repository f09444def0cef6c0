//! The deadline of a request: its time-out or its user's patience, whichever ends first.

use std::time::Duration;

use controllers::Timestamp;

use super::ExchangeEnd;
use crate::persona::Call;

/// The time at which the wait for an answer ends, and how it ends then.
#[derive(Debug, Clone, Copy)]
pub struct RequestDeadline {
    /// The time.
    pub at: Timestamp,
    /// The end of an exchange without an answer by then.
    pub end: ExchangeEnd,
}

impl RequestDeadline {
    /// Time-out and patience both count from the intended start. `patience_factor`: the share of both that the user waits.
    #[must_use]
    pub fn of(timeout: Duration, call: &Call, intended: Timestamp, patience_factor: Option<f64>) -> Self {
        let waits = |planned: Duration| patience_factor.map_or(planned, |share| planned.mul_f64(share));
        let timeout = Self { at: intended + waits(timeout), end: ExchangeEnd::TimedOut };
        match call.give_up_after.map(waits) {
            Some(patience) if intended + patience < timeout.at => {
                Self { at: intended + patience, end: ExchangeEnd::GaveUp }
            }
            _ => timeout,
        }
    }

    /// The end of an exchange that has no answer now; `None`: it is still in time.
    #[must_use]
    pub fn passed(self, now: Timestamp) -> Option<ExchangeEnd> {
        (now >= self.at).then_some(self.end)
    }
}
