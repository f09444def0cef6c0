//! Adaptive throttling and retry budgets.

use super::*;

/// Requests that were accepted and refused by the other side. A high K lets all of them go.
fn history(bench: &mut Bench, accepted: u32, refused: u32) {
    for nth in 0..accepted + refused {
        let outcome = if nth < accepted { Outcome::Served } else { REFUSED };
        assert!(bench.request(Tags::default(), outcome), "accepts first: held back at request {nth}");
    }
}

#[test]
fn the_probability_is_the_books() {
    // K = 2, 100 requests, 50 accepts: max(0, (100 − 2 × 50) / 101) = 0: at the cut-off.
    let mut bench = Bench::new("throttle", []);
    history(&mut bench, 50, 50);
    assert!(near(bench.gauge("reject_probability_critical"), 0.0));
    // One more refusal: (101 − 100) / 102.
    history(&mut bench, 0, 1);
    assert!(near(bench.gauge("reject_probability_critical"), 1.0 / 102.0));
}

#[test]
fn forty_accepts_of_a_hundred_hold_back_a_fifth() {
    // K = 2, 100 requests, 40 accepts: (100 − 80) / 101. Sent with many on their way, so that all are let go first.
    let mut bench = Bench::new("throttle", []);
    let sent: Vec<_> = (0..100).map(|_| bench.offer(Tags::default()).expect("nothing is known yet")).collect();
    for (nth, admitted) in sent.into_iter().enumerate() {
        bench.end(admitted, Tags::default(), if nth < 40 { Outcome::Served } else { REFUSED });
    }
    assert!(near(bench.gauge("reject_probability_critical"), 20.0 / 101.0));
    // What is held back counts as a request: it makes the next more likely to be.
    let held = (0..200).filter(|_| bench.offer(Tags::default()).is_err()).count();
    // Nothing ends, so p rises from 0.198 with each: after n held back it is (20 + n) / (101 + n). Held back of 200:
    // the solution of dn/dt = (20 + n) / (101 + n) is between 40 (if p stayed) and 200 × 0.55.
    assert!((45..=110).contains(&held), "{held}");
    let p = (20 + held) as f64 / (101 + held) as f64;
    assert!(near(bench.gauge("reject_probability_critical"), p));
}

#[test]
fn pending_requests_count_at_once_if_so_set() {
    // 10 on their way: (10 − 0) / 11 instead of nothing. The first is always let go: (0 − 0) / 1.
    let mut bench = Bench::new("throttle", [("count_pending", true.into())]);
    assert!(bench.offer(Tags::default()).is_ok());
    for _ in 0..9 {
        let _ = bench.offer(Tags::default());
    }
    assert!(near(bench.gauge("reject_probability_critical"), 10.0 / 11.0));
}

#[test]
fn each_criticality_has_its_own_counts() {
    let mut bench = Bench::new("throttle", []);
    for _ in 0..20 {
        bench.request(of(Criticality::Sheddable), REFUSED);
        assert!(bench.request(of(Criticality::CriticalPlus), Outcome::Served), "its own counts are clean");
    }
    // 20 requests, no accepts: 20 / 21.
    assert!(near(bench.gauge("reject_probability_sheddable"), 20.0 / 21.0));
    assert!(near(bench.gauge("reject_probability_critical_plus"), 0.0));
    let mut bench = Bench::new("throttle", [("per_criticality", false.into())]);
    history(&mut bench, 1, 2);
    // Together: 3 requests, 1 accept: (3 − 2) / 4.
    assert!(near(bench.gauge("reject_probability"), 0.25));
}

#[test]
fn time_outs_are_accepts_unless_set_otherwise() {
    for (word, expected) in [("accepted", 0.0), ("refused", 5.0 / 6.0)] {
        let mut bench = Bench::new("throttle", [("timeouts", word.into())]);
        let sent: Vec<_> = (0..5).map(|_| bench.offer(Tags::default()).unwrap()).collect();
        sent.into_iter().for_each(|admitted| bench.end(admitted, Tags::default(), Outcome::TimedOut));
        assert!(near(bench.gauge("reject_probability_critical"), expected), "{word}");
    }
    // Errors, and users who left, show that the request was admitted.
    let mut bench = Bench::new("throttle", []);
    for outcome in [Outcome::Failed, Outcome::Ignored, Outcome::Abandoned] {
        assert!(bench.request(Tags::default(), outcome));
    }
    assert!(near(bench.gauge("reject_probability_critical"), 0.0));
}

#[test]
fn a_request_that_reached_nobody_is_never_an_accept() {
    for name in ["throttle", "sre-client"] {
        for preset in ["when-answered", "as-in-the-book"] {
            let mut bench = Bench::new(name, [("preset", preset.into())]);
            assert!(bench.request(Tags::default(), Outcome::Unavailable), "nothing is known yet");
            // 1 request, no accept: 1 / 2. A backend that is down is asked less and less.
            assert!(near(bench.gauge("reject_probability_critical"), 0.5), "{name} {preset}");
        }
    }
}

