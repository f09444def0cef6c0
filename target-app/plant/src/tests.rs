//! Plants with numbers worked by hand.

use std::time::Duration;

use controllers::{Settings, catalogue::PolicySpec, site::OnRefuse};
use spec::{
    App, EmulatedSpec, ServiceTime, StageSpec, TargetSpec,
    fault::{Fault, FaultKind},
    plant::PlantSpec,
    wire::Gauges,
};
use workloads::{
    StopFlag,
    background::BackgroundRole,
    plan::{ArrivalLaw, ConnectionHabit, Load, LoadPlan, Users},
    sim::{LinkSpec, SimOutcome, run},
    testing::url_plan,
};

use super::*;

mod crash;
mod draws;
mod generation;
mod oracle;
mod policing;
mod waiting_room;

pub(crate) use draws::agree;

fn policy(name: &str, settings: &[(&str, f64)]) -> PolicySpec {
    let settings: Settings = settings.iter().map(|&(key, value)| (key.to_owned(), value.into())).collect();
    PolicySpec { name: name.to_owned(), place: None, settings }
}

/// One server.
pub(crate) fn emulated(service: ServiceTime) -> App {
    App::Emulated(EmulatedSpec::one(service))
}

/// One server that takes 10 ms a request, behind a stage with one worker.
pub(crate) fn target(policy: PolicySpec) -> TargetSpec {
    let objective = controllers::Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    TargetSpec {
        stage_defaults: StageSpec { workers: 1, batch: 1, ..StageSpec::default() },
        seed: 5,
        ..TargetSpec::new(emulated(ServiceTime::Constant(Duration::from_millis(10))), policy, objective)
    }
}

fn ran(plan: &LoadPlan, spec: &TargetSpec, with: &PlantPlan) -> (SimOutcome, Gauges) {
    let mut plant = Plant::new(spec, with).expect("it can be");
    let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
    let finished = run(plan, link, &mut plant, |_, _, _| {}, &StopFlag::new()).expect("it runs");
    assert_eq!(finished.report.faults, Vec::<String>::new());
    let gauges = plant.gauges(finished.ended);
    assert!(gauges.ledger.balances(), "{:?}", gauges.ledger);
    assert_eq!(gauges.ledger.requests_read, finished.report.total.measured.written(), "read what was written");
    (finished, gauges)
}

#[test]
fn five_users_of_one_server_wait_for_each_other() {
    // 5 users, 100 ms of thought, 10 ms of work: first all at once (10, 20, … 50 ms), from then on each behind the one before,
    // never waiting: 110 ms a turn.
    let (finished, gauges) = ran(&url_plan(&[("all", 11, 5)]), &target(policy("none", &[])), &PlantPlan::default());
    let phase = &finished.report.phases[0];
    // User n (0 to 4) has its first answer at 10 (n + 1) ms, then one every 110 ms, starting 100 ms after each answer:
    // requests at 0 and 10 (n + 1) + 100 + 110 k up to 11 s, which is k up to 98 for every n: 100 in all.
    assert_eq!((phase.measured.planned, phase.measured.served), (500, 500));
    assert!(phase.measured.response_time_ms.p50.is_some_and(|p50| (p50 - 10.0).abs() < 0.1), "{phase:?}");
    // The fifth came 0.4 ms after the first: users of a step are planned 0.1 ms apart.
    assert!(phase.measured.response_time_ms.max.is_some_and(|max| (max - 49.6).abs() < 0.1), "{phase:?}");
    assert_eq!(gauges.cpu_s, 5.0);
    let work = gauges.stages.iter().find(|stage| stage.name == "work").expect("is there");
    assert_eq!((work.completed, work.idle, work.queue), (500, 1, 0));
}

#[test]
fn a_limit_on_concurrency_refuses_and_both_books_say_so() {
    // 3 users at once, one may be inside: the first is served, two are refused and back off for 5 s, and so on: they come back
    // together at 5 s, when the first asks at 110 k ms: at 4950 and 5060. At 5 s nobody is inside: one is served, one refused.
    let spec = target(policy("concurrency", &[("max", 1.0)]));
    let (finished, gauges) = ran(&url_plan(&[("all", 6, 3)]), &spec, &PlantPlan::default());
    let ledger = &finished.report.total.measured;
    assert_eq!(ledger.rejected, gauges.ledger.refused["concurrency"]);
    assert!(ledger.rejected >= 3, "{ledger:?}");
    assert_eq!(ledger.served, gauges.ledger.served);
}

