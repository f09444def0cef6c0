//! Arms against a baseline: how many times as much, how sure that is, and what can be said.
//!
//! The run is the unit: requests within one are correlated, so what decides is one number an arm and block, paired within
//! blocks, which share their users and their mail. Exact tests, adjusted over the arms (by the largest of all; Holm where there are no pairs); an effect with its interval
//! (Hodges and Lehmann); a margin that says what matters. Metrics other than the primary one are shown only.

mod across;
mod joint;
mod metric;
mod paired;
mod plan;
pub mod power;
mod sample;
mod sentence;
pub mod sequential;
mod survivors;
mod unpaired;
mod value;
mod verdict;
pub mod words;

use crate::summary::{self, Arm, Comparison, ComparisonVerdict};
use joint::OfBlock;
use paired::{Paired, holm};
use sample::{Sample, least_blocks};
use sequential::{Look, sequential_p};
use value::{Difference, Middle, Value, difference};
use verdict::{Decision, confidence, decide, more_blocks};

pub use across::{Across, Contest, ContestSide, ContestTurn, across};
pub use metric::Metric;
pub use plan::Compare;
pub use sentence::sentence;
pub use sequential::SequentialRule;

/// A number of blocks that cannot decide anything, whatever they find.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooFewBlocks {
    /// The smallest p value that they can have.
    pub least_p: f64,
    /// Fewest that can decide.
    pub least: u32,
}

impl TooFewBlocks {
    /// The fewest blocks that can decide comparisons in pairs, however many.
    pub fn least_blocks() -> u32 {
        least_blocks::<Paired>(1)
    }
}

/// Says that so many blocks are too few for comparisons in pairs, if they are.
pub fn too_few_blocks(blocks: u32) -> Option<TooFewBlocks> {
    let least = TooFewBlocks::least_blocks();
    let least_p = Paired::least_p(blocks).min(1.0);
    (blocks < least).then_some(TooFewBlocks { least_p, least })
}

/// Comparisons that are adjusted together, and their terms.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonFamily<'a> {
    /// Arms in the order of the file.
    pub order: &'a [String],
    /// Arms among them that know what no policy can know: nobody can choose one, so that they are no part of what is
    /// adjusted.
    pub hindsight: &'a [String],
    /// Compared with; `None`: the first.
    pub baseline: Option<&'a str>,
    /// Phase that is compared; `None`: the baseline's busiest.
    pub phase: Option<&'a str>,
    /// The metric that decides.
    pub primary: Metric,
    /// Margin that matters in practice of that metric, as a share; `None`: the metric's own.
    pub margin: Option<f64>,
    /// Looks so far of a comparison that runs until it is decided; `None`: the number of blocks was fixed.
    pub looks: Option<&'a [Look]>,
}

/// Every other arm against the baseline, metric by metric.
pub fn against_the_baseline(arms: &[Arm], family: ComparisonFamily<'_>) -> Vec<Comparison> {
    Metric::ALL.into_iter().flat_map(|metric| in_metric(arms, family, metric)).collect()
}

/// Every other arm against the baseline in one metric.
pub fn in_metric(arms: &[Arm], family: ComparisonFamily<'_>, metric: Metric) -> Vec<Comparison> {
    let Some(baseline) = family.baseline.or(family.order.first().map(String::as_str)) else { return Vec::new() };
    let Some(phase) = family.phase.map(str::to_owned).or_else(|| busiest(arms, baseline)) else { return Vec::new() };
    let others: Vec<&String> = family.order.iter().filter(|name| *name != baseline).collect();
    let margin = metric.margin_in(family.primary, family.margin);
    let meet = |policy: &String| {
        let met = PairedFigures::in_pairs(&pairs(arms, policy, baseline, &phase, metric)?, metric, family.looks)?;
        Some(PairedFigures { hindsight: family.hindsight.contains(policy), ..met })
    };
    let met: Vec<Option<PairedFigures>> = others.iter().map(|policy| meet(policy)).collect();
    let answered = |name: &str| {
        let turns = arms.iter().filter(|arm| arm.shown_name() == name && arm.is_comparable());
        survivors::answered(turns.filter_map(|arm| arm.whole_phase(&phase)))
    };
    let numbers = others.iter().zip(in_family(&met, metric, margin, family.looks));
    let compared = numbers.filter_map(|(policy, numbers)| {
        let mut found = Comparison {
            phase: phase.clone(),
            baseline: baseline.to_owned(),
            policy: (*policy).clone(),
            primary: metric == family.primary,
            ..numbers?
        };
        survivors::hold_back(&mut found, metric, [baseline, policy.as_str()].map(answered));
        Some(found)
    });
    compared.collect()
}

