//! An experiment as it is meant: every value checked, every default filled in. Written to the manifest as it is.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use controllers::{Catalogue, Class, Criticality};
use serde::{Deserialize, Serialize, Serializer};
use target_app::{
    graph::Graph,
    mail::corpus::CorpusSpec,
    spec::{ClassRule, Discipline, Durability, Health, PolicySpec, ServiceTime, StageSpec},
    synthetic::{Checksum, Emulated},
};
use workloads::{
    plan::{ArrivalLaw, Behaviour, ClientScope, ConnectionHabit, Marks, OnTrouble, PreviousPage},
    presence::Role,
};

mod services;

pub use services::{Tree, TreeCall, TreeService};

use super::{hindsight::Hindsight, simulation::Simulation, tree::CallChanges};
use crate::{
    judge::compare::{Family, Metric},
    summary::Objective,
};

/// A whole experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Experiment {
    /// Names the results folder.
    pub name: String,
    /// One line.
    pub about: String,
    /// Figure and paper, where there is one.
    pub source: Option<String>,
    /// What is measured.
    pub target: Target,
    /// What the service promises.
    pub objective: Objective,
    /// Who sends.
    pub users: Users,
    /// What is compared.
    pub arms: Vec<Arm>,
    /// How often every arm is run.
    pub repeat: u32,
    /// Root of all randomness.
    pub seed: u64,
    /// What must hold.
    pub thresholds: Vec<String>,
    /// How arms are compared.
    pub compare: Compare,
    /// What would otherwise be held against the run's validity.
    pub declares: Vec<Declared>,
    /// For runs in virtual time.
    #[serde(rename = "virtual")]
    pub simulation: Simulation,
}

/// How arms are compared. Fixed before the run, in the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Compare {
    /// The arm that the others are held against; `None`: the first.
    pub baseline: Option<String>,
    /// What decides.
    pub metric: Metric,
    /// In which phase; `None`: the baseline's with the most requests.
    pub phase: Option<String>,
    /// What matters in practice, as a share; `None`: the metric's own.
    pub margin: Option<f64>,
}

impl Compare {
    /// For arms in this order. A baseline that was left out of the run gives way to the first.
    pub fn family<'a>(&'a self, order: &'a [String]) -> Family<'a> {
        let baseline = self.baseline.as_deref().filter(|baseline| order.iter().any(|name| name == baseline));
        Family { order, baseline, phase: self.phase.as_deref(), primary: self.metric, margin: self.margin }
    }
}

/// Conditions that make a run doubtful unless the experiment is about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Declared {
    /// The kernel's listen queue overflows: it, not a policy, does the admission.
    KernelBacklog,
    /// Closed users under overload: their number caps the load (the SEDA experiments are of this kind).
    ClosedOverload,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Target {
    /// What it serves.
    pub app: App,
    /// Queue, pool and batch of every stage.
    pub stage_defaults: StageSpec,
    /// Those that differ.
    pub stages: BTreeMap<String, StageSpec>,
    /// Pool sizing, batching, monitors.
    pub machines: Vec<PolicySpec>,
    /// How a request's class is found.
    pub class: ClassRule,
    /// Who answers health checks.
    pub health: Health,
    /// How important requests of a class are that do not say so themselves.
    pub criticality: BTreeMap<Class, Criticality>,
    /// Length of the kernel's listen queue, in every arm; `None`: long, and short in arms that limit connections.
    pub backlog: Option<u32>,
    /// Keep connections open between requests.
    pub keep_alive: bool,
    /// Longest time that such a connection may be idle.
    #[serde(rename = "idle_timeout_ms", with = "controllers::millis")]
    pub idle_timeout: Duration,
    /// Most requests of one connection; 0: any number.
    pub connection_requests: u32,
    /// Names that it answers to beside `localhost` and addresses.
    pub hosts: Vec<String>,
}

