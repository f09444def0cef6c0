//! The load of a run as values: written down before the run starts, from a seed.

mod check;
mod client;
mod measured;

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use controllers::{Class, Criticality};
use serde::{Deserialize, Serialize};
pub use traces::PreviousPage;

use crate::balance::{Balancer, Per};
pub use check::PlanError;
pub use client::{ClientScope, ClientSpec};

use crate::{
    background::BackgroundRole,
    http1::names::{CRITICALITY, CUSTOMER},
    replay::{Pace, ReplaySessions},
};

/// Everything that a host needs to know to produce load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Root seed; sub-seeds are derived from it by name.
    pub seed: u64,
    /// Where to.
    pub target: Target,
    /// The users.
    pub users: Users,
    /// Marks on their requests: criticality, customer, class.
    pub marks: Marks,
    /// The phases, one after another, from time zero.
    pub phases: Vec<Phase>,
    /// Longest wait for an answer, from the intended start.
    pub timeout: Duration,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Served later than this is late.
    pub objective: Duration,
    /// Longest time after the last phase to wait for what is in flight.
    pub drain: Duration,
    /// Source addresses are spread over this many of 127.0.0.0/8 (loopback targets only); 1: no spreading.
    pub sources: u32,
    /// The client-side policy; `None`: users send without asking one.
    pub client: Option<ClientSpec>,
}

impl LoadPlan {
    /// These users go there in these phases, with everything as usual: answers are waited for up to a minute, connections for
    /// 10 s, and so is what is in flight at the end; answers are late after a second.
    #[must_use]
    pub fn new(target: Target, users: Users, phases: Vec<Phase>) -> Self {
        Self {
            seed: 1,
            target,
            users,
            marks: Marks::default(),
            phases,
            timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            objective: Duration::from_secs(1),
            drain: Duration::from_secs(10),
            sources: 1,
            client: None,
        }
    }

    /// Some of the load is recorded.
    #[must_use]
    pub fn replays(&self) -> bool {
        self.phases.iter().flat_map(|phase| &phase.loads).any(|load| matches!(load, Load::Replay { .. }))
    }
}

/// Marks on requests, by their user's class. Requests of a class that is not named have none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marks {
    /// How important they are, sent as `X-Criticality`.
    pub criticality: BTreeMap<Class, Criticality>,
    /// The paying customer: a number, sent as `X-Customer`.
    pub customer: BTreeMap<Class, u32>,
    /// The header that says the class; `None`: [`CLASS_HEADER`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_header: Option<String>,
}

/// The header in which users say their class, unless the service reads another.
pub const CLASS_HEADER: &str = "User-Class";

