//! Each gate: just inside its limit it is silent, just outside it speaks.

use super::*;
use crate::summary::{Joined, Kernel, Phase, Server};

fn context() -> Context {
    Context {
        objective: Objective { percentile: 90.0, response_time_ms: 1000.0 },
        closed: false,
        kernel_backlog_declared: false,
        own_target: true,
    }
}

/// 10 000 requests written, all of them read, 9000 served and 1000 rejected.
fn sound() -> Arm {
    let measured = Measured { planned: 10_000, sent: 10_000, served: 9_000, rejected: 1_000, ..Measured::default() };
    let server = Server {
        requests_read: 10_000,
        served: 9_000,
        refused: [("rate".to_owned(), 1_000)].into(),
        ..Server::default()
    };
    Arm {
        policy: "seda".to_owned(),
        block: 1,
        server: Some(server),
        phases: vec![Phase { name: "spike".to_owned(), seconds: 30.0, users: 100, measured, ..Phase::default() }],
        ..Arm::default()
    }
}

fn codes(arm: &Arm, context: &Context) -> Vec<(String, Verdict)> {
    judge(arm, context).into_iter().map(|reason| (reason.code, reason.verdict)).collect()
}

#[track_caller]
fn finds(arm: &Arm, context: &Context, code: &str, verdict: Verdict) {
    assert_eq!(codes(arm, context), [(code.to_owned(), verdict)]);
}

#[test]
fn a_sound_arm_is_valid() {
    let mut arm = sound();
    stamp(&mut arm, &context());
    assert_eq!((arm.verdict, arm.valid, arm.reasons), (Verdict::Valid, true, vec![]));
}

#[test]
fn a_policy_that_was_not_renewed_is_a_caution() {
    let mut arm = sound();
    arm.renewal_failed = Some("the target did not answer".to_owned());
    finds(&arm, &context(), "RENEWAL", Verdict::Warn);
}

#[test]
fn a_request_lost_by_the_client_is_found_in_the_whole_and_in_groups() {
    let mut arm = sound();
    arm.phases[0].measured.served -= 1;
    finds(&arm, &context(), "LEDGER", Verdict::Invalid);

    // The group balances in itself, but there is a request less in the groups than in the whole.
    let mut arm = sound();
    let part = Measured { planned: 9_999, sent: 9_999, served: 9_999, ..Measured::default() };
    arm.phases[0].by_type.insert("login".to_owned(), part);
    finds(&arm, &context(), "LEDGER", Verdict::Invalid);
}

#[test]
fn written_and_read_may_differ_by_a_thousandth() {
    // 0.1 % of 10 000 is 10.
    let mut arm = sound();
    let server = arm.server.as_mut().unwrap();
    server.requests_read -= 10;
    server.served -= 10;
    assert_eq!(codes(&arm, &context()), []);
    let server = arm.server.as_mut().unwrap();
    server.requests_read -= 1;
    server.served -= 1;
    finds(&arm, &context(), "LEDGER", Verdict::Invalid);
}

#[test]
fn a_service_that_loses_count_is_found() {
    let mut arm = sound();
    arm.server.as_mut().unwrap().client_gone += 1;
    finds(&arm, &context(), "LEDGER", Verdict::Invalid);
}

#[test]
fn no_ledger_from_our_own_service_is_invalid_and_from_a_foreign_one_fine() {
    let mut arm = sound();
    arm.server = None;
    finds(&arm, &context(), "LEDGER", Verdict::Invalid);
    assert_eq!(codes(&arm, &Context { own_target: false, ..context() }), []);
}

#[test]
fn with_a_declared_backlog_only_what_timed_out_may_be_unread() {
    let declared = Context { kernel_backlog_declared: true, ..context() };
    let mut arm = sound();
    // 500 were written on connections that nobody took.
    arm.phases[0].measured.served -= 500;
    arm.phases[0].measured.timed_out = 500;
    let server = arm.server.as_mut().unwrap();
    server.requests_read -= 500;
    server.served -= 500;
    assert_eq!(codes(&arm, &declared), []);
    finds(&arm, &context(), "LEDGER", Verdict::Invalid);

    // More missing than timed out: lost elsewhere.
    arm.phases[0].measured.timed_out = 499;
    arm.phases[0].measured.served += 1;
    finds(&arm, &declared, "LEDGER", Verdict::Invalid);
}

