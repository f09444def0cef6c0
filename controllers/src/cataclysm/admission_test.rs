//! The admission test of a batch (WWW'05, equations 3 and 4).

/// What a test compares a batch with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdmissionTest {
    /// `Q`: the time that a request waits at a server before it is served, seconds.
    pub queueing_s: f64,
    /// `η`: requests in service at a server, on average, times its skew factor.
    pub in_service: f64,
    /// `n`: servers, times their skew factor.
    pub servers: f64,
    /// `R_sla`: the contracted response time, seconds.
    pub response_s: f64,
}

/// Rounding errors of sums must not decide about a batch that just fits, seconds.
const TOLERANCE_S: f64 = 1e-9;

impl AdmissionTest {
    /// The response time of the last request of a batch: `Q + (η + ⌈β / n⌉) · S`, seconds. Infinite without servers.
    #[must_use]
    pub fn expected_s(&self, batch: u64, service_s: f64) -> f64 {
        if self.servers <= 0.0 {
            return f64::INFINITY;
        }
        // A skew factor such as 2/3 must not turn 4 servers' worth of requests into 5 by its last bit.
        let share = libm::ceil(batch as f64 / self.servers - TOLERANCE_S);
        self.queueing_s + (self.in_service + share) * service_s
    }

    /// True if a batch is admitted: `Q + (η + ⌈β / n⌉) · S ≤ R_sla − d_i`. With `delay_s = 0` this is equation 3, else
    /// equation 4.
    #[must_use]
    pub fn admits(&self, batch: u64, service_s: f64, delay_s: f64) -> bool {
        self.expected_s(batch, service_s) <= self.response_s - delay_s + TOLERANCE_S
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST: AdmissionTest = AdmissionTest { queueing_s: 0.1, in_service: 4.0, servers: 3.0, response_s: 1.0 };

    #[test]
    fn equations_3_and_4_by_hand() {
        // ⌈10 / 3⌉ = 4, so 0.1 + (4 + 4) × 0.1 = 0.9 s.
        assert!((TEST.expected_s(10, 0.1) - 0.9).abs() < 1e-12);
        assert!(TEST.admits(10, 0.1, 0.0));
        // ≤ 1 − 0.1, exactly; not ≤ 1 − 0.101.
        assert!(TEST.admits(10, 0.1, 0.1));
        assert!(!TEST.admits(10, 0.1, 0.101));
        // ⌈12 / 3⌉ = 4 still fits, ⌈13 / 3⌉ = 5 makes 1.0 s, which does not with any delay.
        assert!(TEST.admits(12, 0.1, 0.1));
        assert!(TEST.admits(13, 0.1, 0.0));
        assert!(!TEST.admits(13, 0.1, 0.001));
        // ⌈16 / 3⌉ = 6 makes 1.1 s.
        assert!(!TEST.admits(16, 0.1, 0.0));
    }

    #[test]
    fn skewed_servers_count_for_less() {
        // n scaled to 2: ⌈8 / 2⌉ = 4 where ⌈8 / 3⌉ = 3; η scaled to 6: 0.1 + (6 + 4) × 0.1 = 1.1 s against 0.8 s.
        assert!((TEST.expected_s(8, 0.1) - 0.8).abs() < 1e-12);
        let skewed = AdmissionTest { in_service: 6.0, servers: 3.0 * (2.0 / 3.0), ..TEST };
        assert!((skewed.expected_s(8, 0.1) - 1.1).abs() < 1e-12);
    }

    #[test]
    fn without_servers_nothing_is_admitted() {
        assert!(!AdmissionTest { servers: 0.0, ..TEST }.admits(1, 0.001, 0.0));
    }
}