#[test]
fn a_cheap_answer_in_place_of_a_refusal_is_marked_and_counted() {
    let mut spec = target(policy("none", &[]));
    spec.stage_defaults.queue = 1;
    let degraded = |spec: &TargetSpec| ran(&url_plan(&[("all", 5, 10)]), spec, &PlantPlan::default()).1.ledger.degraded;
    assert_eq!(degraded(&spec), 0);
    spec.stage_defaults.on_refuse = OnRefuse::Degrade;
    assert!(degraded(&spec) > 0);
}

#[test]
fn an_answer_for_which_less_was_done_is_marked_and_counted() {
    // Twenty users, each 100 ms after an answer, want more than the 100/s of the one server: they wait for longer than is promised.
    let mut spec = target(policy("degrade", &[]));
    spec.objective.response_time = Duration::from_millis(20);
    let degraded = |spec: &TargetSpec| ran(&url_plan(&[("all", 6, 20)]), spec, &PlantPlan::default()).1.ledger;
    assert_eq!(degraded(&spec).degraded, 0, "all of the work is done at any quality");
    spec.app = App::Emulated(EmulatedSpec {
        degradable: 0.5,
        ..EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(10)))
    });
    let found = degraded(&spec);
    assert!(found.degraded > 0 && found.degraded < found.served, "{found:?}");
}

#[test]
fn an_emulated_server_does_not_pay_for_the_wire() {
    let served = |costs: PlantSpec| {
        let with = PlantPlan { costs, ..PlantPlan::default() };
        let (finished, gauges) = ran(&url_plan(&[("all", 5, 3)]), &target(policy("none", &[])), &with);
        (finished.report.total.measured.response_time_ms, gauges.cpu_s)
    };
    let dear = PlantSpec { accept_ms: 5.0, read_ms: 5.0, refuse_ms: 5.0, ..PlantSpec::default() };
    assert_eq!(served(dear.clone()), served(PlantSpec::default()));
    // Unless the costs are meant for it: five requests are read in all (5 + 5 ms for the first of a connection).
    let with = PlantPlan { costs: dear, wire: true, ..PlantPlan::default() };
    let (finished, gauges) = ran(&url_plan(&[("all", 5, 1)]), &target(policy("none", &[])), &with);
    let served = finished.report.total.measured.served as f64;
    assert!((gauges.cpu_s - (served * 0.015 + 0.005)).abs() < 1e-9, "{}", gauges.cpu_s);
}

#[test]
fn a_pause_of_the_cores_is_waited_through_and_a_slow_second_doubles_the_work() {
    let fault = |at, lasts, kind| {
        let (at, lasts) = (Duration::from_millis(at), Duration::from_millis(lasts));
        Fault { at, lasts, kind, service: None, task: None }
    };
    let slowest = |faults: Vec<Fault>| {
        let with = PlantPlan { faults, ..PlantPlan::default() };
        let (finished, _) = ran(&url_plan(&[("all", 4, 1)]), &target(policy("none", &[])), &with);
        finished.report.phases[0].measured.response_time_ms.max.expect("some were served").round() as u64
    };
    assert_eq!(slowest(Vec::new()), 10);
    // Requests start at 110 k ms: that at 1100 has done 5 of its 10 ms when the cores stand still for 500.
    assert_eq!(slowest(vec![fault(1105, 500, FaultKind::Capacity(0.0))]), 510);
    assert_eq!(slowest(vec![fault(1000, 1000, FaultKind::Capacity(0.5))]), 20);
    assert_eq!(slowest(vec![fault(1000, 1000, FaultKind::Latency(Duration::from_millis(70)))]), 80);
    // From 0 to 1 in 2 s in steps of 20 ms: by 200 ms 10 ms of work are done.
    assert_eq!(slowest(vec![fault(1100, 2000, FaultKind::Ramp { from: 0.0, to: 1.0 })]), 200);
}

