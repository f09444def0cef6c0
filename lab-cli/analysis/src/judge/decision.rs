//! End of a comparison that runs until it is decided: a pure function of the arms that ran, which the run asks after each look
//! and its recheck asks again.

use super::{
    compare::{Compare, SequentialRule, in_metric, words::different_requests},
    gates,
};
use crate::summary::{Arm, Comparison, ComparisonVerdict, DecisionEnd, LookFound, SequentialOutcome, Undecided};

/// Outcome of the looks that these arms have come to; `None` if the number of blocks was fixed. `order`, `hindsight`:
/// as in [`Compare::family`].
pub fn decision(arms: &[Arm], compare: &Compare, order: &[String], hindsight: &[String]) -> Option<SequentialOutcome> {
    let rule = compare.until_decided.as_ref()?;
    let mut found = SequentialOutcome { most_blocks: rule.most_blocks(), ..SequentialOutcome::default() };
    for index in 0..rule.reached(arms, order).len() {
        let look = rule.looks[index];
        let ran: Vec<Arm> = arms.iter().filter(|arm| arm.block <= look.blocks).cloned().collect();
        let (decided, undecided) = at_look(&ran, compare, order, hindsight, &rule.looks[..=index]);
        let of = decided + undecided.len();
        found.looks.push(LookFound { blocks: look.blocks, level: look.share * rule.level, decided, of });
        found.ended = ended(rule, index, &undecided);
        found.undecided = undecided.into_iter().map(|open| open.told).collect();
        if found.ended.is_some() {
            break;
        }
    }
    Some(found)
}

/// A comparison that is not decided, and whether it can be.
struct Open {
    told: Undecided,
    never: bool,
}

fn ended(rule: &SequentialRule, index: usize, undecided: &[Open]) -> Option<DecisionEnd> {
    if undecided.is_empty() {
        Some(DecisionEnd::Decided)
    } else if undecided.iter().any(|open| open.never) {
        Some(DecisionEnd::NeverDecided)
    } else {
        (index + 1 == rule.looks.len()).then_some(DecisionEnd::MostBlocks)
    }
}

/// Number of comparisons that are decided, and those that are not.
fn at_look(
    ran: &[Arm],
    compare: &Compare,
    order: &[String],
    hindsight: &[String],
    looks: &[super::compare::sequential::Look],
) -> (usize, Vec<Open>) {
    let left_out = gates::excluded(ran);
    let kept: Vec<Arm> = ran.iter().filter(|arm| !left_out.contains(&arm.block)).cloned().collect();
    let family = super::compare::ComparisonFamily { looks: Some(looks), ..compare.family(order, hindsight) };
    let comparisons = in_metric(&kept, family, compare.metric);
    let baseline = family.baseline.or(order.first().map(String::as_str)).unwrap_or_default();
    let choosable = |name: &&String| name.as_str() != baseline && !hindsight.contains(name);
    let expected: Vec<&String> = order.iter().filter(choosable).collect();
    let known: Vec<&Comparison> = comparisons.iter().filter(|comparison| !comparison.hindsight).collect();
    let of_arm = |name: &str| known.iter().find(|comparison| comparison.policy == name);
    let decided = known.iter().filter(|comparison| is_decided(comparison)).count();
    let no_figures = expected
        .iter()
        .filter(|name| of_arm(name).is_none())
        .map(|name| Open { told: Undecided { policy: (**name).clone(), why: NO_FIGURES.to_owned() }, never: true });
    let open = known.iter().filter(|comparison| !is_decided(comparison)).map(|comparison| Open {
        told: Undecided { policy: comparison.policy.clone(), why: why(comparison) },
        never: different_requests(comparison).is_some(),
    });
    (decided, no_figures.chain(open).collect())
}

fn is_decided(comparison: &Comparison) -> bool {
    comparison.verdict != ComparisonVerdict::Undecided
}

const NO_FIGURES: &str = "in some block neither arm has a figure of what decides (hidden by time-outs, unanswered, or too few samples), or all of \
                          its turns are INVALID";

