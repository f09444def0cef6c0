//! Made phases, second by second.

use controllers::{Random, Seeded};

use super::*;
use crate::live::{StageSecond, TargetSecond};

/// A phase of 100 requests a second: goodput, median response time and requests in flight as given, with a tenth of noise.
fn phase(length: u32, of: impl Fn(u32) -> (f64, f64, f64)) -> Steadiness {
    let mut random = Seeded::new(5);
    let mut noisy = |value: f64| value * (0.9 + 0.2 * random.uniform());
    let seconds: Vec<TimelineSecond> = (0..length)
        .map(|second| {
            let (goodput, p50, in_flight) = of(second);
            TimelineSecond {
                second,
                planned: 100,
                goodput: noisy(goodput).round() as u64,
                p50_ms: Some(noisy(p50)),
                in_flight: noisy(in_flight).round() as u64,
                ..TimelineSecond::default()
            }
        })
        .collect();
    judge(&seconds.iter().collect::<Vec<_>>()).expect("long enough")
}

#[test]
fn a_phase_that_is_the_same_from_its_first_second_on_is_steady() {
    for length in [20, 30, 60, 300] {
        let found = phase(length, |_| (95.0, 20.0, 40.0));
        assert_eq!((found.warm_up_s, found.trend, found.growth_per_s), (0.0, 0.0, 0.0), "{length} s: {found:?}");
        assert!(found.batches >= 12, "{length} s: {found:?}");
    }
}

#[test]
fn a_slow_start_is_cut_off_and_its_effect_told() {
    let found = phase(120, |second| if second < 20 { (50.0, 60.0, 40.0) } else { (95.0, 20.0, 40.0) });
    assert!(found.batch_s == 5.0 && (20.0..=30.0).contains(&found.warm_up_s), "{found:?}");
    // Three times as long, noise and a batch too many aside.
    assert!((1.3..2.2).contains(&found.warm_up_effect), "{found:?}");
    assert_eq!((found.trend, found.growth_per_s), (0.0, 0.0));
}

#[test]
fn what_goes_on_changing_has_a_trend() {
    let found = phase(120, |second| (95.0, 20.0 + f64::from(second) * 0.1, 40.0));
    assert!(found.trend > 0.1 || found.warm_up_s > 60.0, "{found:?}");
    assert_eq!(found.growth_per_s, 0.0);
}

#[test]
fn a_backlog_that_grows_is_found_at_any_length() {
    for length in [20, 30, 120] {
        // Twice as much comes as can be answered.
        let found = phase(length, |second| (50.0, 20.0, 10.0 + 50.0 * f64::from(second)));
        assert!((40.0..60.0).contains(&found.growth_per_s), "{length} s: {found:?}");
    }
}

#[test]
fn a_crowd_that_comes_at_once_and_stays_is_no_growth() {
    let found = phase(30, |second| (50.0, 20.0, 1000.0 * (f64::from(second) / 5.0).min(1.0)));
    assert_eq!(found.growth_per_s, 0.0, "{found:?}");
}

#[test]
fn growth_that_does_not_matter_is_none() {
    // One request more every ten seconds, of a thousand that come meanwhile.
    let found = phase(300, |second| (95.0, 20.0, 4.0 + f64::from(second) / 10.0));
    assert_eq!(found.growth_per_s, 0.0, "{found:?}");
}

#[test]
fn a_backlog_that_grows_in_fits_is_found() {
    // Up, and down again, and up further: no even slope, but it never comes back.
    let found = phase(60, |second| {
        let fit = f64::from(second % 20) * 20.0;
        (50.0, 20.0, if second < 40 { 50.0 + fit } else { 1500.0 - fit })
    });
    assert!(found.growth_per_s > 1.0, "{found:?}");
}

/// Users leave after a moment, and their work waits on: as many are in flight as ever.
#[test]
fn a_queue_that_grows_inside_the_service_is_found() {
    let phase = |queue: fn(u32) -> u32| {
        let mut seconds: Vec<TimelineSecond> = (0..60)
            .map(|second| TimelineSecond { second, planned: 100, in_flight: 20, ..TimelineSecond::default() })
            .collect();
        for second in &mut seconds {
            let stages = [3, queue(second.second)].map(|queue| StageSecond { queue, ..StageSecond::default() });
            second.target = Some(TargetSecond { stages: stages.into(), ..TargetSecond::default() });
        }
        let outlines: Vec<TimelineSecond> = seconds.iter().map(|second| second.clone().outline()).collect();
        let [whole, outline] = [seconds, outlines].map(|seconds| judge(&seconds.iter().collect::<Vec<_>>()));
        assert_eq!(whole, outline);
        whole.expect("long enough").growth_per_s
    };
    assert!((19.0..21.0).contains(&phase(|second| 20 * second)));
    assert_eq!([phase(|_| 500), phase(|second| 500 + second % 7)], [0.0, 0.0]);
}

#[test]
fn a_phase_without_percentiles_is_judged_by_the_rest() {
    let seconds: Vec<TimelineSecond> = (0..40)
        .map(|n| TimelineSecond { planned: 1, goodput: 1, in_flight: n * 3, ..TimelineSecond::default() })
        .collect();
    let found = judge(&seconds.iter().collect::<Vec<_>>()).expect("long enough");
    assert!((2.9..3.1).contains(&found.growth_per_s), "{found:?}");
}

#[test]
fn what_ends_at_nothing_changes_by_a_number_all_the_same() {
    let found = phase(60, |second| if second < 20 { (95.0, 20.0, 40.0) } else { (0.0, 20.0, 40.0) });
    assert!(found.warm_up_effect == ENDLESS && found.warm_up_s >= 20.0, "{found:?}");
}

#[test]
fn nothing_is_said_of_a_short_phase() {
    let seconds = vec![TimelineSecond::default(); SHORTEST_S - 1];
    assert_eq!(judge(&seconds.iter().collect::<Vec<_>>()), None);
}
