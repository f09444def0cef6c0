//! The result of a run, as `summary.json` holds it. Scripts rely on its names: add freely, change none.
//!
//! Times are milliseconds, rates are per second, fractions 0 to 1. Two equations hold for every group of requests:
//! `planned = unsent + refused_locally + connect_failed + sent` and
//! `sent = served + served_late + rejected + timed_out + failed + abandoned + in_flight`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod joined;
mod search;
mod services;

pub use joined::Joined;
pub use search::{LimitSearch, LimitTry};
pub use services::{Calls, Service};

/// Version of the layout of `summary.json`.
pub const SCHEMA: u32 = 1;

/// Everything that a run found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// Measured on a real service, or computed in virtual time.
    pub mode: Mode,
    /// It was interrupted: what is here was measured, but arms or phases are missing.
    #[serde(default)]
    pub partial: bool,
    /// The worst verdict of the arms.
    pub verdict: Verdict,
    /// False for [`Verdict::Invalid`] alone.
    pub valid: bool,
    /// Why the verdict is not VALID.
    pub reasons: Vec<Reason>,
    /// What the service promises.
    pub objective: Objective,
    /// How the work knob was set, where a capacity was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// What was tried for arms whose fixed limit was looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<LimitSearch>,
    /// In the order in which they ran.
    pub arms: Vec<Arm>,
    /// What was asked of the run, and whether it held.
    #[serde(default)]
    pub thresholds: Vec<ThresholdResult>,
    /// Arms against the first one.
    pub comparisons: Vec<Comparison>,
}

/// The work knob, as it was solved for on the paper's mix before the first arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Requests a second that were asked for.
    pub wanted_per_s: f64,
    /// Requests a second that the last step measured.
    pub measured_per_s: f64,
    /// Extra database operations a request.
    pub operations: f64,
    /// The search.
    pub steps: Vec<CapacityStep>,
}

/// One step of the search for a capacity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityStep {
    /// Extra database operations a request.
    pub operations: f64,
    /// Requests a second that this gave.
    pub measured_per_s: f64,
}

/// How the figures came about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A real service under real load.
    #[default]
    Live,
    /// Virtual time.
    Virtual,
}

/// Whether the figures can be trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Nothing speaks against them.
    #[default]
    Valid,
    /// Usable with the caution named.
    Warn,
    /// The system never settled: percentiles depend on how long the run was. A finding, not a fault.
    Unstable,
    /// The measurement itself went wrong: no conclusion may be drawn.
    Invalid,
}

/// One thing that speaks against the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Short name of the check: `LEDGER`, `CPU`, `LAG`, …
    pub code: String,
    /// How bad it is.
    pub verdict: Verdict,
    /// The arm (and block) where it was seen; empty for the run as a whole.
    #[serde(default)]
    pub arm: String,
    /// What was measured, with its unit.
    pub value: String,
    /// What it was held against.
    pub threshold: String,
    /// What this means.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// A promise on response time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objective {
    /// Which percentile, 0 to 100.
    pub percentile: f64,
    /// Its bound.
    pub response_time_ms: f64,
}

/// One policy's turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// Name in tables and thresholds: the policy's, or the file's `as:`.
    #[serde(default)]
    pub name: String,
    /// Name in the catalogue.
    pub policy: String,
    /// All its parameters, as resolved.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// The policy on the users' own side; `None`: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// Which repetition, from 1.
    pub block: u32,
    /// Nothing was run: these are bounds, computed from arrivals and costs that were known beforehand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// False for [`Verdict::Invalid`] alone.
    pub valid: bool,
    /// Its own verdict.
    #[serde(default)]
    pub verdict: Verdict,
    /// Why not VALID.
    pub reasons: Vec<Reason>,
    /// How the load generator fared.
    pub generator: Generator,
    /// What the service itself counted.
    #[serde(default)]
    pub server: Option<Server>,
    /// The requests of both sides, joined; `None` where they carried no numbers, or too many had no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Joined>,
    /// Why a phase that was to begin with a fresh policy did not; `None` if all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewal_failed: Option<String>,
    /// What the kernel did behind both their backs.
    #[serde(default)]
    pub kernel: Kernel,
    /// In order.
    pub phases: Vec<Phase>,
    /// How users walked their model, row by row; empty for users without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub walk: Vec<WalkRow>,
}

/// A policy on the users' own side.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Name in the catalogue.
    pub policy: String,
    /// Who shares one: `user`, `group of 50`, `all`.
    pub scope: String,
    /// All its parameters, as resolved.
    pub parameters: BTreeMap<String, serde_json::Value>,
}

/// How users left one state of their model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WalkRow {
    /// The state.
    pub from: String,
    /// Transitions made on pages that offered every state of the row: these are held against the model.
    pub made: u64,
    /// Chance of a fit at least as bad if users follow the model: Pearson's chi-square test.
    pub p: f64,
    /// By the state drawn.
    pub to: BTreeMap<String, WalkCell>,
}

