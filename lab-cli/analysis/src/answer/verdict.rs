//! An arm against the baseline, in a word.

use crate::{
    judge::compare::words,
    summary::{ArmVerdict, ArmVerdictWord, Comparison, RunSummary},
};

/// Of the metric that decides.
pub(super) fn of(arm: &str, baseline: &str, summary: &RunSummary) -> ArmVerdict {
    if !summary.valid {
        return ArmVerdict::default();
    }
    if arm == baseline {
        return ArmVerdict { word: ArmVerdictWord::Baseline, ..ArmVerdict::default() };
    }
    let found = summary.comparisons.iter().find(|found| found.primary && found.policy == arm);
    let Some(found) = found else { return ArmVerdict::default() };
    ArmVerdict {
        word: word(found),
        metric: found.metric.clone(),
        phase: found.phase.clone(),
        effect: words::effect(found),
    }
}

fn word(found: &Comparison) -> ArmVerdictWord {
    match found.verdict.as_str() {
        _ if found.blocks < 2 => ArmVerdictWord::OneBlock,
        "different" if is_better(found) => ArmVerdictWord::Better,
        "different" => ArmVerdictWord::Worse,
        "equivalent" => ArmVerdictWord::Equivalent,
        _ => ArmVerdictWord::Inconclusive,
    }
}

/// More goodput is better, less of everything else.
fn is_better(found: &Comparison) -> bool {
    let by_values = || found.policy_value.zip(found.baseline_value).map(|(ours, theirs)| ours - theirs);
    let more = found.ratio.map(|ratio| ratio - 1.0).or(found.difference).or_else(by_values).unwrap_or(0.0) > 0.0;
    more == (found.metric == "goodput_per_s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(metric: &str, ratio: Option<f64>, difference: Option<f64>) -> Comparison {
        let (metric, verdict) = (metric.to_owned(), "different".to_owned());
        Comparison { metric, verdict, ratio, difference, primary: true, blocks: 8, ..Comparison::default() }
    }

    #[test]
    fn more_goodput_is_better_and_less_of_everything_else() {
        use ArmVerdictWord::{Better, Worse};
        assert_eq!(word(&found("goodput_per_s", Some(1.2), None)), Better);
        assert_eq!(word(&found("goodput_per_s", Some(0.8), None)), Worse);
        assert_eq!(word(&found("response_time_ms.p99", Some(0.8), None)), Better);
        assert_eq!(word(&found("reject_fraction", None, Some(0.1))), Worse);
        let values =
            Comparison { baseline_value: Some(0.0), policy_value: Some(286.0), ..found("goodput_per_s", None, None) };
        assert_eq!(word(&values), Better, "from nothing to something");
        assert_eq!(word(&Comparison { blocks: 1, ..values }), ArmVerdictWord::OneBlock);
    }
}
