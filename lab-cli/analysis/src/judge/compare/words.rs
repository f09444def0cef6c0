//! Comparisons in words.

use crate::{
    judge::compare::Metric,
    summary::Comparison,
    text::{percent, rate, scrubbed, time},
};

/// A ratio within these says how many times as much; beyond them the two values say more, and with two decimals nothing is left of
/// what is smaller.
const TOLD: std::ops::RangeInclusive<f64> = 0.01..=100.0;

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
    let bound = match (comparison.bound, less) {
        (false, _) => "",
        (true, true) => "at most ",
        (true, false) => "at least ",
    };
    Some(format!("{bound}{effect}{interval}"))
}

/// `from 0.0/s to 286/s`; the longer one of two times is the one that may be a bound.
fn values(comparison: &Comparison) -> Option<String> {
    let (from, to) = (comparison.baseline_value?, comparison.policy_value?);
    let metric = Metric::ALL.into_iter().find(|metric| metric.name() == comparison.metric)?;
    let shown = |value: f64, other: f64| match metric {
        Metric::Goodput => format!("{}/s", rate(value)),
        Metric::RejectFraction => percent(value),
        Metric::P90 | Metric::P99 if comparison.bound && value > other => format!(">= {}", time(value)),
        Metric::P90 | Metric::P99 => time(value),
    };
    Some(format!("from {} to {}", shown(from, to), shown(to, from)))
}

/// `p 0.012`, after Holm; of what is no part of the family, as it is. Empty where nothing is known.
pub fn chance(comparison: &Comparison) -> String {
    match (comparison.p_adjusted, comparison.p) {
        (Some(p), _) => format!("p {p:.3}"),
        (None, Some(p)) => format!("p {p:.3} (not adjusted)"),
        (None, None) => String::new(),
    }
}

/// `x1.20 [1.10, 1.31] different`, or `~` before what does not say anything for sure.
pub fn in_words(comparison: &Comparison) -> String {
    let Some(effect) = effect(comparison) else { return "~".to_owned() };
    match (comparison.verdict.as_str(), comparison.more_blocks) {
        ("inconclusive", Some(more)) => {
            format!("~ {effect}, about {more} more {}", if more == 1 { "block" } else { "blocks" })
        }
        ("inconclusive", None) => format!("~ {effect}"),
        (known, _) => format!("{effect} {}", scrubbed(known)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metric: Metric, values: [f64; 2], ratio: Option<f64>) -> Comparison {
        let [from, to] = values.map(Some);
        let verdict = "different".to_owned();
        let metric = metric.name().to_owned();
        Comparison { metric, verdict, ratio, baseline_value: from, policy_value: to, ..Comparison::default() }
    }

    #[test]
    fn what_no_ratio_can_say_is_told_as_two_values() {
        let words = |comparison: Comparison| in_words(&comparison);
        assert_eq!(words(of(Metric::Goodput, [0.0, 286.0], None)), "from 0.0/s to 286/s different");
        assert_eq!(words(of(Metric::Goodput, [2.0, 286.0], Some(143.0))), "from 2.0/s to 286/s different");
        assert_eq!(words(of(Metric::Goodput, [4.0, 286.0], Some(71.5))), "x71.50 different");
        let late = Comparison { bound: true, ..of(Metric::P90, [60_000.0, 90.0], Some(0.0015)) };
        assert_eq!(words(late), "from >= 60.0 s to 90 ms different");
        let inconclusive = Comparison {
            verdict: "inconclusive".to_owned(),
            more_blocks: Some(5),
            ..of(Metric::Goodput, [0.0, 286.0], None)
        };
        assert_eq!(words(inconclusive), "~ from 0.0/s to 286/s, about 5 more blocks");
        let old = Comparison { ratio: Some(870.0), verdict: "inconclusive".to_owned(), ..Comparison::default() };
        assert_eq!(words(old), "~ x870.00", "a run of an earlier version");
        assert_eq!(words(Comparison::default()), "~");
    }

    #[test]
    fn a_chance_that_is_not_adjusted_says_so() {
        let chance_of = |p_adjusted| chance(&Comparison { p: Some(0.0156), p_adjusted, ..Comparison::default() });
        assert_eq!([Some(0.031), None].map(chance_of), ["p 0.031", "p 0.016 (not adjusted)"]);
    }
}
