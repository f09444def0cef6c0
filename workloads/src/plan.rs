//! The load of a run as values: written down before the run starts, from a seed.

mod behaviour;
mod check;
mod client;
mod measured;
mod script;
pub mod step_gap;
mod task_list;
mod transport;
mod users;

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use controllers::{Class, Criticality};
use measure::Shard;
use serde::{Deserialize, Serialize};
pub use traces::PreviousPage;

use crate::balance::{Balancer, Per};
pub use behaviour::{Account, Behaviour, ConnectionHabit, FailureRule, Patience, RefusalMarks};
pub use check::PlanError;
pub use client::{ClientPolicy, ClientScope, ClientSpec};
pub use script::{
    AnswerCheck, Conduct, Extraction, MOST_BODY, PlanBranch, PlanItem, PlanStep, ScriptUsers, TestPlan, TokenPlace,
    ValueSource,
};
pub use task_list::TaskList;
pub use transport::{HttpVersion, TlsOptions};
pub use users::{MailUsers, UrlRequest, UrlUsers, Users};

use crate::{
    background::BackgroundRole,
    headers::{CRITICALITY, CUSTOMER},
    rate_path::RatePath,
    replay::{Pace, ReplaySessions},
};

/// Everything that a host needs to know to produce load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Root seed; sub-seeds are derived from it by name.
    pub seed: u64,
    /// The part of the plan's users that one of several processes carries out; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The target of the load.
    pub target: Target,
    /// The users.
    pub users: Users,
    /// Marks on their requests: criticality, customer, class.
    pub marks: Marks,
    /// The phases, one after another, from time zero.
    pub phases: Vec<Phase>,
    /// Longest wait for an answer, from the intended start.
    pub timeout: Duration,
    /// The longest wait for a connection.
    pub connect_timeout: Duration,
    /// The objective: answers that take longer are late.
    pub objective: Duration,
    /// The objectives of classes that have one of their own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub class_objectives: BTreeMap<Class, Duration>,
    /// The longest time after the last phase to wait for requests in flight.
    pub drain: Duration,
    /// The time between two arrivals where the number of closed users jumps; shorter where the phase is too short for it.
    #[serde(default = "step_gap::usual", skip_serializing_if = "step_gap::is_usual")]
    pub step_gap: Duration,
    /// Source addresses are spread over this many of 127.0.0.0/8 (loopback targets only); 1: no spreading.
    pub sources: u32,
    /// The client-side policy; `None`: users send without asking one.
    pub client: Option<ClientSpec>,
    /// True: each attempt of a request has draws of its own at the service, as if the user asked for something else. False:
    /// what is repeated costs what it did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redraw: bool,
}

impl LoadPlan {
    /// A plan with these users, target and phases, and defaults for the rest: time-out 60 s, connect time-out 10 s,
    /// drain time 10 s, objective 1 s.
    #[must_use]
    pub fn new(target: Target, users: Users, phases: Vec<Phase>) -> Self {
        Self {
            seed: 1,
            shard: None,
            target,
            users,
            marks: Marks::default(),
            phases,
            timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            objective: Duration::from_secs(1),
            class_objectives: BTreeMap::new(),
            drain: Duration::from_secs(10),
            step_gap: step_gap::STEP_GAP,
            sources: 1,
            client: None,
            redraw: false,
        }
    }

    /// The connections that the users of this process use: limits that all have in common are divided among the parts of a plan.
    #[must_use]
    pub fn connections(&self) -> ConnectionHabit {
        match self.users.connections() {
            ConnectionHabit::Shared { most: Some(most) } => {
                ConnectionHabit::Shared { most: Some(u32::try_from(self.portion(most.into())).unwrap_or(most)) }
            }
            habit => habit,
        }
    }

    /// This process's portion of a count that is for the whole plan.
    #[must_use]
    pub fn portion(&self, whole: u64) -> u64 {
        self.shard.map_or(whole, |shard| shard.portion(whole))
    }

    /// The objective of a class.
    #[must_use]
    pub fn objective_of(&self, class: Class) -> Duration {
        self.class_objectives.get(&class).copied().unwrap_or(self.objective)
    }

