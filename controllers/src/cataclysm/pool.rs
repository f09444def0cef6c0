//! The servers behind a sentry as it knows them: `n`, `Q` and `η` (WWW'05, sections 3.2 and 3.5).

use std::{collections::BTreeMap, time::Duration};

use super::{
    admission_test::AdmissionTest,
    setup_error::{SetupError, require},
};

/// Identifies a node of the platform: a server, a sentry, or a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// What the nucleus of a server reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NucleusReport {
    /// The server.
    pub server: NodeId,
    /// The mean time from a request's arrival at the server to its acceptance for service.
    pub queueing: Duration,
    /// Requests of this sentry in service.
    pub in_service: u32,
}

/// The factors that scale `η` and `n` where the balance between servers is not perfect (footnote 1).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Skew {
    /// Fixed factors.
    Fixed {
        /// Of `η`, at least 1.
        in_service: f64,
        /// Of `n`, over 0, at most 1.
        servers: f64,
    },
    /// From the reports: the largest count in service over the mean is the factor of `η`, and its inverse that of `n`.
    /// The test then is that of the busiest server.
    Measured,
}

impl Skew {
    /// A perfect balance, as the paper assumes.
    pub const NONE: Self = Self::Fixed { in_service: 1.0, servers: 1.0 };

    pub(super) fn check(self) -> Result<(), SetupError> {
        let Self::Fixed { in_service, servers } = self else { return Ok(()) };
        let in_range = in_service >= 1.0 && in_service.is_finite() && servers > 0.0 && servers <= 1.0;
        require(
            in_range,
            "skew",
            "the factor of requests in service is at least 1, that of servers over 0 and at most 1",
        )
    }
}

/// The last report of a server, as the sentry uses it.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    queueing_s: f64,
    in_service: f64,
    /// The report's count in service beyond the sentry's own share for this server at that time: it stays until the
    /// next report, while the sentry's own count follows each admission and each end.
    beyond_own: f64,
}

/// The servers of a sentry, with the requests that it has admitted to them.
#[derive(Debug)]
pub(super) struct ServerPool {
    skew: Skew,
    /// `None`: not reported yet.
    servers: BTreeMap<NodeId, Option<Known>>,
    in_flight: u64,
    /// Means over the servers that have reported, updated with each report.
    queueing_s: f64,
    beyond_own: f64,
    skew_factor: f64,
}

impl ServerPool {
    pub(super) fn new(skew: Skew, servers: &[NodeId]) -> Self {
        let servers = servers.iter().map(|server| (*server, None)).collect();
        Self { skew, servers, in_flight: 0, queueing_s: 0.0, beyond_own: 0.0, skew_factor: 1.0 }
    }

    /// Sets the servers; what is known of those that stay is kept.
    pub(super) fn assign(&mut self, servers: &[NodeId]) {
        self.servers = servers.iter().map(|server| (*server, self.servers.get(server).copied().flatten())).collect();
        self.update_means();
    }

    /// Takes in a report; one of a server that is not assigned is ignored.
    pub(super) fn hear(&mut self, report: &NucleusReport) {
        let own = self.own_share();
        let Some(known) = self.servers.get_mut(&report.server) else { return };
        let in_service = f64::from(report.in_service);
        *known = Some(Known { queueing_s: report.queueing.as_secs_f64(), in_service, beyond_own: in_service - own });
        self.update_means();
    }

    pub(super) fn admitted(&mut self, jobs: u64) {
        self.in_flight += jobs;
    }

