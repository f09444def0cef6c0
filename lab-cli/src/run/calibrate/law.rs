//! The law through measured rates: more requests at once never serve fewer a second up to a peak, and never more after it.

/// The rates that rise to a peak and fall after it, of all such the nearest in least squares. As long as the input.
pub fn unimodal(rates: &[f64]) -> Vec<f64> {
    let error = |fitted: &[f64]| fitted.iter().zip(rates).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let split = |peak: usize| {
        let (before, after) = rates.split_at(peak);
        let mut after = rising(&after.iter().rev().copied().collect::<Vec<_>>());
        after.reverse();
        [rising(before), after].concat()
    };
    (0..=rates.len()).map(split).min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or_default()
}

/// The nearest rates that never fall: neighbours that do become their mean (pool adjacent violators).
fn rising(rates: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &rate in rates {
        let mut pool = (rate, 1);
        while let Some(&(mean, count)) = pools.last()
            && mean > pool.0
        {
            pools.pop();
            let both = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / both as f64, both);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rises_and_falls_stays_as_it_is() {
        for rates in [&[25.0, 50.0, 100.0, 100.0][..], &[100.0, 90.0, 80.0], &[1.0, 3.0, 2.0], &[5.0], &[]] {
            assert_eq!(unimodal(rates), rates);
        }
    }

    #[test]
    fn a_dent_on_the_way_is_levelled_by_its_neighbours() {
        // By hand: 192 and 180 pool to 186; behind the peak 228 and 231 pool to 229.5.
        assert_eq!(unimodal(&[50.0, 192.0, 180.0, 248.0, 228.0, 231.0]), [50.0, 186.0, 186.0, 248.0, 229.5, 229.5]);
    }
}