/// 500 of 10 000 timed out; 480 of these were never read, 20 were read and answered too late.
fn joined() -> Arm {
    let mut arm = sound();
    arm.phases[0].measured.served -= 500;
    arm.phases[0].measured.timed_out = 500;
    let server = arm.server.as_mut().unwrap();
    server.requests_read -= 480;
    server.served -= 500;
    server.client_gone += 20;
    arm.requests = Some(Joined {
        written: 10_000,
        answered: 9_500,
        unanswered: [("timed_out".to_owned(), 500)].into(),
        unread: [("timed_out".to_owned(), 480)].into(),
        ..Joined::default()
    });
    arm
}

#[test]
fn with_both_sides_joined_not_one_request_may_be_missing() {
    let declared = Context { kernel_backlog_declared: true, ..context() };
    assert_eq!(codes(&joined(), &declared), []);
    // It would pass for less than what timed out.
    let mut arm = joined();
    arm.server.as_mut().unwrap().requests_read -= 1;
    arm.server.as_mut().unwrap().client_gone -= 1;
    finds(&arm, &declared, "LEDGER", Verdict::Invalid);
    let mut arm = joined();
    arm.requests.as_mut().unwrap().unread.insert("timed_out".to_owned(), 479);
    finds(&arm, &declared, "LEDGER", Verdict::Invalid);
    // The clients wrote one more than they numbered.
    let mut arm = joined();
    arm.phases[0].measured.planned += 1;
    arm.phases[0].measured.sent += 1;
    arm.phases[0].measured.served += 1;
    finds(&arm, &declared, "LEDGER", Verdict::Invalid);
}

#[test]
fn an_answer_to_an_unread_request_has_to_come_from_the_door() {
    let declared = Context { kernel_backlog_declared: true, ..context() };
    let mut arm = joined();
    let requests = arm.requests.as_mut().unwrap();
    requests.unread.insert("timed_out".to_owned(), 470);
    requests.turned_away = 10;
    finds(&arm, &declared, "LEDGER", Verdict::Invalid);
    arm.server.as_mut().unwrap().connections_refused = 10;
    assert_eq!(codes(&arm, &declared), []);
}

#[test]
fn a_request_of_somebody_else_is_named_and_a_thousandth_of_them_too_many() {
    let declared = Context { kernel_backlog_declared: true, ..context() };
    let strange = |count: u64| {
        let mut arm = joined();
        arm.requests.as_mut().unwrap().strange = count;
        let server = arm.server.as_mut().unwrap();
        server.requests_read += count;
        server.served += count;
        arm
    };
    assert_eq!(codes(&strange(10), &declared), []);
    finds(&strange(11), &declared, "LEDGER", Verdict::Invalid);
}

#[test]
fn the_kernel_may_drop_connections_only_where_that_is_declared() {
    let mut arm = sound();
    arm.kernel = Kernel { listen_overflows: 1, listen_drops: 1, ..Kernel::default() };
    finds(&arm, &context(), "BACKLOG", Verdict::Invalid);
    assert_eq!(codes(&arm, &Context { kernel_backlog_declared: true, ..context() }), []);
}

#[test]
fn nothing_sent_is_invalid() {
    let mut arm = sound();
    arm.phases[0].measured = Measured::default();
    arm.server = Some(Server::default());
    finds(&arm, &context(), "EMPTY", Verdict::Invalid);
}

#[test]
fn unsent_requests_over_a_thousandth_are_invalid() {
    let mut arm = sound();
    arm.phases[0].measured.planned += 10; // 10 of 10 010 is under 0.1 %
    arm.phases[0].measured.unsent = 10;
    assert_eq!(codes(&arm, &context()), []);
    arm.phases[0].measured.planned += 1; // 11 of 10 011 is over
    arm.phases[0].measured.unsent += 1;
    finds(&arm, &context(), "UNSENT", Verdict::Invalid);
}

#[test]
fn send_lag_is_bounded_by_the_objective_and_never_below_two_milliseconds() {
    let mut arm = sound();
    arm.generator.send_lag_p99_ms = 50.0; // 5 % of 1 s
    assert_eq!(codes(&arm, &context()), []);
    arm.generator.send_lag_p99_ms = 50.1;
    finds(&arm, &context(), "LAG", Verdict::Invalid);
    let strict = Context { objective: Objective { percentile: 90.0, response_time_ms: 10.0 }, ..context() };
    arm.generator.send_lag_p99_ms = 2.0; // 5 % of 10 ms would be 0.5 ms
    assert_eq!(codes(&arm, &strict), []);
    arm.generator.send_lag_p99_ms = 2.1;
    finds(&arm, &strict, "LAG", Verdict::Invalid);
}