impl Marks {
    /// All header lines, each whole, that say what a user of a class is: the class itself too, unless it is 0. By class, 0 to 255.
    pub(crate) fn lines(&self) -> Vec<String> {
        let class_header = self.class_header.as_deref().unwrap_or(CLASS_HEADER);
        let of = |class: Class| {
            let mut lines = String::new();
            if class != Class::default() {
                lines.extend([class_header, ": ", &class.0.to_string(), "\r\n"]);
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
    /// As given: scheme, host and port.
    pub url: String,
    /// Where that is.
    pub address: SocketAddr,
    /// The `Host` header.
    pub host: String,
    /// Where users of a class go, if the service is several tasks or services; the first that fits counts. Empty: all go to
    /// `address`. For the fiber host alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<EntryPoint>,
}

impl Target {
    /// All users go to this address, by plain HTTP.
    #[must_use]
    pub fn at(address: SocketAddr) -> Self {
        Self { url: format!("http://{address}"), address, host: address.to_string(), entries: Vec::new() }
    }
}

/// Where users of a class go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryPoint {
    /// The service of these tasks, for the ledgers.
    #[serde(default)]
    pub service: String,
    /// `None`: of every class.
    pub class: Option<Class>,
    /// Equal tasks, at least one.
    pub tasks: Vec<SocketAddr>,
    /// Which task is chosen.
    pub balancer: Balancer,
    /// For what: a user keeps its connection to a task, or uses it again only if that task is chosen again.
    pub per: Per,
    /// Most requests of users under way at a task, where each request is balanced; 0: any number. With all tasks at it, a request
    /// is answered [`TURNED_BACK`](crate::balance::TURNED_BACK).
    #[serde(default)]
    pub cap: u32,
}

/// A stretch of time with one kind of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name in every table.
    pub name: String,
    /// How long.
    pub duration: Duration,
    /// The loads; several for several classes.
    pub loads: Vec<Load>,
}

/// A stream of users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Closed: this many users are there, each beginning a new session when one ends. A change from one phase to the next
    /// happens at once, or along a line if `from` differs from `to`.
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
        /// How they are spaced.
        law: ArrivalLaw,
        /// Their class.
        class: Class,
    },
    /// Open: single requests arrive, each from a user that comes, asks once (and retries, if its behaviour says so) and goes.
    Requests {
        /// Requests a second at the start.
        from_per_s: f64,
        /// And at the end.
        to_per_s: f64,
        /// How they are spaced.
        law: ArrivalLaw,
        /// Their class.
        class: Class,
    },
    /// Recorded sessions come as they came once. They bring their own classes.
    Replay {
        /// The sessions that start within the phase; times count from the run's start.
        sessions: ReplaySessions,
        /// When their steps are due.
        pace: Pace,
        /// Classes that occur in them.
        classes: Vec<Class>,
    },
    /// This many who are there without asking for anything: they keep idle connections, or check the service's health.
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
    /// Connections that come and go.
    Churn {
        /// Connections a second at the start.
        from_per_s: f64,
        /// And at the end.
        to_per_s: f64,
        /// How they are spaced.
        law: ArrivalLaw,
        /// Each asks for health before it goes.
        ask: bool,
        /// Their class.
        class: Class,
    },
}

impl Load {
    /// This many users, from beginning to end.
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
            | Self::Present { class, .. }
            | Self::Churn { class, .. } => std::slice::from_ref(class),
            Self::Replay { classes, .. } => classes,
        }
    }

    /// Connections that it keeps open, at most; of users, if each keeps one.
    #[must_use]
    pub fn most_at_once(&self) -> u64 {
        match *self {
            Self::Users { from, to, .. } => u64::from(from.max(to)),
            Self::Present { role: BackgroundRole::Checker { anew: true, .. }, .. } => 0,
            Self::Present { from, to, .. } => u64::from(from.max(to)),
            Self::Sessions { .. } | Self::Requests { .. } | Self::Replay { .. } | Self::Churn { .. } => 0,
        }
    }
}

/// How arrivals are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalLaw {
    /// Independent: exponential gaps.
    Poisson,
    /// Even gaps.
    Constant,
}

/// The users of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Users {
    /// Web-mail users that walk a Markov model.
    Mail(MailUsers),
    /// Users that ask for one URL again and again (`lab load`, synthetic services).
    Url(UrlUsers),
}

/// Web-mail users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MailUsers {
    /// Transitions and think times.
    pub model: traces::UserModel,
    /// The meaning of "the previous page" after a delete or refile.
    pub previous_page: PreviousPage,
    /// Accounts: user n signs in as account n modulo their number.
    pub accounts: Vec<Account>,
    /// Reactions of a user to failed attempts.
    pub behaviour: Behaviour,
    /// Which connections users use.
    pub connections: ConnectionHabit,
}

impl MailUsers {
    /// They walk this model, retry and wait as users do, each on a connection that it keeps; the previous page is the literal one
    /// (see [`PreviousPage`]).
    #[must_use]
    pub fn new(model: traces::UserModel, accounts: Vec<Account>) -> Self {
        Self {
            model,
            previous_page: PreviousPage::default(),
            accounts,
            behaviour: Behaviour::default(),
            connections: ConnectionHabit::PerUser,
        }
    }
}