/// Figures of two arms that met.
struct PairedFigures {
    sample: Box<dyn Sample>,
    /// Differences by block; `None` where there are no pairs.
    by_block: Option<Vec<OfBlock>>,
    /// Chance of the sample, or over all looks so far.
    p: f64,
    /// The share of the level that the last look has; 1 where the number of blocks was fixed, 0 before the first look.
    share: f64,
    /// Some of them are bounds.
    bound: bool,
    /// Ours, theirs.
    middles: [Middle; 2],
    /// Ours knows what no policy can know.
    hindsight: bool,
}

impl PairedFigures {
    /// Ours and theirs, block by block, or of those blocks that were looked at. `None` without any, or if of some pair nothing can
    /// be said.
    fn in_pairs(pairs: &[Pair], metric: Metric, looks: Option<&[Look]>) -> Option<Self> {
        let last = looks.and_then(<[Look]>::last);
        let counts = |pair: &&Pair| last.is_none_or(|look| pair.block <= look.blocks);
        let pairs: Vec<&Pair> = pairs.iter().filter(counts).collect();
        let differences: Option<Vec<Difference>> =
            pairs.iter().map(|pair| difference(pair.ours, pair.theirs, metric)).collect();
        let differences = differences?;
        let by_block: Vec<OfBlock> =
            pairs.iter().zip(&differences).map(|(pair, difference)| (pair.block, difference.by)).collect();
        let sample = Paired::new(differences.iter().map(|difference| difference.by).collect())?;
        let bound = differences.iter().any(|difference| difference.bound);
        let (ours, theirs): (Vec<Value>, Vec<Value>) = pairs.iter().map(|pair| (pair.ours, pair.theirs)).unzip();
        let mut met = Self::new(Box::new(sample), bound, [&ours, &theirs])?;
        if let Some(looks) = looks {
            met.share = last.map_or(0.0, |look| look.share);
            met.p = sequential_p(&by_block, looks);
        }
        Some(Self { by_block: Some(by_block), ..met })
    }

    fn new(sample: Box<dyn Sample>, bound: bool, [ours, theirs]: [&[Value]; 2]) -> Option<Self> {
        let p = sample.p();
        let middles = [Middle::of(ours)?, Middle::of(theirs)?];
        Some(Self { sample, by_block: None, p, share: 1.0, bound, middles, hindsight: false })
    }
}

/// Values of two arms in one block.
#[derive(Debug, Clone, Copy)]
struct Pair {
    block: u32,
    ours: Value,
    theirs: Value,
}

/// One metric of a family of comparisons: what can be said of each that met, with chances adjusted over all of them that
/// somebody could choose.
fn in_family(
    met: &[Option<PairedFigures>],
    metric: Metric,
    margin: f64,
    looks: Option<&[Look]>,
) -> Vec<Option<Comparison>> {
    let members: Vec<&PairedFigures> = met.iter().flatten().filter(|met| !met.hindsight).collect();
    let mut adjusted = adjusted(&members, metric.scaled_margin(margin), looks).into_iter();
    let in_numbers = |met: &Option<PairedFigures>| {
        let met = met.as_ref()?;
        let adjusted = if met.hindsight { None } else { Some(adjusted.next()?) };
        Some(in_numbers(met, metric, margin, adjusted, members.len()))
    };
    met.iter().map(in_numbers).collect()
}