    /// True if a part of the load is recorded.
    #[must_use]
    pub fn replays(&self) -> bool {
        self.phases.iter().flat_map(|phase| &phase.loads).any(|load| matches!(load, Load::Replay { .. }))
    }
}

/// Marks on requests, by their user's class. Requests of other classes have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// The criticality of the class's requests, sent as `X-Criticality`.
    pub criticality: BTreeMap<Class, Criticality>,
    /// The paying customer: a number, sent as `X-Customer`.
    pub customer: BTreeMap<Class, u32>,
    /// The header that carries the class; `None`: [`CLASS_HEADER`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_header: Option<String>,
    /// What it says for a class instead of its number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub class_values: BTreeMap<Class, String>,
}

/// The header that carries a user's class, unless the service reads another.
pub const CLASS_HEADER: &str = "User-Class";

impl Marks {
    /// All header lines, each whole, that mark a user of a class: the class itself too, unless it is 0. By class, 0 to
    /// 255.
    pub fn lines(&self) -> Vec<String> {
        let class_header = self.class_header.as_deref().unwrap_or(CLASS_HEADER);
        let of = |class: Class| {
            let mut lines = String::new();
            if class != Class::default() {
                let number = class.0.to_string();
                lines.extend([class_header, ": ", self.class_values.get(&class).unwrap_or(&number), "\r\n"]);
            }
            if let Some(criticality) = self.criticality.get(&class) {
                lines.extend([CRITICALITY, ": ", criticality.name(), "\r\n"]);
            }
            if let Some(customer) = self.customer.get(&class) {
                lines.extend([CUSTOMER, ": ", &customer.to_string(), "\r\n"]);
            }
            lines
        };
        (0..=u8::MAX).map(|class| of(Class(class))).collect()
    }
}

/// The service to load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Scheme, host and port, as given.
    pub url: String,
    /// The address of the service.
    pub address: SocketAddr,
    /// Further addresses of the same host: the next one is tried where no connection can be made to the one before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<SocketAddr>,
    /// The `Host` header.
    pub host: String,
    /// The routes of user classes, if the target is several tasks or services; the first that matches counts. Empty:
    /// all requests go to `address`. For the fiber host alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryPoint>,
}

impl Target {
    /// A target at this address, by plain HTTP, for all users.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        let (url, host) = (format!("http://{address}"), address.to_string());
        Self { url, address, others: Vec::new(), host, entries: Vec::new() }
    }

    /// All addresses of the host, the first one to try first.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        std::iter::once(self.address).chain(self.others.iter().copied())
    }
}

/// The route of the users of a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryPoint {
    /// The name of the service of these tasks, for the ledgers.
    #[serde(default)]
    pub service: String,
    /// The class; `None`: every class.
    pub class: Option<Class>,
    /// Equal tasks, at least one.
    pub tasks: TaskList,
    /// The choice of the task.
    pub balancer: Balancer,
    /// The unit of the choice. If each request is balanced, a user uses a kept connection again only if the same task
    /// is chosen again.
    pub per: Per,
    /// The largest number of users' requests under way at a task, where each request is balanced; 0: no limit. While
    /// all tasks are at the limit, a request is answered [`TURNED_BACK`](crate::balance::TURNED_BACK).
    #[serde(default)]
    pub cap: u32,
}

/// A stretch of time with the same loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name in every table.
    pub name: String,
    /// Its length.
    pub duration: Duration,
    /// The loads; different classes have loads of their own.
    pub loads: Vec<Load>,
}

