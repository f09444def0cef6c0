//! Several services that call each other. Each task of a service is a whole target, as `lab serve` takes it.

use std::{
    net::SocketAddr,
    ops::{Deref, DerefMut},
    time::Duration,
};

use controllers::{Class, catalogue::PolicySpec};
use serde::{Deserialize, Serialize};
use workloads::{
    balance::{Balancer, Per, subset},
    plan::ClientPolicy,
};

use crate::{TargetSpec, autoscale::AutoscaleSpec, plant::PlantSpec, platform::PlatformSpec};

/// Services, and the entry points of users.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSpec {
    /// The services, callers before those that they call.
    pub services: Vec<HostedService>,
    /// The services that users of a class ask (`None`: of every class); the first that matches counts.
    pub entries: Vec<(Option<Class>, String)>,
    /// Machines of the whole tree, which receive reports from every task (`quota-server`).
    pub machines: Vec<PolicySpec>,
    /// The control plane of applications whose tasks are added and taken away; `None`: all tasks run all the time.
    pub platform: Option<Box<PlatformSpec>>,
}

impl TreeSpec {
    /// True if reports are carried between tasks and the machines beside them.
    #[must_use]
    pub fn reports(&self) -> bool {
        !self.machines.is_empty() || self.platform.is_some()
    }

    /// True if tasks are started and drained during a run.
    #[must_use]
    pub fn adapts(&self) -> bool {
        self.platform.is_some() || self.services.iter().any(|service| service.autoscale.is_some())
    }
}

/// A service, with all that its tasks are.
#[derive(Debug, Clone, PartialEq)]
pub struct HostedService {
    /// The service.
    pub spec: ServiceSpec,
    /// The target that each of its tasks is.
    pub task: TargetSpec,
    /// The costs of a task in virtual time.
    pub costs: PlantSpec,
    /// The emulated costs of a live task, in addition to its real ones.
    pub wire: WireCosts,
}

impl Deref for HostedService {
    type Target = ServiceSpec;

    fn deref(&self) -> &ServiceSpec {
        &self.spec
    }
}

impl DerefMut for HostedService {
    fn deref_mut(&mut self) -> &mut ServiceSpec {
        &mut self.spec
    }
}

/// A service.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceSpec {
    /// Its name.
    pub name: String,
    /// The number of tasks, all equal; with an autoscaler the largest.
    pub tasks: u32,
    /// The choice of the task for a request.
    pub balancer: Balancer,
    /// The unit of the choice.
    pub per: Per,
    /// Tasks that are slower than the others.
    pub slow: Option<Slow>,
    /// The largest number of requests under way at a task, 0 for no limit: its balancer refuses further ones at once.
    /// For `per: request`. Each sender has a count of its own: users together, and every task that calls.
    pub cap: u32,
    /// The number of its tasks that each calling task sends to ([`subset`]); 0: all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub subset: u32,
    /// The autoscaler; `None`: all tasks run all the time, unless a platform has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscale: Option<AutoscaleSpec>,
    /// The calls to other services for each request, made after the service's own work.
    pub calls: Vec<CallSpec>,
    /// All calls at once; else one after the other.
    pub fan_out: bool,
    /// The processors that the CPU time of a live task's process is a share of, for its policies; `None`: they see that
    /// of the emulated servers, as in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_allotment: Option<f64>,
}

/// Costs of an emulated task in addition to the work on requests, in time of its servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WireCosts {
    /// A new connection, charged before its first request is read.
    #[serde(with = "controllers::millis")]
    pub accept: Duration,
    /// Reading a request, whatever its end.
    #[serde(with = "controllers::millis")]
    pub read: Duration,
    /// Refusing a request that was read.
    #[serde(with = "controllers::millis")]
    pub refuse: Duration,
    /// Answering a health check, in addition to reading it.
    #[serde(with = "controllers::millis")]
    pub check: Duration,
}

impl WireCosts {
    /// The same costs for a task of this speed; the usual speed is 1.
    #[must_use]
    pub fn at_speed(self, speed: f64) -> Self {
        let at = |time: Duration| time.div_f64(speed);
        Self { accept: at(self.accept), read: at(self.read), refuse: at(self.refuse), check: at(self.check) }
    }

    /// The cost of a request until it has been read: the `first` of its connection, or a `check` of health.
    #[must_use]
    pub fn reading(&self, first: bool, check: bool) -> Duration {
        let accept = if first { self.accept } else { Duration::ZERO };
        let check = if check { self.check } else { Duration::ZERO };
        self.read + accept + check
    }
}

