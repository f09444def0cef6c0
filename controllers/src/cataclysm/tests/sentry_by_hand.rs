//! The sentry's decisions by hand. Requests of an unknown URL take 100 ms, so that one server has room for
//! `η + ⌈β / n⌉ ≤ 10` requests of the highest class within 1 s, 9.5 of the second and 9 of the third.

use std::time::Duration;

use super::*;
use crate::cataclysm::{DelayBound, NucleusReport, SentryFact, SwitchPlan};

fn refused_as(refused: &[(u64, SentryRefusal)], why: SentryRefusal) -> usize {
    refused.iter().filter(|(_, reason)| *reason == why).count()
}

#[test]
fn the_highest_class_is_examined_on_arrival() {
    let mut bench = Bench::new(by_batches(), 1);
    bench.offer_many(10, GOLD, 12);
    let (admitted, refused, _) = bench.poll(10);
    // The tenth: (9 + 1) × 0.1 ≤ 1; the eleventh: 1.1 s.
    assert_eq!(admitted, (1..=10).collect::<Vec<_>>());
    assert_eq!(refused, [(11, SentryRefusal::TooSlow), (12, SentryRefusal::TooSlow)]);
    // One that ends makes room for one.
    bench.end(20, None);
    bench.offer_many(20, GOLD, 2);
    let (admitted, refused, _) = bench.poll(20);
    assert_eq!((admitted, refused.len()), (vec![13], 1));
}

#[test]
fn classes_wait_for_their_instants() {
    let mut bench = Bench::new(by_batches(), 1);
    bench.offer(10, SILVER, "/");
    bench.offer(20, BRONZE, "/");
    assert_eq!(bench.poll(20), (vec![], vec![], at(50)));
    assert_eq!(bench.poll(50), (vec![1], vec![], at(100)));
    // At a multiple of the delay itself the wait is a whole delay.
    bench.offer(100, SILVER, "/");
    assert_eq!(bench.poll(100), (vec![2], vec![], at(150)));
    assert_eq!(bench.poll(150), (vec![3], vec![], at(15_000)), "then the period of estimates ends");
}

#[test]
fn equation_4_takes_the_delay_from_the_target() {
    // Nine of Bronze: (0 + 9) × 0.1 ≤ 1 − 0.1. Ten: 1.0 s is too long, and all of the batch is refused.
    let mut bench = Bench::new(by_batches(), 1);
    bench.offer_many(10, BRONZE, 9);
    assert_eq!(bench.poll(100).0.len(), 9);
    let mut bench = Bench::new(by_batches(), 1);
    bench.offer_many(10, BRONZE, 10);
    let (admitted, refused, _) = bench.poll(100);
    assert_eq!((admitted.len(), refused_as(&refused, SentryRefusal::TooSlow)), (0, 10));
    // Three servers: ⌈27 / 3⌉ = 9 fits, ⌈28 / 3⌉ = 10 does not.
    for (count, expected) in [(27, 27), (28, 0)] {
        let mut bench = Bench::new(by_batches(), 3);
        bench.offer_many(10, BRONZE, count);
        assert_eq!(bench.poll(100).0.len(), expected);
    }
}

#[test]
fn an_idle_system_tries_what_it_expects_to_be_too_slow() {
    // One request took 2 s, twice the response time: as published the script is refused for good.
    let learn = |probes_when_idle| {
        let mut bench = Bench::new(SentryPlan { probes_when_idle, ..by_batches() }, 1);
        bench.offer(1, GOLD, "/slow");
        _ = bench.poll(1);
        bench.end(1, Some(usage(2000)));
        bench
    };
    let mut published = learn(false);
    published.offer(10, GOLD, "/slow");
    assert_eq!(published.poll(10).1, [(2, SentryRefusal::TooSlow)]);
    // One goes when nothing is in service, the oldest of its batch, and lower classes are refused as after any failure.
    let mut bench = learn(true);
    (0..3).for_each(|_| _ = bench.offer(10, SILVER, "/slow"));
    bench.offer(10, BRONZE, "/slow");
    let (admitted, refused, _) = bench.poll(50);
    assert_eq!(admitted, [2]);
    let reasons = [SentryRefusal::TooSlow, SentryRefusal::TooSlow, SentryRefusal::LessImportant];
    assert_eq!(refused, [3, 4, 5].into_iter().zip(reasons).collect::<Vec<_>>());
    // Not a second one while it is in service.
    bench.offer(60, GOLD, "/slow");
    assert_eq!(bench.poll(60).1, [(6, SentryRefusal::TooSlow)]);
    // It took 10 ms: 0.9 × 2000 + 0.1 × 10 = 1801 ms, so that it takes more of them to correct the estimate.
    for n in 0..7 {
        bench.end(100 + n, Some(usage(10)));
        bench.offer(100 + n, GOLD, "/slow");
        assert_eq!(bench.poll(100 + n).0, [7 + n]);
    }
    // After the seventh, 10 + 1990 × 0.9⁷ = 962 ms pass the test without a probe.
    bench.end(110, Some(usage(10)));
    bench.offer(110, GOLD, "/slow");
    assert_eq!(bench.poll(110).0.len(), 1);
}

