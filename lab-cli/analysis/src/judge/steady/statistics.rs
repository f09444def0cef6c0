//! Statistics of batches in order of time.

use crate::live::TimelineSecond;

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(in crate::judge) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let [low, high] = [sorted.len().saturating_sub(1) / 2, sorted.len() / 2];
    sorted.get(high).map_or(0.0, |above| (sorted[low] + above) / 2.0)
}

/// The medians of the lower and of the upper half of the values, each with the middle one if there is one (Tukey's hinges).
pub(in crate::judge) fn quartiles(values: &[f64]) -> [f64; 2] {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len().div_ceil(2);
    [median(&sorted[..half]), median(&sorted[sorted.len() - half..])]
}

/// The median of the slopes between all pairs, a batch; 0 for fewer than two.
pub(super) fn theil_sen(values: &[f64]) -> f64 {
    let slopes: Vec<f64> = (0..values.len())
        .flat_map(|a| (a + 1..values.len()).map(move |b| (values[b] - values[a]) / (b - a) as f64))
        .collect();
    median(&slopes)
}

/// Chance of an order that rises at least as much if there is no trend: Mann and Kendall's test, one-sided. By the normal approximation with ties and continuity (Kendall, "Rank Correlation Methods"), which is close from about ten
/// values on, and says nothing (1) for fewer than eight.
pub(super) fn mann_kendall(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 8 {
        return 1.0;
    }
    let mut s = 0_i64;
    for (a, first) in values.iter().enumerate() {
        for second in &values[a + 1..] {
            s += i64::from(second > first) - i64::from(second < first);
        }
    }
    let pairs = |n: usize| (n * (n - 1)) as f64 * (2 * n + 5) as f64 / 18.0;
    let variance = pairs(n) - ties(values).into_iter().map(pairs).sum::<f64>();
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (s - s.signum()) as f64 / variance.sqrt();
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// Sizes of the groups of equal values.
fn ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|&size| size > 1).collect()
}

/// The mean of a figure over the seconds that have it.
pub(super) fn average(seconds: &[&TimelineSecond], read: fn(&TimelineSecond) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = seconds.iter().filter_map(|second| read(second)).collect();
    (!known.is_empty()).then(|| mean(&known))
}

#[cfg(test)]
mod tests {
    use controllers::{Random, Seeded};

    use super::*;

    #[test]
    fn slopes_are_not_moved_by_a_single_value() {
        let mut line: Vec<f64> = (0..15).map(|n| 3.0 + 2.0 * f64::from(n)).collect();
        assert_eq!(theil_sen(&line), 2.0);
        line[7] = 1e6;
        assert!((theil_sen(&line) - 2.0).abs() < 0.2);
        assert_eq!((theil_sen(&[5.0]), median(&[])), (0.0, 0.0));
    }

    /// By hand: ten in order give S = 45, variance 125, z = 44 / 11.18 = 3.935; one-sided 4.15e-5.
    #[test]
    fn ten_in_order_are_no_chance() {
        let up: Vec<f64> = (0..10).map(f64::from).collect();
        let found = mann_kendall(&up);
        assert!((found - 4.15e-5).abs() < 2e-7, "{found}");
        let down: Vec<f64> = up.iter().rev().copied().collect();
        let found = mann_kendall(&down);
        assert!(found > 0.9999, "{found}");
    }

    #[test]
    fn equal_values_and_few_ones_say_nothing() {
        assert_eq!(mann_kendall(&[4.0; 12]), 1.0);
        assert_eq!(mann_kendall(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), 1.0);
        // Two heights: up once. S = 36, ties of 6 and 6: variance 212.67 - 2 * 28.33 = 156, z = 2.80.
        let once = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0];
        let found = mann_kendall(&once);
        assert!((found - 0.00254).abs() < 5e-5, "{found}");
    }

    #[test]
    fn chance_is_found_as_often_as_it_should_be() {
        let mut random = Seeded::new(11);
        let mut found = 0;
        for _ in 0..2000 {
            let values: Vec<f64> = (0..12).map(|_| random.uniform()).collect();
            found += u32::from(mann_kendall(&values) < 0.05);
        }
        // 100 of 2000, give or take three standard deviations.
        assert!((71..130).contains(&found), "{found}");
    }
}
