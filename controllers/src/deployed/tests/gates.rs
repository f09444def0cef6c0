use super::*;
use crate::testing::settings;

#[test]
fn limit_req_delays_by_the_excess_and_refuses_over_the_burst() {
    // 10/s: a request is worth 100 ms.
    let mut door = Door::of("limit-req", &settings([("burst", 2.into())]));
    assert_eq!(door.first(1000, 1), "in", "the first of a key has no excess");
    assert_eq!(door.first(1000, 2), "held", "an excess of 1: 100 ms");
    assert_eq!(door.first(1050, 3), "held", "1 − 0.5 + 1 = 1.5: 150 ms, at 1200");
    assert_eq!(door.first(1060, 4), "out", "1.5 − 0.1 + 1 = 2.4 of 2");
    assert_eq!(door.gauge("excess"), 1.5);
    assert_eq!(door.poll(1099), []);
    assert_eq!(door.poll(1100), [("in", 2)]);
    assert_eq!(door.poll(1200), [("in", 3)]);
    assert_eq!(door.first(1250, 5), "held", "1.5 − 2 + 1 = 0.5: 50 ms");
    assert_eq!(door.poll(1300), [("in", 5)]);
}

#[test]
fn limit_req_without_delay_lets_the_burst_in_at_once() {
    let mut door = Door::of("limit-req", &settings([("burst", 2.into()), ("nodelay", true.into())]));
    assert_eq!([1, 2, 3, 4].map(|id| door.first(0, id)), ["in", "in", "in", "out"]);
    let mut part = Door::of("limit-req", &settings([("burst", 2.into()), ("delay", 1.into())]));
    assert_eq!([1, 2, 3, 4].map(|id| part.first(0, id)), ["in", "in", "held", "out"]);
    assert_eq!(part.poll(100), [("in", 3)], "an excess of 2, of which 1 is not delayed");
}

#[test]
fn limits_by_user_know_users_apart() {
    let by_user = ("key", "user".into());
    let of = |user| Tags { user, ..Tags::default() };
    let mut rate = Door::of("limit-req", &settings([("burst", 0.into()), by_user.clone()]));
    assert_eq!([1, 1, 2].map(|user| rate.offer(0, 10 + user, of(user))), ["in", "out", "in"]);
    let mut busy = Door::of("limit-conn", &settings([("max", 1.into()), by_user]));
    assert_eq!(busy.offer(0, 1, of(1)), "in");
    assert_eq!((busy.offer(0, 2, of(1)), busy.offer(0, 3, of(2))), ("out", "in"));
    busy.end(10, 1, Outcome::Served);
    assert_eq!(busy.offer(10, 4, of(1)), "in");
}

#[test]
fn keys_without_a_state_worth_keeping_are_forgotten() {
    let mut door = Door::of("limit-req", &settings([("burst", 0.into()), ("key", "user".into())]));
    for user in 0..5000 {
        // A second apart: each has drained long before.
        assert_eq!(door.offer(user * 1000, user, Tags { user, ..Tags::default() }), "in");
        door.end(user * 1000, user, Outcome::Served);
    }
    let mut busy = Door::of("limit-conn", &settings([("key", "user".into())]));
    for user in 0..5000 {
        assert_eq!(busy.offer(0, user, Tags { user, ..Tags::default() }), "in");
        busy.end(0, user, Outcome::Served);
    }
    assert!(busy.gauge("keys") <= 1024.0, "{}", busy.gauge("keys"));
}

#[test]
fn maxconn_lets_in_by_turn_and_nobody_waits_longer_than_the_time_out() {
    let of = settings([("maxconn", 1.into()), ("maxqueue", 3.into()), ("timeout_queue", "100ms".into())]);
    let mut door = Door::of("maxconn-queue", &of);
    assert_eq!([1, 2, 3, 4, 5].map(|id| door.first(id * 10, id)), ["in", "held", "held", "held", "out"]);
    door.end(60, 1, Outcome::Served);
    assert_eq!(door.poll(60), [("in", 2)]);
    door.seat.leave(at(70), JobId(3));
    assert_eq!(door.poll(139), []);
    assert_eq!(door.poll(140), [("out", 4)], "it came at 40");
    assert_eq!(door.first(150, 6), "held");
    door.end(160, 2, Outcome::TimedOut);
    assert_eq!(door.poll(160), [("in", 6)]);
    assert_eq!(door.first(160, 7), "held");
}

/// Serves a job that takes so long.
fn served(door: &mut Door, from: u64, ms: u64, id: u64) {
    assert_eq!(door.first(from, id), "in");
    door.end(from + ms, id, Outcome::Served);
    door.poll(from + ms);
}

