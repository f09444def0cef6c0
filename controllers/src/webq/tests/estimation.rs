//! Section IV on servers whose capacity and hardness are known.

use crate::{Random, Seeded};

use super::{
    super::{
        Annealing, ChangeDetector, CmaEs, Cubic, EpochSample, Estimate, EstimateParams, Minimise, NotYet, ScaledPoint,
        estimate,
    },
    synthetic::{Formula, SharedCores},
};

fn by(search: &dyn Minimise, samples: &[EpochSample], seed: u64) -> Result<Estimate, NotYet> {
    estimate(samples, &EstimateParams::default(), search, &mut Seeded::new(seed))
}

fn is_near(found: f64, truth: f64, part: f64) -> bool {
    (found - truth).abs() <= part * truth
}

/// 1 − R² of a cubic through the epochs as they are for this hardness.
fn unexplained(samples: &[EpochSample], hardness: &[f64]) -> f64 {
    let points: Vec<ScaledPoint> = samples.iter().filter_map(|sample| sample.scaled(hardness)).collect();
    let mean = points.iter().map(|point| point.power).sum::<f64>() / points.len() as f64;
    let variance: f64 = points.iter().map(|point| (point.power - mean) * (point.power - mean)).sum();
    Cubic::fit(&points).expect("many loads").squared_error(&points) / variance
}

#[test]
fn figure_2_the_power_ratio_of_one_type_peaks_below_the_configured_capacity() {
    let server = Formula::new(100.0, &[1.0], 0.02);
    let found = by(&CmaEs::default(), &server.training(60, (0.3, 1.4), 1), 1).expect("a peak");
    assert_eq!(found.hardness, [1.0]);
    assert!(is_near(found.capacity, 90.0, 0.1) && (70.0..=100.0).contains(&found.capacity), "{found:?}");
}

#[test]
fn figures_3_and_4_scaled_by_hardness_the_points_lie_on_a_curve() {
    let server = Formula::new(100.0, &[1.0, 4.0], 0.02);
    let samples = server.training(80, (0.3, 1.4), 1);
    let (unscaled, scaled) = (unexplained(&samples, &[1.0, 1.0]), unexplained(&samples, &[1.0, 4.0]));
    assert!(scaled < 0.4 * unscaled, "{scaled} of {unscaled}");
}

#[test]
fn the_sum_of_squares_of_line_9_is_too_small_for_a_small_hardness() {
    // Response times that differ by 20 %: the true hardness is 4.
    let samples = Formula::new(100.0, &[1.0, 4.0], 0.2).training(80, (0.3, 1.4), 1);
    let error = |hardness: f64, is_relative: bool| {
        let points: Vec<ScaledPoint> = samples.iter().filter_map(|sample| sample.scaled(&[1.0, hardness])).collect();
        let mean = points.iter().map(|point| point.power).sum::<f64>() / points.len() as f64;
        let squares = Cubic::fit(&points).expect("many loads").squared_error(&points);
        if is_relative { squares / (mean * mean) } else { squares }
    };
    let least = |is_relative| {
        let guesses = (10..200).map(|tenths| f64::from(tenths) / 10.0);
        guesses.min_by(|x, y| error(*x, is_relative).total_cmp(&error(*y, is_relative))).expect("guesses")
    };
    assert_eq!(least(false), 1.0);
    assert!(is_near(least(true), 4.0, 0.1), "{}", least(true));
}

#[test]
fn one_to_four_is_recovered_by_both_searches() {
    for (name, search) in [("CMA-ES", &CmaEs::default() as &dyn Minimise), ("annealing", &Annealing::default())] {
        for seed in 0..5 {
            let server = Formula::new(100.0, &[1.0, 4.0], 0.02);
            let found = by(search, &server.training(84, (0.3, 1.4), seed), seed).expect("a peak");
            assert!(is_near(found.hardness[1], 4.0, 0.1), "{name}, {seed}: {found:?}");
            assert!(is_near(found.capacity, server.true_capacity(), 0.1), "{name}, {seed}: {found:?}");
        }
    }
}

#[test]
fn the_hardest_type_may_be_the_first_and_three_types_are_recovered() {
    let server = Formula::new(140.0, &[4.2, 1.0, 2.2], 0.02);
    // Among them one in which the first descent ends at a wrong hardness (21).
    for seed in 15..25 {
        let found = by(&CmaEs::default(), &server.training(89, (0.3, 1.4), seed), seed).expect("a peak");
        for (found, truth) in found.hardness.iter().zip(&server.hardness) {
            assert!(is_near(*found, *truth, 0.1), "{seed}: {found} {truth}");
        }
        assert!(is_near(found.capacity, server.true_capacity(), 0.1), "{seed}: {found:?}");
    }
}

