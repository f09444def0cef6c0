//! The settings of the control plane.

use std::time::Duration;

use crate::cataclysm::{
    setup_error::{SetupError, require},
    sla::Sla,
};

/// One application of the platform.
#[derive(Debug, Clone, PartialEq)]
pub struct HostedApplication {
    /// The response times that are contracted, by arrival rate.
    pub sla: Sla,
    /// The revenue of an admitted request by class, the most important class first, none over the one before.
    pub revenue: Vec<f64>,
    /// The servers that it has in any case, at least 1.
    pub min_servers: u32,
}

/// When sentries are added and released (section 4.2). Loads are CPU utilizations, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentryScaling {
    /// `high_cpu`: a sentry over this load for [`SentryScaling::high_for`] gets another one beside it.
    pub high_cpu: f64,
    /// 30 s in the paper's experiment.
    pub high_for: Duration,
    /// `low_cpu`: a sentry under this load for [`SentryScaling::low_for`] is released, unless it is the last one.
    pub low_cpu: f64,
    /// The paper has no value.
    pub low_for: Duration,
}

impl Default for SentryScaling {
    /// 80 % for 30 s, as in the paper's experiment; it has no values for a release.
    fn default() -> Self {
        let secs = Duration::from_secs;
        Self { high_cpu: 0.8, high_for: secs(30), low_cpu: 0.2, low_for: secs(300) }
    }
}

/// The settings of the control plane.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvisionPlan {
    /// The applications of the platform.
    pub applications: Vec<HostedApplication>,
    /// The time between predictive invocations, and the time that a prediction looks ahead; a multiple of a fifth of
    /// [`ProvisionPlan::drop_window`].
    pub period: Duration,
    /// The reactive mode is invoked when a larger share of the requests than this is refused over the window. Over 0,
    /// under 1.
    pub drop_share: f64,
    /// The window of the refused share. Observations are kept in slots of a fifth of it.
    pub drop_window: Duration,
    /// `Δ`: the most servers that a reactive invocation adds to an application, at least 1.
    pub step: u32,
    /// `δ`: the least time between reactive invocations.
    pub apart: Duration,
    /// The most that a prediction differs from the present rate, as a factor, at least 1.
    pub trend_limit: f64,
    /// Sentries.
    pub sentries: SentryScaling,
}

impl ProvisionPlan {
    /// These applications with the constants of the paper's prototype: 30 min, drops over 50 % for 5 min, `δ` of 5 min, and
    /// a `Δ` of 1, which is what its figure 7 shows. The limit of predictions is ours.
    #[must_use]
    pub fn of(applications: Vec<HostedApplication>) -> Self {
        let minutes = |count: u64| Duration::from_secs(60 * count);
        Self {
            applications,
            period: minutes(30),
            drop_share: 0.5,
            drop_window: minutes(5),
            step: 1,
            apart: minutes(5),
            trend_limit: 2.0,
            sentries: SentryScaling::default(),
        }
    }

    /// The time of one slot of observation.
    pub(super) fn slot(&self) -> Duration {
        self.drop_window / SLOTS_OF_WINDOW
    }

    /// The slots of a period, at least 1.
    pub(super) fn slots_of_period(&self) -> u32 {
        let slots = self.period.as_nanos() / self.slot().as_nanos().max(1);
        u32::try_from(slots).unwrap_or(u32::MAX).clamp(1, MOST_SLOTS)
    }

    pub(super) fn check(&self, nodes: usize) -> Result<(), SetupError> {
        let applications = &self.applications;
        require((1..=1000).contains(&applications.len()), "applications", "1 to 1000 applications are needed")?;
        let minima = applications.iter().all(|application| application.min_servers > 0);
        require(minima, "min_servers", "every application needs at least 1")?;
        let needed: u64 = applications.iter().map(|application| u64::from(application.min_servers) + 1).sum();
        require(nodes as u64 >= needed, "nodes", "every application needs its minimum of servers and one sentry")?;
        let revenues = applications.iter().map(|application| &application.revenue);
        let in_order = revenues.into_iter().all(|revenue| {
            let finite = revenue.iter().all(|of_one| *of_one >= 0.0 && of_one.is_finite());
            finite && !revenue.is_empty() && revenue.is_sorted_by(|a, b| a >= b)
        });
        require(in_order, "revenue", "each class needs a finite revenue of at least 0, none over the one before")?;
        let slot = self.slot().as_nanos();
        require(slot > 0, "drop_window", "it must be over 0")?;
        let slots = self.period.as_nanos() / slot;
        let whole = self.period.as_nanos().is_multiple_of(slot) && (1..=u128::from(MOST_SLOTS)).contains(&slots);
        require(whole, "period", "it must be 1 to 10 000 times a fifth of drop_window")?;
        require(self.drop_share > 0.0 && self.drop_share < 1.0, "drop_share", "it must be over 0 and under 1")?;
        require(self.step > 0, "step", "it must be at least 1")?;
        let limit = self.trend_limit >= 1.0 && self.trend_limit.is_finite();
        require(limit, "trend_limit", "it must be finite and at least 1")?;
        let SentryScaling { high_cpu, low_cpu, .. } = self.sentries;
        let loads = low_cpu >= 0.0 && low_cpu < high_cpu && high_cpu <= 1.0;
        require(loads, "sentries", "0 ≤ low_cpu < high_cpu ≤ 1 is needed")
    }
}

/// The slots of the window of refused requests.
pub(super) const SLOTS_OF_WINDOW: u32 = 5;

const MOST_SLOTS: u32 = 10_000;