/// What is served.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "app", rename_all = "kebab-case")]
pub enum App {
    /// The web-mail service.
    Arashi(Arashi),
    /// The checksum service.
    Checksum {
        /// Rounds at quality 1.
        rounds: u32,
        /// Rounds more, done in full at any quality.
        fixed_rounds: u32,
        /// Reads a round.
        reads: u32,
        /// Bytes of the answer.
        answer_bytes: u32,
    },
    /// Emulated service times.
    Emulated {
        /// Their law.
        service: ServiceTime,
        /// How many side by side.
        servers: u32,
        /// In turn or sharing.
        discipline: Discipline,
        /// Bytes of the answer.
        answer_bytes: u32,
        /// Share of the work that shrinks with quality, 0 to 1.
        degradable: f64,
    },
    /// Several services with emulated service times that call each other.
    Tree(Tree),
}

/// The web-mail service.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arashi {
    /// Whose mail.
    pub mail: Mail,
    /// How much work a request is.
    pub work: Work,
    /// Connections to the database.
    pub connections: u32,
    /// The key in links instead of a cookie.
    pub session_in_links: bool,
    /// Full-text index instead of substring.
    pub full_text: bool,
    /// What an acknowledged change survives. It changes what a write costs.
    pub durability: Durability,
    /// Oldest copy of a list that is shown where the list itself is refused; zero: none is kept.
    #[serde(rename = "stale_ms", with = "controllers::millis")]
    pub stale: Duration,
}

/// Generated mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Mail {
    /// Seed of the corpus.
    pub seed: u64,
    /// Accounts.
    pub accounts: u32,
    /// Messages in every inbox; `None`: sizes spread as the corpus has them.
    pub inbox: Option<u32>,
}

impl Mail {
    /// What to generate.
    pub fn corpus(self) -> CorpusSpec {
        let any = CorpusSpec { users: self.accounts, seed: self.seed, ..CorpusSpec::default() };
        match self.inbox {
            None => any,
            Some(messages) => CorpusSpec {
                inbox_median: messages.into(),
                inbox_sigma: 0.0,
                inbox_min: messages,
                inbox_max: messages,
                ..any
            },
        }
    }
}

/// The work knob.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Solve for this many requests a second on the paper's mix.
    Capacity(f64),
    /// This many extra database operations a request.
    Operations(f64),
}

/// Who sends.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Users {
    /// What they do.
    pub model: Model,
    /// When things go wrong.
    pub behaviour: Behaviour,
    /// Which connections they use.
    pub connections: ConnectionHabit,
    /// Longest wait for an answer.
    #[serde(with = "controllers::millis")]
    pub timeout: Duration,
    /// Longest wait for a connection.
    #[serde(with = "controllers::millis")]
    pub connect_timeout: Duration,
    /// Longest wait after the last phase for what is in flight.
    #[serde(with = "controllers::millis")]
    pub drain: Duration,
    /// Source addresses that users are spread over.
    pub sources: u32,
    /// What their requests say of themselves.
    pub marks: Marks,
    /// Who decides on their own side, in arms that do not say otherwise.
    pub client: Option<Client>,
    /// Stretches of load.
    pub phases: Vec<Phase>,
}

/// What users do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// Walk a Markov model of web-mail use.
    Mail {
        /// The model.
        model: traces::UserModel,
        /// Where from; `None`: built in. The manifest has its name alone: folders say whose machine it was.
        #[serde(serialize_with = "name_only")]
        file: Option<PathBuf>,
        /// What "the previous page" means.
        previous_page: PreviousPage,
    },
    /// Ask for one URL.
    Url {
        /// Path and query.
        path: String,
        /// Pause after an answer.
        think: traces::Think,
    },
}

/// A stretch of load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// How long.
    #[serde(with = "controllers::millis")]
    pub duration: Duration,
    /// The arm's policy begins anew with it, as if the run did.
    pub fresh_policy: bool,
    /// What arrives.
    pub loads: Vec<Load>,
}

