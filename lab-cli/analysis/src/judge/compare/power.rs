//! Power of a comparison: simulated, with the noise of an arm against itself.

use controllers::{Random as _, random::Seeded};

use super::{
    ComparisonFamily, Difference, Metric, SequentialRule, busiest, difference,
    joint::{self, OfBlock},
    paired::Paired,
    pairs,
    sample::{LEVEL, Sample as _, variance},
    verdict,
};
use crate::summary::Arm;

/// Comparisons that are simulated.
pub const COMPARISONS: u32 = 2000;
/// Root of their draws: the same noise gives the same shares on any machine.
const SEED: u64 = 20_261_122;
/// Quantile of a normal law, one side, 95 %.
const Z: f64 = 1.6449;

/// Difference between two arms that are the same, block by block, as the logarithm of a ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// Metric that differs.
    pub metric: Metric,
    /// Phase in which it differs.
    pub phase: String,
    /// One for each block.
    pub differences: Vec<f64>,
    /// Margin that matters in practice, as a share.
    pub margin: f64,
}

impl Noise {
    /// Noise between these two arms, in what decides the run. `None` if that is no ratio, or they share no block.
    pub fn of(arms: &[Arm], twins: &[String; 2], family: ComparisonFamily<'_>) -> Option<Self> {
        let [first, again] = twins;
        let metric = family.primary;
        let phase = family.phase.map(str::to_owned).or_else(|| busiest(arms, first))?;
        let found = pairs(arms, again, first, &phase, metric).filter(|_| metric.is_ratio())?;
        let found: Option<Vec<Difference>> =
            found.into_iter().map(|pair| difference(pair.ours, pair.theirs, metric)).collect();
        let differences: Vec<f64> = found?.into_iter().map(|difference| difference.by).collect();
        let margin = family.margin.unwrap_or_else(|| metric.margin());
        (!differences.is_empty()).then_some(Self { metric, phase, differences, margin })
    }

    /// Standard deviation of one block's difference; `None` with one block.
    pub fn deviation(&self) -> Option<f64> {
        variance(&self.differences).map(f64::sqrt)
    }

    /// It is at most this, with 95 % confidence if differences are normal: few blocks know it badly. Chi-squared by Wilson
    /// and Hilferty's cube (1931).
    pub fn deviation_at_most(&self) -> Option<f64> {
        let freedom = self.differences.len() as f64 - 1.0;
        let spread = 2.0 / (9.0 * freedom);
        let low = (1.0 - spread - Z * spread.sqrt()).powi(3);
        self.deviation().map(|deviation| deviation / low.max(f64::MIN_POSITIVE).sqrt())
    }
}

/// Outcomes of [`COMPARISONS`] comparisons, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// The unadjusted test says at 5 % that there is a difference.
    pub rejected: f64,
    /// DIFFERENT.
    pub different: f64,
    /// EQUIVALENT.
    pub equivalent: f64,
}

/// Simulates comparisons of so many blocks. `effect`: the logarithm of the true ratio; `noise`: standard deviation of one
/// block's; `margin`: what matters, as a share.
pub fn simulated(effect: f64, noise: f64, blocks: usize, margin: f64) -> Shares {
    let mut random = Seeded::new(SEED);
    let mut counts = [0_u32; 3];
    for _ in 0..COMPARISONS {
        let drawn = (0..blocks).map(|_| effect + noise * random.normal()).collect();
        let Some(pairs) = Paired::new(drawn) else { continue };
        let p = pairs.p();
        let decision = verdict::decide(&pairs, p, libm::log1p(margin), 1.0);
        counts[0] += u32::from(p < LEVEL);
        counts[1] += u32::from(decision == verdict::Decision::Different);
        counts[2] += u32::from(decision == verdict::Decision::Equivalent);
    }
    let [rejected, different, equivalent] = counts.map(|n| f64::from(n) / f64::from(COMPARISONS));
    Shares { rejected, different, equivalent }
}