#[test]
fn an_error_is_answered_at_once_and_without_work() {
    let (at, lasts) = (Duration::from_millis(1050), Duration::from_secs(1));
    let faults = vec![
        Fault { at, lasts, kind: FaultKind::Errors(1.0), service: None, task: None },
        Fault { at, lasts, kind: FaultKind::Latency(lasts), service: None, task: None },
    ];
    let with = PlantPlan { faults, ..PlantPlan::default() };
    let (finished, gauges) = ran(&url_plan(&[("all", 4, 1)]), &target(policy("none", &[])), &with);
    // Requests at 110 k ms: ten are served, that at 1100 fails, and its user waits 5 s before the next.
    let found = &finished.report.phases[0].measured;
    assert_eq!((found.served, found.failed, found.sent), (10, 1, 11));
    assert!((gauges.cpu_s - 0.1).abs() < 1e-9, "{}", gauges.cpu_s);
}

#[test]
fn connections_over_the_limit_stay_in_the_kernel() {
    // 3 users, connections kept, one at a time taken, a backlog of 0 (Linux: one may wait): the first is served all along, the
    // second waits unread, the third's SYN is dropped until its connect time-out.
    let mut spec = target(policy("connections", &[("max", 1.0), ("backlog", 1.0)]));
    spec.edge.backlog = 1;
    let mut plan = url_plan(&[("all", 20, 4)]);
    if let Users::Url(users) = &mut plan.users {
        users.connections = ConnectionHabit::PerUser;
    }
    let mut plant = Plant::new(&spec, &PlantPlan::default()).expect("it can be");
    let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
    let finished = run(&plan, link, &mut plant, |_, _, _| {}, &StopFlag::new()).expect("it runs");
    let phase = &finished.report.phases[0];
    assert_eq!(
        (phase.measured.clients, phase.measured.clients_with_connect_timeout),
        (4, 0.25),
        "{:?}",
        phase.measured
    );
    let gauges = plant.gauges(finished.ended);
    assert!(gauges.ledger.balances());
    let written = finished.report.total.measured.written();
    assert!(gauges.ledger.requests_read < written, "{} of {written}", gauges.ledger.requests_read);
}

#[test]
fn two_plants_of_one_seed_agree_and_draws_do_not_depend_on_the_policy() {
    let mut plan = url_plan(&[("calm", 3, 2), ("busy", 10, 30)]);
    if let Users::Url(users) = &mut plan.users {
        users.think = traces::Think::Exponential { mean: Duration::from_millis(200) };
    }
    let mut spec = target(policy("seda", &[]));
    spec.app = emulated(ServiceTime::Exponential { mean: Duration::from_millis(10) });
    let run_once = |spec: &TargetSpec| {
        let (finished, gauges) = ran(&plan, spec, &PlantPlan::default());
        (finished.events, finished.ended, format!("{gauges:?}"), format!("{:?}", finished.report.total.measured))
    };
    let first = run_once(&spec);
    assert_eq!(first, run_once(&spec));
    spec.seed += 1;
    assert_ne!(first.2, run_once(&spec).2);
}

#[test]
fn connections_and_checks_are_paid_for_beside_requests() {
    let costs = PlantSpec { accept_ms: 2.0, read_ms: 1.0, check_ms: 3.0, ..PlantSpec::default() };
    let mut spec = target(policy("none", &[]));
    spec.edge.kept.idle_timeout = Duration::from_secs(60);
    let used_with = |idle_ms: f64, load: Load| {
        let mut plan = url_plan(&[("all", 10, 0)]);
        plan.phases[0].loads = vec![load];
        let costs = PlantSpec { idle_ms, ..costs.clone() };
        let (finished, gauges) = ran(&plan, &spec, &PlantPlan { costs, wire: true, ..PlantPlan::default() });
        let read = gauges.stages.iter().find(|stage| stage.name == "read").expect("it is there");
        (finished.report.total.beside, gauges.cpu_s * 1e3, read.counts["checks_us"])
    };
    let used = |load: Load| used_with(0.0, load);
    let class = controllers::Class(0);
    let present = |role| Load::Present { from: 4, to: 4, role, class };
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-6, "{found} for {wanted}");
    // Four are taken, 2 ms each, and then kept: 0.5 ms each a second, nine or ten times (the last second ends with the run).
    let (beside, cpu_ms, _) = used_with(0.5, present(BackgroundRole::Idle));
    assert_eq!((beside.connections, beside.checks), (4, 0));
    assert!((8.0 + 18.0 - 0.01..=8.0 + 20.0 + 0.01).contains(&cpu_ms), "{cpu_ms}");
    // Four checkers every 2 s, on connections that they keep: 4 ms a check, and 2 ms for each connection.
    let every = Duration::from_secs(2);
    let (beside, cpu_ms, checks_us) = used(present(BackgroundRole::Checker { every, anew: false }));
    assert_eq!((beside.connections, beside.checks, beside.answered), (4, 20, 20));
    close(cpu_ms, 4.0 * 20.0 + 2.0 * 4.0);
    assert_eq!(checks_us, 88_000);
    // On a new one each time.
    let (beside, cpu_ms, _) = used(present(BackgroundRole::Checker { every, anew: true }));
    assert_eq!((beside.connections, beside.checks), (20, 20));
    close(cpu_ms, 6.0 * 20.0);
    // Ten a second come and go, with and without a check.
    let churn = |ask| Load::Churn { from_per_s: 10.0, to_per_s: 10.0, law: ArrivalLaw::Constant, ask, class };
    let (beside, cpu_ms, _) = used(churn(false));
    assert_eq!((beside.connections, beside.checks), (100, 0));
    close(cpu_ms, 2.0 * 100.0);
    let (beside, cpu_ms, _) = used(churn(true));
    assert_eq!((beside.connections, beside.answered), (100, 100));
    close(cpu_ms, 6.0 * 100.0);
}