/// A stream of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Closed: a number of users, each of which begins a new session when one ends. The number changes from one phase
    /// to the next at once, or along a line if `from` differs from `to`.
    Users {
        /// At the start of the phase.
        from: u32,
        /// At its end.
        to: u32,
        /// Their class.
        class: Class,
    },
    /// Partly open: sessions arrive; each user leaves when the session ends.
    Sessions {
        /// Sessions a second at the start.
        from_per_s: f64,
        /// And at the end.
        to_per_s: f64,
        /// The distribution of their gaps.
        law: ArrivalLaw,
        /// Their class.
        class: Class,
    },
    /// Open: single requests arrive, each from a user that sends one request (and retries, if its behaviour says so)
    /// and leaves.
    Requests {
        /// Requests a second at the start.
        from_per_s: f64,
        /// And at the end.
        to_per_s: f64,
        /// The distribution of their gaps.
        law: ArrivalLaw,
        /// Their class.
        class: Class,
    },
    /// Open: single requests, as [`Requests`](Self::Requests), at a rate that follows a sine from its mean upwards.
    Wave {
        /// Mean, requests a second.
        mean_per_s: f64,
        /// Highest deviation from it.
        amplitude_per_s: f64,
        /// Time from crest to crest.
        #[serde(with = "controllers::millis")]
        period: Duration,
        /// The distribution of their gaps.
        law: ArrivalLaw,
        /// Their class.
        class: Class,
    },
    /// Recorded sessions, at their recorded starts. They bring their own classes.
    Replay {
        /// The sessions that start within the phase; times count from the run's start.
        sessions: ReplaySessions,
        /// When their steps are due.
        pace: Pace,
        /// The classes that occur in them.
        classes: Vec<Class>,
    },
    /// A number of background clients that send no requests of users: they keep idle connections, or check the
    /// service's health.
    Present {
        /// At the start of the phase.
        from: u32,
        /// At its end.
        to: u32,
        /// Their role: any but [`BackgroundRole::Churn`].
        role: BackgroundRole,
        /// Their class.
        class: Class,
    },
    /// Connections that open and close.
    Churn {
        /// Connections a second at the start.
        from_per_s: f64,
        /// And at the end.
        to_per_s: f64,
        /// The distribution of their gaps.
        law: ArrivalLaw,
        /// True if each checks the service's health before it closes.
        ask: bool,
        /// Their class.
        class: Class,
    },
}

impl Load {
    /// This number of users, throughout the phase.
    #[must_use]
    pub fn users(number: u32) -> Self {
        Self::Users { from: number, to: number, class: Class::default() }
    }

    /// The classes of its users.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        match self {
            Self::Users { class, .. }
            | Self::Sessions { class, .. }
            | Self::Requests { class, .. }
            | Self::Wave { class, .. }
            | Self::Present { class, .. }
            | Self::Churn { class, .. } => std::slice::from_ref(class),
            Self::Replay { classes, .. } => classes,
        }
    }

    /// Rate and law of arrivals in a phase of this length, if they come at a rate.
    #[must_use]
    pub fn rate(&self, lasts: Duration) -> Option<(RatePath, ArrivalLaw)> {
        match *self {
            Self::Sessions { from_per_s, to_per_s, law, .. }
            | Self::Requests { from_per_s, to_per_s, law, .. }
            | Self::Churn { from_per_s, to_per_s, law, .. } => {
                Some((RatePath::Line { from: from_per_s, to: to_per_s, seconds: lasts.as_secs_f64() }, law))
            }
            Self::Wave { mean_per_s: mean, amplitude_per_s: amplitude, period, law, .. } => {
                Some((RatePath::Sine { mean, amplitude, period: period.as_secs_f64() }, law))
            }
            Self::Users { .. } | Self::Replay { .. } | Self::Present { .. } => None,
        }
    }

    /// The largest number of connections that the load keeps open; for users, if each keeps one.
    #[must_use]
    pub fn most_at_once(&self) -> u64 {
        match *self {
            Self::Users { from, to, .. } => u64::from(from.max(to)),
            Self::Present { role: BackgroundRole::Checker { anew: true, .. }, .. } => 0,
            Self::Present { from, to, .. } => u64::from(from.max(to)),
            Self::Sessions { .. }
            | Self::Requests { .. }
            | Self::Wave { .. }
            | Self::Replay { .. }
            | Self::Churn { .. } => 0,
        }
    }
}

/// The distribution of gaps between arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalLaw {
    /// Independent: exponential gaps.
    Poisson,
    /// Even gaps.
    Constant,
    /// Poisson arrivals whose rate switches between two multiples of its mean.
    Burst {
        /// Multiple while it is on; on average over both states it is 1.
        peak: f64,
        /// Mean time on.
        #[serde(with = "controllers::millis")]
        on: Duration,
        /// Mean time off.
        #[serde(with = "controllers::millis")]
        off: Duration,
    },
}
