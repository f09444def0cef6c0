//! Thresholds and comparisons of a run, judged.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

/// A threshold of the experiment file, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdResult {
    /// As written.
    pub text: String,
    /// Held in every block in which it could be judged.
    pub held: bool,
    /// False if it could be judged in no block (the run was stopped before what it is about had ended) or the run is INVALID. Then
    /// it has not held either.
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
    /// Nothing can be said of it after all, for this reason.
    pub fn leave_unjudged(&mut self, because: &str) {
        (self.held, self.judged) = (false, false);
        self.blocks.iter_mut().for_each(|block| (block.held, block.judged) = (false, false));
        self.why = format!("{because}; {}", self.why);
    }

    /// Outcome in a word.
    pub fn outcome(&self) -> &'static str {
        match (self.judged, self.held) {
            (false, _) => "not judged",
            (true, true) => "passed",
            (true, false) => "FAILED",
        }
    }
}

/// What a comparison comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComparisonVerdict {
    /// There is a difference that is larger than the margin, for the better.
    Better,
    /// The same, for the worse.
    Worse,
    /// If there is a difference, it is smaller than the margin.
    Equivalent,
    /// Nothing can be said.
    #[default]
    #[serde(alias = "inconclusive")]
    Undecided,
}

impl ComparisonVerdict {
    /// Word as it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equivalent => "equivalent",
            Self::Undecided => "undecided",
        }
    }

    /// Better or worse.
    pub fn is_different(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }

    /// Verdict on a difference in a metric by the name that it has in the summary: more goodput is better, and less
    /// of everything else.
    pub(crate) fn of_difference(metric: &str, is_more: bool) -> Self {
        if is_more == (metric == "goodput_per_s") { Self::Better } else { Self::Worse }
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
    /// What it comes to.
    pub verdict: ComparisonVerdict,
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
    /// Of a percentile, the shares of requests that had an answer, the baseline's and the policy's, where they differ by more than the
    /// margin: the percentiles are then of different requests, and the side that answers fewer is not better. Of a percentile of all
    /// requests, where one side's is beyond what it answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<[f64; 2]>,
    /// Blocks that both had, neither of them INVALID.
    pub blocks: u32,
    /// By the exact sign-flip test, two-sided. Where blocks were added until it was decided: over all looks so far, the least of each
    /// look's over its share of the level.
    pub p: Option<f64>,
    /// Over all arms against the baseline in this metric, by the largest of them with joint sign flips (without pairs: Holm), without those
    /// of hindsight, which have none.
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

/// Reads comparisons. Those of earlier versions have the word `different` for what is better or worse: their figures say which.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Comparison>, D::Error> {
    let one = |mut written: Value| {
        let undirected = written.get("verdict").is_some_and(|word| word == "different");
        if undirected {
            written["verdict"] = Value::from(ComparisonVerdict::Better.word());
        }
        let mut found: Comparison = serde_json::from_value(written).map_err(D::Error::custom)?;
        if undirected {
            let by_values = || found.policy_value.zip(found.baseline_value).map(|(ours, theirs)| ours - theirs);
            let more = found.ratio.map(|ratio| ratio - 1.0).or(found.difference).or_else(by_values).unwrap_or(0.0);
            found.verdict = ComparisonVerdict::of_difference(&found.metric, more > 0.0);
        }
        Ok(found)
    };
    Vec::<Value>::deserialize(from)?.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_of_earlier_versions_are_read_as_what_they_say() {
        use ComparisonVerdict::{Better, Undecided, Worse};
        for (written, verdict) in [
            (json!({"metric": "goodput_per_s", "verdict": "different", "ratio": 1.2}), Better),
            (json!({"metric": "goodput_per_s", "verdict": "different", "ratio": 0.8}), Worse),
            (json!({"metric": "response_time_ms.p99", "verdict": "different", "ratio": 0.8}), Better),
            (json!({"metric": "reject_fraction", "verdict": "different", "ratio": null, "difference": 0.1}), Worse),
            (
                json!({"metric": "goodput_per_s", "verdict": "different", "policy_value": 286.0, "baseline_value": 0.0}),
                Better,
            ),
            (json!({"metric": "goodput_per_s", "verdict": "inconclusive", "ratio": 1.2}), Undecided),
        ] {
            let found = read(json!([written])).expect("comparisons");
            assert_eq!(found[0].verdict, verdict, "{written}");
        }
        assert!(read(json!([{"verdict": "better?"}])).is_err());
    }
}
