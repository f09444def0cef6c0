//! Utilization, criticality and advice on retrying.

use proptest::prelude::*;

use super::*;
use crate::{LoadSample, RetryHint};

impl Bench {
    pub(super) fn load(&mut self, sample: LoadSample) {
        self.seat.observe(self.now, &Seen::Load(sample));
    }

    /// Ready tasks seen every 20 ms for a time, the first after 20 ms.
    pub(super) fn ready(&mut self, tasks: u32, lasts: Duration) {
        for _ in 0..lasts.as_millis() / 20 {
            self.pass(Duration::from_millis(20));
            self.load(LoadSample::Ready(tasks));
        }
    }

    /// The criticalities that would be admitted, lowest first.
    pub(super) fn lets_in(&mut self) -> [bool; 4] {
        Criticality::ALL.map(|criticality| self.request(of(criticality), Outcome::Served))
    }

    /// Advice with a refusal.
    pub(super) fn refused(&mut self, tags: Tags) -> RetryHint {
        self.next_id += 1;
        match self.seat.offer(self.now, &Offer { id: JobId(self.next_id), tags, entered: self.now, note: None }) {
            Verdict::Refuse(refusal) => refusal.retry,
            other => panic!("let in: {other:?}"),
        }
    }
}

#[test]
fn the_load_average_decays_by_its_time_constant() {
    let mut bench = Bench::new("utilization", [("processors", 2_u32.into())]);
    // 10 tasks on 2 processors are 5 each. After one time constant: 5 × (1 − 1/e) = 3.1606; after two more without any
    // task: 3.1606 / e² = 0.42774.
    bench.ready(10, Duration::from_secs(1));
    assert!((bench.gauge("load_average") - 3.160_602_794).abs() < 1e-6);
    bench.ready(0, Duration::from_secs(2));
    assert!((bench.gauge("load_average") - 0.427_741_1).abs() < 1e-6);
    // A late sample counts for all the time that it is late.
    let mut bench = Bench::new("utilization", [("processors", 2_u32.into())]);
    bench.load(LoadSample::Ready(0));
    bench.pass(Duration::from_secs(1));
    bench.load(LoadSample::Ready(10));
    assert!((bench.gauge("load_average") - 3.160_602_794).abs() < 1e-6);
}

#[test]
fn a_short_burst_is_swallowed_and_a_lasting_one_is_not() {
    let mut bench = Bench::new("utilization", []);
    // 50 tasks seen once: 50 × (1 − e^−0.02) = 0.990, below the lowest threshold of 1.
    bench.ready(50, Duration::from_millis(20));
    assert_eq!(bench.lets_in(), [true; 4]);
    // Seen twice: 0.990 × e^−0.02 + 0.990 = 1.96: above 1, below 2. Five times 4.76; ten times 9.06.
    bench.ready(50, Duration::from_millis(20));
    assert_eq!(bench.lets_in(), [false, true, true, true]);
    bench.ready(50, Duration::from_millis(60));
    assert_eq!(bench.lets_in(), [false, false, false, true]);
    bench.ready(50, Duration::from_millis(100));
    assert_eq!(bench.lets_in(), [false; 4]);
    // One task for the one processor: 1 + 8.06 e^−5 = 1.05 after 5 s. Then none: 1.05 e^−0.06 = 0.99.
    bench.ready(1, Duration::from_secs(5));
    assert_eq!(bench.lets_in(), [false, true, true, true]);
    bench.ready(0, Duration::from_millis(60));
    assert_eq!(bench.lets_in(), [true; 4]);
}

#[test]
fn signals_are_looked_at_only_if_switched_on() {
    let given = [("load", false), ("cpu", true), ("memory", true)].map(|(key, on)| (key, Setting::Flag(on)));
    let mut bench = Bench::new("utilization", given);
    bench.ready(1000, Duration::from_secs(1));
    assert_eq!(bench.lets_in(), [true; 4]);
    bench.load(LoadSample::Cpu(0.86));
    assert_eq!(bench.lets_in(), [false, false, true, true], "above 0.8 and 0.85");
    bench.load(LoadSample::Memory(0.91));
    assert_eq!(bench.lets_in(), [false, false, false, true], "memory is above 0.9");
    bench.load(LoadSample::Memory(0.1));
    bench.load(LoadSample::Cpu(0.8));
    assert_eq!(bench.lets_in(), [true; 4], "not above");
    let mut bench = Bench::new("utilization", []);
    bench.load(LoadSample::Cpu(1.0));
    assert_eq!(bench.lets_in(), [true; 4], "the CPU rate is off by default");
}