#[test]
fn once_a_class_fails_all_lower_ones_are_refused_due_or_not() {
    let mut bench = Bench::new(by_batches(), 1);
    bench.offer_many(10, GOLD, 10);
    bench.offer(10, SILVER, "/");
    bench.offer(10, BRONZE, "/");
    assert_eq!(bench.poll(10).0.len(), 10);
    // Gold fails at 20 ms: Silver and Bronze, due at 50 and 100 ms, have no test of their own.
    let tests = bench.sentry.counts().tests;
    bench.offer(20, GOLD, "/");
    let (admitted, refused, _) = bench.poll(20);
    assert_eq!(admitted, []);
    assert_eq!(
        refused,
        [(13, SentryRefusal::TooSlow), (11, SentryRefusal::LessImportant), (12, SentryRefusal::LessImportant)]
    );
    assert_eq!(bench.sentry.counts().tests, tests + 1);
    // In one round: Silver (2 requests; 9 + 2 > 9.5) fails, and Bronze goes untested.
    bench.end(30, None);
    bench.offer_many(60, SILVER, 2);
    bench.offer(60, BRONZE, "/");
    let (admitted, refused, _) = bench.poll(100);
    assert_eq!((admitted.len(), refused_as(&refused, SentryRefusal::LessImportant)), (0, 1));
}

#[test]
fn small_requests_first_and_one_test_a_bucket() {
    let mut bench = Bench::new(by_batches(), 1);
    // The sentry learns two scripts: 50 ms (the range 10 to 90: 50) and 200 ms (the range 110 to 290: 200).
    for (url, cpu_ms) in [("/small", 50), ("/large", 200)] {
        bench.offer(1, GOLD, url);
        _ = bench.poll(1);
        bench.end(1, Some(usage(cpu_ms)));
    }
    let before = bench.sentry.counts().tests;
    // Large ones come first: 3 × 200 and 10 × 50 ms. Small: 10 × 0.05 = 0.5 ≤ 0.9. Then large: (10 + 3) × 0.2 = 2.6.
    (0..3).for_each(|_| _ = bench.offer(10, BRONZE, "/large?x=1"));
    (0..10).for_each(|_| _ = bench.offer(20, BRONZE, "/small?y=2"));
    let (admitted, refused, _) = bench.poll(100);
    assert_eq!(admitted, (6..=15).collect::<Vec<_>>());
    assert_eq!(refused, (3..=5).map(|job| (job, SentryRefusal::TooSlow)).collect::<Vec<_>>());
    assert_eq!(bench.sentry.counts().tests - before, 2);
}

#[test]
fn the_guaranteed_rate_is_admitted_whatever_the_load() {
    let classes = vec![SentryClass::guaranteed(0.0), SentryClass::guaranteed(0.0), SentryClass::guaranteed(10.0)];
    let mut bench = Bench::new(SentryPlan { classes, ..by_batches() }, 1);
    bench.offer_many(0, GOLD, 50);
    assert_eq!(bench.poll(0).0.len(), 10);
    // The bucket holds 10; the other 15 of 25 wait and fail: 20 in service.
    bench.offer_many(10, BRONZE, 25);
    let (admitted, _, _) = bench.poll(10);
    assert_eq!(admitted.len(), 10);
    assert_eq!(refused_as(&bench.poll(100).1, SentryRefusal::TooSlow), 15);
    // A token each 100 ms.
    for ms in [200, 300, 400] {
        bench.offer_many(ms, BRONZE, 1);
        assert_eq!(bench.poll(ms).0.len(), 1, "at {ms} ms");
    }
    assert_eq!(bench.sentry.counts().guaranteed, 13);
}