#[test]
fn a_check_inside_is_asked_like_a_request_and_policies_learn_nothing_from_it() {
    let mut spec = target(policy("fixed-rate", &[("rate", 1.0), ("depth", 1.0)]));
    spec.health = spec::HealthChecks::Inside;
    let mut plan = url_plan(&[("all", 10, 0)]);
    let role = BackgroundRole::Checker { every: Duration::from_millis(100), anew: false };
    plan.phases[0].loads = vec![Load::Present { from: 1, to: 1, role, class: controllers::Class(0) }];
    let (finished, gauges) = ran(&plan, &spec, &PlantPlan::default());
    let beside = finished.report.total.beside;
    assert!((9..=11).contains(&beside.answered), "one a second: {beside:?}");
    assert_eq!(beside.answered + beside.refused, beside.checks);
    assert_eq!((gauges.ledger.requests_read, gauges.ledger.checks), (0, beside.checks));
}

#[test]
fn the_queue_of_back_pressure_is_seen_at_dispatch() {
    let mut spec =
        TargetSpec { app: emulated(ServiceTime::Constant(Duration::from_secs(100))), ..target(policy("none", &[])) };
    let stage = StageSpec { queue: 1, on_refuse: OnRefuse::Block, ..spec.stage_defaults.clone() };
    spec.stages.insert("work".to_owned(), stage);
    let mut plant = Plant::new(&spec, &PlantPlan::default()).expect("it can be");
    let mut queues = Vec::new();
    let every_second = |_, plant: &mut Plant, now| {
        let rows = plant.gauges(now).stages;
        let row = |name: &str| rows.iter().find(|row| row.name == name).expect("a row").clone();
        queues.push((row("dispatch").queue, row("dispatch").idle, row("work").queue));
    };
    let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
    run(&url_plan(&[("all", 3, 10)]), link, &mut plant, every_second, &StopFlag::new()).expect("it runs");
    // Of ten requests: one in service, one in its queue, one with the only worker of dispatch, seven behind it.
    assert_eq!(queues[1], (7, 0, 1));
}

#[test]
fn open_connections_fill_the_memory() {
    let costs = PlantSpec { connection_kb: 100.0, memory_mb: 1.0, ..PlantSpec::default() };
    let flag = |name: &str, on| (name.to_owned(), controllers::catalogue::Setting::Flag(on));
    let mut by_memory = policy("utilization", &[]);
    by_memory.settings.extend([flag("load", false), flag("memory", true)]);
    let refused = |idle| {
        let mut plan = url_plan(&[("all", 10, 1)]);
        plan.phases[0].loads.push(Load::Present {
            from: idle,
            to: idle,
            role: BackgroundRole::Idle,
            class: controllers::Class(0),
        });
        let mut spec = target(by_memory.clone());
        spec.edge.kept.idle_timeout = Duration::from_secs(60);
        let (finished, _) = ran(&plan, &spec, &PlantPlan { costs: costs.clone(), ..PlantPlan::default() });
        finished.report.total.measured.rejected
    };
    // With the user's own, six and ten of ten: CRITICAL is refused over 90 %.
    assert_eq!(refused(5), 0);
    assert!(refused(9) > 0);
}