#[test]
fn thresholds_that_fall_and_signals_that_are_all_off_are_problems() {
    let said = |given: [(&str, Setting); 2]| {
        let problems = Catalogue::built_in().find("utilization").unwrap().check(&settings(given)).unwrap_err();
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        said([("load_critical", 1.5.into()), ("cpu_critical_plus", 0.9.into())]),
        ["load_critical: 1.5 is below load_sheddable_plus (2): a level would be refused before a lower one"]
    );
    assert_eq!(
        said([("load", false.into()), ("cpu", false.into())]),
        ["load: without load, cpu and memory nothing is ever refused: switch one on"]
    );
}

proptest! {
    #[test]
    fn a_level_is_refused_only_if_all_lower_ones_are(
        steps in prop::collection::vec((0..3_u32, 0.0..1.0_f64, 0..40_u32), 1..60),
        thresholds in prop::array::uniform12(0.0..1.0_f64),
    ) {
        let names = ["load", "cpu", "memory"].map(|signal| {
            ["sheddable", "sheddable_plus", "critical", "critical_plus"].map(|level| format!("{signal}_{level}"))
        });
        let mut given: Vec<(&str, Setting)> = vec![("cpu", true.into()), ("memory", true.into())];
        let mut sorted = thresholds;
        for (names, values) in names.iter().zip(sorted.chunks_mut(4)) {
            values.sort_by(f64::total_cmp);
            let scale = if names[0].starts_with("load") { 20.0 } else { 1.0 };
            given.extend(names.iter().zip(values).map(|(name, value)| (name.as_str(), (*value * scale).into())));
        }
        let mut bench = Bench::new("utilization", given);
        for (what, share, tasks) in steps {
            bench.pass(Duration::from_millis(100));
            bench.load(match what {
                0 => LoadSample::Ready(tasks),
                1 => LoadSample::Cpu(share),
                _ => LoadSample::Memory(share),
            });
            let lets_in = bench.lets_in();
            prop_assert!(lets_in.is_sorted(), "{lets_in:?}");
        }
    }
}

#[test]
fn many_retries_turn_a_refusal_into_dont_retry() {
    let mut bench = Bench::new("dont-retry", [("retry_share", 0.1.into())]);
    // Figure 21-1's histogram counts whatever comes. 18 first attempts, then retries: at the twentieth request there
    // are 2 of 20, a tenth.
    for _ in 0..18 {
        assert!(bench.request(attempt(0), Outcome::Served));
    }
    bench.ready(100, Duration::from_secs(5));
    assert_eq!(bench.refused(attempt(1)), RetryHint::Unsaid, "19 requests are too few");
    assert_eq!(bench.refused(attempt(2)), RetryHint::Never, "2 of 20");
    assert_eq!(bench.refused(attempt(0)), RetryHint::Unsaid, "2 of 21");
    assert_eq!(bench.refused(attempt(200)), RetryHint::Never, "3 of 22, and no attempt is too high to count");
    assert!(near(bench.gauge("retry_share"), 3.0 / 22.0));
    // Two minutes later all of it is forgotten.
    bench.pass(Duration::from_secs(120));
    assert_eq!(bench.refused(attempt(1)), RetryHint::Unsaid);
}

#[test]
fn heavy_overload_shows_as_in_figure_21_1() {
    // Nine attempts of ten are refused: of 1000 requests come 1000 + 900 + 810, so retries are 63 %: "don't retry"
    // although most of the share is allowed.
    let mut bench = Bench::new("dont-retry", [("retry_share", 0.6.into())]);
    bench.ready(100, Duration::from_secs(5));
    for (number, times) in [(0, 1000), (1, 900), (2, 810)] {
        for _ in 0..times {
            assert_eq!(bench.offer(attempt(number)), Err(Reason::Utilization));
        }
    }
    assert_eq!(bench.refused(attempt(0)), RetryHint::Never);
    // One in ten: 1000 + 100 + 10, 10 %: far from it.
    let mut bench = Bench::new("dont-retry", [("retry_share", 0.6.into())]);
    bench.ready(100, Duration::from_secs(5));
    for (number, times) in [(0, 1000), (1, 100), (2, 10)] {
        for _ in 0..times {
            assert_eq!(bench.offer(attempt(number)), Err(Reason::Utilization));
        }
    }
    assert_eq!(bench.refused(attempt(0)), RetryHint::Unsaid);
}

