//! Decisions of compositions, worked out by hand.

use super::*;
use crate::Reason;

fn concurrency(max: u32) -> Setting {
    part("concurrency", [("max", max.into())])
}

#[test]
fn the_limit_lets_in_and_the_queue_says_who_is_next() {
    // Two may be inside; the newest come first; four workers are free.
    let mut bench = Bench::new(&[("limit", concurrency(2)), ("queue", "lifo".into())]);
    for id in 1..=4 {
        assert_eq!(bench.offer(id, Criticality::Critical), Verdict::Hold);
    }
    assert_eq!(bench.room(4), [("in", 4), ("in", 3)], "the limit is 2, though 4 workers are free");
    assert_eq!(bench.room(4), [], "it still is");
    assert_eq!((bench.seat.in_flight(), bench.seat.held()), (2, 2));
    bench.at(10).end(4, 0);
    assert_eq!(bench.room(1), [("in", 2)]);
    // The limit allows one more, and no worker is free.
    bench.at(20).end(3, 0);
    assert_eq!(bench.room(0), []);
    assert_eq!(bench.room(3), [("in", 1)]);
}

#[test]
fn before_a_whole_service_the_limit_alone_makes_the_room() {
    for place in [Place::Single, Place::Proxy] {
        let mut bench = Bench::at_place(place, &[("limit", concurrency(2)), ("queue", "lifo".into())]);
        for id in 1..=4 {
            assert_eq!(bench.offer(id, Criticality::Critical), Verdict::Hold);
        }
        assert_eq!(bench.effects(), [("in", 1), ("in", 2)], "nobody said that a worker is free");
        assert_eq!(bench.room(64), [], "and 64 free workers are no room");
        bench.at(10).end(1, 0);
        assert_eq!(bench.effects(), [("in", 4)]);
        bench.seat.leave(bench.now, JobId(3)).expect("it was held");
        bench.at(20).end(2, 0);
        bench.at(20).end(4, 0);
        assert_eq!((bench.effects(), bench.seat.in_flight()), (Vec::new(), 0));
    }
}

#[test]
fn a_limit_that_grows_lets_more_in_and_a_switch_forgets_nobody() {
    // AIMD raises its limit of 2 by 1 for each end while at least half of it is used.
    let aimd = || part("aimd", [("limit_initial", 2_u32.into()), ("limit_min", 1_u32.into())]);
    let parts = || [("limit", aimd()), ("queue", "codel".into())];
    let mut bench = Bench::at_place(Place::Single, &parts());
    (1..=6).for_each(|id| assert_eq!(bench.offer(id, Criticality::Critical), Verdict::Hold));
    assert_eq!(bench.effects(), [("in", 1), ("in", 2)]);
    bench.at(1).end(1, 0);
    assert_eq!(bench.effects(), [("in", 3), ("in", 4)], "the limit is 3");
    // The next policy has a limit of 2 again, and three are inside, whose ends are no news to it.
    bench.seat.replace(bench.now, policy_at(Place::Single, &parts()).expect("good"));
    assert_eq!(bench.effects(), []);
    bench.at(2).end(2, 0);
    assert_eq!(bench.effects(), [], "two are inside");
    bench.at(3).end(3, 0);
    assert_eq!(bench.effects(), [("in", 5)]);
}

#[test]
fn a_queue_refuses_what_waited_too_long_though_the_limit_lets_nobody_in() {
    let lifo = part("lifo", [("timeout", "100ms".into()), ("timeout_standing", "100ms".into())]);
    let mut bench = Bench::new(&[("limit", concurrency(1)), ("queue", lifo)]);
    let _ = bench.offer(1, Criticality::Critical);
    assert_eq!(bench.room(1), [("in", 1)]);
    let _ = bench.offer(2, Criticality::Critical);
    assert_eq!(bench.at(99).room(5), []);
    assert_eq!(bench.at(100).room(5), [("out", 2)]);
    assert_eq!(bench.seat.counts().refused, 1);
}

#[test]
fn without_a_queue_the_limit_answers_at_once() {
    let mut bench = Bench::new(&[("limit", concurrency(1)), ("select", "dagor".into())]);
    assert!(matches!(bench.offer(1, Criticality::Critical), Verdict::Admit(_)));
    let Verdict::Refuse(refusal) = bench.offer(2, Criticality::Critical) else { panic!("one is inside") };
    assert_eq!(refusal.reason, Reason::Concurrency);
    bench.at(5).end(1, 0);
    assert!(matches!(bench.offer(3, Criticality::Critical), Verdict::Admit(_)));
}

