//! Which application gets how many servers: the partition of highest expected revenue (WWW'05, section 4.1).

/// What an application would earn.
#[derive(Debug, Clone, PartialEq)]
pub struct RevenueModel {
    /// The requests per second that one server sustains within the response time.
    pub rate_of_server: f64,
    /// By class, the most important first: arrivals per second, and the revenue of an admitted request. No class earns
    /// more than the one before.
    pub classes: Vec<(f64, f64)>,
    /// The servers that it has in any case.
    pub minimum: u32,
}

impl RevenueModel {
    /// The revenue with `servers` servers, per second: the most important requests are admitted up to the capacity.
    #[must_use]
    pub fn revenue_per_s(&self, servers: u32) -> f64 {
        let mut left = f64::from(servers) * self.rate_of_server;
        let mut revenue = 0.0;
        for (rate, of_one) in &self.classes {
            let admitted = rate.min(left);
            left -= admitted;
            revenue += admitted * of_one;
        }
        revenue
    }

    /// What one more server would earn, per second.
    #[must_use]
    pub fn gain_per_s(&self, servers: u32) -> f64 {
        self.revenue_per_s(servers + 1) - self.revenue_per_s(servers)
    }
}

/// Gains under this are rounding errors, revenue per second.
const NEGLIGIBLE: f64 = 1e-9;

/// The servers of each application. Beyond the minima, one server after the other goes to the application that gains the
/// most by it, the first one of equals; those that nobody gains by stay free. Since each server earns at most what the
/// one before did, no other partition earns more.
///
/// The minima must not exceed `servers` in sum.
#[must_use]
pub fn partition(servers: u32, applications: &[RevenueModel]) -> Vec<u32> {
    let mut counts: Vec<u32> = applications.iter().map(|application| application.minimum).collect();
    let mut left = servers.saturating_sub(counts.iter().sum());
    while left > 0 {
        let mut best: Option<(usize, f64)> = None;
        for (index, application) in applications.iter().enumerate() {
            let gain = application.gain_per_s(counts[index]);
            if gain > best.map_or(NEGLIGIBLE, |(_, most)| most + NEGLIGIBLE) {
                best = Some((index, gain));
            }
        }
        let Some((index, _)) = best else { break };
        counts[index] += 1;
        left -= 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn application(classes: &[(f64, f64)], minimum: u32) -> RevenueModel {
        RevenueModel { rate_of_server: 60.0, classes: classes.to_vec(), minimum }
    }

    #[test]
    fn revenue_by_hand() {
        // 100 requests at 3 and 100 at 1: one server earns 60 × 3, two 100 × 3 + 20 × 1, four 300 + 100.
        let application = application(&[(100.0, 3.0), (100.0, 1.0)], 0);
        for (servers, revenue) in [(0, 0.0), (1, 180.0), (2, 320.0), (3, 380.0), (4, 400.0), (9, 400.0)] {
            assert!((application.revenue_per_s(servers) - revenue).abs() < 1e-9, "{servers}");
        }
    }

    #[test]
    fn servers_go_where_they_earn_and_the_rest_stays_free() {
        // One more server beyond three: 60 × 2 for the first, 60 × 1 for the second, as long as there are requests.
        let first = application(&[(300.0, 2.0)], 3);
        let second = application(&[(600.0, 1.0)], 3);
        assert_eq!(partition(6, &[first.clone(), second.clone()]), [3, 3]);
        assert_eq!(partition(8, &[first.clone(), second.clone()]), [5, 3]);
        assert_eq!(partition(11, &[first.clone(), second.clone()]), [5, 6]);
        assert_eq!(partition(50, &[first, second]), [5, 10]);
        // A target that no server can meet earns nothing.
        let hopeless = RevenueModel { rate_of_server: 0.0, ..application(&[(300.0, 2.0)], 3) };
        assert_eq!(partition(11, &[hopeless]), [3]);
    }

    /// Every partition of at most `servers` servers with these minima.
    fn best_revenue(servers: u32, applications: &[RevenueModel]) -> f64 {
        let Some((first, others)) = applications.split_first() else { return 0.0 };
        let kept: u32 = others.iter().map(|application| application.minimum).sum();
        (first.minimum..=servers - kept)
            .map(|count| first.revenue_per_s(count) + best_revenue(servers - count, others))
            .fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn no_other_partition_earns_more(
            spare in 0..8_u32,
            drawn in prop::collection::vec((1..100_u32, prop::collection::vec((0..300_u32, 0..10_u32), 1..4), 0..3_u32), 1..4),
        ) {
            let applications: Vec<RevenueModel> = drawn.into_iter().map(|(rate, mut classes, minimum)| {
                classes.sort_by_key(|(_, revenue)| std::cmp::Reverse(*revenue));
                let classes = classes.iter().map(|(rate, revenue)| (f64::from(*rate), f64::from(*revenue))).collect();
                RevenueModel { rate_of_server: f64::from(rate), classes, minimum }
            }).collect();
            let servers = spare + applications.iter().map(|application| application.minimum).sum::<u32>();
            let counts = partition(servers, &applications);
            prop_assert!(counts.iter().sum::<u32>() <= servers);
            let revenue: f64 = counts.iter().zip(&applications).map(|(count, app)| app.revenue_per_s(*count)).sum();
            prop_assert!(revenue >= best_revenue(servers, &applications) - 1e-6);
        }
    }
}
