//! A target as resolved values: `lab` writes them to a starting `lab serve`, and a plant is built from the same values.

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use controllers::{
    Class, ClassRule, Criticality, Objective, Tags,
    catalogue::PolicySpec,
    site::{OnRefuse, StageLimits},
};
use serde::{Deserialize, Serialize};

use crate::{generation::GenerationSpec, token::Token, waiting_room::RoomsSpec};

/// A whole target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// The service.
    pub app: App,
    /// The address of the service; port 0 takes a free one, which the ready line names.
    pub listen: SocketAddr,
    /// The address of the control port: loopback only.
    pub control: SocketAddr,
    /// The address of the metrics for Prometheus; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<SocketAddr>,
    /// The policy of admission.
    pub policy: PolicySpec,
    /// Pool sizing, batching and monitors from the catalogue, applied to every dynamic stage (monitors: once).
    pub machines: Vec<PolicySpec>,
    /// The service-level objective that policies are told.
    pub objective: Objective,
    /// Queue, pool and batch of a stage, unless `stages` says otherwise.
    pub stage_defaults: StageSpec,
    /// Settings of stages by name.
    pub stages: BTreeMap<String, StageSpec>,
    /// The limits of connections and requests.
    pub edge: EdgeSpec,
    /// The place that answers a health check (`GET /health`).
    #[serde(default)]
    pub health: HealthChecks,
    /// The rule for a request's class.
    pub class: ClassRule,
    /// The criticality of requests without one of their own, by class; other classes have [`Criticality::Critical`].
    #[serde(default)]
    pub criticality: BTreeMap<Class, Criticality>,
    /// Waiting rooms before it, in virtual time alone: live, a proxy has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_room: Option<RoomsSpec>,
    /// The token of the control port; `None`: drawn at the start, and printed in the ready line. It is never written to
    /// a file with the spec.
    #[serde(skip)]
    pub control_token: Option<Token>,
    /// The seed of the target's own draws (random drops, emulated service times).
    pub seed: u64,
    /// The seed of emulated service times where it is not `seed`: tasks of a service share it, so that a request costs
    /// the same at each of them.
    #[serde(default)]
    pub draws: Option<u64>,
    /// Processors to run on; empty: any.
    pub cpus: Vec<usize>,
    /// The process id of the parent, if this process is to be killed with it, however it ends. Named, since a parent
    /// that has ended by the time this is read has been replaced by another one.
    #[serde(default)]
    pub die_with: Option<u32>,
}

impl TargetSpec {
    /// A target on free ports of 127.0.0.1, with defaults for everything else.
    #[must_use]
    pub fn new(app: App, policy: PolicySpec, objective: Objective) -> Self {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            app,
            listen: loopback,
            control: loopback,
            metrics: None,
            policy,
            machines: Vec::new(),
            objective,
            stage_defaults: StageSpec::default(),
            stages: BTreeMap::new(),
            edge: EdgeSpec::default(),
            health: HealthChecks::default(),
            class: ClassRule::default(),
            criticality: BTreeMap::new(),
            waiting_room: None,
            control_token: None,
            seed: 1,
            draws: None,
            cpus: Vec::new(),
            die_with: None,
        }
    }

    /// The queue, pool and batch of the stage with this name.
    #[must_use]
    pub fn stage(&self, name: &str) -> &StageSpec {
        self.stages.get(name).unwrap_or(&self.stage_defaults)
    }
}

/// SQLite's `synchronous` in WAL mode. It changes what a write costs: results at different levels do not compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Synced at checkpoints: survives `kill -9`; a power cut may undo the newest changes.
    #[default]
    Normal,
    /// Synced at every commit: survives a power cut.
    Full,
}

/// The kinds of service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "app", rename_all = "kebab-case", deny_unknown_fields)]
pub enum App {
    /// The web-mail service.
    Arashi {
        /// The SQLite file. The run changes it: give each arm its own copy.
        database: PathBuf,
        /// Extra database operations per request: the work knob.
        work: WorkSpec,
        /// How it works.
        spec: ArashiSpec,
    },
    /// Reads and checksums a file, at a quality between 0 and 1 (USITS'03, section 4.5).
    Checksum(ChecksumSpec),
    /// Answers after an emulated service time.
    Emulated(EmulatedSpec),
    /// Generates tokens, in virtual time alone.
    Generation(GenerationSpec),
}