#[test]
fn reports_of_servers_count() {
    let mut bench = Bench::new(by_batches(), 2);
    // 6 and 4 in service, 300 ms of queueing: 0.3 + (5 + 1) × 0.1 = 0.9; with one more at each, 1.0; then 1.1.
    for (server, in_service) in [(0, 6), (1, 4)] {
        let report = NucleusReport { server: NodeId(server), queueing: Duration::from_millis(300), in_service };
        bench.sentry.fact(at(1), SentryFact::Nucleus(report));
    }
    bench.offer_many(2, GOLD, 5);
    // η is 5, 5.5, 6, 6.5: 0.3 + (6 + 1) × 0.1 = 1.0 is the third.
    assert_eq!(bench.poll(2).0.len(), 3);
    // A target of 2 s and a third server, of which nothing is known.
    bench.sentry.fact(at(3), SentryFact::Target(Duration::from_secs(2)));
    bench.sentry.fact(at(3), SentryFact::Servers(&nodes(3)));
    let test = bench.sentry.admission_test();
    assert_eq!((test.servers, test.response_s), (3.0, 2.0));
    // Beyond its own the reports said 5 − 0 each, for two of three; its own are 3 / 3.
    assert!((test.in_service - (10.0 / 3.0 + 1.0)).abs() < 1e-9, "{test:?}");
}

#[test]
fn a_client_that_leaves_is_decided_no_more() {
    let mut bench = Bench::new(by_batches(), 1);
    let (stays, leaves) = (bench.offer(10, BRONZE, "/"), bench.offer(10, BRONZE, "/"));
    assert_eq!(bench.sentry.leave(at(20), JobId(leaves)), Some(leaves));
    assert_eq!(bench.sentry.leave(at(20), JobId(leaves)), None);
    assert_eq!(bench.poll(100).0, [stays]);
    assert_eq!(bench.sentry.leave(at(110), JobId(stays)), None, "it is decided");
    let counts = bench.sentry.counts();
    assert_eq!((counts.offered, counts.admitted, counts.left), (2, 1, 1));
}

#[test]
fn a_full_queue_gives_way_to_more_important_requests() {
    let mut bench = Bench::new(SentryPlan { held: 3, ..by_batches() }, 1);
    bench.offer_many(10, BRONZE, 4);
    assert_eq!(bench.poll(10).1, [(4, SentryRefusal::QueueFull)]);
    bench.offer(20, SILVER, "/");
    assert_eq!(bench.poll(20).1, [(3, SentryRefusal::QueueFull)], "the newest of the least important");
    assert_eq!(bench.sentry.held(), 3);
    let (admitted, _, _) = bench.poll(100);
    assert_eq!(admitted, [5, 1, 2]);
}

#[test]
fn a_late_host_does_the_work_once() {
    let mut bench = Bench::new(by_batches(), 1);
    bench.offer(10, BRONZE, "/");
    let (admitted, _, wake) = bench.poll(70_000);
    assert_eq!((admitted, wake), (vec![1], at(85_000)), "one period of estimates, and the next");
    assert_eq!(bench.sentry.counts().examinations, 1);
    // What is due comes before what arrives.
    bench.offer(80_010, BRONZE, "/");
    bench.offer(80_210, BRONZE, "/");
    assert_eq!(bench.poll(80_210), (vec![2], vec![], at(80_300)));
}