/// Slow tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// Their number: the first tasks of the service.
    pub tasks: u32,
    /// Their speed; that of the others is 1.
    pub speed: f64,
}

/// A task of a service, in the form for a process of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// The name of its service, which its calls carry; empty for a target that is no part of a tree.
    pub name: String,
    /// The target.
    pub target: TargetSpec,
    /// The calls to other services for each request, made after the service's own work.
    pub calls: Vec<CalleeSpec>,
    /// All calls at once; else one after the other.
    pub fan_out: bool,
    /// Its speed; the usual speed is 1: emulated service times are divided by it.
    pub speed: f64,
    /// True if the lab carries usage reports and quotas to and from it, over its control port.
    pub reports: bool,
    /// True if its answers report its load, for balancers that choose by utilization.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reports_load: bool,
    /// Costs in addition to the work on requests: they keep one of the emulated servers busy.
    pub wire: WireCosts,
    /// The processors that the CPU time of the task's process is a share of, for its policies; `None`: they see that of
    /// the emulated servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_allotment: Option<f64>,
}

impl TaskSpec {
    /// A target that is no part of a tree.
    #[must_use]
    pub fn alone(target: TargetSpec) -> Self {
        Self {
            name: String::new(),
            target,
            calls: Vec::new(),
            fan_out: false,
            speed: 1.0,
            reports: false,
            reports_load: false,
            wire: WireCosts::default(),
            cpu_allotment: None,
        }
    }
}

/// A called service, with the addresses of its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalleeSpec {
    /// The calls.
    pub call: CallSpec,
    /// Its tasks by number, at least one, each with its address while calls may go there.
    pub tasks: Vec<Option<SocketAddr>>,
    /// The choice of the task for a call.
    pub balancer: Balancer,
    /// The unit of the choice.
    pub per: Per,
    /// The largest number of calls of this task under way at one of its tasks, 0 for no limit.
    #[serde(default)]
    pub cap: u32,
    /// The numbers of the tasks that it sends to; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<usize>,
}

impl ServiceSpec {
    /// The numbers of its tasks that the task with this number of another service sends to; none: all.
    #[must_use]
    pub fn reached_by(&self, caller: usize) -> Vec<usize> {
        if self.subset == 0 {
            return Vec::new();
        }
        let number = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        subset(number(self.tasks), number(self.subset), caller)
    }
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// Calls to a service on behalf of each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallSpec {
    /// The called service.
    pub to: String,
    /// Calls for each request.
    pub times: u32,
    /// The probability that each of them is made, drawn for every request.
    #[serde(default = "certain")]
    pub probability: f64,
    /// The largest number of attempts of a call, with the first: another one follows a refusal at once.
    pub attempts: u8,
    /// "Overloaded; don't retry" ends the attempts.
    pub heed_dont_retry: bool,
    /// The answer to a request after a refused call.
    pub when_refused: WhenRefused,
    /// The longest wait for an answer, all attempts together; less if the request's own sender waits less long.
    #[serde(with = "controllers::millis")]
    pub timeout: Duration,
    /// The largest number of connections of a task to the called service, 0 for no limit; calls wait for a free one.
    pub connections: u32,
    /// The way to the called service in virtual time; `None`: as between users and services.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<CallLink>,
    /// The client-side policy of a task, asked before a call is sent.
    pub client: Option<ClientPolicy>,
    /// True: each attempt of a call has draws of its own at the called service. False: what is repeated costs what it did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redraw: bool,
}

impl CallSpec {
    /// One call of each request, tried once.
    #[must_use]
    pub fn to(service: &str) -> Self {
        Self {
            to: service.to_owned(),
            times: 1,
            probability: 1.0,
            attempts: 1,
            heed_dont_retry: true,
            when_refused: WhenRefused::default(),
            timeout: Duration::from_secs(10),
            connections: 0,
            link: None,
            client: None,
            redraw: false,
        }
    }
}

/// The way between two services.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallLink {
    /// The delay of one direction.
    #[serde(with = "controllers::millis")]
    pub delay: Duration,
    /// The largest additional delay of a call or its answer, uniformly distributed from 0.
    #[serde(with = "controllers::millis")]
    pub jitter: Duration,
}

fn certain() -> f64 {
    1.0
}

/// The reaction of a service to a call whose last attempt was refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenRefused {
    /// It refuses the request with the advice of its own refusal, and its sender may retry.
    #[default]
    Overloaded,
    /// It refuses the request with "don't retry": requests are retried only in the layer right above the one that
    /// refuses.
    DontRetry,
    /// It answers all the same, with less content.
    Degrade,
}
