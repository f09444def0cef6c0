//! What was asked of a run: thresholds and comparisons, judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// It ended the run: in words, when and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<String>,
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
