//! A comparison as one sentence, for whoever reads no further: how much more or less, and how sure.

use super::{
    Metric,
    words::{self, asides, shown},
};
use crate::{
    summary::{Comparison, ComparisonVerdict},
    text::scrubbed,
};

/// Ratio from which on, and below whose inverse, it is told how many times as much.
const TIMES: f64 = 2.0;

/// `new serves 14 % less (10 to 18 %) than old in busy`.
pub fn sentence(comparison: &Comparison) -> String {
    let Comparison { policy, phase, verdict, .. } = comparison;
    let (policy, phase) = (scrubbed(policy), scrubbed(phase));
    let metric = Metric::named(&comparison.metric);
    let found = metric.and_then(|metric| against(comparison, metric));
    let whole = match found {
        Some(found) => format!("{policy} {found} in {phase}"),
        None => format!("{policy} and {} in {phase} have no figures to compare", scrubbed(&comparison.baseline)),
    };
    let asides = asides(comparison);
    match verdict {
        ComparisonVerdict::Better | ComparisonVerdict::Worse => whole + &asides,
        ComparisonVerdict::Equivalent => format!("{whole}: equivalent, within {}", amount(comparison.margin, metric)),
        ComparisonVerdict::Undecided => format!("{whole}: undecided{asides}"),
    }
}

/// Verb for a metric, and the words for more of it, less of it, and much of it.
fn verb(metric: Metric) -> [&'static str; 4] {
    match metric {
        Metric::Goodput => ["serves", "more", "less", "much"],
        Metric::RejectFraction => ["rejects", "more", "less", "much"],
        Metric::P90All => ["has a p90 of all requests", "longer", "shorter", "long"],
        Metric::P99All => ["has a p99 of all requests", "longer", "shorter", "long"],
        Metric::P90 => ["has a p90", "longer", "shorter", "long"],
        Metric::P99 => ["has a p99", "longer", "shorter", "long"],
    }
}

/// `serves 14 % less (10 to 18 %) than old`; `None` without figures.
fn against(comparison: &Comparison, metric: Metric) -> Option<String> {
    let Comparison { ratio, difference, interval, .. } = comparison;
    let baseline = scrubbed(&comparison.baseline);
    let [verb, more, less, much] = verb(metric);
    if let Some(ratio) = ratio.filter(|ratio| !(1.0 / TIMES..TIMES).contains(ratio)) {
        let ends = interval.map_or_else(String::new, |[low, high]| format!(" ({low:.2} to {high:.2})"));
        let bound = words::bound(comparison, ratio < 1.0);
        return Some(format!("{verb} {bound}{ratio:.2} times as {much}{ends} as {baseline}"));
    }
    let apart = ratio.map(|ratio| (ratio - 1.0, interval.map(|ends| ends.map(|end| end - 1.0))));
    if let Some((by, ends)) = apart.or(difference.map(|by| (by, *interval))) {
        let side = |by: f64| if by < 0.0 { less } else { more };
        let all = |by: f64| format!("{} {}", amount(by.abs(), Some(metric)), side(by));
        let ends = ends.map_or_else(String::new, |[low, high]| {
            if (low < 0.0) == (high < 0.0) {
                let [near, far] = if by < 0.0 { [-high, -low] } else { [low, high] };
                format!(" ({} to {})", number(near), amount(far, Some(metric)))
            } else {
                format!(" ({} to {})", all(low), all(high))
            }
        });
        let bound = words::bound(comparison, false);
        return Some(format!("{verb} {bound}{}{ends} than {baseline}", all(by)));
    }
    let [theirs, ours] = [comparison.baseline_value?, comparison.policy_value?].map(|value| shown(metric, value));
    Some(format!("{verb} {ours}, {baseline} {theirs},"))
}

/// `14 %`, `5.0 points`: of a share.
fn amount(by: f64, metric: Option<Metric>) -> String {
    let unit = if metric.is_none_or(Metric::is_ratio) { "%" } else { "points" };
    format!("{} {unit}", number(by))
}

/// Share in hundredths.
fn number(by: f64) -> String {
    let hundredths = by * 100.0;
    if hundredths < 9.95 { format!("{hundredths:.1}") } else { format!("{hundredths:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(metric: Metric, verdict: ComparisonVerdict) -> Comparison {
        let [metric, policy, baseline, phase] = [metric.name(), "new", "old", "busy"].map(str::to_owned);
        Comparison { metric, policy, baseline, phase, verdict, margin: 0.05, blocks: 7, ..Comparison::default() }
    }

    #[test]
    fn one_sentence_says_how_much_and_how_sure() {
        use ComparisonVerdict::{Better, Equivalent, Undecided, Worse};
        let of = |metric, verdict, ratio, interval| Comparison {
            ratio: Some(ratio),
            interval: Some(interval),
            ..of(metric, verdict)
        };
        let worse = of(Metric::Goodput, Worse, 0.86, [0.82, 0.90]);
        assert_eq!(sentence(&worse), "new serves 14 % less (10 to 18 %) than old in busy");
        let times = of(Metric::Goodput, Better, 6.27, [5.48, 7.26]);
        assert_eq!(sentence(&times), "new serves 6.27 times as much (5.48 to 7.26) as old in busy");
        let same = of(Metric::Goodput, Equivalent, 0.995, [0.97, 1.02]);
        assert_eq!(
            sentence(&same),
            "new serves 0.5 % less (3.0 % less to 2.0 % more) than old in busy: equivalent, within 5.0 %"
        );
        let open = Comparison { more_blocks: Some(18), ..of(Metric::P90, Undecided, 1.02, [0.9, 1.3]) };
        assert_eq!(
            sentence(&open),
            "new has a p90 2.0 % longer (10 % shorter to 30 % longer) than old in busy: undecided; 7 blocks, \
             about 25 needed to decide"
        );
    }

    #[test]
    fn what_is_no_ratio_is_told_in_points_or_as_two_values() {
        let rejects = of(Metric::RejectFraction, ComparisonVerdict::Worse);
        let rejects = Comparison { difference: Some(0.12), interval: Some([0.09, 0.15]), ..rejects };
        assert_eq!(sentence(&rejects), "new rejects 12 points more (9.0 to 15 points) than old in busy");
        let dead = of(Metric::Goodput, ComparisonVerdict::Worse);
        let dead = Comparison { baseline_value: Some(286.0), policy_value: Some(0.0), ..dead };
        assert_eq!(sentence(&dead), "new serves 0.0/s, old 286/s, in busy");
        let hidden = of(Metric::P99, ComparisonVerdict::Undecided);
        assert_eq!(sentence(&hidden), "new and old in busy have no figures to compare: undecided");
    }
}