#[test]
fn the_generators_health_is_judged() {
    let with = |change: fn(&mut Arm)| {
        let mut arm = sound();
        change(&mut arm);
        arm
    };
    assert_eq!(codes(&with(|arm| arm.generator.cpu = 0.70), &context()), []);
    finds(&with(|arm| arm.generator.cpu = 0.71), &context(), "CPU", Verdict::Invalid);
    assert_eq!(codes(&with(|arm| arm.generator.run_queue = 0.01), &context()), []);
    finds(&with(|arm| arm.generator.run_queue = 0.011), &context(), "CROWDED", Verdict::Warn);
    let crowded = |share: f64| {
        let mut arm = sound();
        (arm.generator.run_queue, arm.generator.crowded) = (0.03, share);
        arm
    };
    finds(&crowded(0.01), &context(), "CROWDED", Verdict::Warn);
    finds(&crowded(0.011), &context(), "CROWDED", Verdict::Invalid);
    finds(&with(|arm| arm.generator.saturated = 1), &context(), "HDR", Verdict::Invalid);
    assert_eq!(codes(&with(|arm| arm.generator.loop_gap_max_ms = 250.0), &context()), []);
    finds(&with(|arm| arm.generator.loop_gap_max_ms = 251.0), &context(), "GAP", Verdict::Warn);
    finds(&with(|arm| arm.generator.loop_gap_max_ms = 1001.0), &context(), "GAP", Verdict::Invalid);
    finds(&with(|arm| arm.generator.files_exhausted = 1), &context(), "FILES", Verdict::Invalid);
    finds(&with(|arm| arm.generator.ports_exhausted = 1), &context(), "PORTS", Verdict::Invalid);
    finds(&with(|arm| arm.generator.panics = 1), &context(), "PANIC", Verdict::Invalid);
    finds(&with(|arm| arm.server.as_mut().unwrap().panics = 1), &context(), "PANIC", Verdict::Invalid);
    let close_to_the_limit = with(|arm| {
        arm.generator.open_files_max = 961;
        arm.generator.open_files_limit = 1024;
    });
    finds(&close_to_the_limit, &context(), "FILES", Verdict::Warn);
}

#[test]
fn what_the_machine_did_and_sums_that_differ_are_judged() {
    for (steal, verdict) in [(0.005, None), (0.006, Some(Verdict::Warn)), (0.021, Some(Verdict::Invalid))] {
        let mut arm = sound();
        arm.generator.steal = steal;
        let expected: Vec<_> = verdict.map(|verdict| ("STEAL".to_owned(), verdict)).into_iter().collect();
        assert_eq!(codes(&arm, &context()), expected, "{steal}");
    }
    let mut arm = sound();
    arm.generator.major_faults = 1;
    finds(&arm, &context(), "PAGING", Verdict::Warn);
    let mut arm = sound();
    arm.generator.little = 0.05;
    assert_eq!(codes(&arm, &context()), []);
    arm.generator.little = 0.051;
    finds(&arm, &context(), "LITTLE", Verdict::Invalid);
    let mut arm = sound();
    arm.generator.books.push("2 requests are in flight by the ledger, 1 by count".to_owned());
    finds(&arm, &context(), "BOOKS", Verdict::Invalid);
}

#[test]
fn a_closed_load_under_overload_is_warned_of() {
    // 1000 of 10 000 were rejected: 10 %.
    let closed = Context { closed: true, ..context() };
    finds(&sound(), &closed, "MODEL", Verdict::Warn);
    let mut calm = sound();
    calm.phases[0].measured.served += 600;
    calm.phases[0].measured.rejected -= 600; // 4 %
    let server = calm.server.as_mut().unwrap();
    server.served += 600;
    server.refused.insert("rate".to_owned(), 400);
    assert_eq!(codes(&calm, &closed), []);
}

#[test]
fn the_worst_reason_comes_first_and_makes_the_verdict() {
    let mut arm = sound();
    arm.generator.cpu = 0.9;
    arm.block = 2;
    let reasons = judge(&arm, &Context { closed: true, ..context() });
    let found: Vec<_> = reasons.iter().map(|reason| (reason.code.as_str(), reason.arm.as_str())).collect();
    assert_eq!(found, [("CPU", "seda (block 2)"), ("MODEL", "seda (block 2)")]);
    assert_eq!(verdict(&reasons), Verdict::Invalid);
}

#[test]
fn a_run_that_a_person_changed_says_so_with_the_first_change() {
    let mut arm = sound();
    let touched = |second, what: &str| crate::summary::Touched { second, what: what.to_owned() };
    arm.touches = vec![touched(12.4, "30 more users for 10 s"), touched(20.0, "policy codel")];
    finds(&arm, &context(), "TOUCHED", Verdict::Warn);
    let reason = &judge(&arm, &context())[0];
    assert_eq!(reason.value, "30 more users for 10 s, and 1 more (at 12 s)");
}