/// A stream of users.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// Closed.
    Users {
        /// At the start.
        from: u32,
        /// At the end.
        to: u32,
        /// Their class.
        class: u8,
    },
    /// Partly open.
    Sessions {
        /// A second, at the start.
        from: Rate,
        /// At the end.
        to: Rate,
        /// Their spacing.
        law: ArrivalLaw,
        /// Their class.
        class: u8,
    },
    /// Open.
    Requests {
        /// A second, at the start.
        from: Rate,
        /// At the end.
        to: Rate,
        /// Their spacing.
        law: ArrivalLaw,
        /// Their class.
        class: u8,
    },
    /// They are there without asking for anything: idle connections, health checks.
    Present {
        /// At the start.
        from: u32,
        /// At the end.
        to: u32,
        /// What for.
        role: Role,
        /// Their class.
        class: u8,
    },
    /// Connections that come and go.
    Churn {
        /// A second, at the start.
        from: Rate,
        /// At the end.
        to: Rate,
        /// Their spacing.
        law: ArrivalLaw,
        /// With a health check each.
        ask: bool,
        /// Their class.
        class: u8,
    },
}

impl Load {
    /// Users of a closed stream, at its end.
    pub fn closed_users(&self) -> u32 {
        match self {
            Self::Users { to, .. } => *to,
            Self::Sessions { .. } | Self::Requests { .. } | Self::Present { .. } | Self::Churn { .. } => 0,
        }
    }
}

/// A rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rate {
    /// So many a second: `100/s`.
    PerSecond(f64),
    /// Times the capacity: `0.5x`.
    OfCapacity(f64),
}

impl Rate {
    /// In requests a second.
    pub fn per_second(self, capacity: Option<f64>) -> f64 {
        match self {
            Self::PerSecond(rate) => rate,
            Self::OfCapacity(times) => times * capacity.unwrap_or(0.0),
        }
    }
}

/// One thing that is compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    /// Its name in tables and thresholds: the policy's, unless `as` says otherwise.
    pub label: String,
    /// Who decides.
    pub policy: PolicySpec,
    /// What a stage does when the next one refuses.
    pub on_refuse: Option<target_app::spec::OnRefuse>,
    /// Length of the kernel's listen queue.
    pub backlog: Option<u32>,
    /// Who decides on the users' own side, before they send: the arm's own, else that of all arms.
    pub client: Option<Client>,
    /// What the arm knows beforehand, as no policy can: for runs in virtual time alone.
    pub hindsight: Option<Hindsight>,
    /// Who decides at single services of a tree, instead of `policy`.
    pub services: BTreeMap<String, PolicySpec>,
    /// What is different about all calls between services.
    pub calls: CallChanges,
}

/// A policy on the users' own side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Client {
    /// Its name in the catalogue.
    pub policy: String,
    /// Its settings.
    pub settings: controllers::Settings,
    /// Who shares one.
    pub scope: ClientScope,
}

impl App {
    /// Its request types and stages.
    pub fn graph(&self) -> Graph {
        match self {
            Self::Arashi(_) => target_app::mail::Arashi::stage_graph(),
            Self::Checksum { .. } => Checksum::stage_graph(),
            // Every service of a tree has the same stages.
            Self::Emulated { .. } | Self::Tree(_) => Emulated::stage_graph(),
        }
    }
}

impl Arm {
    /// No control.
    pub fn none() -> Self {
        Self {
            label: "none".to_owned(),
            policy: PolicySpec { name: "none".to_owned(), place: None, settings: controllers::Settings::new() },
            on_refuse: None,
            backlog: None,
            client: None,
            hindsight: None,
            services: BTreeMap::new(),
            calls: CallChanges::default(),
        }
    }
}

impl Arm {
    /// The name of who decides, in tables.
    pub fn policy_name(&self) -> &str {
        match self.hindsight {
            Some(Hindsight::Oracle) => super::hindsight::ORACLE,
            _ => &self.policy.name,
        }
    }
}

fn emulated_capacity(service: &ServiceTime, servers: u32, workers: u32) -> Option<f64> {
    let mean = mean_of(service).as_secs_f64();
    // Workers bring the jobs: no more servers are busy than there are workers.
    (mean > 0.0).then(|| f64::from(workers.min(servers)) / mean)
}

