//! Answer of a run: a sentence an arm, and one row of figures an arm for calm, overload and what comes after.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PhaseRole, PlannedLoad};

/// What a run comes to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunAnswer {
    /// The arm that costs in calm, and verdicts, are compared with.
    pub baseline: String,
    /// The phase that a run without overload is about: the one that is compared or that its file names, else the busiest by the plan, of equal
    /// ones the longest. Runs of versions before it have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Arms by goodput in the phase that decides, in words; `None` where no conclusion may be drawn, or nothing can be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Phases of the run that the answer is about, in order.
    pub columns: Vec<AnswerColumn>,
    /// In the order of the file.
    pub arms: Vec<ArmAnswer>,
}

/// A phase that the answer is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AnswerColumn {
    /// The phase.
    pub phase: String,
    /// What it stands for; `None` in a run without overload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<PhaseRole>,
    /// Its load, where that stays the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<PlannedLoad>,
}

impl AnswerColumn {
    /// `calm`, or the phase's own name.
    pub fn title(&self) -> &str {
        match self.role {
            Some(role) => role.word(),
            None => &self.phase,
        }
    }
}

/// What one arm comes to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ArmAnswer {
    /// The arm.
    pub arm: String,
    /// In words that can be repeated; `None` where no conclusion may be drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// It knows what no policy can know: nobody can choose it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hindsight: bool,
    /// Its figures in each of [`RunAnswer::columns`]; `None`: there are none.
    pub columns: Vec<Option<ColumnFigures>>,
    /// How it recovered from overload or fault, where there was something to recover from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryAnswer>,
    /// Against the baseline.
    pub verdict: ArmVerdict,
    /// The same figures by class of users, where there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<String, Vec<Option<ColumnFigures>>>,
}

/// Figures of an arm in a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ColumnFigures {
    /// No block has the whole phase: the run was stopped in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
    /// First attempts a second.
    pub offered_per_s: BlockMedian,
    /// Intents a second that were met within the objective.
    pub goodput_per_s: BlockMedian,
    /// Response time at the objective's percentile, or at the nearest that is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective_ms: Option<BlockMedian>,
    /// 99th percentile of response time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ms: Option<BlockMedian>,
    /// Where a block has too few samples for the 99th percentile: the highest percentile below it for which all have enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below_p99: Option<LowerPercentile>,
    /// Rejected of those sent; `None` of a bound, which sends nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reject_fraction: Option<BlockMedian>,
    /// Goodput as a share of the oracle's, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_oracle: Option<BlockMedian>,
    /// The same of the bound of who does not know sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_blind: Option<BlockMedian>,
    /// Of that bound itself: requests a second by which a single run may exceed it by chance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_chance_per_s: Option<f64>,
}

/// A percentile of response time in place of a higher one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LowerPercentile {
    /// Which: `p95`, `p90` or `p50`.
    pub percentile: String,
    /// Its value, milliseconds.
    pub ms: BlockMedian,
}

/// The median over blocks: of an even number the higher one of the two in the middle, which was measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BlockMedian {
    /// It.
    pub median: f64,
    /// Time-outs hide it: it is at least that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// From six blocks on the 95 % confidence interval of the median, by order statistics; of fewer the lowest and the highest.
    /// `None` of one block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Time-outs hide the upper end of the interval: it is at least that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Blocks that it is made of.
    pub blocks: u32,
}

/// How an arm recovered, over its blocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecoveryAnswer {
    /// From what: the name of the phase, or `fault`.
    pub from: String,
    /// Seconds until goodput stayed at 95 % of what is normal, and the objective kept: a bound if it did not come to that.
    pub after_s: BlockMedian,
    /// Blocks in which it recovered.
    pub recovered: u32,
    /// Blocks in which it was metastable.
    pub metastable: u32,
    /// Blocks in which neither can be said.
    pub undecided: u32,
}

/// What can be said of an arm against the baseline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ArmVerdict {
    /// In a word.
    pub word: ArmVerdictWord,
    /// The metric that decides, in which phase: `goodput_per_s` and `spike`. Empty where nothing was compared.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// The phase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// The effect with its interval, as a comparison shows it: `x1.20 [1.10, 1.31]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// A verdict on an arm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArmVerdictWord {
    /// The others are compared with it.
    Baseline,
    /// Different, and for the better.
    Better,
    /// Different, and for the worse.
    Worse,
    /// No difference that matters.
    Equivalent,
    /// Not decided.
    #[serde(alias = "inconclusive")]
    Undecided,
    /// One block: nothing can be decided.
    OneBlock,
    /// Nothing was compared: the run is INVALID, or the arm has no block in common with the baseline.
    #[default]
    NotCompared,
}

impl ArmVerdictWord {
    /// Word as it is printed.
    pub fn words(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
            Self::OneBlock => "one block",
            Self::NotCompared => "-",
        }
    }
}
