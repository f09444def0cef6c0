//! The arrival rate that a server sustains: a G/G/1 queue (WWW'05, equation 14).

/// The service times and arrivals of an application.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorkloadModel {
    /// `E[S]`: the mean service time, seconds, over 0.
    pub service_s: f64,
    /// `σ_b²`: the variance of service times, seconds squared.
    pub service_variance: f64,
    /// The squared coefficient of variation of the time between arrivals: 1 for Poisson arrivals, 0 for regular ones.
    /// `σ_a²` of one server's arrivals is this number over their rate squared.
    pub arrivals_scv: f64,
}

/// The arrival rate that a G/G/1 queue sustains at least while its mean response time is `response_s`, requests per
/// second (equation 14): `1 / (E[S] + (σ_a² + σ_b²) / (2 · (E[R] − E[S])))`. 0 if the response time is not over the
/// service time.
#[must_use]
pub fn sustained_rate(service_s: f64, service_variance: f64, interarrival_variance: f64, response_s: f64) -> f64 {
    let spare_s = response_s - service_s;
    if spare_s <= 0.0 {
        return 0.0;
    }
    1.0 / (service_s + (interarrival_variance + service_variance) / (2.0 * spare_s))
}

impl WorkloadModel {
    /// The largest arrival rate at one server for which equation 14 holds, requests per second.
    ///
    /// The variance of the times between arrivals depends on the rate: `σ_a² = c / λ²` with the squared coefficient of
    /// variation `c`. The rate is then the larger solution of
    /// `λ² · (E[S] + σ_b²/(2D)) − λ + c/(2D) = 0` with `D = E[R] − E[S]`. Below the smaller solution the bound says
    /// nothing, since it is loose at low load; that a server with less to do still meets the target needs no bound.
    /// Without a solution the bound promises nothing at any rate, and the rate that comes closest to it is returned.
    #[must_use]
    pub fn rate_of_a_server(&self, response_s: f64) -> f64 {
        let twice_spare_s = 2.0 * (response_s - self.service_s);
        if twice_spare_s <= 0.0 {
            return 0.0;
        }
        let quadratic = self.service_s + self.service_variance / twice_spare_s;
        let discriminant = 1.0 - 4.0 * quadratic * self.arrivals_scv / twice_spare_s;
        (1.0 + discriminant.max(0.0).sqrt()) / (2.0 * quadratic)
    }

    /// The servers that an arrival rate needs, at least 1. `None`: no number of servers meets the target.
    #[must_use]
    pub fn servers_for(&self, rate_per_s: f64, response_s: f64) -> Option<u32> {
        let of_one = self.rate_of_a_server(response_s);
        // The cast saturates: more than four thousand million servers are never there.
        (of_one > 0.0).then(|| (libm::ceil(rate_per_s / of_one - 1e-9) as u32).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }

    /// 100 ms on average, exponential: a variance of 0.01 s².
    const EXPONENTIAL: WorkloadModel = WorkloadModel { service_s: 0.1, service_variance: 0.01, arrivals_scv: 1.0 };

    #[test]
    fn equation_14_by_hand() {
        // E[S] = 0.1 s, σ_b² = 0.01, σ_a² = 0.0625 (a mean of 0.25 s), E[R] = 0.6 s:
        // 1 / (0.1 + 0.0725 / 1.0) = 1 / 0.1725 = 5.797101.
        close(sustained_rate(0.1, 0.01, 0.0625, 0.6), 5.797_101);
        // Regular arrivals and service times: the whole of 1 / E[S].
        close(sustained_rate(0.1, 0.0, 0.0, 0.6), 10.0);
        assert_eq!(sustained_rate(0.1, 0.0, 0.0, 0.1), 0.0);
    }

    #[test]
    fn the_rate_of_a_server_by_hand() {
        // E[R] = 0.6 s, 2D = 1: λ² · (0.1 + 0.01) − λ + 1 = 0, (1 + √(1 − 0.44)) / 0.22 = 1.748331 / 0.22 = 7.946961.
        let rate = EXPONENTIAL.rate_of_a_server(0.6);
        close(rate, 7.946_961);
        // It solves equation 14 with the variance that belongs to it.
        close(sustained_rate(0.1, 0.01, 1.0 / (rate * rate), 0.6), rate);
        // An M/M/1 queue of this rate has a mean response time of 1 / (10 − 7.95) = 0.487 s, within the target.
        assert!(1.0 / (10.0 - rate) < 0.6);
    }

    #[test]
    fn servers_by_hand() {
        // 100 / 7.946961 = 12.58.
        assert_eq!(EXPONENTIAL.servers_for(100.0, 0.6), Some(13));
        assert_eq!(EXPONENTIAL.servers_for(7.9, 0.6), Some(1));
        assert_eq!(EXPONENTIAL.servers_for(0.0, 0.6), Some(1));
        // 2 s: 2D = 3.8: λ² · (0.1 + 0.00263158) − λ + 0.26315789 = 0, (1 + √(1 − 0.10803324)) / 0.20526316 = 9.472912.
        close(EXPONENTIAL.rate_of_a_server(2.0), 9.472_912);
        assert_eq!(EXPONENTIAL.servers_for(100.0, 2.0), Some(11));
        assert_eq!(EXPONENTIAL.servers_for(100.0, 0.1), None, "the target is the service time itself");
    }

    #[test]
    fn arrivals_that_are_too_irregular_for_the_bound() {
        // 2D = 1 and c = 4: 1 − 4 · 0.11 · 4 < 0, so the closest is 1 / 0.22.
        let bursty = WorkloadModel { arrivals_scv: 4.0, ..EXPONENTIAL };
        close(bursty.rate_of_a_server(0.6), 1.0 / 0.22);
    }
}