impl Experiment {
    /// True if who comes when does not depend on what is answered, and nobody comes twice: then what an oracle can do at most
    /// can be computed beforehand. For services whose requests cost what they cost by themselves.
    pub fn is_open(&self) -> bool {
        let users = &self.users;
        let open = users.phases.iter().flat_map(|phase| &phase.loads).all(|load| matches!(load, Load::Requests { .. }));
        // Who comes for one request and is told to log in again, leaves.
        let gives_in = |trouble: &OnTrouble| matches!(trouble, OnTrouble::Login { .. } | OnTrouble::Leave);
        let behaviour = &users.behaviour;
        open && gives_in(&behaviour.on_reject)
            && gives_in(&behaviour.on_failure)
            && !behaviour.patience.as_ref().is_some_and(|patience| patience.reload)
            && matches!(users.model, Model::Url { .. })
            && matches!(self.target.app, App::Emulated { .. } | App::Checksum { .. })
    }

    /// The rate that the target can serve, if it is known before it is measured.
    pub fn nominal_capacity(&self) -> Option<f64> {
        match &self.target.app {
            App::Arashi(Arashi { work: Work::Capacity(rate), .. }) => Some(*rate),
            App::Arashi(_) | App::Checksum { .. } => None,
            App::Emulated { service, servers, .. } => {
                let stage = self.target.stages.get("work").unwrap_or(&self.target.stage_defaults);
                emulated_capacity(service, *servers, stage.workers)
            }
            App::Tree(tree) => tree.capacity(),
        }
    }

    /// A live run is refused.
    pub fn virtual_only(&self) -> bool {
        // Live, users find their tasks themselves: there is no balancer that could refuse.
        let capped = matches!(&self.target.app, App::Tree(tree) if tree.services.iter().any(|service| service.cap > 0));
        self.simulation.only || capped
    }

    /// What readers of the figures should know before: policies that steer by another percentile than the promise's.
    pub fn cautions(&self) -> Vec<String> {
        let promised = self.objective.percentile;
        let by_another = |arm: &Arm| {
            let percentile = steers_by(&arm.policy).filter(|percentile| (promised - percentile).abs() > 1e-9)?;
            let label = &arm.label;
            Some(format!("{label} steers by the {percentile}th percentile; the objective is about the {promised}th"))
        };
        self.arms.iter().filter_map(by_another).collect()
    }

    /// How long all arms take, without starting and draining.
    pub fn planned_time(&self) -> Duration {
        let one: Duration = self.users.phases.iter().map(|phase| phase.duration).sum();
        one * self.repeat * u32::try_from(self.arms.len()).unwrap_or(u32::MAX)
    }
}

/// The percentile that a policy holds against its target, if it does: a parameter of all but the M/M/1 model, which is
/// written for the 90th.
fn steers_by(policy: &PolicySpec) -> Option<f64> {
    let values = Catalogue::find(&policy.name)?.check(&policy.settings).ok()?;
    match policy.name.as_str() {
        "seda" | "degrade" | "pid" => Some(values.count("percentile") as f64),
        "mm1" => Some(90.0),
        _ => None,
    }
}

/// The mean of a law of service times.
fn mean_of(service: &ServiceTime) -> Duration {
    match service {
        ServiceTime::Constant(time) => *time,
        ServiceTime::Exponential { mean } => *mean,
        ServiceTime::Lognormal { median, sigma } => median.mul_f64(libm::exp(sigma * sigma / 2.0)),
        ServiceTime::Bimodal { short, long, long_share } => short.mul_f64(1.0 - long_share) + long.mul_f64(*long_share),
        ServiceTime::Pareto { min, alpha } => min.mul_f64(alpha / (alpha - 1.0)),
        ServiceTime::Uniform { min, max } => (*min + *max) / 2,
        ServiceTime::Empirical(all) => {
            all.iter().sum::<Duration>() / u32::try_from(all.len().max(1)).unwrap_or(u32::MAX)
        }
    }
}

fn name_only<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    let name = path.as_ref().and_then(|path| path.file_name());
    serializer.serialize_some(&name.map(|name| name.to_string_lossy()))
}
