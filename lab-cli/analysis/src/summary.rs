//! The result of a run, as `summary.json` holds it. Scripts rely on its names: add freely, change none.
//!
//! Times are milliseconds, rates are per second, fractions 0 to 1. Two equations hold for every group of requests:
//! `planned = unsent + refused_locally + connect_failed + sent` and
//! `sent = served + served_late + rejected + timed_out + failed + abandoned + in_flight`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod answer;
mod arm;
mod conditions;
mod curve;
mod decision;
mod entitled;
mod joined;
mod judged;
mod measures;
mod neighbours;
mod part;
mod phase;
mod recovery;
mod search;
mod sides;
mod stopped;
mod touched;
mod verdict;

pub use answer::{
    AnswerColumn, ArmAnswer, ArmVerdict, ArmVerdictWord, BlockMedian, ColumnFigures, LowerPercentile, RecoveryAnswer,
    RunAnswer,
};
pub use arm::{Arm, Client, PROGRAM, WalkRow, arm_names};
pub use conditions::{CarriedOver, ClockConditions, Conditions, Headroom, Notches, Speed};
pub use curve::{Curve, CurvePoint};
pub use decision::{DecisionEnd, LookFound, SequentialOutcome, Undecided};
pub use joined::Joined;
pub use judged::{BlockResult, Comparison, ComparisonVerdict, ThresholdResult, deciding};
pub use measures::{Collapse, Measures, PhaseRole, PlannedLoad, Steadiness};
pub(crate) use measures::{MEASURES, Measure, MeasureColumn, WASTED};
pub use neighbours::{NeighbourUse, ServiceWait, Stolen, Throttled};
pub use part::PartSummary;
pub use phase::{PhaseSummary, busiest};
pub use recovery::{Recovery, Watched, WatchedSecond};
pub use search::{Capacity, CapacityStep, LimitSearch, LimitTry};
pub use sides::{Generator, Kernel, Server, ServiceUse};
pub use stopped::{Stopped, whole_blocks};
pub use touched::Touched;
pub use verdict::{GateFinding, Validity, verdict_and_codes};
// What users measure is in the summary as it is.
pub use entitled::Entitled;
pub use measure::{BackgroundLedger, Dispersion, Fairness, Measured, ServiceTotals, Times, Undelayed, WalkCell};

/// Version of the layout of `summary.json`.
pub const SCHEMA: u32 = 1;

/// Everything that a run found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Summary")]
pub struct RunSummary {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// Measured on a real service, or computed in virtual time.
    pub mode: Mode,
    /// It was interrupted: what is here was measured, but arms or phases are missing.
    #[serde(default)]
    pub partial: bool,
    /// How far it came then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// The worst verdict of the arms.
    pub verdict: Validity,
    /// False for [`Validity::Invalid`] alone.
    pub valid: bool,
    /// What it comes to: every report begins with it. Runs of versions before it have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<RunAnswer>,
    /// Why the verdict is not VALID.
    pub reasons: Vec<GateFinding>,
    /// What the service promises.
    pub objective: LatencyObjective,
    /// Classes by what they are entitled to, where some come before others or are customers.
    #[serde(default, skip_serializing_if = "Entitled::is_empty")]
    pub entitled: Entitled,
    /// The service has several stages, with a place for a policy in each.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub several_stages: bool,
    /// How the work knob was set, where a capacity was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Capacity>,
    /// What the generator can do here, measured before the first arm of a live run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Headroom>,
    /// What was tried for arms whose fixed limit was looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<LimitSearch>,
    /// In the order in which they ran.
    pub arms: Vec<Arm>,
    /// What was asked of the run, and whether it held.
    #[serde(default)]
    pub thresholds: Vec<ThresholdResult>,
    /// Arms against the first one.
    #[serde(deserialize_with = "judged::read")]
    pub comparisons: Vec<Comparison>,
    /// Where blocks were added until the comparison was decided: what each look found, and why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<SequentialOutcome>,
    /// Arms that are the same but for their names, against each other: what differs there is the noise of the lab.
    #[serde(default, deserialize_with = "judged::read", skip_serializing_if = "Vec::is_empty")]
    pub noise_floor: Vec<Comparison>,
    /// Such arms in virtual time, where they are the same bits: they say nothing of noise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub void_twins: Vec<[String; 2]>,
    /// Arms that did the same to the last request, though they were set to different things: one, and another that did what it did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identical: Vec<[String; 2]>,
    /// Figures over the load, for runs with three loads or more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
}

impl RunSummary {
    /// The names of its arms, each once, in the order in which they ran.
    pub fn arm_names(&self) -> Vec<&str> {
        arm_names(&self.arms)
    }

    /// Codes of the reasons for its verdict, each once.
    pub fn codes(&self) -> BTreeSet<&str> {
        let deciding = self.reasons.iter().filter(|reason| reason.verdict == self.verdict);
        deciding.map(|reason| reason.code.as_str()).collect()
    }

    /// True if services were asked in vain throughout.
    pub fn nothing_served(&self) -> bool {
        let sum = |count: fn(&Measured) -> u64| self.arms.iter().map(|arm| arm.sum(count)).sum::<u64>();
        sum(|measured| measured.sent + measured.connect_failed) > 0
            && sum(|measured| measured.served + measured.served_late) == 0
    }

    /// `PARTIAL: 2 of 121 blocks ran to their end`, which belongs beside every verdict of such a run.
    pub fn partial_in_words(&self) -> Option<String> {
        let how_far = self.stopped.as_ref().map_or_else(|| "the run was stopped".to_owned(), Stopped::in_words);
        self.partial.then(|| format!("PARTIAL: {how_far}"))
    }

    /// `4 of 5 thresholds passed, 2 not judged`.
    pub fn passed_in_words(&self) -> String {
        self.judged_in_words("thresholds", "passed")
    }

    /// `4 of 4 claims held, 2 not judged`: of what a paper says.
    pub fn held_in_words(&self, what: &str) -> String {
        self.judged_in_words(what, "held")
    }

    fn judged_in_words(&self, what: &str, did: &str) -> String {
        let judged = || self.thresholds.iter().filter(|threshold| threshold.judged);
        let held = judged().filter(|threshold| threshold.held).count();
        match self.thresholds.len() - judged().count() {
            0 => format!("{held} of {} {what} {did}", self.thresholds.len()),
            all if all == self.thresholds.len() => format!("none of {all} {what} was judged"),
            others => format!("{held} of {} {what} {did}, {others} not judged", judged().count()),
        }
    }
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

/// A promise on response time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Objective")]
pub struct LatencyObjective {
    /// Which percentile, 0 to 100.
    pub percentile: f64,
    /// Its bound.
    pub response_time_ms: f64,
}
