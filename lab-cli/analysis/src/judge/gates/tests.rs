//! Gates: both ledgers request by request here, the pair of each gate in `faults`.

use super::*;
use crate::{
    summary::{Joined, LatencyObjective, Measured, PartSummary, Server, Times},
    testing,
};

mod faults;

fn context() -> Context {
    Context {
        objective: LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 },
        closed: false,
        flat_out: false,
        kernel_backlog_declared: false,
        tasks_crash: false,
        own_target: true,
        without_live_view: false,
        foreign_service: false,
        debug_build_plant: false,
        plant: PlantDoubts::default(),
        headroom: None,
        lost_at_most: 0.0,
    }
}

/// 10 000 requests written, all of them read, 9000 served and 1000 rejected.
fn sound() -> Arm {
    let measured = Measured {
        planned: 10_000,
        sent: 10_000,
        served: 9_000,
        rejected: 1_000,
        response_time_ms: Times { count: 9_000, ..Times::default() },
        ..Measured::default()
    };
    let server = Server {
        requests_read: 10_000,
        served: 9_000,
        refused: [("rate".to_owned(), 1_000)].into(),
        ..Server::default()
    };
    testing::arm("seda", 1, server, vec![testing::phase("spike", measured)])
}

fn codes(arm: &Arm, context: &Context) -> Vec<(String, Validity)> {
    judge(arm, context).into_iter().map(|reason| (reason.code, reason.verdict)).collect()
}

#[track_caller]
fn finds(arm: &Arm, context: &Context, code: &str, verdict: Validity) {
    assert_eq!(codes(arm, context), [(code.to_owned(), verdict)]);
}

#[test]
fn a_sound_arm_is_valid() {
    let mut arm = sound();
    stamp(&mut arm, &context());
    assert_eq!((arm.verdict, arm.valid, arm.reasons), (Validity::Valid, true, vec![]));
}

#[test]
fn a_request_lost_by_the_client_is_found_in_the_whole_and_in_groups() {
    let mut arm = sound();
    arm.phases[0].measured.served -= 1;
    finds(&arm, &context(), "LEDGER", Validity::Invalid);

    // The group balances in itself, but there is a request less in the groups than in the whole.
    let mut arm = sound();
    let part = Measured { planned: 9_999, sent: 9_999, served: 9_999, ..Measured::default() };
    arm.phases[0].by_type.insert("login".to_owned(), part);
    finds(&arm, &context(), "LEDGER", Validity::Invalid);
}

#[test]
fn a_service_that_loses_count_is_found() {
    let mut arm = sound();
    arm.server.as_mut().unwrap().client_gone += 1;
    finds(&arm, &context(), "LEDGER", Validity::Invalid);
}

#[test]
fn no_ledger_from_our_own_service_is_invalid_and_from_a_foreign_one_fine() {
    let mut arm = sound();
    arm.server = None;
    finds(&arm, &context(), "LEDGER", Validity::Invalid);
    assert_eq!(codes(&arm, &Context { own_target: false, ..context() }), []);
}

#[test]
fn a_run_without_the_live_view_is_not_told_to_leave_it_off() {
    let mut arm = sound();
    faults::moves(&mut arm, 1000.0, 500.0, 0.0);
    let remedy = |without_live_view| {
        let reasons = judge(&arm, &Context { without_live_view, ..context() });
        reasons.into_iter().find(|reason| reason.code == "LAG").expect("it lags").remedy
    };
    assert!(remedy(false).contains("--no-tui"), "{}", remedy(false));
    assert!(!remedy(true).contains("--no-tui") && remedy(true).contains("stop other programs"), "{}", remedy(true));
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
    finds(&arm, &context(), "LEDGER", Validity::Invalid);

    // More missing than timed out: lost elsewhere.
    arm.phases[0].measured.timed_out = 499;
    arm.phases[0].measured.served += 1;
    finds(&arm, &declared, "LEDGER", Validity::Invalid);
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
    finds(&arm, &declared, "LEDGER", Validity::Invalid);
    let mut arm = joined();
    arm.requests.as_mut().unwrap().unread.insert("timed_out".to_owned(), 479);
    finds(&arm, &declared, "LEDGER", Validity::Invalid);
    // The clients wrote one more than they numbered.
    let mut arm = joined();
    arm.phases[0].measured.planned += 1;
    arm.phases[0].measured.sent += 1;
    arm.phases[0].measured.served += 1;
    finds(&arm, &declared, "LEDGER", Validity::Invalid);
}

#[test]
fn where_tasks_crash_what_the_kernel_had_for_them_is_known_request_by_request() {
    let crashing = Context { tasks_crash: true, ..context() };
    finds(&joined(), &context(), "LEDGER", Validity::Invalid);
    assert_eq!(codes(&joined(), &crashing), []);
    let mut arm = joined();
    arm.requests.as_mut().unwrap().unread.insert("timed_out".to_owned(), 479);
    finds(&arm, &crashing, "LEDGER", Validity::Invalid);
}

