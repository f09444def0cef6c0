//! Differences of pairs: how large they are in the middle, how sure that is, and how likely by chance alone. All exact: what is
//! assumed is that without an effect a pair's difference is as likely to be positive as negative, and nothing about its law.

use controllers::{Random as _, random::Seeded};

use super::sample::{MOST_EXACT, Sample, as_far, drawn, interval_from_ranks, least_blocks, middle, variance};

/// Root of what is drawn: the same differences give the same answer on any machine.
pub(super) const SEED: u64 = 0x5349_474e;

/// Differences, one for each block.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    differences: Vec<f64>,
    /// Means of all pairs of differences, each with itself too, in order.
    walsh: Vec<f64>,
}

impl Paired {
    /// `None` without a block.
    pub fn new(differences: Vec<f64>) -> Option<Self> {
        if differences.is_empty() || differences.iter().any(|d| !d.is_finite()) {
            return None;
        }
        let n = differences.len();
        let mut walsh: Vec<f64> = (0..n)
            .flat_map(|i| (i..n).map(move |j| (i, j)))
            .map(|(i, j)| (differences[i] + differences[j]) / 2.0)
            .collect();
        walsh.sort_by(f64::total_cmp);
        Some(Self { differences, walsh })
    }

    /// Distance of the sum from nothing with other signs.
    fn with_signs(&self, negative: impl Fn(usize) -> bool) -> f64 {
        let signed = self.differences.iter().enumerate().map(|(i, d)| if negative(i) { -d } else { *d });
        signed.sum::<f64>().abs()
    }
}

impl Sample for Paired {
    /// The median of all means of two.
    fn effect(&self) -> f64 {
        middle(&self.walsh)
    }

    /// The signed-rank test: 95 % need six pairs, 90 % five.
    fn confidence_interval(&self, confidence: f64) -> Option<[f64; 2]> {
        interval_from_ranks(&self.walsh, &signed_rank_counts(self.len()), confidence)
    }

    /// Each difference might as well have had the other sign.
    fn p(&self) -> f64 {
        let n = self.len();
        let scale = self.differences.iter().map(|d| d.abs()).sum::<f64>();
        let as_far = as_far(self.with_signs(|_| false), scale);
        if 2_f64.powi(n as i32) <= MOST_EXACT {
            let all = 1_u32 << n;
            let far = (0..all).filter(|signs| as_far(self.with_signs(|i| signs >> i & 1 == 1)));
            return far.count() as f64 / f64::from(all);
        }
        let mut random = Seeded::new(SEED);
        drawn(|| {
            let signs: Vec<bool> = (0..n).map(|_| random.uniform() < 0.5).collect();
            as_far(self.with_signs(|i| signs[i]))
        })
    }

    fn deviation(&self) -> Option<f64> {
        variance(&self.differences).map(f64::sqrt)
    }

    fn len(&self) -> usize {
        self.differences.len()
    }

    /// All of one sign.
    fn least_p(blocks: u32) -> f64 {
        2.0 / 2_f64.powi(blocks as i32)
    }

    /// However many arms there are: the joint test has the smallest p value of one.
    fn least(&self, _family: usize) -> u32 {
        least_blocks::<Self>(1)
    }
}

/// Counts of the 2^n assignments of signs by the sum of their positive ranks: 0, 1, 2, …
fn signed_rank_counts(n: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n * (n + 1) / 2 + 1];
    counts[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..counts.len()).rev() {
            counts[sum] += counts[sum - rank];
        }
    }
    counts
}

/// Holm's adjustment: p values of a family, in the order given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut so_far = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        so_far = so_far.max(((p.len() - rank) as f64 * p[index]).min(1.0));
        adjusted[index] = so_far;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(differences: &[f64]) -> Paired {
        Paired::new(differences.to_vec()).expect("pairs")
    }

    #[test]
    fn by_hand() {
        // Means of two: 1, 1.5, 2, 2, 2.5, 3, so the one in the middle is 2. Sums with signs: ±6, ±4, ±2, 0, 0: two of eight as far as 6.
        let three = of(&[1.0, 2.0, 3.0]);
        assert_eq!((three.effect(), three.p(), three.confidence_interval(0.95)), (2.0, 0.25, None));
        // One of them is negative: sums of at least 4 in size are ±6 and ±4.
        assert_eq!(of(&[-1.0, 2.0, 3.0]).p(), 0.5);
        // Six of one sign: 2 of 64, and the widest interval has 1 - 2/64 = 96.9 %.
        let six = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((six.p(), six.confidence_interval(0.95)), (2.0 / 64.0, Some([1.0, 6.0])));
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]).confidence_interval(0.95), None, "five: at most 93.8 %");
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]).confidence_interval(0.90), Some([1.0, 5.0]));
        // Seven: W at most 2 in 3 of 128 assignments, 2 x 2.3 % = 4.7 %: the third value from each end.
        let seven = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(seven.confidence_interval(0.95), Some([2.0, 6.0]));
        assert_eq!(seven.deviation().map(|sd| (sd * sd * 3.0).round()), Some(14.0), "28 / 6");
    }

    #[test]
    fn laws_of_the_rank_sum_are_those_of_the_tables() {
        assert_eq!(signed_rank_counts(3), [1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0]);
        // Critical values at 5 %, two sides: 0 for six, 2 for seven, 8 for ten.
        for (n, critical) in [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8)] {
            let counts = signed_rank_counts(n);
            let all: f64 = counts.iter().sum();
            let tail = |most: usize| counts[..=most].iter().sum::<f64>() / all;
            assert!(tail(critical) <= 0.025 && tail(critical + 1) > 0.025, "{n}");
        }
    }

    #[test]
    fn many_pairs_are_drawn_and_come_near_what_is_exact() {
        let differences: Vec<f64> = (0..14).map(|i| 0.3 + libm::sin(f64::from(i) * 1.7)).collect();
        let exact = of(&differences).p();
        // One that changes nothing makes them too many to be looked at one by one.
        let drawn = of(&[differences, vec![0.0]].concat()).p();
        assert!((drawn - exact).abs() < 0.015, "{drawn} {exact}");
        assert_eq!(
            drawn,
            of(&[(0..14).map(|i| 0.3 + libm::sin(f64::from(i) * 1.7)).collect(), vec![0.0]].concat()).p()
        );
    }

    #[test]
    fn holm_by_hand() {
        // 3 x 0.01, then 2 x 0.02, then 0.04, never falling.
        assert_eq!(holm(&[0.04, 0.01, 0.02]), [0.04, 0.03, 0.04]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [] as [f64; 0]);
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(Paired::new(Vec::new()), None);
        assert_eq!(Paired::new(vec![1.0, f64::NAN]), None);
    }
}
