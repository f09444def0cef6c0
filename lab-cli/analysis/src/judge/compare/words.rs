//! Comparisons in words.

use super::{Metric, TooFewBlocks};
use crate::{
    summary::{Comparison, ComparisonVerdict},
    text::{counted, percent, rate, scrubbed, time},
};

/// A ratio within these says how many times as much; beyond them the two values say more, and with two decimals nothing is left of
/// what is smaller.
const TOLD: std::ops::RangeInclusive<f64> = 0.01..=100.0;

/// Name of a metric for people: `goodput`, `rejected`, `p90`, `p90 of all requests`.
pub fn metric_in_words(name: &str) -> String {
    match (name, name.split_once('.')) {
        ("goodput_per_s", _) => "goodput".to_owned(),
        ("reject_fraction", _) => "rejected".to_owned(),
        (_, Some(("response_time_all_ms", statistic))) => format!("{statistic} of all requests"),
        (_, Some((_, statistic))) => statistic.to_owned(),
        (other, None) => other.to_owned(),
    }
}

/// `x1.20 [1.10, 1.31]`: how the policy compares, and where that lies; `from 0.0/s to 286/s` where no ratio says it. `None` if
/// nothing is known.
pub fn effect(comparison: &Comparison) -> Option<String> {
    let effect = match (comparison.ratio, comparison.difference) {
        (None, Some(points)) => format!("{:+.1} points", points * 100.0),
        (Some(ratio), _) if TOLD.contains(&ratio) => format!("x{ratio:.2}"),
        (ratio, None) | (ratio @ Some(_), _) => match (values(comparison), ratio) {
            (Some(values), _) => return Some(values),
            // Of a run before values were told.
            (None, Some(ratio)) => format!("x{ratio:.2}"),
            (None, None) => return None,
        },
    };
    let scale = if comparison.ratio.is_some() { 1.0 } else { 100.0 };
    let interval = comparison.interval.map(|ends| ends.map(|end| end * scale));
    let interval = interval.map_or_else(String::new, |[low, high]| format!(" [{low:.2}, {high:.2}]"));
    let less = comparison.ratio.map_or_else(|| comparison.difference < Some(0.0), |ratio| ratio < 1.0);
    Some(format!("{}{effect}{interval}", bound(comparison, less)))
}

/// Before an effect that hidden times bound.
pub(super) fn bound(comparison: &Comparison, less: bool) -> &'static str {
    match (comparison.bound, less) {
        (false, _) => "",
        (true, true) => "at most ",
        (true, false) => "at least ",
    }
}

/// `from 0.0/s to 286/s`; the longer one of two times is the one that may be a bound.
fn values(comparison: &Comparison) -> Option<String> {
    let (from, to) = (comparison.baseline_value?, comparison.policy_value?);
    let metric = Metric::named(&comparison.metric)?;
    let shown = |value: f64, other: f64| {
        let bound = if comparison.bound && value > other && metric.is_time() { ">= " } else { "" };
        format!("{bound}{}", shown(metric, value))
    };
    Some(format!("from {} to {}", shown(from, to), shown(to, from)))
}

/// A figure with its unit.
pub(super) fn shown(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Goodput => format!("{}/s", rate(value)),
        Metric::RejectFraction => percent(value),
        Metric::P90All | Metric::P99All | Metric::P90 | Metric::P99 => time(value),
    }
}

/// `p 0.012`, adjusted over the arms; of what is no part of the family, as it is. Empty where nothing is known.
pub fn chance(comparison: &Comparison) -> String {
    match (comparison.p_adjusted, comparison.p) {
        (Some(p), _) => format!("p {p:.3}"),
        (None, Some(p)) => format!("p {p:.3} (not adjusted)"),
        (None, None) => String::new(),
    }
}

/// `7 blocks, about 25 needed to decide`; `None` of what is decided, or where nobody can tell.
pub fn needs(comparison: &Comparison) -> Option<String> {
    let more = comparison.more_blocks.filter(|_| comparison.verdict == ComparisonVerdict::Undecided)?;
    let (has, needed) = (comparison.blocks, comparison.blocks + more);
    // So many are needed whatever they find; more than that is an estimate.
    let about = if needed > TooFewBlocks::least_blocks() { "about " } else { "" };
    Some(format!("{}, {about}{needed} needed to decide", counted(has as usize, "block")))
}

