use super::*;
use crate::testing::settings;

#[test]
fn grpc_lets_retries_go_while_more_than_half_of_the_tokens_are_there() {
    let mut door = Door::of("grpc-throttle", &Settings::new());
    (0..4).for_each(|id| _ = door.through(0, id, Outcome::Failed));
    assert_eq!((door.gauge("tokens"), door.retry(0, 10)), (6.0, "in"));
    door.end(0, 10, Outcome::Overloaded { retry: true });
    assert_eq!((door.gauge("tokens"), door.retry(0, 11)), (5.0, "out"), "half is not more than half");
    assert_eq!(door.through(0, 12, Outcome::Served), "in", "first attempts always");
    assert_eq!((door.gauge("tokens"), door.retry(0, 13)), (5.1, "in"));
    door.end(0, 13, Outcome::Abandoned);
    (20..40).for_each(|id| _ = door.through(0, id, Outcome::TimedOut));
    assert_eq!(door.gauge("tokens"), 0.0);
    (40..400).for_each(|id| _ = door.through(0, id, Outcome::Served));
    assert_eq!(door.gauge("tokens"), 10.0);
    let sixth = Tags { attempt: 5, ..Tags::default() };
    assert_eq!((door.offer(0, 500, Tags { attempt: 4, ..sixth }), door.offer(0, 501, sixth)), ("in", "out"));
    assert_eq!(door.offer(0, 502, Tags { attempt: 1, told_not_to_retry: true, ..sixth }), "out");
}

#[test]
fn finagle_pays_for_a_fifth_and_ten_a_second_are_free() {
    let mut door = Door::of("finagle-budget", &Settings::new());
    // 10/s for 10 s.
    assert_eq!((0..101).filter(|id| door.retry(0, *id) == "in").count(), 100);
    assert_eq!((100..104).map(|id| door.first(0, 1000 + id)).filter(|became| *became == "in").count(), 4);
    assert_eq!(door.retry(0, 2000), "out", "four requests pay for 0.8");
    assert_eq!((door.first(0, 2001), door.retry(0, 2002), door.retry(0, 2003)), ("in", "in", "out"));
    // All of it is forgotten after 10 s: deposits and withdrawals.
    assert_eq!((3000..3101).filter(|id| door.retry(10_000, *id) == "in").count(), 100);
    let mut alone = Door::of("finagle-budget", &settings([("min_per_s", 0.into()), ("share", 0.5.into())]));
    assert_eq!((alone.retry(0, 1), alone.first(0, 2), alone.retry(0, 3)), ("out", "in", "out"));
    assert_eq!((alone.first(0, 4), alone.retry(0, 5), alone.retry(0, 6)), ("in", "in", "out"));
}

#[test]
fn aws_has_five_hundred_tokens_and_gives_back_what_a_retry_has_cost() {
    let mut door = Door::of("aws-retry", &Settings::new());
    assert_eq!(door.retry(0, 1), "in");
    assert_eq!(door.gauge("tokens"), 495.0);
    door.end(0, 1, Outcome::Served);
    assert_eq!(door.gauge("tokens"), 500.0);
    for id in 10..20 {
        assert_eq!(door.retry(0, id), "in");
        door.end(0, id, Outcome::Failed);
    }
    assert_eq!(door.gauge("tokens"), 450.0);
    door.through(0, 30, Outcome::Served);
    assert_eq!(door.gauge("tokens"), 451.0, "a success at the first attempt");
    door.through(0, 31, Outcome::TimedOut);
    assert_eq!((door.retry(0, 32), door.gauge("tokens")), ("in", 441.0), "after a time-out: ten");
    door.end(0, 32, Outcome::Failed);
    assert_eq!((door.retry(0, 33), door.gauge("tokens")), ("in", 436.0), "after an error: five");
    assert_eq!(door.offer(0, 34, Tags { attempt: 3, ..Tags::default() }), "out", "three attempts in all");
    let mut poor = Door::of("aws-retry", &settings([("capacity", 9.into())]));
    assert_eq!((poor.retry(0, 1), poor.retry(0, 2), poor.first(0, 3)), ("in", "out", "in"));
}

#[test]
fn envoy_counts_retries_in_progress() {
    let mut door = Door::of("envoy-breakers", &settings([("max_requests", 30.into())]));
    assert_eq!([1, 2, 3, 4].map(|id| door.retry(0, id)), ["in", "in", "in", "out"]);
    door.end(0, 2, Outcome::Failed);
    assert_eq!((door.retry(0, 5), door.retry(0, 6)), ("in", "out"));
    assert_eq!((10..40).filter(|id| door.first(0, *id) == "in").count(), 27, "30 in progress");
    let mut budget = Door::of("envoy-breakers", &settings([("retry_budget", true.into())]));
    assert_eq!((0..20).filter(|id| budget.first(0, *id) == "in").count(), 20);
    assert_eq!((20..30).filter(|id| budget.retry(0, *id) == "in").count(), 4, "20 % of 20 to 24");
}
