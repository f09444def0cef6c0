//! Several arms against one baseline at once: how likely chance alone makes the largest difference of all as large.
//!
//! Without an effect a block's differences, of all arms together, are as likely as their negatives (two runs of one plan, or noise that is symmetric; noise with
//! one tail holds the level too, simulated): one sign a block is turned for all arms, so that what they have in common, the baseline above all, stays as it is. Each way to turn the signs gives a statistic for every
//! arm, and the largest of them is what an arm is held against; those that are found are taken out, and the rest are held against the
//! rest (step-down: Westfall and Young, 1993; Romano and Wolf, JASA 100, 2005). It holds the level over all arms, whichever of them
//! differ. The smallest p value is that of one arm, 2 in 2^n, so that six blocks can decide for any number of arms, where
//! Holm's correction for 28 needs eleven.
//!
//! The statistic is the sum of an arm's differences over the root of the sum of their squares, which no sign changes: an arm
//! that is noisy in every block hides no other. An arm whose differences, whatever their signs, are on average within the margin cannot be different and
//! hides no other either: it is looked at after those that can be (a fixed sequence, since no sign changes which they are).

use controllers::{Random as _, random::Seeded};

use super::{
    paired::SEED,
    sample::{DRAWN, MOST_EXACT},
    sequential::Look,
};

/// A block, and what an arm and the baseline differ by in it.
pub(super) type OfBlock = (u32, f64);

/// p values of arms against one baseline, adjusted over all of them, and over all looks so far where there are looks: after each
/// look they are divided by its share, and the least counts. `margin`: what matters, on the scale of the differences.
pub(super) fn adjusted(arms: &[&[OfBlock]], margin: f64, looks: Option<&[Look]>) -> Vec<f64> {
    let Some(looks) = looks else { return at_once(arms, margin) };
    let mut least = vec![1.0_f64; arms.len()];
    for look in looks {
        let so_far: Vec<Vec<OfBlock>> =
            arms.iter().map(|arm| arm.iter().copied().filter(|(block, _)| *block <= look.blocks).collect()).collect();
        let so_far: Vec<&[OfBlock]> = so_far.iter().map(Vec::as_slice).collect();
        for (least, p) in least.iter_mut().zip(at_once(&so_far, margin)) {
            *least = least.min(p / look.share);
        }
    }
    least
}

fn at_once(arms: &[&[OfBlock]], margin: f64) -> Vec<f64> {
    let mut blocks: Vec<u32> = arms.iter().flat_map(|arm| arm.iter().map(|(block, _)| *block)).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let mut arms: Vec<Standard> =
        arms.iter().enumerate().map(|(at, arm)| Standard::of(at, arm, &blocks, margin)).collect();
    arms.sort_by(|a, b| b.can_differ.cmp(&a.can_differ).then(b.found.total_cmp(&a.found)));
    let mut as_far = vec![0_u32; arms.len()];
    let mut ways = 0;
    let mut count = |signs: &[f64]| {
        ways += 1;
        let (mut most, mut tier) = (0.0_f64, false);
        for (arm, as_far) in arms.iter().zip(&mut as_far).rev() {
            // Those that can differ are held against each other alone.
            most = if arm.can_differ == tier { most.max(arm.statistic(signs)) } else { arm.statistic(signs) };
            tier = arm.can_differ;
            *as_far += u32::from(most >= arm.found - 1e-9);
        }
    };
    each_way(blocks.len(), &mut count);
    let mut p = vec![1.0; arms.len()];
    let mut so_far = 0.0_f64;
    for (arm, as_far) in arms.iter().zip(&as_far) {
        so_far = so_far.max(f64::from(*as_far) / f64::from(ways));
        p[arm.at] = so_far;
    }
    p
}

/// An arm whose differences have the root of the sum of their squares as their unit.
struct Standard {
    /// Index in the family.
    at: usize,
    /// Differences by block; 0 in one that it has not.
    differences: Vec<f64>,
    /// Statistic with the signs that they have.
    found: f64,
    /// They are larger than the margin on average, whatever their signs.
    can_differ: bool,
}

impl Standard {
    fn of(at: usize, arm: &[OfBlock], blocks: &[u32], margin: f64) -> Self {
        let unit = arm.iter().map(|(_, by)| by * by).sum::<f64>().sqrt();
        let size = arm.iter().map(|(_, by)| by.abs()).sum::<f64>();
        let by = |block: &u32| arm.iter().find(|(own, _)| own == block).map_or(0.0, |(_, by)| by / unit);
        let differences: Vec<f64> = if unit > 0.0 { blocks.iter().map(by).collect() } else { vec![0.0; blocks.len()] };
        let found = differences.iter().sum::<f64>().abs();
        Self { at, differences, found, can_differ: size > margin * arm.len() as f64 }
    }

    fn statistic(&self, signs: &[f64]) -> f64 {
        self.differences.iter().zip(signs).map(|(by, sign)| by * sign).sum::<f64>().abs()
    }
}

