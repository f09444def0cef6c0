//! CROWDED: when waits for a processor spoil a run, and in what words that is told.

use super::*;

#[test]
fn a_crowded_sender_that_is_late_spoils_the_run_however_long_answers_take() {
    let judged = |objective_ms: f64, lag_ms: f64| {
        let (mut arm, mut context) = (sound(), context());
        crowded_by(&mut arm, 0.1, lag_ms);
        arm.phases[0].measured.response_time_ms.p50 = Some(10_000.0);
        context.objective.response_time_ms = objective_ms;
        codes(&arm, &context)
    };
    let of = |code: &str, verdict| (code.to_owned(), verdict);
    assert_eq!(judged(100.0, 5.1), [of("CROWDED", Invalid), of("LAG", Invalid)]);
    assert_eq!(judged(100.0, 5.0), [of("CROWDED", Warn)]);
}

#[test]
fn where_nothing_was_timed_waits_spoil_nothing() {
    let mut arm = sound();
    crowded_by(&mut arm, 5.0, 0.0);
    arm.phases[0].measured.response_time_ms.p50 = None;
    assert_eq!(codes(&arm, &context()), [("CROWDED".to_owned(), Warn)]);
    // Rejects have times, too.
    arm.phases[0].measured.reject_time_ms.p50 = Some(100.0);
    assert_eq!(codes(&arm, &context()), [("CROWDED".to_owned(), Invalid)]);
}

/// No request has a time at which it is to be sent.
#[test]
fn a_crowded_sender_of_a_load_without_a_pace_is_judged_by_what_its_waits_add() {
    let judged = |wait_ms: f64, lag_ms: f64| {
        let mut arm = sound();
        crowded_by(&mut arm, wait_ms, lag_ms);
        arm.generator.cpu = 0.99;
        codes(&arm, &Context { flat_out: true, ..context() })
    };
    let of = |verdict| [("CROWDED".to_owned(), verdict)];
    for lag_ms in [0.0, 10_000.0] {
        assert_eq!(judged(2.5, lag_ms), of(Warn), "{lag_ms}");
        assert_eq!(judged(2.51, lag_ms), of(Invalid), "{lag_ms}");
    }
}

#[test]
fn a_crowded_sender_is_told_in_plain_words() {
    let mut arm = sound();
    crowded_by(&mut arm, 2.51, 0.0);
    (arm.generator.run_queue, arm.generator.crowded) = (0.063, 0.0201);
    let told = |flat_out| {
        let reasons = judge(&arm, &Context { flat_out, ..context() });
        let reason = reasons.into_iter().next().expect("it is found");
        [reason.value, reason.threshold]
    };
    let value = "generator starved of CPU: 6.3 % of the time in the run queue, 2.0 % if 25 µs are allowed for each wake-up; this adds up to 5.02 ms to the median of 100.00 ms (5.0 %)";
    assert_eq!(told(false)[0], value);
    assert_eq!(
        told(false)[1],
        "1 % of the time; INVALID only if it is over 1 % with the allowance too, and over 5 % is added to the median or requests are \
         sent late (LAG)"
    );
    assert_eq!(
        told(true)[1],
        "1 % of the time; INVALID only if it is over 1 % with the allowance too, and over 5 % is added to the median"
    );
}

/// It has the sender's core too, where there is no third.
#[test]
fn beside_the_labs_own_proxy_waits_are_held_against_the_objective() {
    let judged = |objective_ms: f64, foreign_service: bool| {
        let (mut arm, mut context) = (sound(), Context { foreign_service, ..context() });
        crowded_by(&mut arm, 5.0, 0.0);
        context.objective.response_time_ms = objective_ms;
        codes(&arm, &context)
    };
    let of = |verdict| [("CROWDED".to_owned(), verdict)];
    assert_eq!(judged(500.0, true), of(Warn));
    assert_eq!(judged(500.0, false), of(Invalid));
    assert_eq!(judged(150.0, true), of(Invalid));
}