/// p values over all members: by the joint test, or by Holm's correction where one has no pairs, so that nothing is known of what
/// they have in common.
fn adjusted(members: &[&PairedFigures], margin: f64, looks: Option<&[Look]>) -> Vec<f64> {
    let by_block: Option<Vec<&[OfBlock]>> = members.iter().map(|met| met.by_block.as_deref()).collect();
    match by_block {
        Some(by_block) => joint::adjusted(&by_block, margin, looks),
        None => holm(&members.iter().map(|met| met.p).collect::<Vec<_>>()),
    }
}

/// `adjusted`: `None` of one that is no member of the family, and stands for itself.
fn in_numbers(met: &PairedFigures, metric: Metric, margin: f64, adjusted: Option<f64>, family: usize) -> Comparison {
    let PairedFigures { sample, p, share, bound, middles, hindsight, .. } = met;
    let p = *p;
    let ratio = metric.is_ratio();
    let scaled = metric.scaled_margin(margin);
    let shown = |by: f64| if ratio { libm::exp(by) } else { by };
    let verdict = match decide(&**sample, adjusted.unwrap_or(p), scaled, *share) {
        Decision::Different => ComparisonVerdict::of_difference(metric.name(), sample.effect() > 0.0),
        // A bound says that there is a difference, never that there is none.
        Decision::Equivalent if !*bound => ComparisonVerdict::Equivalent,
        Decision::Equivalent | Decision::Undecided => ComparisonVerdict::Undecided,
    };
    let effect = shown(sample.effect());
    let undecided = verdict == ComparisonVerdict::Undecided;
    // How many times as much as nearly nothing is no number.
    let scant = ratio && middles.iter().any(|middle| middle.scant);
    let [ours, theirs] = middles.map(|middle| Some(middle.value));
    let family = if *hindsight { 1 } else { family };
    Comparison {
        metric: metric.name().to_owned(),
        verdict,
        ratio: (ratio && !scant).then_some(effect),
        difference: (!ratio).then_some(effect),
        interval: sample.confidence_interval(confidence(0.95, *share)).map(|ends| ends.map(shown)).filter(|_| !scant),
        baseline_value: theirs,
        policy_value: ours,
        bound: *bound,
        blocks: u32::try_from(sample.len()).unwrap_or(u32::MAX),
        hindsight: *hindsight,
        p: Some(p),
        p_adjusted: adjusted,
        margin,
        more_blocks: if undecided { more_blocks(&**sample, scaled, family) } else { None },
        ..Comparison::default()
    }
}

/// Ours and theirs, block by block; `None` if one side has no value in some block. Turns that are INVALID are left out,
/// those that a person changed while they ran, and phases that were cut off.
fn pairs(arms: &[Arm], policy: &str, baseline: &str, phase: &str, metric: Metric) -> Option<Vec<Pair>> {
    let turns = |name: &str| -> Vec<(u32, Option<Value>)> {
        let of = arms.iter().filter(|arm| arm.shown_name() == name && arm.is_comparable());
        of.filter_map(|arm| Some((arm.block, metric.read(arm.whole_phase(phase)?)))).collect()
    };
    let theirs = turns(baseline);
    let mut found = Vec::new();
    for (block, ours) in turns(policy) {
        let Some((_, theirs)) = theirs.iter().find(|(other, _)| *other == block) else { continue };
        found.push(Pair { block, ours: ours?, theirs: (*theirs)? });
    }
    Some(found)
}

/// The baseline's busiest phase, which the experiment is about if it names none.
fn busiest(arms: &[Arm], baseline: &str) -> Option<String> {
    let arm = arms.iter().find(|arm| arm.shown_name() == baseline)?;
    summary::busiest(&arm.phases).map(|phase| phase.name.clone())
}

#[cfg(test)]
mod tests {
    use super::{
        ComparisonVerdict::{Better, Equivalent, Undecided, Worse},
        *,
    };
    use crate::summary::{Measured, PhaseSummary, Times, Touched, Validity};

