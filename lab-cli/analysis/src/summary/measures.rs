//! Measures of a run beside its counts and times: whether it settled, how it recovered, what was wasted, who was served.

use measure::{Dispersion, Fairness, Undelayed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Measures of one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Measures {
    /// The load that was planned, where it stays the same for the whole phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<PlannedLoad>,
    /// What the phase is for by the plan; `None` where the plan has no overload and no fault, or its load is near the capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<PhaseRole>,
    /// Goodput fell to nearly nothing, and stayed there until the phase ended. Of overload and faults alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collapse: Option<Collapse>,
    /// Attempts for each request that users wanted: `planned / (planned - retries)`. `None`: they wanted nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amplification: Option<f64>,
    /// Share of the answers that came in this phase which were of no use: late, or with nobody there to take them. `None`:
    /// none came, or the service did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wasted: Option<f64>,
    /// How evenly users were served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_fairness: Option<Fairness>,
    /// Jain's index of the share of what they wanted that the classes were given: 1 if it was the same. `None` for one class,
    /// or if none was given anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_fairness: Option<f64>,
    /// Whether the phase settled; `None` where that cannot be told: its load changes, or it is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steadiness: Option<Steadiness>,
    /// How independently users came, where they were to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Dispersion>,
    /// Response times without what the generator itself may have added; `None` in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undelayed: Option<Undelayed>,
    /// Goodput that is missing, as a share of that under the same load before more was asked for, or before a fault: of the second half of
    /// either phase. `None`: no such phase was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hysteresis: Option<f64>,
    /// How the service recovered from what was before this phase, or from the last fault in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

/// What a phase is for, by the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseRole {
    /// Less than the service can serve, before any overload or fault.
    Calm,
    /// More than the service can serve.
    Overload,
    /// A fault begins in it.
    Fault,
    /// Less than the service can serve, after an overload or a fault.
    After,
}

impl PhaseRole {
    /// Word as it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Overload => "overload",
            Self::Fault => "fault",
            Self::After => "after",
        }
    }

    /// The service is asked for more than it can do.
    pub fn is_stress(self) -> bool {
        matches!(self, Self::Overload | Self::Fault)
    }
}

/// A congestion collapse: goodput under a tenth of the highest that the arm had had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Collapse {
    /// Seconds from the beginning of the phase until it was there.
    pub after_s: f64,
    /// Goodput from then to the end of the phase, a second.
    pub goodput_per_s: f64,
    /// The highest goodput of the arm over five seconds until the phase ended, a second.
    pub peak_per_s: f64,
}

/// A load that stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlannedLoad {
    /// Users.
    Users(u32),
    /// Sessions a second.
    SessionsPerS(f64),
    /// Requests a second.
    RequestsPerS(f64),
}

/// Whether a phase settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Steadiness {
    /// Its figures are to be read as those of a steady state; `None`: the file does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<bool>,
    /// By the plan its subject is a change: a spike, a fault, or what comes after either.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// Length of one of the 24 parts that are compared, in seconds; 0 in a phase that is too short for so many.
    pub part_s: f64,
    /// Whether it is long enough, for what is in flight, to tell a warm-up from chance.
    pub judged: bool,
    /// How much of its beginning lies outside of what its last third shows, in seconds: the longest over goodput, median response time and
    /// requests in flight.
    pub warm_up_s: f64,
    /// By how much the figures of the warm-up differ from those of the last third, as a share of the latter: the most of the three.
    pub warm_up_effect: f64,
    /// How much of its end lies outside of what its first third shows, in seconds.
    pub late_s: f64,
    /// By how much, as a share of the latter.
    pub late_effect: f64,
    /// Requests in flight, or waiting at the service, grew by so many a second, the more of the two; 0 if it may be chance, or too little to matter.
    pub growth_per_s: f64,
}

/// How a service recovered: from a phase of more load, or from a fault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Recovery {
    /// Name of the phase, or `fault`.
    pub from: String,
    /// How long that lasted, in seconds.
    pub trigger_s: f64,
    /// The arm's own goodput before it, a second.
    pub goodput_before_per_s: f64,
    /// What counts as normal: what was offered before it, less the share that was not in time then, of which the objective's own share is the
    /// most that counts; by the calm of the baseline, where that was better.
    pub normal_per_s: f64,
    /// Seconds from its end until goodput stayed at 95 % of what is normal, and the objective kept, in the next 10 s and in all that followed; `None`: not in this phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_s: Option<f64>,
    /// Not within this many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_s_at_least: Option<f64>,
    /// Goodput at the end of the phase, a second.
    pub goodput_at_end_per_s: f64,
    /// How long it was watched after the trigger was gone, in seconds.
    pub watched_s: f64,
    /// How long it has to be watched to be called metastable, in seconds.
    pub watch_needed_s: f64,
    /// Users tried again what had failed: without that nothing can keep a bad state alive.
    pub retries: bool,
    /// `recovered`, `metastable` or `undecided`.
    pub verdict: String,
    /// What it is judged by, in no file: the summary holds it against the baseline's calm.
    #[serde(skip)]
    pub watched: Watched,
}

/// What was normal before a trigger, and the seconds after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Watched {
    /// Users wait for answers, and ask for less where these are late.
    pub closed: bool,
    /// What was offered before the trigger, a second.
    pub offered_before_per_s: f64,
    /// The share of it that has to be in time.
    pub in_time: f64,
    /// In order.
    pub seconds: Vec<WatchedSecond>,
}

/// Requests of one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WatchedSecond {
    /// That came.
    pub offered: u64,
    /// Wants that were met in time.
    pub goodput: u64,
    /// Answered in time.
    pub served: u64,
    /// Answered late, or waited for in vain.
    pub late: u64,
}

/// A figure over the load, for one arm: every phase with one load is a point. Only where there are three loads or more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Curve {
    /// The arm.
    pub arm: String,
    /// In order of the load.
    pub points: Vec<CurvePoint>,
}

/// One load. Of several blocks, medians.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CurvePoint {
    /// The phase.
    pub phase: String,
    /// What was planned: users, or sessions or requests a second.
    pub planned: f64,
    /// Blocks that it is made of: INVALID ones are left out.
    pub blocks: u32,
    /// First attempts a second.
    pub offered_per_s: f64,
    /// Intents a second that were met within the objective.
    pub goodput_per_s: f64,
    /// The lowest and the highest of the blocks.
    pub goodput_range: [f64; 2],
    /// Rejected of those sent.
    pub reject_fraction: f64,
    /// 99th percentile of response time.
    pub p99_ms: Option<f64>,
    /// Where time-outs hide it: at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_at_least_ms: Option<f64>,
}

impl Measures {
    /// True if there is nothing to write.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl PlannedLoad {
    /// The value as a number, in its own unit.
    pub fn amount(self) -> f64 {
        match self {
            Self::Users(users) => users.into(),
            Self::SessionsPerS(rate) | Self::RequestsPerS(rate) => rate,
        }
    }

    /// Unit of the amount.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Users(_) => "users",
            Self::SessionsPerS(_) => "sessions/s",
            Self::RequestsPerS(_) => "requests/s",
        }
    }
}