/// Share of retries among what reaches a task that refuses nine requests of ten, from senders of three attempts, minute by
/// minute; senders heed "don't retry" or do not.
fn retries_by_minute(heed: bool, share: f64) -> Vec<f64> {
    let mut bench = Bench::new("dont-retry", [("retry_share", share.into())]);
    // Between the thresholds of CRITICAL (4) and CRITICAL_PLUS (8).
    bench.ready(6, Duration::from_secs(10));
    (0..20)
        .map(|_| {
            let (mut all, mut retries) = (0_u32, 0_u32);
            for nth in 0..6000 {
                bench.pass(Duration::from_millis(10));
                let criticality = if nth % 10 == 0 { Criticality::CriticalPlus } else { Criticality::Critical };
                for attempt in 0..3 {
                    all += 1;
                    retries += u32::from(attempt > 0);
                    let tags = Tags { attempt, ..of(criticality) };
                    if criticality == Criticality::CriticalPlus {
                        assert!(bench.request(tags, Outcome::Served));
                        break;
                    }
                    if bench.refused(tags) == RetryHint::Never && heed {
                        break;
                    }
                }
            }
            f64::from(retries) / f64::from(all)
        })
        .collect()
}

#[test]
fn senders_that_heed_it_bring_retries_down_to_the_share() {
    // Three attempts at nine of ten refused for good: 10 + 2 × 9 attempts for ten requests, 18 of 28.
    let unheeded = retries_by_minute(false, 0.09);
    assert!(unheeded.iter().all(|share| (share - 18.0 / 28.0).abs() < 1e-3), "{unheeded:?}");
    // A retry more when the share is below, none when it is not.
    let heeded = retries_by_minute(true, 0.09);
    assert!(heeded.iter().all(|share| (share - 0.09).abs() < 1e-3), "{heeded:?}");
}

#[test]
fn combined_signals_are_one_utilization() {
    let given = |combine: &str| {
        [
            ("combine", combine.into()),
            ("cpu", true.into()),
            ("target_load", 2.0.into()),
            ("combined_critical", 1.2.into()),
            ("combined_critical_plus", 1.6.into()),
        ]
    };
    // A load average of 3 on a target of 2 and a CPU share of 0.4 on one of 0.8: 1.5 and 0.5.
    for (combine, utilization, lets_in) in [("max", 1.5, [false, false, false, true]), ("mean", 1.0, [true; 4])] {
        let mut bench = Bench::new("utilization", given(combine));
        bench.ready(3, Duration::from_secs(60));
        bench.load(LoadSample::Cpu(0.4));
        assert!((bench.gauge("utilization") - utilization).abs() < 1e-6, "{combine}");
        // Just above the target the lowest level goes, and no other.
        assert_eq!(bench.lets_in(), lets_in, "{combine}");
        bench.load(LoadSample::Cpu(0.42));
        assert!(!bench.lets_in()[0], "{combine}: (1.5 + 0.525) / 2 is 1.0125");
    }
}

#[test]
fn jobs_in_flight_are_a_signal_of_a_combination_alone() {
    let given = [
        ("combine", "max".into()),
        ("load", false.into()),
        ("in_flight", true.into()),
        ("target_in_flight", 2.0.into()),
    ];
    let mut bench = Bench::new("utilization", given);
    // 2 of 2 are at the target, 3 of 2 above all thresholds.
    let admitted: Vec<_> = (0..3).map(|_| bench.offer(of(Criticality::Sheddable)).expect("up to the target")).collect();
    assert_eq!(bench.offer(of(Criticality::CriticalPlus)), Err(Reason::Utilization));
    for job in admitted {
        bench.end_after(job, of(Criticality::Sheddable), Outcome::Served, Duration::ZERO, None);
    }
    assert_eq!(bench.lets_in(), [true; 4]);
    let problems =
        Catalogue::built_in().find("utilization").unwrap().check(&settings([("in_flight", true.into())])).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "in_flight: has no thresholds of its own: write combine: max, or combine: mean"
    );
}