/// How the web-mail service works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArashiSpec {
    /// The number of connections to the database for reading.
    pub connections: u32,
    /// Put the session key into links instead of a cookie, as in the paper. Links are secrets then, and must not be passed on.
    pub session_in_links: bool,
    /// Search by full-text index instead of by substring, as in the paper.
    pub full_text: bool,
    /// The failures that an acknowledged change survives. It changes what a write costs.
    pub durability: Durability,
    /// The largest age of a copy of a list that is shown where the list itself is refused (`on_refuse: degrade`), or the policy asks for
    /// less than full quality; zero: none is kept.
    #[serde(rename = "stale_ms", with = "controllers::millis")]
    pub stale: Duration,
}

impl Default for ArashiSpec {
    fn default() -> Self {
        let (durability, stale) = (Durability::Normal, Duration::ZERO);
        Self { connections: 4, session_in_links: false, full_text: false, durability, stale }
    }
}

/// The work and the size of a page of the checksum service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChecksumSpec {
    /// Rounds at quality 1 (50 in the original code), each of `reads` reads of 100 bytes and a sum for
    /// every second one.
    pub rounds: u32,
    /// Additional rounds, done in full at any quality: the minimum cost of a page (0: the original code has none).
    #[serde(default)]
    pub fixed_rounds: u32,
    /// Reads per round (100 in the original code).
    pub reads: u32,
    /// Bytes of the answer (8192 in the original code).
    pub answer_bytes: u32,
}

impl ChecksumSpec {
    /// The number of reads of a round at a quality: at least one.
    #[must_use]
    pub fn reads_at(&self, quality: f64) -> u32 {
        (f64::from(self.reads) * quality.clamp(0.0, 1.0)).round().max(1.0) as u32
    }
}

/// Servers whose service times are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmulatedSpec {
    /// The law of service times.
    pub service: ServiceTime,
    /// The number of parallel servers.
    pub servers: u32,
    /// First come, first served, or all at once sharing the servers.
    pub discipline: Discipline,
    /// Bytes of the answer.
    pub answer_bytes: u32,
    /// The share of the work that shrinks with quality, 0 to 1: with 0.8, a request at quality 0.5 takes 0.6 of its
    /// time.
    #[serde(default)]
    pub degradable: f64,
    /// The factor of the drawn work for requests of a class, over 0; 1 for other classes. Pairs, since serde cannot
    /// read numbers as keys within a tagged [`App`].
    #[serde(default)]
    pub class_work: Vec<(Class, f64)>,
    /// Laws of requests for some paths, each a request type of its own, in place of `service`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, ServiceTime>,
}

impl EmulatedSpec {
    /// One server with this service time, first come, first served, and empty answers.
    #[must_use]
    pub fn one(service: ServiceTime) -> Self {
        let discipline = Discipline::Fifo;
        let (class_work, types) = (Vec::new(), BTreeMap::new());
        Self { service, servers: 1, discipline, answer_bytes: 0, degradable: 0.0, class_work, types }
    }

    /// The capacity, in requests a second of the usual type with a factor of 1, with this number of workers, which bring the jobs: no
    /// more servers are busy than there are workers. `None`: any number.
    #[must_use]
    pub fn capacity(&self, workers: u32) -> Option<f64> {
        let mean = self.service.mean().as_secs_f64();
        (mean > 0.0).then(|| f64::from(workers.min(self.servers)) / mean)
    }

    /// The most with servers of this speed, of which the usual one is 1, while each request takes `wait` longer without
    /// work: it occupies its worker meanwhile, and no server.
    #[must_use]
    pub fn capacity_at(&self, workers: u32, speed: f64, wait: Duration) -> Option<f64> {
        let mean = self.service.mean().as_secs_f64() / speed.max(f64::MIN_POSITIVE);
        let by_workers = f64::from(workers) / (mean + wait.as_secs_f64());
        Some((self.capacity(workers)? * speed).min(by_workers))
    }
}

