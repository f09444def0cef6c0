//! A platform as values.

use std::time::Duration;

use controllers::{
    Timestamp,
    cataclysm::{HostedApplication, NodeId, ProvisionPlan, Provisioner, SentryScaling, SetupError, Sla, SlaTier},
};
use serde::{Deserialize, Serialize};

use super::Hosted;
use crate::tree::TreeSpec;

/// A hosting platform. Times and shares are those of [`ProvisionPlan`] and [`SentryScaling`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub(super) fn plan(&self) -> Result<ProvisionPlan, SetupError> {
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

    /// The services of each application.
    pub(super) fn hosted(&self, tree: &TreeSpec) -> Result<Vec<Hosted>, String> {
        let mut taken = Vec::new();
        let mut service = |name: &str| {
            let found = tree.services.iter().position(|service| service.name == name);
            let found = found.ok_or_else(|| format!("there is no service called {name}"))?;
            let tasks = tree.services[found].tasks;
            if tasks != self.nodes {
                return Err(format!("{name} has {tasks} tasks: one for each of the {} nodes is needed", self.nodes));
            }
            if taken.contains(&found) {
                return Err(format!("{name} has two parts in the platform"));
            }
            taken.push(found);
            Ok(found)
        };
        let hosted = |application: &ApplicationSpec| {
            let ApplicationSpec { sentries, servers, .. } = application;
            let found = (service(sentries)?, service(servers)?);
            let call = tree.services[found.0].calls.iter().position(|call| call.to == *servers);
            let call = call.ok_or_else(|| format!("the sentries {sentries} do not call the servers {servers}"))?;
            Ok(Hosted { sentries: found.0, servers: found.1, call })
        };
        self.applications.iter().map(hosted).collect()
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
