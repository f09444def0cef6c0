//! Exact intervals of shares.

use statrs::function::beta::beta_reg;

/// The interval that contains a share with probability 1 - `alpha`, from `count` of `all` (Clopper and Pearson,
/// Biometrika 26, 1934). `count` must not exceed `all`.
#[must_use]
pub fn share(count: u64, all: u64, alpha: f64) -> (f64, f64) {
    let (n, k) = (all as f64, count as f64);
    let low = if count == 0 { 0.0 } else { quantile(k, n - k + 1.0, alpha / 2.0) };
    let high = if count >= all { 1.0 } else { quantile(k + 1.0, n - k, 1.0 - alpha / 2.0) };
    (low, high)
}

/// The value at which the beta distribution function reaches this probability, by bisection to the last relevant bit.
fn quantile(a: f64, b: f64, chance: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if beta_reg(a, b, middle) < chance {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables() {
        let close = |(low, high): (f64, f64), expected: (f64, f64)| {
            assert!((low - expected.0).abs() < 5e-5 && (high - expected.1).abs() < 5e-5, "{low} {high}");
        };
        // 95 % intervals of 4 of 20, 0 of 10, 10 of 10: 1 - 0.025^(1/10) = 0.3085.
        close(share(4, 20, 0.05), (0.0573, 0.4366));
        close(share(0, 10, 0.05), (0.0, 0.3085));
        close(share(10, 10, 0.05), (0.6915, 1.0));
        let (low, high) = share(27_000, 100_000, 0.0001);
        assert!(low < 0.27 && high > 0.27 && high - low < 0.012, "{low} {high}");
    }
}