/// How often one transition was drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WalkCell {
    /// And made, on a page that offered every state of the row.
    pub made: u64,
    /// And made, on a page that did not offer every state of the row.
    pub made_elsewhere: u64,
    /// And not made, since the page did not offer it: the user listed messages instead.
    pub substituted: u64,
}

/// How the load generator fared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Generator {
    /// CPU used, as a share of its core.
    pub cpu: f64,
    /// Share of the time that the thread that sends was ready to run and waited for its core (run-queue delay).
    pub run_queue: f64,
    /// Of that, what is beyond the few microseconds that every wake-up takes (25 µs each): others had its core.
    pub crowded: f64,
    /// Actual send minus intended send, 99th percentile.
    pub send_lag_p99_ms: f64,
    /// The longest.
    pub send_lag_max_ms: f64,
    /// Planned requests that it never sent.
    pub unsent: u64,
    /// The longest time that its clock watch was late: a suspended or starved generator.
    pub loop_gap_max_ms: f64,
    /// Values beyond the range of a histogram.
    pub saturated: u64,
    /// Descriptors open at the most.
    pub open_files_max: u64,
    /// Descriptors that it may have; 0: unknown.
    pub open_files_limit: u64,
    /// Sends that failed because descriptors ran out.
    pub files_exhausted: u64,
    /// Sends that failed because local ports ran out.
    pub ports_exhausted: u64,
    /// Panics caught.
    pub panics: u64,
    /// Share of the machine's CPU time that its own host took away.
    pub steal: f64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// By how much the mean number in flight differs from rate times time (Little's law), as a share of it.
    pub little: f64,
    /// Sums of its books that do not add up, in words.
    pub books: Vec<String>,
}

/// What the service itself counted, and its health.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Server {
    /// Connections taken.
    pub connections_accepted: u64,
    /// Connections refused or evicted by a limit.
    pub connections_refused: u64,
    /// Failures to accept.
    pub accept_errors: u64,
    /// Requests whose head was read whole.
    pub requests_read: u64,
    /// Answered 4xx as no acceptable HTTP.
    pub malformed: u64,
    /// Answered as asked.
    pub served: u64,
    /// Refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Failed.
    pub errors: u64,
    /// The client had gone.
    pub client_gone: u64,
    /// Not finished when it was asked.
    pub in_flight: u64,
    /// Of those served: answers that said that they are less than was asked for, or older.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub degraded: u64,
    /// Health checks that it read, which are in no other count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checks: u64,
    /// Requests of clients without an answer that it never read, where both sides could be joined.
    pub unread: Option<u64>,
    /// CPU used, as a share of its core.
    pub cpu: f64,
    /// Panics caught.
    pub panics: u64,
    /// Where there are several services: the books of each. All above is about users' requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<Service>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the kernel counted while the arm ran (differences of `/proc/net/netstat`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Kernel {
    /// Connections dropped because an accept queue was full.
    pub listen_overflows: u64,
    /// All drops at a listening socket.
    pub listen_drops: u64,
    /// SYNs sent again.
    pub syn_retransmits: u64,
}

/// One phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Its name.
    pub name: String,
    /// How long it was.
    pub seconds: f64,
    /// Users at most.
    pub users: u32,
    /// Goodput as a share of the oracle's in the same phase and block, where there is an oracle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_oracle: Option<f64>,
    /// What went on beside requests: idle connections, those that come and go, health checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// What was measured. A request belongs to the phase of its intended start.
    #[serde(flatten)]
    pub measured: Measured,
    /// By request type.
    #[serde(default)]
    pub by_type: BTreeMap<String, Measured>,
    /// By user class.
    #[serde(default)]
    pub by_class: BTreeMap<String, Measured>,
}

/// Connections that were opened for their own sake, and health checks: in no ledger of requests, and no goodput.
/// `checks = answered + refused + failed + in_flight`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Beside {
    /// Connections made.
    pub connections: u64,
    /// Connections that could not be made.
    pub connect_failed: u64,
    /// Health checks begun.
    pub checks: u64,
    /// Answered as asked.
    pub answered: u64,
    /// Refused because of load.
    pub refused: u64,
    /// Answered otherwise, or not at all.
    pub failed: u64,
    /// Open as the run ended.
    pub in_flight: u64,
}