#[test]
fn threshold_policing_follows_the_last_period() {
    let policing = PolicingPlan::Always(Policing::Threshold);
    let mut bench = Bench::new(SentryPlan { policing, old_weight: 0.0, ..by_batches() }, 1);
    // Nothing is known yet: all are admitted. 45 of Gold in 15 s are 3/s and 0.3 of the server; 75 of Silver 0.5; 60 of
    // Bronze 0.4. 0.8 < 1 ≤ 1.2, so Bronze with (1 − 0.8) / 0.4.
    for (class, count) in [(GOLD, 45), (SILVER, 75), (BRONZE, 60)] {
        bench.offer_many(100, class, count);
    }
    assert_eq!(bench.poll(100).0.len(), 180);
    bench.end_all(200);
    _ = bench.poll(15_000);
    let threshold = bench.sentry.threshold();
    assert_eq!(threshold.rank, 2);
    assert!((threshold.p_admit - 0.5).abs() < 1e-9, "{threshold:?}");
    // The next period has 20 s⁻¹ of Gold: two servers' work. Those that come in it are still admitted.
    bench.offer_many(15_100, GOLD, 300);
    assert_eq!(bench.poll(15_100).0.len(), 300);
    _ = bench.poll(30_000);
    let threshold = bench.sentry.threshold();
    assert_eq!(threshold.rank, 0);
    assert!((threshold.p_admit - 0.5).abs() < 1e-9, "{threshold:?}");
    bench.offer_many(30_100, SILVER, 3);
    let (admitted, refused, _) = bench.poll(30_100);
    assert_eq!((admitted.len(), refused_as(&refused, SentryRefusal::BelowThreshold)), (0, 3));
}

#[test]
fn the_changes_of_policing_lose_nothing() {
    let switch = SwitchPlan { quiet_for: Duration::from_secs(10), ..SwitchPlan::default() };
    let mut bench = Bench::new(SentryPlan { policing: PolicingPlan::ByLoad(switch), ..by_batches() }, 1);
    bench.offer_many(10, BRONZE, 4);
    bench.offer_many(12, SILVER, 2);
    assert_eq!(bench.poll(12).0.len(), 0);
    // Busy: what is held has its test now, the most important first, and what comes is compared with the threshold.
    bench.sentry.observe(at(20), 0.9);
    assert_eq!(bench.poll(20).0, [5, 6, 1, 2, 3, 4]);
    assert_eq!((bench.sentry.policing(), bench.sentry.held()), (Policing::Threshold, 0));
    // 6 requests in 20 ms: 200/s of Bronze and 100/s of Silver are 30 servers' work. Silver alone has 10.
    assert_eq!(bench.sentry.threshold().rank, 1);
    bench.offer_many(30, BRONZE, 2);
    assert_eq!(refused_as(&bench.poll(30).1, SentryRefusal::BelowThreshold), 2);
    bench.sentry.observe(at(40), 0.5);
    bench.sentry.observe(at(10_040), 0.5);
    assert_eq!(bench.sentry.policing(), Policing::Batch);
    bench.offer(10_050, BRONZE, "/");
    assert_eq!(bench.poll(10_100).0, [9]);
    let counts = bench.sentry.counts();
    assert_eq!((counts.offered, counts.admitted + counts.refused, counts.switches), (9, 9, 2));
}

#[test]
fn delays_grow_in_overload_and_vanish_with_capacity() {
    let bound = DelayBound { epsilon: 0.05, ..DelayBound::default() };
    let mut bench = Bench::new(SentryPlan { delays: DelayPlan::Bounded(bound), ..by_batches() }, 1);
    assert_eq!(bench.sentry.delays(), [Duration::ZERO; 3]);
    // A server that is full: of 150 examined requests 10 are admitted.
    for second in 0..15 {
        for class in [GOLD, SILVER, BRONZE] {
            bench.offer_many(second * 1000 + 500, class, 10);
        }
    }
    _ = bench.poll(15_000);
    let delays = bench.sentry.delays();
    assert!(delays[0].is_zero() && !delays[1].is_zero() && delays[2] == delays[1] * 2, "{delays:?}");
    // With capacity for all nothing is refused: 0.3 of the old share after each period, until the bound holds at 0.
    bench.end_all(15_100);
    for period in 1..8 {
        bench.offer(period * 15_000 + 500, GOLD, "/");
        _ = bench.poll(period * 15_000 + 14_999);
        bench.end_all(period * 15_000 + 14_999);
    }
    _ = bench.poll(8 * 15_000);
    assert_eq!(bench.sentry.delays(), [Duration::ZERO; 3]);
}