#[test]
fn envoys_gradient_by_hand() {
    let of = settings([("request_count", 2.into()), ("jitter", 0.into())]);
    let mut door = Door::of("envoy-gradient", &of);
    assert_eq!((door.gauge("limit"), door.gauge("measuring")), (3.0, 1.0));
    assert_eq!([1, 2, 3, 4].map(|id| door.first(0, id)), ["in", "in", "in", "out"]);
    door.end(20, 1, Outcome::Served);
    assert_eq!(door.gauge("measuring"), 1.0);
    door.end(30, 2, Outcome::Served);
    // The median of two by nearest rank is the first.
    assert_eq!((door.gauge("rtt_min_ms"), door.gauge("measuring"), door.gauge("limit")), (20.0, 0.0, 3.0));
    door.end(40, 3, Outcome::Served);
    // 25 % over 20 ms is 25; 25/40 = 0.625: 1.875 + √1.875 = 3.24.
    door.poll(130);
    assert_eq!((door.gauge("rtt_last_ms"), door.gauge("limit")), (40.0, 3.0));
    served(&mut door, 200, 10, 5);
    // 25/10 = 2.5, at most 2: 6 + √6 = 8.4.
    door.poll(230);
    assert_eq!(door.gauge("limit"), 8.0);
    door.poll(330);
    assert_eq!(door.gauge("limit"), 8.0, "nothing ended: nothing is updated");
    // A minute after the measurement, at 30 ms.
    assert_eq!(door.first(60_020, 6), "in");
    door.poll(60_030);
    assert_eq!((door.gauge("limit"), door.gauge("measuring")), (3.0, 1.0));
    door.end(60_040, 6, Outcome::Served);
    served(&mut door, 60_040, 30, 7);
    assert_eq!(door.gauge("measuring"), 1.0, "6 was let in before");
    served(&mut door, 60_080, 50, 8);
    assert_eq!((door.gauge("rtt_min_ms"), door.gauge("limit")), (30.0, 8.0), "the limit from before is back");
}

#[test]
fn envoys_gradient_measures_anew_when_it_is_stuck_at_the_smallest() {
    let mut door = Door::of("envoy-gradient", &settings([("request_count", 1.into())]));
    served(&mut door, 0, 10, 1);
    for update in 1..=5 {
        assert_eq!(door.gauge("measuring"), 0.0, "{update}");
        // Twice as long: 12.5/1000, at least a half: 1.5 + √1.5 = 2.7, at least 3.
        served(&mut door, update * 2000, 1000, 1 + update);
        door.poll(update * 2000 + 1100);
    }
    assert_eq!((door.gauge("measuring"), door.gauge("limit")), (1.0, 3.0));
}

#[test]
fn admission_control_refuses_by_the_share_of_failures() {
    let mut door = Door::of("admission-control", &Settings::new());
    (0..100).for_each(|id| _ = door.through(0, id, Outcome::Served));
    assert_eq!(door.gauge("reject_probability"), 0.0, "100 − 100/0.95 is under 0");
    (100..200).for_each(|id| _ = door.through(0, id, Outcome::Failed));
    // (200 − 100/0.95)/201, if none was refused meanwhile; those that were are not counted.
    let p = door.gauge("reject_probability");
    assert!((0.3..0.48).contains(&p), "{p}");
    let refused = (1000..3000).filter(|id| door.first(0, *id) == "out").count();
    assert!((refused as f64 / 2000.0 - p).abs() < 0.05, "{refused} at {p}");
    assert_eq!(door.through(31_000, 9999, Outcome::Failed), "in", "it forgets after 30 s");
    let mut hurried =
        Door::of("admission-control", &settings([("aggression", 2.into()), ("max_rejection", 50.into())]));
    (0..10).for_each(|id| _ = hurried.through(0, id, Outcome::Failed));
    assert_eq!(hurried.gauge("reject_probability"), 0.5, "√(n/(n + 1)), at most half");
    let mut few = Door::of("admission-control", &settings([("rps_threshold", 10.into())]));
    (0..299).for_each(|id| _ = few.through(0, id, Outcome::Failed));
    assert_eq!(few.gauge("reject_probability"), 0.0, "299 in 30 s are under 10/s");
}

#[test]
fn bbr_limits_only_while_the_cpu_is_busy_and_a_second_longer() {
    let mut door = Door::of("bbr", &settings([("cpu_decay", 0.into())]));
    // Parts of 100 ms: two jobs of 50 ms in one: 2 × 50 × 10/1000 = 1 job.
    assert_eq!((door.first(0, 1), door.first(0, 2)), ("in", "in"));
    door.end(50, 1, Outcome::Served);
    door.end(50, 2, Outcome::Served);
    assert_eq!([11, 12, 13].map(|id| door.first(200, id)), ["in"; 3], "the CPU is idle");
    assert_eq!(door.gauge("limit"), 1.0);
    door.cpu(300, 0.9);
    assert_eq!(door.first(300, 14), "out", "3 are inside");
    door.cpu(400, 0.1);
    assert_eq!(door.first(1300, 15), "out", "a second from the first refusal");
    assert_eq!(door.first(1301, 16), "in");
    let mut zero = Door::of("go-zero", &settings([("cpu_decay", 0.into()), ("in_flight_decay", 0.into())]));
    assert_eq!((zero.first(0, 1), zero.first(0, 2)), ("in", "in"));
    zero.end(50, 1, Outcome::Served);
    zero.end(50, 2, Outcome::Served);
    zero.cpu(200, 0.95);
    assert_eq!([11, 12, 13].map(|id| zero.first(200, id)), ["in", "in", "out"]);
    assert!((zero.gauge("limit") - 0.5).abs() < 1e-9, "1 × (1 − 0.95)/(1 − 0.9)");
}