/// What was measured of a group of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Measured {
    /// Requests that users meant to send.
    pub planned: u64,
    /// Never sent: the generator's fault.
    pub unsent: u64,
    /// Never sent: a client-side policy refused, or did not let it go in time.
    pub refused_locally: u64,
    /// No connection came about.
    pub connect_failed: u64,
    /// Of these, the ones that ran into the connect time-out.
    pub connect_timed_out: u64,
    /// Written to a connection.
    pub sent: u64,
    /// Answered as asked, within the objective.
    pub served: u64,
    /// Answered as asked, too late.
    pub served_late: u64,
    /// Refused because of load.
    pub rejected: u64,
    /// No answer within the time-out.
    pub timed_out: u64,
    /// Answered with something else than what was asked for, or broken.
    pub failed: u64,
    /// The user's patience ended first.
    pub abandoned: u64,
    /// Open when the run ended.
    pub in_flight: u64,
    /// First attempts a second.
    pub offered_per_s: f64,
    /// Intents a second that were met within the objective.
    pub goodput_per_s: f64,
    /// Rejected of those that got an answer or none: `rejected / sent`.
    pub reject_fraction: f64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Of `failed`: sent to another host, where users do not go.
    #[serde(default)]
    pub elsewhere: u64,
    /// Redirects and refreshes that were followed: written beside `sent`, so the service reads `sent + hops`.
    pub hops: u64,
    /// Users that asked for something.
    pub clients: u64,
    /// Share of them that saw at least one connect time-out.
    pub clients_with_connect_timeout: f64,
    /// From intended start to the end of the answer, of what was served. Includes connecting.
    pub response_time_ms: Times,
    /// From actual send to the end of the answer, of what was served.
    pub service_time_ms: Times,
    /// From intended start to the end of the refusal.
    pub reject_time_ms: Times,
    /// From the first SYN to an open connection.
    pub connect_time_ms: Times,
}

/// Percentiles of a set of times. One that has too few samples is `None`; one that time-outs hide has a bound instead.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Times {
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Longest of the known ones.
    pub max: Option<f64>,
    /// Mean of the known ones.
    pub mean: Option<f64>,
    /// How many are known.
    pub count: u64,
    /// How many are only known to be longer than something (time-outs, requests given up): they hide `max` and `mean`.
    pub censored: u64,
    /// The median is hidden by time-outs and is at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_at_least: Option<f64>,
    /// The same for the 90th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_at_least: Option<f64>,
    /// The same for the 95th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_at_least: Option<f64>,
    /// The same for the 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_at_least: Option<f64>,
    /// The same for the 99.9th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999_at_least: Option<f64>,
}

/// A threshold of the experiment file, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// As written.
    pub text: String,
    /// Held in every block.
    pub held: bool,
    /// What was found, in words: the values of both sides, or why there is none.
    pub why: String,
    /// The left side's value in each block, in the unit of its metric; `None` where there is none.
    pub values: Vec<Option<f64>>,
    /// Each block for itself.
    #[serde(default)]
    pub blocks: Vec<BlockResult>,
}

/// What became of a threshold in one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockResult {
    /// Which one.
    pub block: u32,
    /// Held in it.
    pub held: bool,
    /// What was found, in words.
    pub found: String,
}

/// One metric of one arm against the baseline's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Comparison {
    /// Name of the metric in a phase.
    pub metric: String,
    /// The phase.
    pub phase: String,
    /// Arm compared against.
    pub baseline: String,
    /// Arm compared.
    pub policy: String,
    /// `different`, `equivalent` or `inconclusive`.
    pub verdict: String,
    /// The metric that the experiment is decided by; the others are there to look at.
    pub primary: bool,
    /// Policy over baseline: the Hodges-Lehmann estimate over blocks. `None` for fractions.
    pub ratio: Option<f64>,
    /// Policy less baseline, for fractions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// 95 % confidence interval of the ratio or difference, where there are enough blocks.
    pub interval: Option<[f64; 2]>,
    /// Time-outs hide one side: the ratio is at least as far from 1.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// Blocks that both had, neither of them INVALID.
    pub blocks: u32,
    /// By the exact sign-flip test, two-sided.
    pub p: Option<f64>,
    /// After Holm, over all arms against the baseline in this metric.
    pub p_adjusted: Option<f64>,
    /// What matters in practice, as a share (or, for fractions, in points of 1).
    pub margin: f64,
    /// How many more blocks would probably decide; `None` if it is decided, or that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_blocks: Option<u32>,
}

impl Verdict {
    /// As it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Warn => "WARN",
            Self::Unstable => "UNSTABLE",
            Self::Invalid => "INVALID",
        }
    }
}

impl Arm {
    /// Its name in tables and thresholds.
    pub fn shown_name(&self) -> &str {
        if self.name.is_empty() { &self.policy } else { &self.name }
    }
}

impl Measured {
    /// Requests written to a connection: what the service should have read.
    pub fn written(&self) -> u64 {
        self.sent + self.hops
    }

    /// The client's own equations: nothing planned is lost, nothing sent is lost.
    pub fn balances(&self) -> bool {
        self.planned == self.unsent + self.refused_locally + self.connect_failed + self.sent
            && self.sent
                == self.served
                    + self.served_late
                    + self.rejected
                    + self.timed_out
                    + self.failed
                    + self.abandoned
                    + self.in_flight
    }
}
