use super::*;

#[test]
fn resilience4j_looks_back_at_a_hundred_requests_and_tries_ten() {
    let mut door = Door::of("circuit-breaker", &Settings::new());
    (0..50).for_each(|id| _ = door.through(0, id, Outcome::Served));
    (50..99).for_each(|id| _ = door.through(0, id, Outcome::Failed));
    assert_eq!(door.gauge("open"), 0.0, "99 are too few");
    door.through(0, 99, Outcome::Failed);
    assert_eq!((door.gauge("open"), door.first(59_999, 100)), (1.0, "out"), "50 of 100");
    assert_eq!((101..112).filter(|id| door.first(60_000, *id) == "in").count(), 10);
    assert_eq!(door.gauge("open"), 0.5);
    (101..105).for_each(|id| door.end(60_000, id, Outcome::TimedOut));
    door.end(60_000, 105, Outcome::Abandoned);
    assert_eq!(door.first(60_000, 120), "in", "a trial of which nothing is known is given back");
    (106..111).for_each(|id| door.end(60_000, id, Outcome::Served));
    door.end(60_000, 120, Outcome::Served);
    assert_eq!(door.gauge("open"), 0.0, "4 of 10 failed");
}

#[test]
fn a_trial_that_fails_opens_it_again_and_earlier_requests_say_nothing() {
    let mut door = Door::of("hystrix", &Settings::new());
    assert_eq!(door.first(0, 1000), "in");
    (0..20).for_each(|id| _ = door.through(0, id, Outcome::Overloaded { retry: true }));
    assert_eq!(door.first(4_999, 20), "out");
    assert_eq!((door.first(5_000, 21), door.first(5_000, 22)), ("in", "out"), "one trial");
    door.end(5_100, 1000, Outcome::Served);
    assert_eq!(door.gauge("open"), 0.5, "it was let go before");
    door.end(5_100, 21, Outcome::Unavailable);
    assert_eq!((door.first(10_099, 23), door.first(10_100, 24)), ("out", "in"), "5 s from the failure");
    door.end(10_200, 24, Outcome::Served);
    assert_eq!((door.gauge("open"), door.first(10_200, 25)), (0.0, "in"));
}

#[test]
fn polly_opens_at_a_tenth_and_windows_forget() {
    let mut door = Door::of("polly", &Settings::new());
    (0..10).for_each(|id| _ = door.through(0, id, Outcome::Failed));
    (10..99).for_each(|id| _ = door.through(0, id, Outcome::Served));
    assert_eq!(door.through(30_000, 99, Outcome::Served), "in");
    (100..199).for_each(|id| _ = door.through(30_000, id, Outcome::Served));
    assert_eq!(door.gauge("open"), 0.0, "the failures are forgotten");
    (200..212).for_each(|id| _ = door.through(30_000, id, Outcome::Failed));
    assert_eq!(door.gauge("open"), 1.0, "12 of 112");
}