/// Users of one URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UrlUsers {
    /// Path and query.
    pub path: String,
    /// `GET` or `POST`.
    pub method: String,
    /// Extra header lines.
    pub headers: Vec<(String, String)>,
    /// Body of a POST.
    pub body: Option<String>,
    /// Pause between an answer and the next request.
    pub think: traces::Think,
    /// Reactions of a user to failed attempts.
    pub behaviour: Behaviour,
    /// Which connections users use.
    pub connections: ConnectionHabit,
}

impl UrlUsers {
    /// They get this path, again at once after each answer, each on a connection that it keeps.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: None,
            think: traces::Think::Constant(Duration::ZERO),
            behaviour: Behaviour::default(),
            connections: ConnectionHabit::PerUser,
        }
    }
}

/// A name and a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Sign-in name.
    pub user: String,
    /// Password.
    pub password: String,
}

/// Reactions of a user to failed attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Behaviour {
    /// After a reject.
    pub on_reject: FailureRule,
    /// After a time-out, a failed connection or a failure.
    pub on_failure: FailureRule,
    /// How long users wait before they give up, if they do.
    pub patience: Option<Patience>,
    /// Most redirects in a row that are followed.
    pub redirects: u32,
    /// Follow `Refresh` headers and meta refresh after their wait.
    pub refresh: bool,
    /// Wait as long as `Retry-After` says, up to this; `None`: it is ignored.
    #[serde(with = "controllers::millis::option")]
    pub retry_after_at_most: Option<Duration>,
    /// After an answer with `X-Retry: never` users do not try the same again ("overloaded; don't retry", Google SRE, chapter
    /// 21).
    pub heed_dont_retry: bool,
    /// A user may retry while retries are under this share of its requests; `None`: no budget.
    pub retry_budget: Option<f64>,
}

/// The papers' users: wait 5 s and log in again after any failed attempt (Welsh, USITS'03, section 4.1), follow up to 10
/// redirects in a row and every `Refresh`, ignore `Retry-After`, heed `X-Retry: never`, and have all the patience in the world.
impl Default for Behaviour {
    fn default() -> Self {
        let login = FailureRule::Login { wait: Duration::from_secs(5) };
        Self {
            on_reject: login.clone(),
            on_failure: login,
            patience: None,
            redirects: 10,
            refresh: true,
            retry_after_at_most: None,
            heed_dont_retry: true,
            retry_budget: None,
        }
    }
}

impl Behaviour {
    /// The same after a reject and after a failure; for the rest as usual.
    #[must_use]
    pub fn on_any_failure(reaction: FailureRule) -> Self {
        Self { on_reject: reaction.clone(), on_failure: reaction, ..Self::default() }
    }
}

/// A reaction to a failed attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureRule {
    /// Waits, then starts a new session with a login (the papers' users: 5 s).
    Login {
        /// The wait.
        #[serde(with = "controllers::millis")]
        wait: Duration,
    },
    /// Tries the same request again at once, up to this many attempts in all; then as `Login` with a wait of 5 s.
    RetryNow {
        /// Attempts in all.
        attempts: u8,
    },
    /// Tries again after a pause drawn uniformly from 0 to min(cap, base·2^n) ("full jitter"); then as `Login`.
    Backoff {
        /// Base.
        #[serde(with = "controllers::millis")]
        base: Duration,
        /// Cap.
        #[serde(with = "controllers::millis")]
        cap: Duration,
        /// Attempts in all.
        attempts: u8,
    },
    /// Goes away for good.
    Leave,
}

/// Impatience while a request is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Patience {
    /// How long it lasts.
    pub lasts: traces::Think,
    /// After it the user reloads the page (a new attempt on a new connection) instead of leaving.
    pub reload: bool,
}

/// Which connections users use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionHabit {
    /// A connection for each user, kept while the user is there (Arashi's own client).
    PerUser,
    /// A connection for each session.
    PerSession,
    /// A connection for each request.
    PerRequest,
    /// A seeded share of the users keep theirs, the rest open a new connection for each request: many thinking users on few descriptors.
    Mixed {
        /// Share that keeps, 0 to 1.
        keep: f64,
    },
}