/// Every way to turn the signs of so many blocks; of too many to be looked at, drawn ones, and the one that was found.
fn each_way(blocks: usize, count: &mut impl FnMut(&[f64])) {
    let mut signs = vec![1.0; blocks];
    if 2_f64.powi(blocks as i32) <= MOST_EXACT {
        for way in 0..1_u32 << blocks {
            signs.iter_mut().enumerate().for_each(|(at, sign)| *sign = if way >> at & 1 == 1 { -1.0 } else { 1.0 });
            count(&signs);
        }
        return;
    }
    count(&signs);
    let mut random = Seeded::new(SEED);
    for _ in 0..DRAWN {
        signs.iter_mut().for_each(|sign| *sign = if random.uniform() < 0.5 { -1.0 } else { 1.0 });
        count(&signs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::compare::sample::LEVEL;

    const MARGIN: f64 = 0.0488;

    fn of(arms: &[&[f64]]) -> Vec<f64> {
        let arms: Vec<Vec<OfBlock>> = arms.iter().map(|arm| (1..).zip(arm.iter().copied()).collect()).collect();
        adjusted(&arms.iter().map(Vec::as_slice).collect::<Vec<_>>(), MARGIN, None)
    }

    #[test]
    fn by_hand() {
        // Alone: all of one sign, 2 of 8.
        assert_eq!(of(&[&[1.0, 2.0, 3.0]]), [0.25]);
        // The same three blocks beside an arm of equal sizes and mixed signs, which is as far apart as can be with two of the ways:
        // 4 of 8. That one is held against itself alone, once the first is out: 1 and 3 in size, so all ways are as far as 1.
        assert_eq!(of(&[&[1.0, 2.0, 3.0], &[1.0, -1.0, 1.0]]), [0.5, 1.0]);
        // Within the margin it hides nothing.
        assert_eq!(of(&[&[1.0, 2.0, 3.0], &[0.01, -0.01, 0.01]]), [0.25, 1.0]);
        assert_eq!(of(&[&[0.0, 0.0, 0.0]]), [1.0]);
        assert_eq!(adjusted(&[], MARGIN, None), [] as [f64; 0]);
        // A block that an arm has not is a zero: its own smallest p is that of its blocks.
        let [whole, part] = [[(1, 1.0), (2, 1.0), (3, 1.0)].as_slice(), &[(1, 1.0), (3, 1.0)]];
        assert_eq!(adjusted(&[whole, part], MARGIN, None), [0.25, 0.5]);
    }

    #[test]
    fn six_blocks_decide_for_any_number_of_arms_and_five_for_none() {
        let of_blocks = |blocks: u32| {
            let arm =
                |arm: u32| (0..blocks).map(|block| 0.3 + 0.15 * f64::from(arm) + 0.01 * f64::from(block)).collect();
            let arms: Vec<Vec<f64>> = (0..28).map(arm).collect();
            of(&arms.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        assert_eq!(of_blocks(6), [2.0 / 64.0; 28]);
        assert_eq!(of_blocks(5), [2.0 / 32.0; 28]);
    }

    #[test]
    fn looks_share_the_level() {
        let arm: Vec<OfBlock> = (1..=8).map(|block| (block, 1.0)).collect();
        let looks = [Look { blocks: 6, share: 0.4 }, Look { blocks: 8, share: 0.6 }];
        assert_eq!(adjusted(&[&arm], MARGIN, Some(&looks)), [2.0 / 256.0 / 0.6]);
        assert_eq!(adjusted(&[&arm], MARGIN, Some(&looks[..1])), [2.0 / 64.0 / 0.4]);
        assert_eq!(adjusted(&[&arm], MARGIN, Some(&[])), [1.0]);
    }

    /// Arms that are as the baseline, whose noise they share: of so many runs, the share in which one is found.
    fn found(arms: usize, blocks: u32, differ: usize, noise: impl Fn(&mut Seeded) -> f64) -> f64 {
        const RUNS: u32 = 2000;
        let mut random = Seeded::new(7);
        let one_run = |_: &u32| {
            let mut of_arms: Vec<Vec<OfBlock>> = vec![Vec::new(); arms];
            for block in 1..=blocks {
                let baseline = noise(&mut random);
                for (at, arm) in of_arms.iter_mut().enumerate() {
                    let effect = if at < differ { 1.0 } else { 0.0 };
                    arm.push((block, effect + noise(&mut random) - baseline));
                }
            }
            let p = adjusted(&of_arms.iter().map(Vec::as_slice).collect::<Vec<_>>(), MARGIN, None);
            p[differ..].iter().any(|p| *p < LEVEL)
        };
        f64::from((0..RUNS).filter(one_run).count() as u32) / f64::from(RUNS)
    }

    #[test]
    fn two_thousand_runs_of_arms_that_are_the_same_hold_the_level() {
        // 2 of 64 and 6 of 128 are the levels below 5 %, and half a point is chance, of 2000.
        for (arms, blocks, differ, most) in
            [(3, 6, 0, 0.0425), (28, 6, 0, 0.0425), (28, 7, 0, 0.058), (28, 7, 5, 0.058)]
        {
            let normal = found(arms, blocks, differ, |random| 0.05 * random.normal());
            let tailed = found(arms, blocks, differ, |random| -0.05 * libm::log(1.0 - random.uniform()));
            assert!(normal <= most && tailed <= most, "{arms} arms, {blocks} blocks: {normal} {tailed}");
            assert!(normal > 0.015, "it is not idle: {normal}");
        }
    }
}
