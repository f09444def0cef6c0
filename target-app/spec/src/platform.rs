//! A hosting platform.

use std::time::Duration;

use controllers::{
    Timestamp,
    cataclysm::{HostedApplication, NodeId, ProvisionPlan, Provisioner, SentryScaling, SetupError, Sla, SlaTier},
};
use serde::{Deserialize, Serialize};

/// A hosting platform. Times and shares are those of [`ProvisionPlan`] and [`SentryScaling`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlatformSpec {
    /// The pool: nodes that are servers, sentries or free.
    pub nodes: u32,
    /// The applications.
    pub applications: Vec<ApplicationSpec>,
    /// The time between predictive invocations.
    #[serde(with = "controllers::millis")]
    pub period: Duration,
    /// The refused share that invokes the reactive mode.
    pub drop_share: f64,
    /// The window of the refused share.
    #[serde(with = "controllers::millis")]
    pub drop_window: Duration,
    /// `Δ`: the most servers that a reactive invocation adds to an application.
    pub step: u32,
    /// `δ`: the least time between reactive invocations.
    #[serde(with = "controllers::millis")]
    pub apart: Duration,
    /// The most that a prediction differs from the present rate, as a factor.
    pub trend_limit: f64,
    /// `high_cpu`: a sentry over this load for `high_for` gets another one beside it.
    pub high_cpu: f64,
    /// See `high_cpu`.
    #[serde(with = "controllers::millis")]
    pub high_for: Duration,
    /// `low_cpu`: a sentry under this load for `low_for` is released.
    pub low_cpu: f64,
    /// See `low_cpu`.
    #[serde(with = "controllers::millis")]
    pub low_for: Duration,
}

/// An application of a platform.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationSpec {
    /// The service of its sentries.
    pub sentries: String,
    /// The service of its servers, which the sentries call.
    pub servers: String,
    /// The servers that it has in any case.
    pub min_servers: u32,
    /// The revenue of an admitted request by class, the most important class first.
    pub revenue: Vec<f64>,
    /// The contracted response times, by ascending arrival rate.
    pub sla: Vec<SlaTierSpec>,
}

/// A contracted response time below an arrival rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlaTierSpec {
    /// The arrival rate at which the next tier begins, requests per second; `None`: this is the last one.
    pub below_per_s: Option<f64>,
    /// The response time.
    #[serde(with = "controllers::millis")]
    pub response: Duration,
}

impl PlatformSpec {
    /// The settings of the control plane.
    pub fn plan(&self) -> Result<ProvisionPlan, SetupError> {
        let applications = self.applications.iter().map(ApplicationSpec::hosted).collect::<Result<_, _>>()?;
        let Self { period, drop_share, drop_window, step, apart, trend_limit, .. } = *self;
        let Self { high_cpu, high_for, low_cpu, low_for, .. } = *self;
        let sentries = SentryScaling { high_cpu, high_for, low_cpu, low_for };
        Ok(ProvisionPlan { applications, period, drop_share, drop_window, step, apart, trend_limit, sentries })
    }

    /// Checks the settings of the control plane.
    ///
    /// # Errors
    /// The first one out of its range.
    pub fn check(&self) -> Result<(), SetupError> {
        let nodes: Vec<NodeId> = (0..self.nodes).map(NodeId).collect();
        Provisioner::new(Timestamp::ZERO, self.plan()?, &nodes).map(drop)
    }

    /// True if this service is the sentries of an application.
    #[must_use]
    pub fn is_guarded_by(&self, service: &str) -> bool {
        self.applications.iter().any(|application| application.sentries == service)
    }
}

impl ApplicationSpec {
    fn hosted(&self) -> Result<HostedApplication, SetupError> {
        let tier = |tier: &SlaTierSpec| SlaTier {
            below_per_s: tier.below_per_s.unwrap_or(f64::INFINITY),
            response: tier.response,
        };
        let sla = Sla::new(self.sla.iter().map(tier).collect())?;
        Ok(HostedApplication { sla, revenue: self.revenue.clone(), min_servers: self.min_servers })
    }
}
