//! What was asked of a run: thresholds and comparisons, judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A threshold of the experiment file, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// As written.
    pub text: String,
    /// Held in every block in which it could be judged.
    pub held: bool,
    /// False if it could be judged in no block: the run was stopped before what it is about had ended. Then it has not held either.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub judged: bool,
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
    /// False if it could not be judged in it.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub judged: bool,
    /// What was found, in words.
    pub found: String,
}

fn yes() -> bool {
    true
}

impl ThresholdResult {
    /// What became of it.
    pub fn outcome(&self) -> &'static str {
        match (self.judged, self.held) {
            (false, _) => "not judged",
            (true, true) => "passed",
            (true, false) => "FAILED",
        }
    }
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
    /// The policy knows what no policy can know (`oracle`, `best-static`): nobody can choose it, so it is there to look at, and no part
    /// of the family that `p_adjusted` is adjusted over.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hindsight: bool,
    /// The baseline's figure in the block in the middle, of those compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_value: Option<f64>,
    /// The policy's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_value: Option<f64>,
    /// Policy over baseline: the Hodges-Lehmann estimate over blocks. `None` for fractions, and where one side served nearly nothing
    /// (fewer than five requests in the phase): the two values say what there is.
    pub ratio: Option<f64>,
    /// Policy less baseline, for fractions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// 95 % confidence interval of the ratio or difference, where there are enough blocks, and there is a ratio. Where blocks were added
    /// until it was decided: one that holds at all looks at once.
    pub interval: Option<[f64; 2]>,
    /// Time-outs hide one side: the ratio is at least as far from 1.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// Blocks that both had, neither of them INVALID.
    pub blocks: u32,
    /// By the exact sign-flip test, two-sided. Where blocks were added until it was decided: over all looks so far, the least of each
    /// look's over its share of the level.
    pub p: Option<f64>,
    /// After Holm, over all arms against the baseline in this metric, without those of hindsight, which have none.
    pub p_adjusted: Option<f64>,
    /// What matters in practice, as a share (or, for fractions, in points of 1).
    pub margin: f64,
    /// How many more blocks would probably decide; `None` if it is decided, or that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_blocks: Option<u32>,
}

/// Comparisons that a run is decided by: those of the primary metric that somebody can choose by, if there are any.
pub fn deciding<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> Vec<&'a Comparison> {
    let primary: Vec<&Comparison> = comparisons.into_iter().filter(|comparison| comparison.primary).collect();
    let to_choose: Vec<&Comparison> = primary.iter().copied().filter(|comparison| !comparison.hindsight).collect();
    if to_choose.is_empty() { primary } else { to_choose }
}
