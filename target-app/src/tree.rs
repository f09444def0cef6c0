//! Several services that call each other, as values. Each task of a service is a whole target, as `lab serve` takes it.

mod books;
mod machines;

use std::{net::SocketAddr, time::Duration};

use controllers::Class;
use serde::{Deserialize, Serialize};
pub use workloads::balance::{Balancer, Per};
use workloads::plan::ClientSpec;

pub(crate) use books::add;
pub use books::{ServiceBooks, balancer_of, books_of, gauges_of, requests_of};
pub use machines::{MOST_TASKS, TreeMachines, global, local};

use crate::{
    plant::PlantSpec,
    spec::{PolicySpec, TargetSpec},
};

/// Services, and where users come in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeSpec {
    /// Callers before those that they call.
    pub services: Vec<ServiceSpec>,
    /// Where users come in; the first that fits counts.
    pub entries: Vec<EntrySpec>,
    /// Machines beside all services, which hear reports from every task (`quota-server`).
    pub machines: Vec<PolicySpec>,
}

/// Where users of a class come in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntrySpec {
    /// `None`: of every class.
    pub class: Option<Class>,
    /// The service that they ask.
    pub service: String,
}

/// A service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceSpec {
    /// Its name.
    pub name: String,
    /// Each of its tasks.
    pub task: TargetSpec,
    /// What things cost a task in virtual time.
    pub costs: PlantSpec,
    /// What things cost a live task, beside what they really do.
    pub wire: WireCosts,
    /// How many tasks, all equal.
    pub tasks: u32,
    /// Which task a request goes to.
    pub balancer: Balancer,
    /// What is balanced.
    pub per: Per,
    /// Tasks that are slower than the others.
    pub slow: Option<Slow>,
    /// Most requests under way at a task, 0 for any number: what is beyond, its balancer refuses at once. For `per: request`. Each
    /// sender counts its own: users together, and every task that calls.
    pub cap: u32,
    /// What it asks of other services for each request, once its own work is done.
    pub calls: Vec<CallSpec>,
    /// All calls at once; else one after the other.
    pub fan_out: bool,
}

/// What things beside the work on requests cost an emulated task, of the time of its servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WireCosts {
    /// A new connection, paid before its first request is read.
    #[serde(with = "controllers::millis")]
    pub accept: Duration,
    /// To read a request, whatever becomes of it.
    #[serde(with = "controllers::millis")]
    pub read: Duration,
    /// To refuse one that was read.
    #[serde(with = "controllers::millis")]
    pub refuse: Duration,
    /// To answer a health check, beside reading it.
    #[serde(with = "controllers::millis")]
    pub check: Duration,
}

impl WireCosts {
    /// The same for a task that works so fast, 1 as usual.
    #[must_use]
    pub(crate) fn at_speed(self, speed: f64) -> Self {
        let at = |time: Duration| time.div_f64(speed);
        Self { accept: at(self.accept), read: at(self.read), refuse: at(self.refuse), check: at(self.check) }
    }

    /// What a request costs until it has been read: the `first` of its connection, or a `check` of health.
    pub(crate) fn reading(&self, first: bool, check: bool) -> Duration {
        let accept = if first { self.accept } else { Duration::ZERO };
        let check = if check { self.check } else { Duration::ZERO };
        self.read + accept + check
    }
}

/// Slow tasks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// How many: the first ones.
    pub tasks: u32,
    /// Their speed; that of the others is 1.
    pub speed: f64,
}

/// A task of a service as a process of its own takes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSpec {
    /// The name of its service, which its calls say; empty for a target that is no part of a tree.
    pub name: String,
    /// What it is.
    pub target: TargetSpec,
    /// What it asks of other services for each request, once its own work is done.
    pub calls: Vec<CalleeSpec>,
    /// All calls at once; else one after the other.
    pub fan_out: bool,
    /// How fast it works, 1 as usual: emulated service times are divided by it.
    pub speed: f64,
    /// Somebody carries usage reports and quotas to and from it, over its control port.
    pub reports: bool,
    /// What things cost beside the work on requests: they keep one of the emulated servers busy.
    pub wire: WireCosts,
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
            wire: WireCosts::default(),
        }
    }
}

/// A service that is called, and where its tasks are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalleeSpec {
    /// How it is called.
    pub call: CallSpec,
    /// Its tasks, at least one.
    pub tasks: Vec<SocketAddr>,
    /// Which task a call goes to.
    pub balancer: Balancer,
    /// What is balanced.
    pub per: Per,
    /// Most calls of this task under way at one of its tasks, 0 for any number.
    #[serde(default)]
    pub cap: u32,
}

/// Calls to a service on behalf of each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallSpec {
    /// Whom.
    pub to: String,
    /// Calls for each request.
    pub times: u32,
    /// Most attempts of a call, the first among them: another one follows a refusal at once.
    pub attempts: u8,
    /// "Overloaded; don't retry" ends the attempts.
    pub heed_dont_retry: bool,
    /// What a request is answered for which a call was refused.
    pub when_refused: WhenRefused,
    /// Longest wait for an answer, all attempts together; less if the request's own sender waits for less.
    pub timeout: Duration,
    /// Most connections of a task to the called service, 0 for any number; calls wait for a free one.
    pub connections: u32,
    /// Who decides on a task's own side before a call is sent.
    pub client: Option<ClientSpec>,
}

/// What a service makes of a call that was refused in the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenRefused {
    /// It refuses the request as it was refused itself, and its sender may try again.
    #[default]
    Overloaded,
    /// It refuses the request with "don't retry": requests are retried only in the layer right above the one that refuses.
    DontRetry,
    /// It answers all the same, with less.
    Degrade,
}
