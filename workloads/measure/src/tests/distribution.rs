//! Percentiles of times: what they need, what hides them and what bounds them.

use proptest::{collection::vec, prelude::*};

use super::*;

#[test]
fn percentiles_need_their_samples() {
    for (p, least) in [(50.0, 6), (90.0, 29), (95.0, 59), (99.0, 299), (99.9, 2995)] {
        assert_eq!(least_samples(p), least, "p{p}");
        let mut times = Distribution::new(Duration::from_secs(1));
        (1..least).for_each(|_| times.record(ms(1)));
        assert_eq!(times.percentile(p), Percentile::Unknown);
        times.record(ms(1));
        assert_eq!(times.percentile(p), Percentile::At(1.0));
    }
}

#[test]
fn percentiles_are_ranks() {
    let mut times = Distribution::new(Duration::from_secs(10));
    (1..=1000).for_each(|n| times.record(ms(n)));
    let all = times.percentiles();
    // To three significant digits: within 0.1 %.
    for (seen, expected) in [(all.p50, 500.0), (all.p90, 900.0), (all.p99, 990.0), (all.mean, 500.5), (all.max, 1000.0)]
    {
        let seen = seen.expect("there are enough");
        assert!((seen - expected).abs() <= expected / 1000.0, "{seen} for {expected}");
    }
    assert_eq!((all.p999, all.count), (None, 1000));
}

proptest! {
    /// Whole microseconds, whatever bucket they are in, of one second or of several together, also with time-outs above.
    #[test]
    fn no_percentile_is_over_the_longest_time(
        seconds in vec(vec(1_u64..10_000_000, 6..60), 1..4),
        time_outs in 0_u64..3,
    ) {
        let mut all = Distribution::new(Duration::from_secs(60));
        for second in &seconds {
            let mut times = Distribution::new(Duration::from_secs(60));
            second.iter().for_each(|us| times.record(Duration::from_micros(*us)));
            (0..time_outs).for_each(|_| times.record_censored(Duration::from_secs(30)));
            all.add(&times);
        }
        let longest = all.max_ms().expect("there are times");
        for p in [1.0, 50.0, 75.0, 90.0, 95.0, 99.0] {
            if let Percentile::At(value) = all.percentile(p) {
                prop_assert!(value <= longest, "p{p} {value} of {longest}");
            }
        }
    }
}

#[test]
fn the_spread_is_that_of_the_logarithm() {
    let mut times = Distribution::new(Duration::from_secs(10));
    assert_eq!(times.log_spread(), None);
    // 1 and e^2 milliseconds, as often: logarithms 1 from their mean, and over n - 1 a little more.
    (0..500).for_each(|_| times.record(ms(1)));
    (0..500).for_each(|_| times.record(Duration::from_micros(7389)));
    let spread = times.log_spread().expect("a thousand samples");
    assert!((spread - 1.0).abs() < 2e-3, "{spread}");
}

#[test]
fn time_outs_hide_the_percentiles_above_them_and_bound_them() {
    let mut times = Distribution::new(Duration::from_secs(120));
    (0..80).for_each(|_| times.record(ms(100)));
    (0..20).for_each(|_| times.record_censored(Duration::from_secs(60)));
    let all = times.percentiles();
    // 20 % are censored at 60 s: the median is known, the 90th percentile is at least that.
    assert!(all.p50.is_some_and(|p50| (p50 - 100.0).abs() < 0.1) && all.p50_at_least.is_none());
    assert_eq!(all.p90, None);
    assert!(all.p90_at_least.is_some_and(|p90| (59_940.0..=60_000.0).contains(&p90)), "{:?}", all.p90_at_least);
    assert_eq!((all.count, all.censored), (80, 20));

    // Censored early, under times that are known: the median is unknown, but at least 50 ms.
    let mut times = Distribution::new(Duration::from_secs(120));
    (0..10).for_each(|_| times.record(ms(100)));
    (0..12).for_each(|_| times.record_censored(ms(50)));
    let Percentile::AtLeast(bound) = times.percentile(50.0) else { panic!("it is hidden") };
    assert!((bound - 50.0).abs() < 0.1, "{bound}");
}

#[test]
fn times_over_the_bound_are_counted() {
    let mut times = Distribution::new(Duration::from_secs(1));
    times.record(Duration::from_secs(2));
    assert_eq!((times.saturated(), times.max_ms()), (1, Some(1000.0)));
}