/// Outcomes of comparisons that run until they are decided, as shares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UntilDecided {
    /// The test says for some arm, adjusted over all looks and arms, that there is a difference.
    pub rejected: f64,
    /// The first arm is DIFFERENT in the end.
    pub different: f64,
    /// It is EQUIVALENT.
    pub equivalent: f64,
    /// Blocks that it took, on average.
    pub blocks: f64,
}

/// Simulates runs through a whole rule, of so many arms against a baseline. `effect`: of the first of them, the logarithm of the true
/// ratio; the others are as the baseline. `noise`: standard deviation of one block's difference; the baseline's part of it is the
/// same for all arms.
pub fn until_decided(
    rule: &SequentialRule,
    arms: usize,
    effect: f64,
    noise: f64,
    margin: f64,
    runs: u32,
) -> UntilDecided {
    let mut random = Seeded::new(SEED);
    let mut counts = [0_u32; 4];
    for _ in 0..runs {
        let mut differences: Vec<Vec<(u32, f64)>> = vec![Vec::new(); arms];
        let (blocks, found) = one_run(rule, margin, |block| {
            let each = noise / std::f64::consts::SQRT_2;
            let baseline = each * random.normal();
            for (arm, of_arm) in differences.iter_mut().enumerate() {
                let own = if arm == 0 { effect } else { 0.0 };
                of_arm.push((block, own + each * random.normal() - baseline));
            }
            differences.clone()
        });
        let first = found.first().map(|(_, verdict)| *verdict);
        counts[0] += u32::from(found.iter().any(|(adjusted, _)| *adjusted < LEVEL));
        counts[1] += u32::from(first == Some(verdict::Decision::Different));
        counts[2] += u32::from(first == Some(verdict::Decision::Equivalent));
        counts[3] += blocks;
    }
    let [rejected, different, equivalent, blocks] = counts.map(|n| f64::from(n) / f64::from(runs));
    UntilDecided { rejected, different, equivalent, blocks }
}