/// `answers 53 %, none 100 %: percentiles of different requests`; `None` where both sides' are of the same ones.
pub fn different_requests(comparison: &Comparison) -> Option<String> {
    let is_of_all = Metric::named(&comparison.metric).is_some_and(Metric::is_of_all);
    answered(comparison).filter(|_| !is_of_all).map(|shares| format!("{shares}: percentiles of different requests"))
}

/// `answers 53 %, none 100 %`; `None` where that says nothing about the times.
pub fn answered(comparison: &Comparison) -> Option<String> {
    let [theirs, ours] = comparison.answered?;
    Some(format!("answers {}, {} {}", percent(ours), scrubbed(&comparison.baseline), percent(theirs)))
}

/// Asides of an effect: whose requests it is of, and how many blocks are missing; each after a semicolon.
pub fn asides(comparison: &Comparison) -> String {
    let needs = needs(comparison).filter(|_| different_requests(comparison).is_none());
    of_requests(comparison) + &needs.map_or_else(String::new, |needs| format!("; {needs}"))
}

fn of_requests(comparison: &Comparison) -> String {
    let whose = different_requests(comparison).or_else(|| answered(comparison));
    whose.map_or_else(String::new, |whose| format!("; {whose}"))
}

/// `x93.65; 5 blocks, 6 needed to decide`: the effect, and what is missing.
pub fn effect_and_needs(comparison: &Comparison) -> Option<String> {
    Some(effect(comparison)? + &asides(comparison))
}

/// `x93.65; answers 53 %, none 100 %`: the effect, and whose requests it is of.
pub fn effect_and_requests(comparison: &Comparison) -> Option<String> {
    Some(effect(comparison)? + &of_requests(comparison))
}

/// `x1.20 [1.10, 1.31] better`, or `~` before what does not say anything for sure.
pub fn in_words(comparison: &Comparison) -> String {
    let words = match (effect(comparison), comparison.verdict) {
        (None, _) => {
            return format!("~{}", answered(comparison).map_or_else(String::new, |shares| format!(" {shares}")));
        }
        (Some(effect), ComparisonVerdict::Undecided) => format!("~ {effect}"),
        (Some(effect), known) => format!("{effect} {}", known.word()),
    };
    words + &asides(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metric: Metric, values: [f64; 2], ratio: Option<f64>) -> Comparison {
        let [from, to] = values.map(Some);
        let verdict = ComparisonVerdict::Better;
        let metric = metric.name().to_owned();
        Comparison { metric, verdict, ratio, baseline_value: from, policy_value: to, ..Comparison::default() }
    }

    #[test]
    fn what_no_ratio_can_say_is_told_as_two_values() {
        let words = |comparison: Comparison| in_words(&comparison);
        assert_eq!(words(of(Metric::Goodput, [0.0, 286.0], None)), "from 0.0/s to 286/s better");
        assert_eq!(words(of(Metric::Goodput, [2.0, 286.0], Some(143.0))), "from 2.0/s to 286/s better");
        assert_eq!(words(of(Metric::Goodput, [4.0, 286.0], Some(71.5))), "x71.50 better");
        let late = Comparison { bound: true, ..of(Metric::P90, [60_000.0, 90.0], Some(0.0015)) };
        assert_eq!(words(late), "from >= 60.0 s to 90 ms better");
        let undecided = Comparison {
            verdict: ComparisonVerdict::Undecided,
            blocks: 8,
            more_blocks: Some(5),
            ..of(Metric::Goodput, [0.0, 286.0], None)
        };
        assert_eq!(words(undecided), "~ from 0.0/s to 286/s; 8 blocks, about 13 needed to decide");
        let old = Comparison { ratio: Some(870.0), verdict: ComparisonVerdict::Undecided, ..Comparison::default() };
        assert_eq!(words(old), "~ x870.00", "a run of an earlier version");
        assert_eq!(words(Comparison::default()), "~");
        let few = Comparison { ratio: Some(93.65), blocks: 5, more_blocks: Some(1), ..Comparison::default() };
        assert_eq!(words(few), "~ x93.65; 5 blocks, 6 needed to decide");
    }

    #[test]
    fn a_chance_that_is_not_adjusted_says_so() {
        let chance_of = |p_adjusted| chance(&Comparison { p: Some(0.0156), p_adjusted, ..Comparison::default() });
        assert_eq!([Some(0.031), None].map(chance_of), ["p 0.031", "p 0.016 (not adjusted)"]);
    }
}
