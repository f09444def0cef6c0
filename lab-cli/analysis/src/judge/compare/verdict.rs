//! Different, equivalent or undecided, and how many more blocks it would take.

use super::sample::{LEVEL, Sample};

/// Chance that a difference as large as the one found is found again, for the number of blocks that are needed.
const Z_OF_POWER: f64 = 0.8416; // 80 %
/// Quantiles of a one-sided 5 % and a two-sided 5 %.
const Z_ONE_SIDE: f64 = 1.6449;
const Z_TWO_SIDES: f64 = 1.9600;
/// Nobody runs more.
const MOST_BLOCKS: f64 = 10_000.0;

/// Outcome of a test, without a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// There is a difference, and it is larger than the margin.
    Different,
    /// The difference, if there is one, is smaller than the margin.
    Equivalent,
    /// Nothing can be said.
    Undecided,
}

/// The confidence of an interval that holds at every look with `confidence` (a repeated confidence interval): one look has this share
/// of what may go wrong.
pub fn confidence(confidence: f64, share: f64) -> f64 {
    1.0 - (1.0 - confidence) * share
}

/// A decision on a sample of differences, `adjusted` being their p value, adjusted and `margin` what matters in practice. `share`:
/// of the level, for this look; 1 if there is one look alone.
pub(super) fn decide(pairs: &dyn Sample, adjusted: f64, margin: f64, share: f64) -> Decision {
    let apart = |[low, high]: [f64; 2]| low > 0.0 || high < 0.0;
    let within = |[low, high]: [f64; 2]| low >= -margin && high <= margin;
    let effect = pairs.effect().abs();
    if adjusted < LEVEL && effect > margin && pairs.confidence_interval(confidence(0.95, share)).is_some_and(apart) {
        return Decision::Different;
    }
    if pairs.confidence_interval(confidence(0.90, share)).is_some_and(within) {
        Decision::Equivalent
    } else {
        Decision::Undecided
    }
}

/// Number of further blocks that would probably decide, if what was found is what there is; `None` if that cannot be
/// told, or if no number would (the effect is as large as the margin).
pub fn more_blocks(pairs: &dyn Sample, margin: f64, family: usize) -> Option<u32> {
    let least = f64::from(pairs.least(family));
    let Some(deviation) = pairs.deviation() else { return Some((least - pairs.len() as f64) as u32) };
    let effect = pairs.effect().abs();
    // From the margin for an effect beyond it (the effect must be seen at all, too), towards it for one within.
    let (distance, z) = if effect > margin { (effect, Z_TWO_SIDES) } else { (margin - effect, Z_ONE_SIDE) };
    if distance <= 0.0 {
        return None;
    }
    let by_noise = ((z + Z_OF_POWER) * deviation / distance).powi(2).ceil();
    let wanted = by_noise.max(least);
    let more = wanted - pairs.len() as f64;
    (wanted <= MOST_BLOCKS).then(|| more.max(1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::compare::{paired::Paired, sample::least_blocks};

    #[test]
    fn small_and_sure_is_equivalent_and_wide_is_neither() {
        let pairs = |d: &[f64]| Paired::new(d.to_vec()).expect("pairs");
        let tight = pairs(&[0.01, -0.01, 0.02, -0.02, 0.0, 0.01, -0.01]);
        assert_eq!(decide(&tight, tight.p(), 0.05, 1.0), Decision::Equivalent);
        let wide = pairs(&[0.3, -0.2, 0.25, -0.3, 0.1, -0.15, 0.2]);
        assert_eq!(decide(&wide, wide.p(), 0.05, 1.0), Decision::Undecided);
        // Sure, and too small to matter.
        let sure = pairs(&[0.02, 0.03, 0.025, 0.02, 0.03, 0.025, 0.02]);
        assert!(sure.p() < LEVEL);
        assert_eq!(decide(&sure, sure.p(), 0.05, 1.0), Decision::Equivalent);
        let large = pairs(&[0.5, 0.6, 0.55, 0.4, 0.7, 0.5, 0.6]);
        assert_eq!(decide(&large, large.p(), 0.05, 1.0), Decision::Different);
        assert_eq!(decide(&large, 0.2, 0.05, 1.0), Decision::Undecided, "not with others beside it");
        // Five blocks never decide that there is a difference.
        let five = pairs(&[0.5, 0.6, 0.55, 0.4, 0.7]);
        assert_eq!(decide(&five, five.p(), 0.05, 1.0), Decision::Undecided);
    }

    #[test]
    fn blocks_that_it_takes() {
        // 2 m / 2^n < 0.05: as in the usual table.
        assert_eq!([1, 3, 6, 10, 15, 28].map(least_blocks::<Paired>), [6, 7, 8, 9, 10, 11]);
        let one = Paired::new(vec![0.5]).expect("a pair");
        assert_eq!(more_blocks(&one, 0.05, 1), Some(5), "one block has no spread, and six are the fewest");
        let two = Paired::new(vec![0.5, 0.6]).expect("pairs");
        assert_eq!(more_blocks(&two, 0.05, 1), Some(4), "six at least");
        // By hand: an effect of 0.1 with a deviation of 0.2 takes ((1.96 + 0.8416) x 0.2 / 0.1)^2 = 31.4: 32 blocks.
        let d = 0.2 * (7.0_f64 / 8.0).sqrt();
        let eight: Vec<f64> = (0..8).map(|i| 0.1 + if i % 2 == 0 { d } else { -d }).collect();
        assert_eq!(more_blocks(&Paired::new(eight).expect("pairs"), 0.05, 1), Some(24));
    }
}