#[test]
fn select_refuses_by_priority_what_the_queue_would_have_held() {
    // Four importances, one user level: levels 0 (critical-plus) to 3 (sheddable). A window of 4 offers, overloaded from a
    // mean wait of 20 ms on; half of the admitted is taken away then.
    let dagor = part(
        "dagor",
        [
            ("threshold", "20ms".into()),
            ("window_jobs", 4_u32.into()),
            ("user_levels", 1_u32.into()),
            ("alpha", 0.5.into()),
        ],
    );
    let mut bench = Bench::new(&[("select", dagor), ("queue", "codel".into())]);
    let levels = [Criticality::CriticalPlus, Criticality::Critical, Criticality::SheddablePlus, Criticality::Sheddable];
    for (id, level) in (1..).zip(levels) {
        assert_eq!(bench.offer(id, level), Verdict::Hold);
    }
    assert_eq!(bench.room(1), [("in", 1)]);
    bench.at(30).start(1, Duration::from_millis(30));
    // 4 were admitted, 2 are wanted: the cursor passes level 3 (1 job), then level 2 (1 job).
    assert_eq!(bench.gauge("admission_level"), Some(4.0), "the window closes with the next offer");
    assert_eq!(bench.offer(5, Criticality::Critical), Verdict::Hold);
    assert_eq!(bench.gauge("admission_level"), Some(4.0), "its first job starts the next window");
}

#[test]
fn to_a_limit_behind_a_queue_a_job_begins_when_it_is_let_in() {
    // AIMD: a job over 50 ms counts as dropped. The job waits 100 ms in the queue and takes 40 ms inside.
    let aimd =
        || part("aimd", [("limit_initial", 10_u32.into()), ("limit_min", 1_u32.into()), ("timeout", "50ms".into())]);
    let mut bench = Bench::new(&[
        ("limit", aimd()),
        ("queue", part("codel", [("target", "1s".into()), ("interval", "2s".into())])),
    ]);
    let _ = bench.offer(1, Criticality::Critical);
    assert_eq!(bench.at(100).room(1), [("in", 1)]);
    bench.at(140).end(1, 0);
    assert_eq!(bench.gauge("limit"), Some(10.0), "40 ms: in time; 1 × 2 < 10, so no raise");
    let _ = bench.at(200).offer(2, Criticality::Critical);
    assert_eq!(bench.room(1), [("in", 2)]);
    bench.at(251).end(2, 200);
    assert_eq!(bench.gauge("limit"), Some(9.0), "51 ms inside: 10 × 0.9");
    // Without a queue it begins with the offer, as by itself.
    let mut alone = Bench::new(&[("limit", aimd())]);
    let _ = alone.offer(1, Criticality::Critical);
    alone.at(140).end(1, 0);
    assert_eq!(alone.gauge("limit"), Some(9.0), "140 ms: 10 × 0.9");
}

#[test]
fn what_is_refused_behind_it_ends_for_select_as_overloaded() {
    // The sender's throttle counts requests and accepts. K = 2 and no floor.
    let mut seat = Seat::new(
        SiteId(1),
        policy_at(Place::Client, &[("limit", concurrency(1)), ("select", "throttle".into())]).expect("good"),
        1,
        Box::new(()),
    );
    let offer = |id| Offer { id: JobId(id), tags: Tags::default(), entered: Timestamp::ZERO, note: None };
    assert!(matches!(seat.offer(Timestamp::ZERO, &offer(1)), Verdict::Admit(_)));
    for id in 2..=40 {
        assert!(matches!(seat.offer(Timestamp::ZERO, &offer(id)), Verdict::Refuse(_)), "one is inside");
    }
    let mut refusing = 0.0;
    seat.gauges(&mut |gauge, value| {
        if gauge.name == "reject_probability_critical" {
            refusing = value;
        }
    });
    assert_eq!(seat.counts().refused, 39);
    assert!(refusing > 0.5, "it has seen refusals alone: {refusing}");
}

#[test]
fn a_job_that_leaves_the_queue_is_forgotten_by_all() {
    let mut bench = Bench::new(&[("limit", concurrency(1)), ("select", "dagor".into()), ("queue", "codel".into())]);
    let _ = bench.offer(1, Criticality::Critical);
    let _ = bench.offer(2, Criticality::Critical);
    bench.seat.leave(bench.now, JobId(1)).expect("it was held");
    assert_eq!(bench.room(2), [("in", 2)]);
    assert_eq!(bench.gauge("held"), Some(0.0));
}
