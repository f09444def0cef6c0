//! Utilization in a closed loop.

use super::*;
use crate::{
    Class,
    testing::plant::{Phase, Plant, Series, Service},
};

/// One worker, 10 ms a job: 100 a second. Jobs come by themselves, a quarter of each criticality.
fn crowd(per_s: u32, preset: &str) -> Series {
    let seconds = 120;
    let plant = Plant {
        workers: 1,
        service: Service::Exponential(Duration::from_millis(10)),
        think: Duration::ZERO,
        retreat: Duration::ZERO,
        classes: 4,
        phases: vec![Phase {
            users: 0,
            lasts: Duration::from_secs(seconds),
            arrive_over: Duration::ZERO,
            open_per_s: per_s,
        }],
        seed: 3,
    };
    plant
        .run(testing::policy("utilization", &settings([("preset", preset.into())]), Duration::from_secs(1)), Vec::new())
}

/// The admitted share of each criticality, lowest first.
fn let_in(series: &Series) -> [f64; 4] {
    [0, 1, 2, 3].map(|class| {
        let (offered, refused) = series.by_class[&Class(class)];
        1.0 - f64::from(refused) / f64::from(offered)
    })
}

#[test]
fn the_levels_go_one_after_the_other_and_the_service_stays_busy() {
    for preset in ["as-in-the-book", "few-processors"] {
        for per_s in [50, 80, 120, 160, 200, 300, 500, 1000] {
            let series = crowd(per_s, preset);
            let let_in = let_in(&series);
            for (level, share) in let_in.iter().enumerate() {
                let lower = let_in[..level].iter().copied().fold(0.0, f64::max);
                assert!(*share >= 0.95 || lower <= 0.1, "{preset} {per_s}: {let_in:?}");
            }
            // A quarter of 300 a second is the most that leaves room beside the highest level alone.
            assert!(per_s > 300 || let_in[3] >= 0.985, "{preset} {per_s}: {let_in:?}");
            let served = series.seconds.iter().map(|second| second.served).sum::<u32>() / 120;
            assert!(per_s < 300 || served >= 88, "{preset} {per_s}: {served}");
            // Twice as many as at the highest threshold, of 10 ms each.
            let most_ms = if preset == "few-processors" { 400 } else { 200 };
            let p90_ms = Series::median_p90_ms(&series.seconds);
            assert!(p90_ms < most_ms, "{preset} {per_s}: {p90_ms} ms");
        }
    }
}

#[test]
fn beyond_the_number_of_processors_is_early_where_there_is_but_one() {
    // At half its capacity one processor has one job on average, and often more: what the rule of the book costs.
    let [sheddable, ..] = let_in(&crowd(50, "as-in-the-book"));
    assert!((0.75..=0.9).contains(&sheddable), "{sheddable}");
    let [sheddable, ..] = let_in(&crowd(50, "few-processors"));
    assert!(sheddable > 0.99, "{sheddable}");
}