/// Blocks until all is decided or no more may be run, with each arm's adjusted p value and verdict. `next`: runs a block, and
/// returns the differences of all so far, arm by arm.
fn one_run(
    rule: &SequentialRule,
    margin: f64,
    mut next: impl FnMut(u32) -> Vec<Vec<(u32, f64)>>,
) -> (u32, Vec<(f64, verdict::Decision)>) {
    let scaled = libm::log1p(margin);
    let mut found = Vec::new();
    let mut differences = Vec::new();
    let mut block = 0;
    for (index, look) in rule.looks.iter().enumerate() {
        while block < look.blocks {
            block += 1;
            differences = next(block);
        }
        let looks = &rule.looks[..=index];
        let of_arms: Vec<&[OfBlock]> = differences.iter().map(Vec::as_slice).collect();
        let decided =
            differences.iter().zip(joint::adjusted(&of_arms, scaled, Some(looks))).map(|(of_arm, adjusted)| {
                let pairs = Paired::new(of_arm.iter().map(|(_, by)| *by).collect())?;
                Some((adjusted, verdict::decide(&pairs, adjusted, scaled, look.share)))
            });
        found = decided.flatten().collect();
        if found.iter().all(|(_, verdict)| *verdict != verdict::Decision::Undecided) {
            break;
        }
    }
    (block, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::compare::sequential::Look;
    use crate::summary::{Measured, PhaseSummary, Validity};

    /// A rule whose looks are all exact, so that a few hundred runs are a matter of a second; the example `power` has 2000 runs of the
    /// rule that is used.
    fn short_rule() -> SequentialRule {
        SequentialRule::new(12).expect("it can decide")
    }

    #[test]
    fn a_policy_against_itself_through_the_whole_rule_is_rejected_no_more_than_at_one_look() {
        for arms in [1, 3] {
            let found = until_decided(&short_rule(), arms, 0.0, NOISE, MARGIN, 400);
            assert!(found.rejected <= 0.05 && found.different <= found.rejected, "{arms}: {found:?}");
            assert!(found.blocks > 7.0, "{found:?}");
        }
        // Whoever looks as often without a rule finds more.
        let rule = short_rule();
        let greedy =
            SequentialRule { looks: rule.looks.iter().map(|look| Look { share: 1.0, ..*look }).collect(), ..rule };
        let found = until_decided(&greedy, 1, 0.0, 1.0, MARGIN, 400);
        assert!(found.rejected > 0.05, "{found:?}");
    }

    #[test]
    fn a_known_effect_is_found_and_the_sooner_the_larger_it_is() {
        let of = |ratio: f64| until_decided(&short_rule(), 1, libm::log(ratio), NOISE, MARGIN, 300);
        let (fifth, half) = (of(1.2), of(1.5));
        assert!(fifth.different >= 0.80 && half.different > 0.99, "{fifth:?} {half:?}");
        assert!(half.blocks < fifth.blocks && half.blocks < 7.1, "{fifth:?} {half:?}");
        let calm = until_decided(&short_rule(), 1, 0.0, 0.02, MARGIN, 100);
        assert!(calm.equivalent > 0.95, "{calm:?}");
    }

    /// Used where no live A/A run is at hand.
    const NOISE: f64 = 0.10;
    const MARGIN: f64 = 0.05;

    #[test]
    fn two_thousand_comparisons_of_a_policy_with_itself() {
        for noise in [0.02, NOISE, 0.3] {
            let found = simulated(0.0, noise, 7, MARGIN);
            assert!((0.03..=0.06).contains(&found.rejected), "{noise}: {found:?}");
            assert!(found.different <= 0.05, "{noise}: {found:?}");
        }
        assert!(simulated(0.0, 0.02, 7, MARGIN).equivalent > 0.95, "little noise shows that there is nothing");
    }

    #[test]
    fn a_fifth_more_is_found_and_hardly_with_three_times_the_noise() {
        let power = |noise| simulated(libm::log(1.2), noise, 7, MARGIN).different;
        assert!(power(NOISE) >= 0.80, "{}", power(NOISE));
        assert!(power(0.3) < 0.40, "{}", power(0.3));
        assert_eq!(simulated(libm::log(1.2), 0.01, 5, MARGIN).different, 0.0, "five blocks never decide");
    }

    fn arm(name: &str, block: u32, goodput: f64) -> Arm {
        let measured = Measured { planned: 10, sent: 10, goodput_per_s: goodput, ..Measured::default() };
        let phase = PhaseSummary { name: "spike".to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() };
        Arm { name: name.to_owned(), block, phases: vec![phase], ..Arm::default() }
    }

    #[test]
    fn noise_is_what_two_arms_that_are_the_same_differ_by() {
        let twins = ["none".to_owned(), "again".to_owned()];
        let order = twins.to_vec();
        let family = ComparisonFamily {
            order: &order,
            hindsight: &[],
            baseline: None,
            phase: None,
            primary: Metric::Goodput,
            margin: None,
            looks: None,
        };
        let mut arms: Vec<Arm> = (1..=4_u32)
            .flat_map(|block| {
                let by: f64 = if block % 2 == 0 { 0.1 } else { -0.1 };
                [arm("none", block, 50.0), arm("again", block, 50.0 * libm::exp(by))]
            })
            .collect();
        let noise = Noise::of(&arms, &twins, family).expect("four blocks");
        assert_eq!((noise.phase.as_str(), noise.differences.len(), noise.margin), ("spike", 4, 0.05));
        // Four of 0.1 from their mean, over three: sqrt(0.04 / 3).
        assert!(noise.deviation().is_some_and(|found| (found - 0.115_47).abs() < 1e-5), "{noise:?}");
        // The tables have 0.352 for chi-squared with three degrees of freedom at 5 %: sqrt(3 / 0.352) = 2.92 times as much. The
        // cube errs to the safe side.
        assert!(noise.deviation_at_most().is_some_and(|most| (2.92..3.05).contains(&(most / 0.115_47))), "{noise:?}");
        let rejects = ComparisonFamily { primary: Metric::RejectFraction, ..family };
        assert_eq!(Noise::of(&arms, &twins, rejects), None, "no ratio");
        arms.iter_mut().for_each(|arm| arm.verdict = Validity::Invalid);
        assert_eq!(Noise::of(&arms, &twins, family), None);
    }
}