/// The work knob: extra database operations per request. Fractions are met on average.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkSpec {
    /// Operations for a request of weight 1.
    pub operations: f64,
    /// Weights by request type; other types have the app's default weight.
    #[serde(default)]
    pub weights: BTreeMap<String, f64>,
    /// The standard deviation of the logarithm of a mailbox's factor, which has mean 1; 0: all mailboxes cost the same.
    #[serde(default)]
    pub spread: f64,
}

/// The place that answers a health check. Checks are in no ledger of requests, and policies are told
/// [`controllers::Outcome::Ignored`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthChecks {
    /// The edge, without asking a policy: the process is alive.
    #[default]
    Outside,
    /// Dispatch, if the policy there admits it: the service takes requests.
    Inside,
}

/// Laws of emulated service times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ServiceTime {
    /// Constant.
    Constant(#[serde(with = "controllers::millis")] Duration),
    /// Exponential.
    Exponential {
        /// Mean.
        #[serde(with = "controllers::millis")]
        mean: Duration,
    },
    /// Lognormal.
    Lognormal {
        /// Median.
        #[serde(with = "controllers::millis")]
        median: Duration,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// One of two constants.
    Bimodal {
        /// The usual value.
        #[serde(with = "controllers::millis")]
        short: Duration,
        /// The rare value.
        #[serde(with = "controllers::millis")]
        long: Duration,
        /// The share of the rare value, 0 to 1.
        long_share: f64,
    },
    /// Pareto.
    Pareto {
        /// The minimum.
        #[serde(with = "controllers::millis")]
        min: Duration,
        /// Tail index, over 1.
        alpha: f64,
    },
    /// Uniform.
    Uniform {
        /// The minimum.
        #[serde(with = "controllers::millis")]
        min: Duration,
        /// The maximum.
        #[serde(with = "controllers::millis")]
        max: Duration,
    },
    /// Drawn from a list with equal probabilities.
    Empirical(#[serde(with = "controllers::millis::list")] Vec<Duration>),
}

impl ServiceTime {
    /// The mean.
    #[must_use]
    pub fn mean(&self) -> Duration {
        match self {
            Self::Constant(time) => *time,
            Self::Exponential { mean } => *mean,
            Self::Lognormal { median, sigma } => median.mul_f64(libm::exp(sigma * sigma / 2.0)),
            Self::Bimodal { short, long, long_share } => short.mul_f64(1.0 - long_share) + long.mul_f64(*long_share),
            Self::Pareto { min, alpha } => min.mul_f64(alpha / (alpha - 1.0)),
            Self::Uniform { min, max } => (*min + *max) / 2,
            Self::Empirical(all) => all.iter().sum::<Duration>() / u32::try_from(all.len().max(1)).unwrap_or(u32::MAX),
        }
    }
}

/// The service discipline of emulated servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discipline {
    /// First come, first served.
    Fifo,
    /// All at once, each with an equal share.
    ProcessorSharing,
}

/// A stage's queue, pool and batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageSpec {
    /// The longest queue. A hard bound of memory, far above the lengths that policies work with.
    pub queue: u32,
    /// Workers at start.
    pub workers: u32,
    /// The largest batch that a worker takes.
    pub batch: u32,
    /// The reaction of the stage upstream to a refusal of this one.
    pub on_refuse: OnRefuse,
    /// Drop jobs whose client has gone before work on them began. Off in SEDA, and by default: then the work is done
    /// all the same.
    #[serde(default)]
    pub drop_abandoned: bool,
    /// Drop jobs whose sender no longer waits (`X-Timeout-Ms`) when their turn comes: they are refused as `waited`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_expired: bool,
    /// The criticality of jobs from this stage on, whatever it was before (Google SRE, chapter 21: criticality is
    /// overridden "at specific points in the stack").
    #[serde(default)]
    pub criticality: Option<Criticality>,
}

/// Two workers with batches of up to eight jobs, a long queue, and a 503 for refused requests.
impl Default for StageSpec {
    fn default() -> Self {
        Self {
            queue: 10_000,
            workers: 2,
            batch: 8,
            on_refuse: OnRefuse::Reject,
            drop_abandoned: false,
            drop_expired: false,
            criticality: None,
        }
    }
}

impl StageSpec {
    /// The tags that a job carries from this stage on.
    #[must_use]
    pub fn carried(&self, tags: Tags) -> Tags {
        Tags { criticality: self.criticality.unwrap_or(tags.criticality), ..tags }
    }

