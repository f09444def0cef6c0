//! Whole runs in virtual time, with figures worked out by hand.

use std::time::Duration;

use super::*;
use crate::{
    measure::{Report, Window},
    plan::{Behaviour, FailureRule, Load, LoadPlan, Patience, Users},
};

fn with(mut plan: LoadPlan, behaviour: Behaviour) -> LoadPlan {
    if let Users::Url(users) = &mut plan.users {
        users.behaviour = behaviour;
    }
    plan
}

fn status(status: u16, after_ms: u64) -> Reaction {
    Reaction::Answer(Duration::from_millis(after_ms), Response { status, ..Response::default() })
}

fn ran(plan: &LoadPlan, mut service: impl FnMut(u64) -> Reaction) -> (Report, Vec<Window>) {
    let mut windows = Vec::new();
    let report = run(plan, |window| windows.push(window), |user, _, _| service(user)).expect("it runs");
    assert_eq!(report.faults, Vec::<String>::new());
    assert!(report.little.difference() < 1e-9, "{:?}", report.little);
    (report, windows)
}

#[test]
fn closed_users_ask_as_often_as_their_answers_allow() {
    // 10 users, each 100 ms thinking and 100 ms waiting, for 10 s: 5 requests a second each, 500 in all.
    let (report, windows) = ran(&url_plan(&[("steady", 10, 10)]), |_| status(200, 100));
    let phase = &report.phases[0];
    assert_eq!((phase.measured.planned, phase.measured.served, phase.measured.clients), (500, 500, 10));
    assert!((phase.measured.goodput_per_s - 50.0).abs() < 1e-9);
    assert!(phase.measured.response_time_ms.p50.is_some_and(|p50| (p50 - 100.0).abs() < 0.1));
    assert_eq!(windows.len(), 10);
    assert!(windows.iter().all(|w| (w.offered, w.sent) == (50, 50)), "{windows:?}");
}

#[test]
fn rejected_users_of_the_papers_come_back_after_five_seconds() {
    // At 0, 5 and 10 s; the phase ends at 12 s.
    let (report, _) = ran(&url_plan(&[("steady", 12, 4)]), |_| status(503, 0));
    let ledger = &report.total.measured;
    assert_eq!((ledger.planned, ledger.rejected, ledger.retries), (12, 12, 0));
    assert_eq!(report.total.measured.reject_fraction, 1.0);
}

#[test]
fn immediate_retries_multiply_the_load() {
    let behaviour = Behaviour { on_reject: FailureRule::RetryNow { attempts: 3 }, ..Behaviour::default() };
    let (report, _) = ran(&with(url_plan(&[("steady", 12, 4)]), behaviour), |_| status(503, 1));
    let ledger = &report.total.measured;
    assert_eq!(ledger.amplification(), Some(3.0));
    assert_eq!((ledger.first_attempts(), ledger.planned), (12, 36));
}

#[test]
fn impatient_users_reload_and_abandon() {
    let lasts = traces::Think::Constant(Duration::from_secs(2));
    let behaviour = Behaviour { patience: Some(Patience { lasts, reload: true }), ..Behaviour::default() };
    let (report, _) = ran(&with(url_plan(&[("steady", 9, 1)]), behaviour), |_| status(200, 3000));
    // Reloads at 0, 2, 4, 6 and 8 s; the last is given up at 10 s, while the run drains.
    let ledger = &report.total.measured;
    assert_eq!((ledger.planned, ledger.abandoned, ledger.retries), (5, 5, 4));
    assert_eq!(report.total.measured.response_time_ms.p50_at_least, None, "five are too few");
}

#[test]
fn silence_times_out_and_no_connection_is_counted_by_user() {
    let plan = url_plan(&[("steady", 30, 10)]);
    let report = run_where(&plan, |user| user >= 6, |_| {}, |_, _, _| Reaction::Silence).expect("it runs");
    let (ledger, phase) = (&report.total.measured, &report.phases[0]);
    // Without a connection: 10 s waiting and 5 s backing off, so at 0 and 15 s. Silence holds a user for 60 s, and the
    // run ends 10 s after its 30 s.
    assert_eq!((ledger.connect_failed, ledger.connect_timed_out), (12, 12));
    assert_eq!((ledger.sent, ledger.in_flight, ledger.timed_out), (4, 4, 0));
    assert_eq!((phase.measured.clients, phase.measured.clients_with_connect_timeout), (10, 0.6));
    assert!(phase.measured.response_time_ms.p50_at_least.is_some_and(|p50| (9_990.0..=10_000.0).contains(&p50)));
}