#[test]
fn a_server_of_shared_cores_is_measured_within_a_tenth() {
    // Section VI-C: 23 and 97 ms, 1 : 4.2. Four cores do 4/0.023 = 174 subunits a second.
    let server = SharedCores { cores: 4.0, service_s: vec![0.023, 0.097], most_at_once: 60 };
    // The true capacity: where requests of one type have their highest power ratio, in long epochs.
    let alone = SharedCores { cores: 4.0, service_s: vec![0.023], most_at_once: 60 };
    let mut random = Seeded::new(1);
    let power = |rate: f64, random: &mut Seeded| {
        let epochs = alone.epochs(&vec![vec![rate]; 12], random);
        epochs.iter().filter_map(|epoch| epoch.scaled(&[1.0])).map(|point| point.power).sum::<f64>()
    };
    let sweep: Vec<f64> = (8..20).map(|n| f64::from(n) * 10.0).collect();
    let powers = sweep.iter().map(|load| (*load, power(*load, &mut random)));
    let (truth, _) = powers.max_by(|x, y| x.1.total_cmp(&y.1)).expect("twelve loads");
    assert!((100.0..=150.0).contains(&truth), "{truth}");
    for seed in 0..3 {
        let mut random = Seeded::new(seed);
        let mut epoch = |_| {
            let (load, part) = (50.0 + 130.0 * random.uniform(), 0.1 + 0.8 * random.uniform());
            vec![load * part, load * (1.0 - part) / 4.2]
        };
        let rates: Vec<Vec<f64>> = (0..84).map(&mut epoch).collect();
        let found = by(&CmaEs::default(), &server.epochs(&rates, &mut random), seed).expect("a peak");
        assert!(is_near(found.hardness[1], 97.0 / 23.0, 0.1), "{seed}: {found:?}");
        assert!(is_near(found.capacity, truth, 0.1), "{seed}: {truth} {found:?}");
    }
}

#[test]
fn what_is_not_enough_says_why() {
    let server = Formula::new(100.0, &[1.0, 4.0], 0.02);
    let few = by(&CmaEs::default(), &server.training(8, (0.3, 1.4), 1), 1);
    assert_eq!(few, Err(NotYet::TooFewSamples { have: 8, need: 9 }));
    assert_eq!(by(&CmaEs::default(), &[], 1), Err(NotYet::TooFewSamples { have: 0, need: 9 }));
    // Loads up to half of the capacity: the power ratio only rises.
    let idle = Formula::new(100.0, &[1.0], 0.0).training(84, (0.1, 0.5), 1);
    assert_eq!(by(&CmaEs::default(), &idle, 1), Err(NotYet::NoPeak));
    let mut random = Seeded::new(1);
    let steady: Vec<EpochSample> = (0..20).map(|_| server.epoch(0.5, &[1.0, 1.0], &mut random)).collect();
    assert_eq!(by(&CmaEs::default(), &steady, 1), Err(NotYet::NoCurve));
}

#[test]
fn a_type_that_was_not_seen_has_hardness_1() {
    let server = Formula::new(100.0, &[1.0, 4.0], 0.0);
    let mut samples = server.training(84, (0.3, 1.4), 1);
    for sample in &mut samples {
        sample.arrived.insert(1, 0);
        sample.served.insert(1, 0);
        sample.response_s.insert(1, 0.0);
    }
    let found = by(&CmaEs::default(), &samples, 1).expect("a peak");
    assert_eq!(found.hardness[1], 1.0);
    assert!(is_near(found.hardness[2], 4.0, 0.1), "{found:?}");
}

#[test]
fn the_same_epochs_and_seed_give_the_same_estimate() {
    let samples = Formula::new(100.0, &[1.0, 4.0], 0.05).training(84, (0.3, 1.4), 1);
    assert_eq!(by(&CmaEs::default(), &samples, 3), by(&CmaEs::default(), &samples, 3));
}

#[test]
fn half_the_capacity_is_noticed_and_the_same_server_is_not() {
    let server = Formula::new(100.0, &[1.0, 4.0], 0.02);
    let found = by(&CmaEs::default(), &server.training(84, (0.3, 1.4), 1), 1).expect("a peak");
    let mut detector = ChangeDetector::new(found, 2.0, 3);
    let mut random = Seeded::new(2);
    // Two hours of the same server, at loads that WebQ lets through.
    for _ in 0..720 {
        let (rho, part) = (0.2 + 0.7 * random.uniform(), random.uniform());
        let sample = server.epoch(rho, &[part, 1.0 - part], &mut random);
        assert!(!detector.see(&sample), "{:?} of {}", detector.distance(), detector.limit());
    }
    let half = Formula::new(50.0, &[1.0, 4.0], 0.02);
    let changed = (1..=10).find(|_| detector.see(&half.epoch(1.4, &[1.0, 1.0], &mut random)));
    assert!(
        changed.is_some_and(|epochs| epochs <= 3),
        "{changed:?}: {:?} of {}",
        detector.distance(),
        detector.limit()
    );
    // Loads that were never seen say nothing.
    let before = detector.distance();
    assert!(!detector.see(&half.epoch(0.1, &[1.0, 1.0], &mut random)));
    assert_eq!(detector.distance(), before);
}
