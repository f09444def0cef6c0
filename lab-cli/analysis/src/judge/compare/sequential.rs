//! A comparison that runs until it is decided: a group-sequential rule, fixed before the first block.
//!
//! Testing after every block and stopping at the first p value under 5 % would find a difference where there is none in far more
//! than one run of twenty. So the blocks after which anybody looks are fixed, and each look has a share of the level. The
//! shares follow Lan and DeMets (Biometrika 70, 1983), their function of the type of Pocock: `ln(1 + (e - 1) t)` of the level is spent at a
//! share `t` of the most blocks. It spends early, which suits effects that are mostly either large or nothing, and the
//! exact sign-flip test, which has no small p value with few blocks.
//!
//! A look tests at its share of the level, and nothing is regained from what looks have in common. That is Bonferroni's inequality: it holds for
//! every test that is valid at one look, and needs no normal law, no equal blocks and no independent increments. The price is small: with looks at an
//! eighth, a quarter, a half and all of the blocks, and a normal law, boundaries by the joint law would need 7 % fewer blocks at the last look, and 0 to 5 % fewer before, at a power of
//! 90 % (simulated). The function is proportional to the level, so that `p / share`, the least over all looks so far, is a p value of the whole sequence
//! (a sequential p value: Liu and Anderson, Statistics in Medicine 27, 2008),
//! and the joint test of all arms at each look, over its share, holds over arms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    paired::Paired,
    sample::{LEVEL, Sample},
};
use crate::summary::Arm;

/// The most blocks of a comparison that runs until it is decided, unless the file says otherwise.
pub const MOST_BLOCKS: u32 = 64;

/// When a comparison is looked at, and what each look may spend.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SequentialRule {
    /// The spending function.
    pub spending: Spending,
    /// The level that all looks share, for all arms.
    pub level: f64,
    /// In order; the last one is at the most blocks that are run.
    pub looks: Vec<Look>,
}

/// What share of the level is spent by which share of the most blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spending {
    /// Lan and DeMets' function of the type of Pocock.
    #[default]
    Pocock,
}

/// A number of blocks after which a comparison is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Look {
    /// After so many blocks.
    pub blocks: u32,
    /// Its share of the level.
    pub share: f64,
}

impl Spending {
    /// The share of the level that is spent at a share of the most blocks.
    fn spent(self, blocks: f64) -> f64 {
        match self {
            Self::Pocock => libm::log1p((std::f64::consts::E - 1.0) * blocks),
        }
    }
}

impl SequentialRule {
    /// The rule for so many blocks, whatever the number of arms: the first look is where the test can find a difference at all, and each next one at
    /// twice the blocks, so that a decision takes less than twice the blocks that it needs. `None`: even the last look can
    /// decide nothing.
    pub fn new(most_blocks: u32) -> Option<Self> {
        let spending = Spending::default();
        let spent = |blocks: u32| spending.spent(f64::from(blocks) / f64::from(most_blocks));
        let can_find = |blocks: &u32| Paired::least_p(*blocks) < LEVEL * spent(*blocks);
        let first = (1..=most_blocks).find(can_find)?;
        let mut looks = Vec::new();
        let mut before = 0.0;
        let doublings = std::iter::successors(Some(first), |blocks| blocks.checked_mul(2));
        for blocks in doublings.take_while(|blocks| *blocks < most_blocks).chain([most_blocks]) {
            let share = spent(blocks) - before;
            // The last look may be too near to the one before it to have a test of its own.
            if Paired::least_p(blocks) < LEVEL * share || blocks == most_blocks {
                looks.push(Look { blocks, share });
                before += share;
            }
        }
        Some(Self { spending, level: LEVEL, looks })
    }

    /// The most blocks that are run.
    pub fn most_blocks(&self) -> u32 {
        self.looks.last().map_or(0, |look| look.blocks)
    }

    /// The looks that a run has come to: every arm of `order` ran in each block before them.
    pub fn reached(&self, arms: &[Arm], order: &[String]) -> &[Look] {
        let is_whole = |block: u32, name: &String| {
            arms.iter().any(|arm| arm.block == block && arm.shown_name() == name && arm.is_whole())
        };
        let every_arm = |block: &u32| !order.is_empty() && order.iter().all(|name| is_whole(*block, name));
        let ran = (1..=self.most_blocks()).take_while(every_arm).count() as u32;
        let reached = self.looks.iter().take_while(|look| look.blocks <= ran).count();
        &self.looks[..reached]
    }
}

/// A p value over the looks so far: the least of the p values after each look over the share of that look. `differences`: block and
/// difference. 1 before the first look.
pub(super) fn sequential_p(differences: &[(u32, f64)], looks: &[Look]) -> f64 {
    let at = |look: &Look| {
        let so_far = differences.iter().filter(|(block, _)| *block <= look.blocks).map(|(_, by)| *by).collect();
        Paired::new(so_far).map_or(1.0, |pairs| pairs.p() / look.share)
    };
    looks.iter().map(at).fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(most: u32) -> Vec<u32> {
        let rule = SequentialRule::new(most).expect("it can decide");
        rule.looks.iter().map(|look| look.blocks).collect()
    }

    #[test]
    fn looks_double_from_where_the_test_can_find_something() {
        // By hand: ln(1 + 1.71828 x 8/64) = 0.1946, and 2 / 2^8 = 0.0078 < 0.05 x 0.1946 = 0.0097; with seven 0.0156 > 0.0086.
        assert_eq!(blocks(64), [8, 16, 32, 64]);
        // Eight blocks, and no look that would find nothing before them.
        assert_eq!(blocks(8), [6, 8]);
        assert_eq!(SequentialRule::new(5), None);
    }

    #[test]
    fn shares_are_all_of_the_level_and_each_may_be_used() {
        for most in [6, 48, 64, 512] {
            let rule = SequentialRule::new(most).expect("it can decide");
            let all: f64 = rule.looks.iter().map(|look| look.share).sum();
            assert!((all - 1.0).abs() < 1e-12, "{rule:?}");
            assert_eq!(rule.most_blocks(), most);
            assert!(
                (rule.looks[0].share - libm::log1p(1.718_281_828 * f64::from(rule.looks[0].blocks) / f64::from(most)))
                    .abs()
                    < 1e-8
            );
        }
    }

    #[test]
    fn p_is_the_least_of_the_looks_by_their_shares() {
        let looks = [Look { blocks: 6, share: 0.4 }, Look { blocks: 8, share: 0.6 }];
        let of = |signs: [f64; 8]| -> Vec<(u32, f64)> { (1..).zip(signs).collect() };
        // Six of one sign: 2/64 over 0.4; then one of the other side makes it worse, and the first look still counts.
        let early = of([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0]);
        assert_eq!(sequential_p(&early, &looks), 2.0 / 64.0 / 0.4);
        let all = of([1.0; 8]);
        assert_eq!(sequential_p(&all, &looks), 2.0 / 256.0 / 0.6);
        assert_eq!(sequential_p(&all, &looks[..1]), 2.0 / 64.0 / 0.4);
        assert_eq!(sequential_p(&all, &[]), 1.0);
        // Blocks that are left out make a look weaker, not void.
        assert_eq!(sequential_p(&all[3..], &looks), 2.0 / 32.0 / 0.6);
    }
}
