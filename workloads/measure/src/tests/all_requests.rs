//! Percentiles over all requests that users wanted: those without an answer are longer than all that had one.

use super::*;

/// So many users, each served after one millisecond more than the one before, then so many that end otherwise.
fn of(served: u64, others: u64, fate: Fate) -> Times {
    let mut recorder = recorder();
    (1..=served).for_each(|user| request(&mut recorder, user, 0, at(1000), Fate::Served, ms(user)));
    (0..others).for_each(|user| request(&mut recorder, served + 1 + user, 0, at(1000), fate, ms(3)));
    finish(recorder).phases[0].measured.response_time_all_ms
}

/// To three digits.
fn is(found: Option<f64>, expected: f64) -> bool {
    found.is_some_and(|found| (found - expected).abs() <= expected / 1000.0)
}

#[test]
fn a_percentile_is_a_rank_among_all_and_unanswered_beyond_the_answered() {
    // 100 requests: the 90th is the last one that was answered.
    let times = of(90, 10, Fate::Rejected);
    assert!(is(times.p50, 50.0) && is(times.p90, 90.0), "{times:?}");
    assert_eq!((times.count, times.censored, times.p95, times.p90_at_least), (90, 10, None, None));
    // The users' time-out: nobody knows more.
    assert_eq!(times.p95_at_least, Some(60_000.0));
    let times = of(89, 11, Fate::Rejected);
    assert_eq!((times.p90, times.p90_at_least), (None, Some(60_000.0)));
    // 99.9 % of 3000 is 2997, whatever 0.999 is in binary.
    assert!(is(of(2997, 3, Fate::Rejected).p999, 2997.0));
    assert_eq!(of(2996, 4, Fate::Rejected).p999, None);
    // All together are enough for a percentile, whoever was answered.
    assert_eq!(
        (of(20, 8, Fate::Rejected).p90_at_least, of(20, 9, Fate::Rejected).p90_at_least),
        (None, Some(60_000.0))
    );
    assert_eq!((of(0, 29, Fate::Rejected).p50_at_least, of(0, 0, Fate::Rejected)), (Some(60_000.0), Times::default()));
}

#[test]
fn whatever_ends_without_an_answer_counts() {
    for fate in [
        Fate::Rejected,
        Fate::TimedOut,
        Fate::Failed,
        Fate::Broken,
        Fate::Elsewhere,
        Fate::Abandoned,
        Fate::InFlight,
        Fate::ConnectTimedOut,
        Fate::ConnectFailed,
        Fate::RefusedLocally,
        Fate::Unsent,
    ] {
        let times = of(53, 47, fate);
        assert!(is(times.p50, 50.0), "{fate:?}: {times:?}");
        assert_eq!((times.p90, times.count, times.censored), (None, 53, 47), "{fate:?}");
        assert!(times.p90_at_least.is_some_and(f64::is_finite), "{fate:?}");
    }
}

#[test]
fn without_a_loss_or_a_retry_they_are_the_response_times() {
    let mut recorder = recorder();
    (1..=300).for_each(|user| request(&mut recorder, user, 0, at(1000), Fate::Served, ms(user)));
    let report = finish(recorder);
    assert_eq!(report.total.measured.response_time_all_ms, report.total.measured.response_time_ms);
    assert_eq!(report.distribution("calm", TimeFamily::FirstAttempt, None).map(|times| times.count()), None);
}

#[test]
fn a_retry_counts_once_from_its_first_attempt_and_in_the_phase_of_that() {
    let mut recorder = recorder();
    for user in 0..6 {
        request(&mut recorder, user, 0, at(9500), Fate::Rejected, ms(10));
        let mut retry = recorder.plan(user, intent(0, 0, at(9500), 1), at(10_200));
        recorder.sent(&mut retry, at(10_200));
        recorder.end(retry, Fate::Served, at(10_300));
    }
    // Others in both phases, without a retry.
    (10..14).for_each(|user| request(&mut recorder, user, 1, at(9000), Fate::Served, ms(20)));
    (20..26).for_each(|user| request(&mut recorder, user, 1, at(11_000), Fate::Served, ms(40)));
    let report = finish(recorder);
    let [calm, spike] = [0, 1].map(|phase| &report.phases[phase].measured);
    // Ten: four after 20 ms, six after 800.
    assert!(
        is(calm.response_time_all_ms.p50, 800.0)
            && is(report.phases[0].by_type["read"].response_time_all_ms.p50, 800.0)
    );
    assert_eq!((calm.response_time_all_ms.count, calm.response_time_all_ms.censored), (10, 0));
    assert_eq!((calm.response_time_ms.count, spike.response_time_ms.count), (4, 12));
    assert!(is(spike.response_time_all_ms.p50, 40.0) && is(spike.response_time_all_ms.max, 40.0));
    assert_eq!((spike.response_time_all_ms.count, spike.response_time_all_ms.censored), (6, 0));
    let total = report.total.measured.response_time_all_ms;
    assert!(is(total.max, 800.0) && total.count == 16);
    for in_parts in [true, false] {
        let again = report.record(|_| in_parts).report().expect("it makes sense");
        assert_eq!((&again.phases, &again.total), (&report.phases, &report.total));
    }
}