#[test]
fn an_answer_to_an_unread_request_has_to_come_from_the_door() {
    let declared = Context { kernel_backlog_declared: true, ..context() };
    let mut arm = joined();
    let requests = arm.requests.as_mut().unwrap();
    requests.unread.insert("timed_out".to_owned(), 470);
    requests.turned_away = 10;
    finds(&arm, &declared, "LEDGER", Validity::Invalid);
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
    finds(&strange(11), &declared, "LEDGER", Validity::Invalid);
}

#[test]
fn the_worst_reason_comes_first_and_makes_the_verdict() {
    let mut arm = sound();
    arm.generator.cpu = 0.9;
    arm.block = 2;
    let reasons = judge(&arm, &Context { closed: true, ..context() });
    let found: Vec<_> = reasons.iter().map(|reason| (reason.code.as_str(), reason.arm.as_str())).collect();
    assert_eq!(found, [("CPU", "seda (block 2)"), ("MODEL", "seda (block 2)")]);
    assert_eq!(verdict(&reasons), Validity::Invalid);
}

#[test]
fn a_run_that_a_person_changed_says_so_with_the_first_change() {
    let mut arm = sound();
    let touched = |second, what: &str| crate::summary::Touched { second, what: what.to_owned() };
    arm.touches = vec![touched(12.4, "30 more users for 10 s"), touched(20.0, "policy codel")];
    finds(&arm, &context(), "TOUCHED", Validity::Warn);
    let reason = &judge(&arm, &context())[0];
    assert_eq!(reason.value, "30 more users for 10 s, and 1 more (at 12 s)");
}

/// A part in good order that an agent sent.
fn sent_by(shard: Shard, agent: &str) -> PartSummary {
    PartSummary {
        shard,
        agent: Some(agent.to_owned()),
        wrong: None,
        planned: 10,
        sent: 10,
        send_lag_p99_ms: 0.1,
        cpu: 0.1,
        begins_ms: Some(0.0),
        clock_error_ms: Some(0.1),
        verdict: Validity::Valid,
    }
}

#[test]
fn what_a_lost_part_has_sent_is_known_to_the_service_alone() {
    let lost = PartSummary { wrong: Some("missing".to_owned()), ..sent_by(Shard::new(2, 2).expect("a part"), "g2") };
    let parts = vec![sent_by(Shard::new(1, 2).expect("a part"), "g1"), lost];
    let context = Context { lost_at_most: 0.5, ..context() };
    let served = |served: u64| {
        let mut arm = Arm { parts: parts.clone(), ..sound() };
        let server = arm.server.as_mut().expect("books");
        (server.served, server.requests_read) = (served, served + 1_000);
        codes(&arm, &context)
    };
    assert_eq!(served(11_000), [("SHARES".to_owned(), Validity::Warn)]);
    let of_the_wire = ("LEDGER".to_owned(), Validity::Invalid);
    assert_eq!(served(7_000), [of_the_wire, ("SHARES".to_owned(), Validity::Warn)]);
}

#[test]
fn what_one_generator_of_many_did_is_found_in_it_and_told_of_the_whole() {
    let made = |number: u32| {
        let mut arm = Arm { part: Shard::new(number, 8), ..sound() };
        // No books of all users: of a part nobody asks for them.
        arm.server = None;
        if number > 1 {
            arm.generator.cpu = 0.6 + f64::from(number) / 50.0;
        }
        stamp(&mut arm, &context());
        arm
    };
    let parts: Vec<Arm> = (1..=8).map(made).collect();
    assert_eq!((parts[0].verdict, parts[5].verdict), (Validity::Valid, Validity::Invalid));
    let mut whole = sound();
    // The sum of eight.
    whole.generator.cpu = 5.0;
    let shards: Vec<(Shard, &Arm)> = parts.iter().map(|arm| (arm.part.expect("a part"), arm)).collect();
    stamp_whole(&mut whole, &context(), &shards);
    let [reason] = &whole.reasons[..] else { panic!("{:?}", whole.reasons) };
    assert_eq!((reason.code.as_str(), whole.verdict), ("CPU", Validity::Invalid));
    assert_eq!(reason.value, "3 of 8 parts (6, 7, 8): generator at 72 % of its core");
    whole.parts = shards.iter().map(|(shard, _)| sent_by(*shard, &format!("g{}", shard.number()))).collect();
    stamp_whole(&mut whole, &context(), &shards);
    assert_eq!(whole.reasons[0].value, "3 of 8 agents (g6, g7, g8): generator at 72 % of its core");
    whole.parts[7].wrong = Some("missing".to_owned());
    stamp_whole(&mut whole, &context(), &shards);
    let shares = whole.reasons.iter().find(|reason| reason.code == "SHARES").expect("a part is missing");
    assert_eq!(shares.value, "part 8/8 (g8) is missing");
}
