//! Shares of a limit, worked out by hand.

use super::*;
use crate::Reason;

fn of(class: u8) -> Tags {
    Tags { class: Class(class), ..Tags::default() }
}

fn limit_of(max: u32) -> Setting {
    part("concurrency", [("max", max.into())])
}

fn shares<const N: usize>(of: [(&'static str, f64); N]) -> Setting {
    Setting::Map(settings(of.map(|(name, share)| (name, share.into()))))
}

fn admits(bench: &mut Bench, id: u64, tags: Tags) -> bool {
    match bench.offer_tagged(id, tags) {
        Verdict::Admit(_) => true,
        Verdict::Refuse(refusal) => {
            assert_eq!(refusal.reason, Reason::Concurrency);
            false
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_class_has_its_share_though_others_have_taken_it_and_borrows_what_is_free() {
    for place in [Place::Stage, Place::Single, Place::Client, Place::Proxy] {
        // A quarter of 10 is 3, rounded up.
        let mut bench = Bench::at_place(place, &[("limit", limit_of(10)), ("shares", shares([("1", 0.25)]))]);
        (1..=10).for_each(|id| assert!(admits(&mut bench, id, of(0)), "what nobody uses is borrowed"));
        assert!(!admits(&mut bench, 11, of(0)));
        assert_eq!([21, 22, 23, 24].map(|id| admits(&mut bench, id, of(1))), [true, true, true, false]);
        // 13 are inside; of class 0 nobody comes in until it is under 10, of class 1 once one of its own has ended.
        bench.end_tagged(1, 0, of(0));
        assert!(!admits(&mut bench, 12, of(0)) && !admits(&mut bench, 25, of(1)));
        bench.end_tagged(21, 0, of(1));
        assert!(!admits(&mut bench, 13, of(0)) && admits(&mut bench, 26, of(1)));
        (2..=4).for_each(|id| bench.end_tagged(id, 0, of(0)));
        // 9 are inside: the last place of the limit is anybody's.
        assert!(admits(&mut bench, 27, of(1)));
        assert!(!admits(&mut bench, 14, of(0)) && !admits(&mut bench, 28, of(1)));
        assert_eq!(bench.seat.in_flight(), 10);
    }
}

#[test]
fn the_whole_limit_is_the_first_class_first() {
    let mut bench = Bench::new(&[("limit", limit_of(2)), ("shares", shares([("1", 1.0)]))]);
    assert_eq!([1, 2, 3].map(|id| admits(&mut bench, id, of(0))), [true, true, false]);
    assert_eq!([11, 12, 13].map(|id| admits(&mut bench, id, of(1))), [true, true, false]);
    (1..=2).for_each(|id| bench.end_tagged(id, 0, of(0)));
    assert!(!admits(&mut bench, 4, of(0)), "two of class 1 are inside");
}

#[test]
fn a_share_is_one_job_at_least_and_belongs_to_whom_share_by_says() {
    let customer = |customer| Tags { customer, ..Tags::default() };
    let parts = [("limit", limit_of(2)), ("share_by", "customer".into()), ("shares", shares([("7", 0.01)]))];
    let mut bench = Bench::new(&parts);
    assert_eq!([1, 2].map(|id| admits(&mut bench, id, customer(1))), [true, true]);
    assert_eq!([3, 4].map(|id| admits(&mut bench, id, customer(7))), [true, false]);
    let level = |criticality| Tags { criticality, ..Tags::default() };
    let parts =
        [("limit", limit_of(1)), ("share_by", "criticality".into()), ("shares", shares([("CRITICAL_PLUS", 1.0)]))];
    let mut bench = Bench::new(&parts);
    assert_eq!([1, 2].map(|id| admits(&mut bench, id, level(Criticality::Critical))), [true, false]);
    assert!(admits(&mut bench, 3, level(Criticality::CriticalPlus)));
}

#[test]
fn a_job_within_a_share_is_a_sample_of_a_full_limit() {
    // AIMD raises its limit by one for a job that found at least half of it used, which is so of a job beyond it.
    let aimd = part("aimd", [("limit_initial", 4_u32.into()), ("limit_min", 1_u32.into())]);
    let mut bench = Bench::new(&[("limit", aimd), ("shares", shares([("1", 0.5)]))]);
    (1..=4).for_each(|id| assert!(admits(&mut bench, id, of(0))));
    assert!(admits(&mut bench, 5, of(1)));
    bench.at(10).end_tagged(5, 0, of(1));
    assert_eq!(bench.gauge("limit"), Some(5.0));
}

#[test]
fn shares_that_cannot_be_are_named_with_the_way_out() {
    let problem = |parts: &[(&'static str, Setting)]| {
        let problems = policy_at(Place::Single, parts).map(|_| ()).expect_err("this cannot be");
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems[0].to_string()
    };
    let half = || ("shares", shares([("1", 0.5)]));
    assert_eq!(problem(&[half()]), "shares: there is no limit that they could be of: name one, as limit: gradient2");
    let said = problem(&[("limit", "fixed-rate".into()), half()]);
    assert!(said.starts_with("shares: a share is of the number inside, which fixed-rate does not own"), "{said}");
    let said = problem(&[("limit", "vegas".into()), ("queue", "codel".into()), half()]);
    assert!(said.starts_with("shares: behind a limit with shares nobody waits, and codel makes them wait"), "{said}");
    let vegas = || ("limit", "vegas".into());
    assert_eq!(
        problem(&[vegas(), ("shares", shares([("1", 0.5), ("2", 0.75)]))]),
        "shares: they add up to 1.25: more than the whole limit, 1"
    );
    assert_eq!(
        problem(&[vegas(), ("shares", shares([("CRITICAL", 0.5)]))]),
        "shares: CRITICAL: by class the keys are classes, 0 to 255"
    );
    assert_eq!(
        problem(&[vegas(), ("shares", shares([("gold", 0.5)]))]),
        "shares.gold: expected a number, or a level of criticality"
    );
    assert_eq!(problem(&[vegas(), ("shares", shares([("1", 1.5)]))]), "shares.1: 1.5 is out of range: 0 to 1");
}
