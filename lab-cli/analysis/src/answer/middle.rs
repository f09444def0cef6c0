//! Medians over blocks, with their intervals.

use crate::{series::value::Value, summary::BlockMedian};

/// Confidence of the interval of a median.
const CONFIDENCE: f64 = 0.95;

/// Fewest blocks whose lowest and highest figure are an interval of that confidence: 1 - 2 / 2^6 is 0.969.
pub(super) const FEWEST: usize = 6;

/// Median of numbers. `None`: of nothing.
pub(super) fn known(numbers: impl Iterator<Item = f64>) -> Option<BlockMedian> {
    of_values(&numbers.map(Value::known).collect::<Vec<_>>())
}

/// Median of numbers and bounds.
pub(super) fn of_values(values: &[Value]) -> Option<BlockMedian> {
    let median = Value::median(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.at.total_cmp(&b.at).then(a.at_least.cmp(&b.at_least)));
    let cut = cut(sorted.len());
    let (low, high) = (sorted[cut], sorted.len() - 1 - cut);
    // A bound may in truth be longer than what is above it.
    let open = sorted[..=high].iter().any(|value| value.at_least);
    let several = sorted.len() > 1;
    Some(BlockMedian {
        median: median.at,
        at_least: median.at_least,
        interval: several.then_some([low.at, sorted[high].at]),
        open: several && open,
        blocks: u32::try_from(sorted.len()).unwrap_or(u32::MAX),
    })
}

/// Number of blocks that may be left off at each end, of so many: the most with which the interval has its
/// confidence, by the binomial distribution (Le Boudec, "Performance Evaluation", chapter 2).
fn cut(blocks: usize) -> usize {
    let mut term = 1.0 / libm::exp2(blocks as f64);
    let mut below = 0.0;
    let mut cut = 0;
    while cut < blocks / 2 {
        below += term;
        // With one more left off, so much lies outside.
        term *= (blocks - cut) as f64 / (cut + 1) as f64;
        if 1.0 - 2.0 * (below + term) < CONFIDENCE {
            break;
        }
        cut += 1;
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_medians_are_those_of_the_tables() {
        // Le Boudec's table for 95 %: n = 6: 1 and 6; 9: 2 and 8; 12: 3 and 10; 8: 1 and 8; 20: 6 and 15.
        let ranks = |n: usize| (cut(n) + 1, n - cut(n));
        assert_eq!([6, 8, 9, 12, 20].map(ranks), [(1, 6), (1, 8), (2, 8), (3, 10), (6, 15)]);
        assert_eq!([1, 2, 5].map(cut), [0, 0, 0], "of fewer than six, the lowest and the highest");
    }

    #[test]
    fn a_bound_leaves_the_interval_open() {
        let bounds = [(10.0, false), (20.0, false), (60.0, true)].map(|(at, at_least)| Value { at, at_least });
        let found = of_values(&bounds).expect("a median");
        assert_eq!((found.median, found.at_least, found.interval, found.open), (20.0, false, Some([10.0, 60.0]), true));
        let one = of_values(&bounds[2..]).expect("a median");
        assert_eq!((one.median, one.at_least, one.interval, one.open, one.blocks), (60.0, true, None, false, 1));
        assert_eq!(of_values(&[]), None);
    }
}
