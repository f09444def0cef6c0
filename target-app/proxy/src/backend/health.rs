//! Health of a backend: it is left out for a while after failures in a row, and after failed checks until it
//! passes one.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

use controllers::Timestamp;
use http::StatusCode;
use spec::proxy::HealthSpec;

/// A 502 or 504 counts as no answer: it is what a gateway behind this proxy says of the service behind it.
const NO_ANSWER: [StatusCode; 2] = [StatusCode::BAD_GATEWAY, StatusCode::GATEWAY_TIMEOUT];

#[derive(Debug)]
pub(super) struct Health {
    /// Failures in a row before it is left out; 0: never.
    limit: u32,
    eject: Duration,
    /// Failed requests in a row.
    requests: AtomicU32,
    /// The end of the ejection by failed requests, nanoseconds; 0: none.
    until: AtomicU64,
    /// Failed checks in a row.
    checks: AtomicU32,
    /// Checks that it has passed and failed.
    counts: [AtomicU64; 2],
}

impl Health {
    pub(super) fn new(spec: &HealthSpec) -> Self {
        Self {
            limit: spec.failures,
            eject: spec.eject,
            requests: AtomicU32::new(0),
            until: AtomicU64::new(0),
            checks: AtomicU32::new(0),
            counts: Default::default(),
        }
    }

    /// True if it gets requests. Once an ejection ends, one failed request ejects it again.
    pub(super) fn takes(&self, now: Timestamp) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        (until == 0 || now.as_nanos() >= until) && !self.is_over_limit(self.checks.load(Ordering::Relaxed))
    }

    /// Counts the status of an answer. False: it counts as a failure.
    pub(super) fn answered(&self, status: StatusCode, now: impl FnOnce() -> Timestamp) -> bool {
        if NO_ANSWER.contains(&status) {
            self.failed(now());
            return false;
        }
        self.serves_requests();
        true
    }

    /// Counts a check. A backend that fails so many in a row is left out until it passes one, whatever it answers to
    /// requests; a passed check ends an ejection by failed requests too, as in Envoy.
    pub(super) fn checked(&self, passed: bool) {
        self.counts[usize::from(!passed)].fetch_add(1, Ordering::Relaxed);
        if passed {
            self.checks.store(0, Ordering::Relaxed);
            self.serves_requests();
        } else {
            count(&self.checks);
        }
    }

    /// Checks so far by their outcome.
    pub(super) fn counts(&self) -> [(&'static str, u64); 2] {
        let [passed, failed] = self.counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        [("passed", passed), ("failed", failed)]
    }

    /// Counts a request without an answer.
    pub(super) fn failed(&self, now: Timestamp) {
        if self.is_over_limit(count(&self.requests)) {
            let until = now.as_nanos().saturating_add(u64::try_from(self.eject.as_nanos()).unwrap_or(u64::MAX));
            self.until.store(until.max(1), Ordering::Relaxed);
        }
    }

    fn serves_requests(&self) {
        if self.requests.load(Ordering::Relaxed) != 0 {
            self.requests.store(0, Ordering::Relaxed);
            self.until.store(0, Ordering::Relaxed);
        }
    }

    fn is_over_limit(&self, failures: u32) -> bool {
        self.limit > 0 && failures >= self.limit
    }
}

fn count(failures: &AtomicU32) -> u32 {
    failures.fetch_add(1, Ordering::Relaxed).saturating_add(1)
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
        health.answered(StatusCode::OK, || Timestamp::ZERO);
        assert!(!health.takes(Timestamp::ZERO), "an answer to a request is no passed check");
        health.checked(true);
        assert!(health.takes(Timestamp::ZERO));
    }

    #[test]
    fn what_a_gateway_behind_says_of_the_service_behind_it_is_a_failure() {
        let health = Health::new(&HealthSpec { failures: 2, ..HealthSpec::default() });
        let at = Timestamp::from_secs;
        assert!(!health.answered(StatusCode::BAD_GATEWAY, || at(1)) && health.takes(at(1)));
        assert!(!health.answered(StatusCode::GATEWAY_TIMEOUT, || at(2)) && !health.takes(at(2)));
        assert!(
            health.answered(StatusCode::SERVICE_UNAVAILABLE, || at(3)) && health.takes(at(3)),
            "a refusal is an answer"
        );
    }

    #[test]
    fn failures_in_a_row_leave_a_backend_out_for_a_while() {
        let spec = HealthSpec { failures: 2, eject: Duration::from_secs(5), ..HealthSpec::default() };
        let health = Health::new(&spec);
        let at = Timestamp::from_secs;
        health.failed(at(1));
        health.answered(StatusCode::OK, || at(1));
        health.failed(at(2));
        assert!(health.takes(at(2)), "an answer came between the two");
        health.failed(at(3));
        assert!(!health.takes(at(7)) && health.takes(at(8)));
        health.failed(at(8));
        assert!(!health.takes(at(9)), "the first failure after its time out is enough");
        health.answered(StatusCode::OK, || at(1));
        assert!(health.takes(at(9)));
    }
}