    pub(super) fn ended(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    pub(super) fn count_in_flight(&mut self, jobs: u64) {
        self.in_flight = jobs;
    }

    pub(super) fn servers(&self) -> usize {
        self.servers.len()
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// What a batch is compared with now.
    pub(super) fn test(&self, response: Duration) -> AdmissionTest {
        let (eta_factor, servers_factor) = match self.skew {
            Skew::Fixed { in_service, servers } => (in_service, servers),
            Skew::Measured => (self.skew_factor, self.skew_factor.recip()),
        };
        AdmissionTest {
            queueing_s: self.queueing_s,
            in_service: (self.own_share() + self.beyond_own).max(0.0) * eta_factor,
            servers: self.servers.len() as f64 * servers_factor,
            response_s: response.as_secs_f64(),
        }
    }

    /// The sentry's own requests in service for each server.
    fn own_share(&self) -> f64 {
        self.in_flight as f64 / self.servers.len().max(1) as f64
    }

    fn update_means(&mut self) {
        let known: Vec<Known> = self.servers.values().copied().flatten().collect();
        let mean = |of: fn(&Known) -> f64| known.iter().map(of).sum::<f64>() / known.len().max(1) as f64;
        self.queueing_s = mean(|known| known.queueing_s);
        // A server without a report has what the sentry itself knows of.
        self.beyond_own = known.iter().map(|known| known.beyond_own).sum::<f64>() / self.servers.len().max(1) as f64;
        let (in_service, most) = (mean(|known| known.in_service), known.iter().map(|known| known.in_service));
        self.skew_factor = if in_service > 0.0 { most.fold(0.0, f64::max) / in_service } else { 1.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    fn pool(skew: Skew, servers: u32) -> ServerPool {
        ServerPool::new(skew, &(0..servers).map(NodeId).collect::<Vec<_>>())
    }

    fn test(pool: &ServerPool) -> AdmissionTest {
        pool.test(Duration::from_secs(1))
    }

    fn report(server: u32, queueing_ms: u64, in_service: u32) -> NucleusReport {
        NucleusReport { server: NodeId(server), queueing: Duration::from_millis(queueing_ms), in_service }
    }

    #[test]
    fn without_reports_the_sentry_counts_its_own() {
        let mut pool = pool(Skew::NONE, 3);
        pool.admitted(6);
        pool.ended();
        close(test(&pool).in_service, 5.0 / 3.0);
        close(test(&pool).queueing_s, 0.0);
        close(test(&pool).servers, 3.0);
    }

    #[test]
    fn reports_are_means_and_the_sentry_adds_what_it_has_done_since() {
        let mut pool = pool(Skew::NONE, 2);
        pool.admitted(4);
        // 5 and 3 in service, 20 and 40 ms: 4 and 30 ms.
        pool.hear(&report(0, 20, 5));
        pool.hear(&report(1, 40, 3));
        close(test(&pool).in_service, 4.0);
        close(test(&pool).queueing_s, 0.030);
        // Two more are one more at each; then 5 of the 6 end: 4 + (1 − 4) / 2 = 2.5.
        pool.admitted(2);
        close(test(&pool).in_service, 5.0);
        (0..5).for_each(|_| pool.ended());
        close(test(&pool).in_service, 2.5);
        // A server that is not this sentry's says nothing.
        pool.hear(&report(7, 999, 999));
        close(test(&pool).in_service, 2.5);
    }

    #[test]
    fn a_pool_that_changes_leaves_no_error_behind() {
        let mut pool = pool(Skew::NONE, 3);
        pool.admitted(12);
        pool.assign(&[NodeId(0), NodeId(1), NodeId(2), NodeId(3)]);
        close(test(&pool).in_service, 3.0);
        (0..12).for_each(|_| pool.ended());
        close(test(&pool).in_service, 0.0);
        pool.assign(&[]);
        close(test(&pool).servers, 0.0);
    }

    #[test]
    fn skew_factors() {
        let mut fixed = pool(Skew::Fixed { in_service: 1.5, servers: 0.5 }, 4);
        fixed.admitted(8);
        close(test(&fixed).in_service, 3.0);
        close(test(&fixed).servers, 2.0);
        // 6 and 2 in service: the busier one has 1.5 times the mean of 4, and 2 servers take what 1.33 even ones do.
        let mut measured = pool(Skew::Measured, 2);
        measured.hear(&report(0, 0, 6));
        measured.hear(&report(1, 0, 2));
        close(test(&measured).in_service, 6.0);
        close(test(&measured).servers, 2.0 / 1.5);
        assert!(Skew::Fixed { in_service: 0.5, servers: 1.0 }.check().is_err());
        assert!(Skew::Fixed { in_service: 1.0, servers: 0.0 }.check().is_err());
    }
}
