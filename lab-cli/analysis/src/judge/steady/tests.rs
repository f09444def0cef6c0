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

/// Of nothing: warm-up, change at the end, growth.
fn changes(found: &Steadiness) -> (f64, f64, f64) {
    (found.warm_up_s, found.late_s, found.growth_per_s)
}

#[test]
fn a_phase_that_is_the_same_from_its_first_second_on_is_steady() {
    for (length, judged) in [(20, false), (30, true), (60, true), (300, true)] {
        let found = phase(length, |_| (95.0, 20.0, 2.0));
        assert_eq!((changes(&found), found.judged), ((0.0, 0.0, 0.0), judged), "{length} s: {found:?}");
    }
}

#[test]
fn a_slow_start_is_found_and_its_effect_told() {
    let found = phase(120, |second| if second < 20 { (50.0, 60.0, 2.0) } else { (95.0, 20.0, 2.0) });
    assert_eq!((found.part_s, found.judged, changes(&found)), (5.0, true, (20.0, 0.0, 0.0)), "{found:?}");
    // Three times as long, noise aside.
    assert!((1.8..2.2).contains(&found.warm_up_effect), "{found:?}");
    // Less than an eighth of the phase may be chance.
    let found = phase(120, |second| if second < 10 { (50.0, 60.0, 2.0) } else { (95.0, 20.0, 2.0) });
    assert_eq!(changes(&found), (0.0, 0.0, 0.0), "{found:?}");
}

#[test]
fn a_change_that_comes_late_is_found_too_and_one_that_goes_on_twice() {
    let found = phase(120, |second| if second < 100 { (95.0, 20.0, 2.0) } else { (95.0, 26.0, 2.0) });
    assert_eq!(changes(&found), (0.0, 20.0, 0.0), "{found:?}");
    assert!((0.25..0.35).contains(&found.late_effect), "{found:?}");
    let found = phase(120, |second| (95.0, 20.0 + f64::from(second) * 0.1, 2.0));
    assert!(found.warm_up_s >= 30.0 && found.late_s >= 30.0 && found.growth_per_s == 0.0, "{found:?}");
}

/// 12 relaxation times of 4 (1 + L)² requests, at most those of 19 in flight: here 100 come a second.
#[test]
fn a_phase_that_is_short_for_its_queue_is_not_judged() {
    let judged = |seconds: u32, in_flight: u64| {
        let second = |second| TimelineSecond { second, planned: 100, in_flight, ..TimelineSecond::default() };
        let seconds: Vec<TimelineSecond> = (0..seconds).map(second).collect();
        judge(&seconds.iter().collect::<Vec<_>>()).expect("long enough").judged
    };
    // 12 * 4 * 10² = 4800, and 12 * 4 * 20² = 19 200.
    assert_eq!([judged(47, 9), judged(48, 9), judged(191, 19), judged(192, 19)], [false, true, false, true]);
    assert_eq!([judged(191, 500), judged(192, 500)], [false, true]);
}

/// In 6000 arrivals and as many departures, a random walk goes 3 * √12000 = 329 at most.
#[test]
fn a_queue_that_goes_farther_than_chance_can_is_judged_at_any_length() {
    let warm_up = |from: f64| {
        let found = phase(60, |second| (95.0, 20.0, if second < 20 { from } else { 100.0 }));
        (found.judged, found.warm_up_s)
    };
    assert_eq!([warm_up(400.0), warm_up(500.0)], [(false, 0.0), (true, 20.0)]);
}

/// Parts of 5 s: an eighth of the phase is 15 s, a quarter 30 s.
#[test]
fn one_block_has_to_show_more_than_each_of_several() {
    let block = |warm_up_s| {
        Some(Steadiness { part_s: 5.0, judged: true, warm_up_s, warm_up_effect: 0.5, ..Steadiness::default() })
    };
    let found =
        |blocks: &[Option<Steadiness>]| in_most_blocks(blocks, beginning).map(|(found, of)| (found.seconds, of));
    assert_eq!([found(&[block(25.0)]), found(&[block(30.0)])], [None, Some((30.0, 1))]);
    assert_eq!(found(&[block(15.0), block(20.0)]), Some((20.0, 2)));
    assert_eq!(found(&[block(15.0), block(15.0), block(0.0)]), Some((15.0, 2)));
    // Half of them are not most of them; one that is not judged counts among all.
    assert_eq!(found(&[block(60.0), block(0.0)]), None);
    assert_eq!([found(&[block(60.0), None]), found(&[None]), found(&[])], [None; 3]);
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
    let found = phase(60, |second| if second < 20 { (95.0, 20.0, 2.0) } else { (0.0, 20.0, 2.0) });
    assert_eq!((found.warm_up_effect, found.warm_up_s), (1000.0, 20.0), "{found:?}");
}

#[test]
fn nothing_is_said_of_a_short_phase() {
    let seconds = vec![TimelineSecond::default(); SHORTEST_S - 1];
    assert_eq!(judge(&seconds.iter().collect::<Vec<_>>()), None);
}
