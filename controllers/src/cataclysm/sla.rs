//! The service level agreement: response times that degrade by arrival rate (WWW'05, equation 1 and table 1).

use std::time::Duration;

use super::setup_error::{SetupError, require};

/// The contracted response time below an arrival rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlaTier {
    /// The arrival rate at which the next tier begins, requests per second.
    pub below_per_s: f64,
    /// The response time of admitted requests.
    pub response: Duration,
}

/// Response times by arrival rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Sla {
    tiers: Vec<SlaTier>,
}

impl Sla {
    /// An agreement of these tiers, by ascending rate; the last one has the rate infinity.
    ///
    /// # Errors
    /// If the tiers are not such, or a response time is under that of a lower rate.
    pub fn new(tiers: Vec<SlaTier>) -> Result<Self, SetupError> {
        let pairs = || tiers.iter().zip(tiers.iter().skip(1));
        let rates = tiers.iter().all(|tier| tier.below_per_s > 0.0)
            && pairs().all(|(low, high)| low.below_per_s < high.below_per_s)
            && tiers.last().is_some_and(|tier| tier.below_per_s == f64::INFINITY);
        require(rates, "sla", "tiers by ascending arrival rate are needed, the last one up to infinity")?;
        let responses = tiers.iter().all(|tier| !tier.response.is_zero())
            && pairs().all(|(low, high)| low.response <= high.response);
        require(responses, "sla", "response times over 0 are needed, none under that of a lower arrival rate")?;
        Ok(Self { tiers })
    }

    /// One response time at any rate.
    ///
    /// # Errors
    /// If it is 0.
    pub fn constant(response: Duration) -> Result<Self, SetupError> {
        Self::new(vec![SlaTier { below_per_s: f64::INFINITY, response }])
    }

    /// Table 1 of the paper: 1 s under 1000 requests per second, 2 s under 10 000, then 3 s. At exactly 10 000, where
    /// the table has two answers, equation 1 decides: 3 s.
    #[must_use]
    pub fn table_1() -> Self {
        let tier = |below_per_s, secs| SlaTier { below_per_s, response: Duration::from_secs(secs) };
        Self { tiers: vec![tier(1000.0, 1), tier(10_000.0, 2), tier(f64::INFINITY, 3)] }
    }

    /// The contracted response time at an arrival rate, requests per second.
    #[must_use]
    pub fn response(&self, rate_per_s: f64) -> Duration {
        let within = self.tiers.iter().find(|tier| rate_per_s < tier.below_per_s);
        within.or(self.tiers.last()).map_or(Duration::MAX, |tier| tier.response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_1_of_the_paper() {
        let sla = Sla::table_1();
        for (rate, secs) in
            [(0.0, 1), (999.9, 1), (1000.0, 2), (1600.0, 2), (10_000.0, 3), (1e9, 3), (f64::INFINITY, 3)]
        {
            assert_eq!(sla.response(rate), Duration::from_secs(secs), "{rate}");
        }
    }

    #[test]
    fn tiers_must_ascend_to_infinity() {
        let tier = |below_per_s, secs| SlaTier { below_per_s, response: Duration::from_secs(secs) };
        for wrong in [
            vec![],
            vec![tier(10.0, 1)],
            vec![tier(10.0, 1), tier(10.0, 2), tier(f64::INFINITY, 3)],
            vec![tier(10.0, 2), tier(f64::INFINITY, 1)],
        ] {
            assert!(Sla::new(wrong.clone()).is_err(), "{wrong:?}");
        }
        assert!(Sla::constant(Duration::ZERO).is_err());
    }
}