fn why(comparison: &Comparison) -> String {
    if let Some(why) = different_requests(comparison) {
        return format!("it {why}");
    }
    let percent = comparison.margin * 100.0;
    match comparison.more_blocks {
        Some(more) => format!(
            "about {more} more blocks would decide it (compare.most_blocks), or a margin other than {percent} %"
        ),
        None => format!(
            "the effect is about as large as the margin of {percent} %: no number of blocks tells on which side it is"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Measured, PhaseSummary, Times};

    fn arm(name: &str, block: u32, goodput: f64, p90: Option<f64>) -> Arm {
        let measured = Measured {
            planned: 100,
            sent: 100,
            goodput_per_s: goodput,
            response_time_ms: Times { p90, p90_at_least: p90.is_none().then_some(60_000.0), ..Times::default() },
            ..Measured::default()
        };
        let phase = PhaseSummary { name: "all".to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() };
        Arm { name: name.to_owned(), block, phases: vec![phase], ..Arm::default() }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn rule(most: u32) -> Compare {
        Compare { until_decided: SequentialRule::new(most), ..Compare::default() }
    }

    /// Blocks of none and of another arm with so many times its goodput.
    fn blocks(count: u32, ratio: impl Fn(u32) -> f64) -> Vec<Arm> {
        let served = |block: u32| 50.0 + f64::from(block % 5);
        let of = |block| [arm("none", block, served(block), None), arm("x", block, served(block) * ratio(block), None)];
        (1..=count).flat_map(of).collect()
    }

    #[test]
    fn a_large_effect_ends_it_at_the_first_look_and_blocks_between_looks_do_not_count() {
        let order = names(&["none", "x"]);
        let of = |arms: &[Arm]| decision(arms, &rule(64), &order, &[]).expect("it has a rule");
        let large = |block: u32| 1.5 + 0.001 * f64::from(block);
        assert_eq!(of(&blocks(7, large)), SequentialOutcome { most_blocks: 64, ..SequentialOutcome::default() });
        let found = of(&blocks(8, large));
        assert_eq!((found.ended, found.looks.len(), found.looks[0].decided), (Some(DecisionEnd::Decided), 1, 1));
        assert_eq!(found.in_words(), "decided after 8 blocks (looks after 8; at most 64)");
        assert_eq!(found, of(&blocks(15, large)), "the run was over at the first look");
        let block_missing: Vec<Arm> = blocks(9, large).into_iter().filter(|arm| arm.block != 3).collect();
        assert_eq!(of(&block_missing).looks, [], "a block that is not there ends what was reached");
    }

    #[test]
    fn an_effect_as_large_as_the_margin_goes_on_to_the_end_and_says_so() {
        let order = names(&["none", "x"]);
        let noisy = |block: u32| 1.05 * if block.is_multiple_of(2) { 1.1 } else { 1.0 / 1.1 };
        let found = decision(&blocks(16, noisy), &rule(16), &order, &[]).expect("a rule");
        assert_eq!(found.ended, Some(DecisionEnd::MostBlocks));
        assert_eq!(found.looks.iter().map(|look| look.blocks).collect::<Vec<_>>(), [7, 14, 16]);
        let said: Vec<String> = found.open_points().collect();
        assert!(said.len() == 1 && said[0].starts_with("x is not decided: "), "{said:?}");
        assert!(
            found.in_words().starts_with("0 of 1 comparison decided, and no more blocks are allowed after 16 blocks")
        );
    }

    #[test]
    fn what_is_hidden_on_both_sides_is_never_decided() {
        let order = names(&["none", "x", "oracle"]);
        let compare = Compare { metric: crate::judge::compare::Metric::P90, ..rule(64) };
        let mut arms = blocks(8, |_| 1.0);
        arms.extend((1..=8).map(|block| arm("oracle", block, 99.0, Some(10.0))));
        let found = decision(&arms, &compare, &order, &names(&["oracle"])).expect("a rule");
        assert_eq!((found.ended, found.looks[0].of), (Some(DecisionEnd::NeverDecided), 1), "{found:?}");
        assert_eq!(found.undecided[0].policy, "x");
    }

    #[test]
    fn arms_that_are_the_same_are_equivalent_at_the_first_look() {
        let order = names(&["none", "x"]);
        let found = decision(&blocks(8, |_| 1.0), &rule(64), &order, &[]).expect("a rule");
        assert_eq!(found.ended, Some(DecisionEnd::Decided));
        assert_eq!(decision(&blocks(8, |_| 1.0), &Compare::default(), &order, &[]), None);
    }
}