    fn arm(policy: &str, block: u32, goodput: f64, p90: Option<f64>) -> Arm {
        let spike = Measured {
            planned: 100,
            sent: 100,
            offered_per_s: 100.0 / 30.0,
            goodput_per_s: goodput,
            response_time_ms: Times { p90, p90_at_least: p90.is_none().then_some(60_000.0), ..Times::default() },
            ..Measured::default()
        };
        let phase = |name: &str, measured| PhaseSummary {
            name: name.to_owned(),
            seconds: 30.0,
            measured,
            ..PhaseSummary::default()
        };
        let phases = vec![phase("before", Measured::default()), phase("spike", spike)];
        Arm { policy: policy.to_owned(), block, phases, ..Arm::default() }
    }

    fn compared(arms: &[Arm], order: &[&str]) -> Vec<Comparison> {
        with_hindsight(arms, order, &[])
    }

    fn with_hindsight(arms: &[Arm], order: &[&str], hindsight: &[&str]) -> Vec<Comparison> {
        let [order, hindsight] =
            [order, hindsight].map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>());
        let (primary, margin) = (Metric::Goodput, None);
        let family = ComparisonFamily {
            order: &order,
            hindsight: &hindsight,
            baseline: None,
            phase: None,
            primary,
            margin,
            looks: None,
        };
        against_the_baseline(arms, family)
    }

    fn of<'a>(found: &'a [Comparison], policy: &str, metric: Metric) -> Option<&'a Comparison> {
        found.iter().find(|c| c.policy == policy && c.metric == metric.name())
    }

    /// Blocks in any order: none serves 20, 21, …, seda three times as much and a little.
    fn seven() -> Vec<Arm> {
        let blocks = (1..=7_u32).rev();
        blocks
            .flat_map(|block| {
                let served = 20.0 + f64::from(block);
                let more = 3.0 + 0.01 * f64::from(block);
                [arm("seda", block, served * more, Some(900.0)), arm("none", block, served, None)]
            })
            .collect()
    }

    #[test]
    fn pairs_within_blocks_decide() {
        let found = compared(&seven(), &["none", "seda"]);
        let goodput = of(&found, "seda", Metric::Goodput).expect("compared");
        assert_eq!((goodput.phase.as_str(), goodput.baseline.as_str(), goodput.blocks), ("spike", "none", 7));
        assert_eq!((goodput.verdict, goodput.primary), (Better, true));
        // Of seven of one sign: 2 of 128. The middle of 3.01 to 3.07.
        assert_eq!((goodput.p, goodput.p_adjusted, goodput.more_blocks), (Some(2.0 / 128.0), Some(2.0 / 128.0), None));
        assert!(goodput.ratio.is_some_and(|ratio| (ratio - 3.04).abs() < 0.001), "{goodput:?}");
        assert!(goodput.interval.is_some_and(|[low, high]| low > 3.0 && high < 3.08));
    }

    #[test]
    fn a_bound_on_the_far_side_shows_a_difference_and_is_marked() {
        let found = compared(&seven(), &["none", "seda"]);
        let p90 = of(&found, "seda", Metric::P90).expect("compared");
        assert_eq!((p90.verdict, p90.bound, p90.primary), (Better, true, false));
        assert!(p90.ratio.is_some_and(|ratio| (ratio - 0.015).abs() < 1e-9));
        // Both hidden: nothing can be said.
        let hidden: Vec<Arm> = (1..=7).flat_map(|b| [arm("none", b, 1.0, None), arm("x", b, 1.0, None)]).collect();
        assert_eq!(of(&compared(&hidden, &["none", "x"]), "x", Metric::P90), None);
        // Known, and longer than what the other is at least.
        let longer: Vec<Arm> =
            (1..=7).flat_map(|b| [arm("none", b, 1.0, None), arm("x", b, 1.0, Some(90_000.0))]).collect();
        assert_eq!(of(&compared(&longer, &["none", "x"]), "x", Metric::P90), None);
    }

    #[test]
    fn a_percentile_of_those_that_an_arm_lets_through_does_not_make_it_better() {
        let of_p90 = |served: u64| {
            let mut arms: Vec<Arm> = (1..=8)
                .flat_map(|b| [arm("none", b, 1.0, Some(900.0 + f64::from(b))), arm("limit", b, 1.0, Some(100.0))])
                .collect();
            for arm in &mut arms {
                arm.phases[1].measured.served = if arm.policy == "limit" { served } else { 100 };
            }
            of(&compared(&arms, &["none", "limit"]), "limit", Metric::P90).expect("compared").clone()
        };
        let refuses = of_p90(53);
        assert_eq!((refuses.verdict, refuses.answered, refuses.more_blocks), (Undecided, Some([1.0, 0.53]), None));
        let words = words::in_words(&refuses);
        assert!(words.ends_with("; answers 53 %, none 100 %: percentiles of different requests"), "{words}");
        // Within the margin of 10 %.
        assert_eq!((of_p90(91).verdict, of_p90(91).answered), (Better, None));
    }

    #[test]
    fn over_all_requests_the_arm_that_leaves_half_of_them_unanswered_is_worse() {
        let over_all = |known: f64, unanswered: &str| {
            let mut arms: Vec<Arm> =
                (1..=8).flat_map(|b| [arm("none", b, 1.0, Some(900.0)), arm("limit", b, 1.0, Some(100.0))]).collect();
            for arm in &mut arms {
                let is_beyond = arm.policy == unanswered || unanswered == "both";
                let p90 = (!is_beyond).then_some(known + f64::from(arm.block));
                arm.phases[1].measured.served = if is_beyond { 53 } else { 100 };
                arm.phases[1].measured.response_time_all_ms =
                    Times { p90, p90_at_least: is_beyond.then_some(5000.0), ..Times::default() };
            }
            of(&compared(&arms, &["none", "limit"]), "limit", Metric::P90All).cloned()
        };
        let refuses = over_all(900.0, "limit").expect("compared");
        assert_eq!((refuses.verdict, refuses.bound, refuses.answered), (Worse, true, Some([1.0, 0.53])));
        let words = words::in_words(&refuses);
        assert!(words.starts_with("at least x5.53 ") && words.ends_with("worse; answers 53 %, none 100 %"), "{words}");
        assert!(sentence(&refuses).contains("has a p90 of all requests at least 5.53 times as long"));
        // An answer to the third attempt took longer than anybody waits for one: still, it came.
        assert_eq!(over_all(7000.0, "limit").map(|found| found.verdict), Some(Worse));
        assert_eq!(over_all(7000.0, "none").map(|found| found.verdict), Some(Better));
        assert_eq!(over_all(900.0, "neither").map(|found| (found.verdict, found.answered)), Some((Equivalent, None)));
        assert_eq!(over_all(900.0, "both"), None);
    }

    #[test]
    fn one_block_says_how_many_times_and_no_more() {
        let found = compared(&seven()[..2], &["none", "seda"]);
        let goodput = of(&found, "seda", Metric::Goodput).expect("compared");
        assert_eq!((goodput.verdict, goodput.interval, goodput.more_blocks), (Undecided, None, Some(5)));
        assert!(goodput.ratio.is_some());
    }

    #[test]
    fn more_arms_that_are_noisy_make_chance_findings_more_likely_and_p_larger() {
        let mut arms = seven();
        for block in 1..=7 {
            arms.push(arm("same", block, 20.0 + f64::from(block), None));
            // Twice as much in one block, half in the next: with other signs it is as far apart as anything can be.
            let times = if block % 2 == 0 { 2.0 } else { 0.5 };
            arms.push(arm("other", block, times * (20.0 + f64::from(block)), None));
        }
        let found = compared(&arms, &["none", "seda", "same", "other"]);
        let seda = of(&found, "seda", Metric::Goodput).expect("compared");
        assert_eq!(seda.p_adjusted, Some(2.0 * 2.0 / 128.0));
        let same = of(&found, "same", Metric::Goodput).expect("compared");
        assert_eq!((same.verdict, same.ratio), (Equivalent, Some(1.0)));
    }

    #[test]
    fn how_many_times_as_much_as_nearly_nothing_is_no_number() {
        // In 30 s: 4 requests at most, and 286/s.
        let blocks = |theirs: f64| -> Vec<Arm> {
            let of = |b| [arm("none", b, theirs, None), arm("seda", b, 286.0 + f64::from(b), Some(900.0))];
            (1..=8).flat_map(of).collect()
        };
        for nearly_nothing in [0.0, 4.0 / 30.0] {
            let found = compared(&blocks(nearly_nothing), &["none", "seda"]);
            let goodput = of(&found, "seda", Metric::Goodput).expect("compared");
            assert_eq!((goodput.ratio, goodput.interval, goodput.verdict), (None, None, Better));
            assert_eq!((goodput.baseline_value, goodput.policy_value), (Some(nearly_nothing), Some(290.0)));
        }
        let found = compared(&blocks(6.0 / 30.0), &["none", "seda"]);
        let goodput = of(&found, "seda", Metric::Goodput).expect("compared");
        assert!(goodput.ratio.is_some() && goodput.interval.is_some(), "{goodput:?}");
        // Times are known from far more than a few requests.
        let p90 = of(&found, "seda", Metric::P90).expect("compared");
        assert!(p90.ratio.is_some() && p90.baseline_value == Some(60_000.0), "{p90:?}");
    }

    #[test]
    fn what_nobody_can_choose_is_shown_and_makes_no_other_finding_less_likely() {
        let mut arms = seven();
        for block in 1..=7 {
            arms.push(arm("oracle", block, 80.0 + f64::from(block), Some(500.0)));
            arms.push(arm("best-static", block, 70.0 + f64::from(block), Some(500.0)));
        }
        let order = ["none", "seda", "oracle", "best-static"];
        let found = with_hindsight(&arms, &order, &["oracle", "best-static"]);
        let seda = of(&found, "seda", Metric::Goodput).expect("compared");
        assert_eq!((seda.p_adjusted, seda.hindsight), (Some(2.0 / 128.0), false), "alone in its family");
        let oracle = of(&found, "oracle", Metric::Goodput).expect("compared");
        assert_eq!((oracle.p, oracle.p_adjusted, oracle.hindsight), (Some(2.0 / 128.0), None, true));
        assert_eq!(oracle.verdict, Better);
        assert_eq!(of(&compared(&arms, &order), "seda", Metric::Goodput).and_then(|c| c.p_adjusted), Some(2.0 / 128.0));
    }

    #[test]
    fn fractions_are_compared_by_points() {
        let mut arms = seven();
        for arm in &mut arms {
            let rejected = if arm.policy == "seda" { 0.6 + 0.001 * f64::from(arm.block) } else { 0.0 };
            arm.phases[1].measured.reject_fraction = rejected;
        }
        let found = compared(&arms, &["none", "seda"]);
        let rejects = of(&found, "seda", Metric::RejectFraction).expect("compared");
        assert_eq!((rejects.ratio, rejects.verdict), (None, Worse));
        assert!(rejects.difference.is_some_and(|points| (points - 0.604).abs() < 1e-9));
    }

    #[test]
    fn invalid_turns_are_left_out_and_nothing_served_is_a_number() {
        let mut arms = seven();
        arms[0].verdict = Validity::Invalid;
        arms[3].phases[1].measured.goodput_per_s = 0.0;
        arms[7].touches.push(Touched::default());
        let found = compared(&arms, &["none", "seda"]);
        let goodput = of(&found, "seda", Metric::Goodput).expect("compared");
        assert_eq!(goodput.blocks, 5);
        assert!(goodput.ratio.is_some_and(f64::is_finite));
    }

    #[test]
    fn nothing_is_compared_without_a_baseline() {
        assert_eq!(compared(&[arm("seda", 1, 1.0, None)], &["none", "seda"]), []);
        assert_eq!(compared(&[], &[]), []);
    }
}
