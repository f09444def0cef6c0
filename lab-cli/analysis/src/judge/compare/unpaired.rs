//! Differences between runs that share nothing: like [`Paired`](super::paired::Paired), without pairs. What is assumed is that
//! without an effect any of the runs might as well have been the other arm's.

use controllers::{Random as _, random::Seeded};

use super::sample::{MOST_EXACT, Sample, as_far, drawn, interval_from_ranks, least_blocks, middle, variance};

/// Root of what is drawn: the same runs give the same answer on any machine.
const SEED: u64 = 0x5045_524d;

/// Figures of two arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Unpaired {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    /// Each of ours less each of theirs, in order.
    shifts: Vec<f64>,
}

impl Unpaired {
    /// `None` if one side has none.
    pub fn new(ours: Vec<f64>, theirs: Vec<f64>) -> Option<Self> {
        let sound = |side: &[f64]| !side.is_empty() && side.iter().all(|value| value.is_finite());
        if !sound(&ours) || !sound(&theirs) {
            return None;
        }
        let mut shifts: Vec<f64> = ours.iter().flat_map(|a| theirs.iter().map(move |b| a - b)).collect();
        shifts.sort_by(f64::total_cmp);
        Some(Self { ours, theirs, shifts })
    }
}

impl Sample for Unpaired {
    /// The median of all differences between one of ours and one of theirs.
    fn effect(&self) -> f64 {
        middle(&self.shifts)
    }

    /// The rank-sum test (Mann and Whitney).
    fn confidence_interval(&self, confidence: f64) -> Option<[f64; 2]> {
        interval_from_ranks(&self.shifts, &rank_sum_counts(self.ours.len(), self.theirs.len()), confidence)
    }

    /// The runs are shared out by chance, and their means held against each other.
    fn p(&self) -> f64 {
        let all: Vec<f64> = self.ours.iter().chain(&self.theirs).copied().collect();
        let (n, total) = (self.ours.len(), all.iter().sum::<f64>());
        let rest = self.theirs.len() as f64;
        let apart = |sum: f64| (sum / n as f64 - (total - sum) / rest).abs();
        let scale = all.iter().map(|value| value.abs()).sum::<f64>();
        let as_far = as_far(apart(self.ours.iter().sum()), scale);
        if ways(all.len(), n) <= MOST_EXACT {
            let (mut far, mut looked_at) = (0_u32, 0_u32);
            each_choice(&all, n, 0.0, &mut |sum| {
                looked_at += 1;
                far += u32::from(as_far(apart(sum)));
            });
            return f64::from(far) / f64::from(looked_at);
        }
        let mut random = Seeded::new(SEED);
        let mut shuffled = all;
        drawn(|| {
            for place in 0..n {
                let left = shuffled.len() - place;
                let pick = place + ((random.uniform() * left as f64) as usize).min(left - 1);
                shuffled.swap(place, pick);
            }
            as_far(apart(shuffled[..n].iter().sum()))
        })
    }

    /// Standard deviation of a difference between one of ours and one of theirs.
    fn deviation(&self) -> Option<f64> {
        Some((variance(&self.ours)? + variance(&self.theirs)?).sqrt())
    }

    fn len(&self) -> usize {
        self.ours.len().min(self.theirs.len())
    }

    /// All runs of one arm above all of the other.
    fn least_p(blocks: u32) -> f64 {
        2.0 / ways(2 * blocks as usize, blocks as usize)
    }

    fn least(&self, family: usize) -> u32 {
        least_blocks::<Self>(family)
    }
}

/// Ways to choose n of so many.
fn ways(of: usize, n: usize) -> f64 {
    (1..=n).fold(1.0, |ways, k| ways * (of - n + k) as f64 / k as f64)
}

/// The sum of every choice of `n` values.
fn each_choice(values: &[f64], n: usize, sum: f64, tell: &mut impl FnMut(f64)) {
    if n == 0 {
        return tell(sum);
    }
    for first in 0..=values.len() - n {
        each_choice(&values[first + 1..], n - 1, sum + values[first], tell);
    }
}