#[test]
fn a_spike_is_a_phase_of_its_own() {
    let (report, windows) =
        ran(&url_plan(&[("before", 5, 1), ("spike", 5, 100), ("after", 5, 1)]), |_| status(200, 100));
    let planned: Vec<u64> = report.phases.iter().map(|phase| phase.measured.planned).collect();
    // 5 a second each. Users that leave at 10 s do so in their request or pause: nothing begins after.
    assert_eq!(planned, [25, 2500, 25]);
    assert_eq!(windows.iter().map(|w| w.phase).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    assert_eq!(windows[7].users.total(), 100);
}

#[test]
fn open_users_come_whatever_the_service_does() {
    let mut plan = url_plan(&[("open", 10, 0)]);
    let law = crate::plan::ArrivalLaw::Constant;
    plan.phases[0].loads = vec![Load::Requests { from_per_s: 20.0, to_per_s: 20.0, law, class: controllers::Class(0) }];
    let (report, _) = ran(&plan, |_| status(200, 5000));
    let ledger = &report.total.measured;
    assert_eq!((ledger.planned, ledger.served, ledger.served_late), (200, 0, 200));
    assert_eq!((report.total.measured.goodput_per_s, report.total.measured.clients), (0.0, 200));
    // 20 a second, each 5 s: 100 in flight while the load lasts, over 15 s of which 10 have arrivals: 200 · 5 / 15.
    assert!((report.little.mean_in_flight - 1000.0 / report.seconds).abs() < 1e-9);
}

#[test]
fn background_connections_are_counted_apart_and_change_nothing_for_users() {
    use crate::background::BackgroundRole;
    let class = controllers::Class(0);
    let calm = url_plan(&[("first", 10, 3), ("last", 10, 3)]);
    let mut busy = calm.clone();
    let checker = BackgroundRole::Checker { every: Duration::from_secs(1), anew: true };
    let law = crate::plan::ArrivalLaw::Constant;
    busy.phases[1].loads.extend([
        Load::Present { from: 5, to: 5, role: BackgroundRole::Idle, class },
        Load::Present { from: 2, to: 2, role: checker, class },
        Load::Churn { from_per_s: 2.0, to_per_s: 2.0, law, ask: true, class },
    ]);
    let service = |call: &crate::persona::Call| {
        // Every other check is refused: nobody retries.
        let refused = &*call.path == "/health" && (call.wanted_at.as_nanos() / 1_000_000_000).is_multiple_of(2);
        status(if refused { 503 } else { 200 }, 50)
    };
    let ran = |plan| run(plan, |_| {}, |_, call, _| service(call)).expect("it runs");
    let (calm, busy) = (ran(&calm), ran(&busy));
    assert_eq!(busy.total.measured, calm.total.measured);
    assert_eq!((busy.total.measured.clients, busy.phases[0].beside), (3, crate::measure::BackgroundLedger::default()));
    let beside = busy.phases[1].beside;
    assert_eq!((beside.connections, beside.checks, beside.answered + beside.refused), (45, 40, 40));
    assert_eq!((beside.refused, beside.failed, beside.in_flight), (20, 0, 0));
}

#[test]
fn a_second_shows_what_the_users_own_policies_show() {
    use crate::plan::{ClientScope, ClientSpec};
    let objective = controllers::Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    let mut plan = url_plan(&[("steady", 20, 20)]);
    let none = ran(&plan, |_| status(503, 10)).1;
    assert!(none.iter().all(|window| window.client.is_none()), "nobody has one");
    plan.client = Some(ClientSpec {
        policy: "throttle".to_owned(),
        settings: controllers::Settings::new(),
        scope: ClientScope::Group(5),
        objective,
        renewed_in: Vec::new(),
    });
    let behaviour = Behaviour { on_reject: FailureRule::RetryNow { attempts: 1 }, ..Behaviour::default() };
    let (report, windows) = ran(&with(plan, behaviour), |_| status(503, 10));
    let last = windows.last().expect("there are seconds").client.as_ref().expect("they have one");
    assert_eq!(last.offered, last.let_go + last.refused);
    assert_eq!(last.refused, report.total.measured.refused_locally);
    assert!(last.refused > 0 && !last.policy.is_empty(), "{last:?}");
}

#[test]
fn one_seed_is_one_run() {
    let mut plan = url_plan(&[("ramp", 10, 0)]);
    plan.phases[0].loads = vec![Load::Users { from: 1, to: 40, class: controllers::Class(1) }];
    if let Users::Url(users) = &mut plan.users {
        users.think = traces::Think::Exponential { mean: Duration::from_millis(300) };
    }
    let windows = |plan: &LoadPlan| ran(plan, |_| status(200, 20)).1;
    let first = windows(&plan);
    assert_eq!(first, windows(&plan));
    plan.seed += 1;
    assert_ne!(first, windows(&plan));
}