#[test]
fn as_in_the_book_attempts_count_when_made_and_accepts_when_answered() {
    let mut bench = Bench::new("throttle", [("preset", "as-in-the-book".into())]);
    history(&mut bench, 4, 1);
    // Let go for certain: after n requests there are 5 accepts, and n is at most 10.
    let rest = [Outcome::Failed, Outcome::TimedOut, Outcome::Abandoned, Outcome::Unavailable, REFUSED];
    for outcome in rest {
        assert!(bench.request(Tags::default(), outcome), "{outcome:?}");
    }
    // 10 requests, of which 4 were served and 1 was answered with an error: (10 − 2 × 5) / 11.
    assert!(near(bench.gauge("reject_probability_critical"), 0.0));
    let on_its_way = bench.offer(Tags::default()).expect("(10 − 10) / 11 is nothing");
    assert!(near(bench.gauge("reject_probability_critical"), 1.0 / 12.0), "the eleventh counts at once");
    bench.end(on_its_way, Tags::default(), Outcome::Served);
    assert!(near(bench.gauge("reject_probability_critical"), 0.0), "(11 − 12) / 12");
}

#[test]
fn whether_an_end_is_an_accept_can_be_set_one_by_one() {
    let kinds = [("failures", Outcome::Failed), ("timeouts", Outcome::TimedOut), ("abandoned", Outcome::Abandoned)];
    for (key, _) in kinds {
        for (other, outcome) in kinds {
            let mut bench = Bench::new("throttle", [(key, "refused".into())]);
            assert!(bench.request(Tags::default(), outcome));
            let expected = if key == other { 0.5 } else { 0.0 };
            assert!(near(bench.gauge("reject_probability_critical"), expected), "{key}: {outcome:?}");
        }
    }
}

#[test]
fn after_two_minutes_all_is_forgotten() {
    // 1 request, none accepted: 1 / 2. Buckets are 2 s: it is gone when bucket 60 begins, at 120 s.
    for (at_ms, forgotten) in [(119_999, false), (120_000, true)] {
        let mut bench = Bench::new("throttle", []);
        bench.request(Tags::default(), REFUSED);
        bench.pass(Duration::from_millis(at_ms));
        let _ = bench.offer(Tags::default());
        assert_eq!(near(bench.gauge("reject_probability_critical"), 0.0), forgotten, "{at_ms}");
    }
}

#[test]
fn three_attempts_in_all() {
    // The share would stop them first: a hundred first attempts make room for ten.
    let mut bench = Bench::new("retry-budget", []);
    history(&mut bench, 100, 0);
    assert!(bench.request(attempt(1), REFUSED) && bench.request(attempt(2), REFUSED));
    assert_eq!(bench.offer(attempt(3)), Err(Reason::RetryBudget), "the third retry is the fourth attempt");
    let mut bench = Bench::new("retry-budget", [("per_request", false.into())]);
    history(&mut bench, 100, 0);
    assert!(bench.request(attempt(200), REFUSED), "switched off");
}

#[test]
fn retries_stay_below_a_tenth_of_all_requests() {
    let mut bench = Bench::new("retry-budget", []);
    history(&mut bench, 90, 0);
    // Retry n + 1 is let go while n < 0.1 × (90 + n), so while n < 10: at 10 of 100 it is not below a tenth.
    let let_go = (0..50).filter(|_| bench.request(attempt(1), REFUSED)).count();
    assert_eq!(let_go, 10);
    assert!(near(bench.gauge("retry_share"), 0.1));
    // One more first attempt: 10 of 101 is below, the next makes 11 of 102.
    history(&mut bench, 1, 0);
    assert!(bench.request(attempt(1), REFUSED) && !bench.request(attempt(1), REFUSED));
    // Two minutes later none of that counts: with nothing sent, 0 is not below a tenth of 0.
    bench.pass(Duration::from_secs(120));
    assert!(!bench.request(attempt(1), REFUSED));
    let mut bench = Bench::new("retry-budget", [("per_client", false.into())]);
    assert!((0..50).all(|_| bench.request(attempt(1), REFUSED)), "switched off");
}

#[test]
fn told_not_to_retry_it_does_not() {
    let told = Tags { told_not_to_retry: true, ..attempt(1) };
    let mut bench = Bench::new("retry-budget", []);
    history(&mut bench, 100, 0);
    assert_eq!(bench.offer(told), Err(Reason::RetryBudget));
    assert!(bench.offer(Tags { told_not_to_retry: true, ..attempt(0) }).is_ok(), "a request of its own is no retry");
    let mut bench = Bench::new("retry-budget", [("heed_dont_retry", false.into())]);
    history(&mut bench, 100, 0);
    assert!(bench.offer(told).is_ok(), "switched off");
}

#[test]
fn together_the_budget_decides_first_and_counts_what_was_sent() {
    let mut bench = Bench::new("sre-client", [("per_client", false.into())]);
    assert_eq!(bench.offer(attempt(3)), Err(Reason::RetryBudget));
    assert!(near(bench.gauge("reject_probability_critical"), 0.0), "the throttle saw no request");
    let sent: Vec<_> = (0..1000).map(|_| bench.offer(Tags::default()).unwrap()).collect();
    sent.into_iter().for_each(|admitted| bench.end(admitted, Tags::default(), REFUSED));
    // p = 1000 / 1001: the second attempt is held back by the throttle, and is no retry to the budget.
    assert_eq!(bench.offer(attempt(1)), Err(Reason::Throttled));
    assert!(near(bench.gauge("retry_share"), 0.0));
}

#[test]
fn both_sit_at_the_senders_side() {
    for name in ["throttle", "retry-budget", "sre-client"] {
        let entry = Catalogue::built_in().find(name).unwrap();
        assert_eq!(entry.places[0].scope(), "client");
    }
}
