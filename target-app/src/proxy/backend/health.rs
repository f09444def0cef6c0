//! Whether a backend gets requests: it is left out for a while after failures in a row, and after failed checks until it
//! passes one.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use controllers::Timestamp;
use http::StatusCode;

use super::super::spec::HealthSpec;

#[derive(Debug)]
pub(super) struct Health {
    /// Failures in a row before it is left out; 0: never.
    failures: u32,
    eject: Duration,
    in_a_row: AtomicU32,
    /// The time until which it is left out, nanoseconds; 0: it is not.
    until: AtomicU64,
}

impl Health {
    pub(super) fn new(spec: &HealthSpec) -> Self {
        Self { failures: spec.failures, eject: spec.eject, in_a_row: AtomicU32::new(0), until: AtomicU64::new(0) }
    }

    /// True if it gets requests. After its time out one failure is enough for the next.
    pub(super) fn takes(&self, now: Timestamp) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until == 0 || now.as_nanos() >= until
    }

    /// An answer came. What a gateway behind says of the service behind it is a failure.
    pub(super) fn answered(&self, status: StatusCode) {
        if matches!(status.as_u16(), 502 | 504) {
            return;
        }
        if self.in_a_row.load(Ordering::Relaxed) != 0 {
            self.in_a_row.store(0, Ordering::Relaxed);
            self.until.store(0, Ordering::Relaxed);
        }
    }

    /// A check has ended. A backend that fails so many in a row is left out until it passes one.
    pub(super) fn checked(&self, passed: bool) {
        if passed {
            return self.answered(StatusCode::OK);
        }
        let failures = self.in_a_row.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if self.failures > 0 && failures >= self.failures {
            self.until.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// No answer came.
    pub(super) fn failed(&self, now: Timestamp) {
        let failures = self.in_a_row.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if self.failures > 0 && failures >= self.failures {
            let until = now.as_nanos().saturating_add(u64::try_from(self.eject.as_nanos()).unwrap_or(u64::MAX));
            self.until.store(until.max(1), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_that_fails_checks_is_left_out_until_it_passes_one() {
        let health = Health::new(&HealthSpec { failures: 2, ..HealthSpec::default() });
        health.checked(false);
        assert!(health.takes(Timestamp::ZERO));
        health.checked(false);
        assert!(!health.takes(Timestamp::from_secs(100_000)));
        health.checked(true);
        assert!(health.takes(Timestamp::ZERO));
    }

    #[test]
    fn failures_in_a_row_leave_a_backend_out_for_a_while() {
        let spec = HealthSpec { failures: 2, eject: Duration::from_secs(5), ..HealthSpec::default() };
        let health = Health::new(&spec);
        let at = Timestamp::from_secs;
        health.failed(at(1));
        health.answered(StatusCode::OK);
        health.failed(at(2));
        assert!(health.takes(at(2)), "an answer came between the two");
        health.failed(at(3));
        assert!(!health.takes(at(7)) && health.takes(at(8)));
        health.failed(at(8));
        assert!(!health.takes(at(9)), "the first failure after its time out is enough");
        health.answered(StatusCode::OK);
        assert!(health.takes(at(9)));
    }
}