/// Counts of the ways in which 0, 1, 2, … of the differences are negative: the coefficients of the Gaussian binomial.
fn rank_sum_counts(n: usize, m: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for at in (m + i..counts.len()).rev() {
            counts[at] -= counts[at - m - i];
        }
        for at in i..counts.len() {
            counts[at] += counts[at - i];
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ours: &[f64], theirs: &[f64]) -> Unpaired {
        Unpaired::new(ours.to_vec(), theirs.to_vec()).expect("runs")
    }

    #[test]
    fn by_hand() {
        // Differences 4, 3, 3, 2: their median is 3. Of six ways to choose two of {1, 2, 4, 5} two are as far apart.
        let two = of(&[5.0, 4.0], &[1.0, 2.0]);
        assert_eq!((two.effect(), two.confidence_interval(0.95)), (3.0, None));
        assert!((two.p() - 2.0 / 6.0).abs() < 1e-12, "{}", two.p());
        // Four of each, all apart: 2 of 70, and the widest interval has 1 - 2/70 = 97.1 %.
        let four = of(&[11.0, 12.0, 13.0, 14.0], &[1.0, 2.0, 3.0, 4.0]);
        assert!((four.p() - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!((four.effect(), four.confidence_interval(0.95)), (10.0, Some([7.0, 13.0])));
        assert_eq!(
            of(&[11.0, 12.0, 13.0], &[1.0, 2.0, 3.0]).confidence_interval(0.95),
            None,
            "three of each: at most 90 %"
        );
        assert_eq!(four.deviation().map(|sd| (sd * sd * 3.0).round()), Some(10.0), "5/3 twice");
    }

    #[test]
    fn laws_of_the_rank_sum_are_those_of_the_tables() {
        assert_eq!(rank_sum_counts(2, 2), [1.0, 1.0, 2.0, 1.0, 1.0]);
        assert_eq!(rank_sum_counts(1, 3), [1.0; 4]);
        // Critical values of U at 5 %, two sides: 0 for four, 2 for five, 5 for six, 8 for seven, 23 for ten.
        for (n, critical) in [(4, 0), (5, 2), (6, 5), (7, 8), (10, 23)] {
            let counts = rank_sum_counts(n, n);
            let all: f64 = counts.iter().sum();
            assert_eq!(all, ways(2 * n, n), "{n}");
            let tail = |most: usize| counts[..=most].iter().sum::<f64>() / all;
            assert!(tail(critical) <= 0.025 && tail(critical + 1) > 0.025, "{n}");
        }
    }

    #[test]
    fn many_runs_are_drawn_and_come_near_what_is_exact() {
        let values =
            |n: u32, shift: f64| -> Vec<f64> { (0..n).map(|i| shift + libm::sin(f64::from(i) * 1.7)).collect() };
        let exact = of(&values(8, 0.6), &values(8, 0.0));
        assert!(ways(16, 8) <= MOST_EXACT && ways(20, 10) > MOST_EXACT);
        let p = exact.p();
        assert!(p > 0.05 && p < 0.5, "{p}");
        let drawn = of(&values(10, 0.6), &values(10, 0.0)).p();
        assert_eq!(drawn, of(&values(10, 0.6), &values(10, 0.0)).p(), "the same again");
        assert!((0.01..0.5).contains(&drawn), "{drawn}");
    }

    #[test]
    fn fewest_runs_as_in_the_usual_table() {
        assert_eq!([1, 3, 6, 10, 15, 28].map(least_blocks::<Unpaired>), [4, 5, 5, 6, 6, 7]);
    }

    #[test]
    fn nothing_is_made_of_nothing() {
        assert_eq!(Unpaired::new(Vec::new(), vec![1.0]), None);
        assert_eq!(Unpaired::new(vec![1.0], vec![f64::INFINITY]), None);
    }
}