    /// The limits of its site.
    #[must_use]
    pub fn limits(&self) -> StageLimits {
        StageLimits { queue: self.queue, workers: self.workers, batch: self.batch, drop_expired: self.drop_expired }
    }
}

/// Limits of connections and requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EdgeSpec {
    /// The largest number of connections; 0: four fifths of the descriptor limit, at most 4096.
    pub connections: u32,
    /// The largest number of connections of one address (in IPv6 of one network of 64 bits); 0: no limit, since all
    /// users of a lab have one address.
    pub connections_per_source: u32,
    /// The largest number of clients that may keep the service waiting in a request at once: beyond it the slowest go. 0: a third of the
    /// connections.
    #[serde(default)]
    pub slow_clients: u32,
    /// The length of the listen queue; with a `connections` policy a small one.
    pub backlog: u32,
    /// Time to send the request head.
    pub head_timeout: Duration,
    /// Time to send the body.
    pub body_timeout: Duration,
    /// The part of it before the smallest rate applies.
    pub body_grace: Duration,
    /// The smallest rate of a body after that, bytes a second; 0: any.
    pub body_rate: u32,
    /// The time in which the answer must make progress: [`EdgeSpec::write_rate`] times this.
    pub write_timeout: Duration,
    /// The smallest rate at which a client takes an answer, over that time, bytes a second; 0: any byte is progress.
    pub write_rate: u32,
    /// The largest number of bytes of answers that wait in the kernel for a client (`SO_SNDBUF`); 0: the kernel's
    /// choice.
    pub send_buffer: u32,
    /// The largest head, bytes.
    pub head_bytes: u32,
    /// The largest number of header lines.
    pub headers: u32,
    /// The largest body, bytes.
    pub body_bytes: u32,
    /// What comes of a connection after an answer.
    #[serde(flatten)]
    pub kept: ConnectionSpec,
    /// Names of the service in addition to `localhost` and addresses. Requests for other names are refused: a name that
    /// a stranger directs here would let the stranger's pages access the service from a browser.
    pub hosts: Vec<String>,
    /// The longest time to finish admitted requests after the order to stop.
    pub drain: Duration,
}

impl EdgeSpec {
    /// The largest number of slow clients at a service of so many connections.
    #[must_use]
    pub fn most_slow_clients(&self, connections: usize) -> usize {
        match usize::try_from(self.slow_clients) {
            Ok(most @ 1..) => most,
            _ => connections.div_ceil(3),
        }
    }
}

impl Default for EdgeSpec {
    fn default() -> Self {
        Self {
            connections: 0,
            connections_per_source: 0,
            slow_clients: 0,
            backlog: 1024,
            head_timeout: Duration::from_secs(5),
            body_timeout: Duration::from_secs(10),
            body_grace: Duration::from_secs(5),
            body_rate: 1000,
            write_timeout: Duration::from_secs(15),
            write_rate: 1000,
            send_buffer: 64 * 1024,
            head_bytes: 32 * 1024,
            headers: 64,
            body_bytes: 64 * 1024,
            kept: ConnectionSpec::default(),
            hosts: Vec::new(),
            drain: Duration::from_secs(10),
        }
    }
}

/// What comes of a connection after an answer, and when the client of a refused request is to come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionSpec {
    /// Keep connections open between requests.
    pub keep_alive: bool,
    /// Close a connection after a refusal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refusal_closes: bool,
    /// `Retry-After` of a refusal where the policy advises nothing, whole seconds, rounded up; `None`: none.
    #[serde(rename = "retry_after_ms", with = "controllers::millis::option", skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
    /// Idle time on a kept connection.
    #[serde(rename = "idle_timeout_ms", with = "controllers::millis")]
    pub idle_timeout: Duration,
    /// The largest number of requests of one connection, which closes with the last one's answer (and announces it there); 0: no limit.
    pub connection_requests: u32,
}

impl Default for ConnectionSpec {
    fn default() -> Self {
        Self {
            keep_alive: true,
            refusal_closes: false,
            retry_after: None,
            idle_timeout: Duration::from_secs(15),
            connection_requests: 1000,
        }
    }
}
