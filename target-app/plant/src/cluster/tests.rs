//! Services that call each other, with numbers worked by hand.

mod crash;
mod draws;
mod foresight;
mod platform;
mod subsets;

use std::time::Duration;

use controllers::{
    Criticality, Objective, Settings,
    catalogue::{PolicySpec, Setting},
};
use spec::{
    App, EmulatedSpec, ServiceTime, StageSpec, TargetSpec,
    autoscale::AutoscaleSpec,
    fault::{Fault, FaultKind},
    plant::PlantSpec,
    services::{CallLink, CallSpec, HostedService, ServiceSpec, Slow, TreeSpec, WhenRefused},
};
use workloads::{
    StopFlag,
    balance::{Balancer, Per},
    measure,
    plan::{ArrivalLaw, Behaviour, ClientPolicy, ClientScope, FailureRule, Load, LoadPlan, Phase, Users},
    sim::{LinkSpec, SimOutcome, run},
    testing::url_plan,
};

use super::*;
use crate::PlantPlan;

const OBJECTIVE: Objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };

fn policy(name: &str, settings: &[(&str, f64)]) -> PolicySpec {
    let settings: Settings = settings.iter().map(|&(key, value)| (key.to_owned(), value.into())).collect();
    PolicySpec { name: name.to_owned(), place: None, settings }
}

/// A service of one task with so many servers and workers, which takes so many milliseconds a request.
fn service(name: &str, millis: u64, servers: u32, calls: &[&str]) -> HostedService {
    let one = EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(millis)));
    let task = TargetSpec {
        stage_defaults: StageSpec { workers: servers, batch: 1, ..StageSpec::default() },
        seed: 5,
        ..TargetSpec::new(App::Emulated(EmulatedSpec { servers, ..one }), policy("none", &[]), OBJECTIVE)
    };
    let calls = calls.iter().map(|to| CallSpec::to(to)).collect();
    let spec = ServiceSpec { name: name.to_owned(), tasks: 1, calls, ..ServiceSpec::default() };
    HostedService { spec, task, costs: PlantSpec::default(), wire: spec::services::WireCosts::default() }
}

/// The same with other settings.
fn with(mut service: HostedService, change: impl FnOnce(&mut HostedService)) -> HostedService {
    change(&mut service);
    service
}

fn tree(services: Vec<HostedService>) -> TreeSpec {
    let entry = (None, services[0].name.clone());
    TreeSpec { services, entries: vec![entry], machines: Vec::new(), platform: None }
}

/// So many requests a second for so long, each from a user of its own, who does not ask again.
fn open_plan(per_s: f64, seconds: u64) -> LoadPlan {
    let mut plan = url_plan(&[("all", seconds, 1)]);
    plan.phases[0].loads =
        vec![Load::Requests { from_per_s: per_s, to_per_s: per_s, law: ArrivalLaw::Constant, class: Class(0) }];
    if let Users::Url(users) = &mut plan.users {
        users.behaviour =
            Behaviour { on_reject: FailureRule::Leave, on_failure: FailureRule::Leave, ..Behaviour::default() };
    }
    plan
}

/// Runs it with messages that take no time, and checks all books.
fn ran(plan: &LoadPlan, spec: &TreeSpec) -> (SimOutcome, Cluster) {
    ran_with(plan, spec, &PlantPlan::default())
}

fn ran_with(plan: &LoadPlan, spec: &TreeSpec, with: &PlantPlan) -> (SimOutcome, Cluster) {
    let mut cluster = Cluster::new(spec, with, Duration::ZERO, 7).expect("it can be");
    let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
    let finished = run(plan, link, &mut cluster, |_, _, _| {}, &StopFlag::new()).expect("it runs");
    assert_eq!(finished.report.faults, Vec::<String>::new());
    let books = cluster.books();
    let users: u64 = books.iter().map(|service| service.users_requests_read).sum();
    assert_eq!(users, finished.report.total.measured.written(), "users' requests");
    assert!(cluster.gauges(finished.ended).ledger.balances(), "{books:?}");
    for service in &books {
        assert!(service.balances() && service.calls.iter().all(measure::Calls::balances), "{service:?}");
        let written: u64 = books.iter().flat_map(|caller| &caller.calls).map(|calls| calls.written_to(service)).sum();
        assert_eq!(service.calls_read, written, "calls to {} made and read", service.name);
    }
    (finished, cluster)
}

fn mean_ms(finished: &SimOutcome) -> f64 {
    finished.report.phases[0].measured.response_time_ms.mean.expect("some were served")
}

fn read(cluster: &Cluster, name: &str) -> u64 {
    let books = cluster.books();
    let service = books.iter().find(|service| service.name == name).expect("is there");
    service.read_by_task.iter().sum()
}

#[test]
fn a_chain_takes_as_long_as_its_links_and_fan_out_as_its_longest() {
    // 10 requests a second never meet each other. 10 ms at the front, then 20 ms and 30 ms further down.
    let front = service("front", 10, 4, &["a", "b"]);
    let both = [service("a", 20, 1, &[]), service("b", 30, 1, &[])];
    let one_by_one = tree([vec![front.clone()], both.to_vec()].concat());
    let (finished, cluster) = ran(&open_plan(10.0, 10), &one_by_one);
    assert!((mean_ms(&finished) - 60.0).abs() < 0.1, "{}", mean_ms(&finished));
    assert_eq!((read(&cluster, "front"), read(&cluster, "a"), read(&cluster, "b")), (100, 100, 100));
    let at_once = tree([vec![with(front, |front| front.fan_out = true)], both.to_vec()].concat());
    assert!((mean_ms(&ran(&open_plan(10.0, 10), &at_once).0) - 40.0).abs() < 0.1);
    // A chain: 10 + 20 + 30.
    let chain = tree(vec![service("front", 10, 4, &["a"]), service("a", 20, 4, &["b"]), service("b", 30, 4, &[])]);
    assert!((mean_ms(&ran(&open_plan(10.0, 10), &chain).0) - 60.0).abs() < 0.1);
}

#[test]
fn a_request_visits_the_next_tier_with_its_probability() {
    // 10 ms at the front; none, one or two calls of 20 ms, each made with a probability of a half.
    let mut front = service("front", 10, 4, &["back"]);
    (front.calls[0].times, front.calls[0].probability) = (2, 0.5);
    let (finished, cluster) = ran(&open_plan(10.0, 100), &tree(vec![front, service("back", 20, 4, &[])]));
    // 2000 draws: four standard errors are 89.
    let made = read(&cluster, "back");
    assert!(made.abs_diff(1000) < 90, "{made}");
    assert!((mean_ms(&finished) - (10.0 + 0.02 * made as f64)).abs() < 0.1, "{}", mean_ms(&finished));
}

#[test]
fn a_message_takes_its_time_each_way_and_so_does_a_new_connection() {
    let spec = tree(vec![service("front", 10, 4, &["back"]), service("back", 20, 1, &[])]);
    let hop = Duration::from_millis(1);
    let mut cluster = Cluster::new(&spec, &PlantPlan::default(), hop, 7).expect("it can be");
    let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
    let finished = run(&open_plan(10.0, 10), link, &mut cluster, |_, _, _| {}, &StopFlag::new()).expect("it runs");
    let times = &finished.report.phases[0].measured.response_time_ms;
    // 10 + 20 + 2 ms; the first call connects as well: 2 ms more.
    assert!(times.p50.is_some_and(|p50| (p50 - 32.0).abs() < 0.1), "{times:?}");
    assert!(times.max.is_some_and(|max| (max - 34.0).abs() < 0.1), "{times:?}");
}

#[test]
fn a_service_may_override_how_important_its_calls_are_and_the_first_one_knows_the_defaults() {
    // Whatever is SHEDDABLE is refused by the last service while it is seen at work, and nothing else is.
    let flag = |name: &str, on| (name.to_owned(), Setting::Flag(on));
    let mut sheds = policy("utilization", &[("cpu_sheddable", 0.0), ("cpu_sheddable_plus", 1.0)]);
    sheds.settings.extend([("cpu_critical".to_owned(), 1.0.into()), ("cpu_critical_plus".to_owned(), 1.0.into())]);
    sheds.settings.extend([flag("load", false), flag("cpu", true)]);
    let refused = |change: fn(&mut TargetSpec), said: Option<Criticality>| {
        let mut services =
            vec![service("front", 1, 4, &["middle"]), service("middle", 1, 4, &["back"]), service("back", 20, 1, &[])];
        services[2].task.policy = sheds.clone();
        change(&mut services[0].task);
        let mut plan = open_plan(10.0, 10);
        plan.marks.criticality = said.map(|said| (Class(0), said)).into_iter().collect();
        ran(&plan, &tree(services)).0.report.total.measured.rejected
    };
    assert_eq!(refused(|_| {}, None), 0);
    let by_class = |task: &mut TargetSpec| task.criticality = [(Class(0), Criticality::Sheddable)].into();
    assert!(refused(by_class, None) > 30);
    assert_eq!(refused(by_class, Some(Criticality::Critical)), 0, "what a request says itself counts first");
    let overrides = |task: &mut TargetSpec| task.stage_defaults.criticality = Some(Criticality::Sheddable);
    assert!(refused(overrides, Some(Criticality::CriticalPlus)) > 30);
}

#[test]
fn a_fault_hits_all_services_or_the_one_that_it_names() {
    // 20 requests a second, 10 ms at the front and 20 ms at the back, never two at a time.
    let spec = tree(vec![service("front", 10, 4, &["back"]), service("back", 20, 4, &[])]);
    let slowest = |kind: FaultKind, hit: Option<&str>| {
        let (at, lasts) = (Duration::from_secs(1), Duration::from_secs(2));
        let faults = vec![Fault { at, lasts, kind, service: hit.map(str::to_owned), task: None }];
        let with = PlantPlan { faults, ..PlantPlan::default() };
        let mut cluster = Cluster::new(&spec, &with, Duration::ZERO, 7).map_err(|error| error.to_string())?;
        let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
        let finished = run(&open_plan(20.0, 4), link, &mut cluster, |_, _, _| {}, &StopFlag::new()).expect("it runs");
        Ok::<_, String>(
            finished.report.phases[0].measured.response_time_ms.max.expect("some were served").round() as u64
        )
    };
    let [front, back] = [Some("front"), Some("back")];
    let half = FaultKind::Capacity(0.5);
    assert_eq!([slowest(half, None), slowest(half, front), slowest(half, back)], [Ok(60), Ok(40), Ok(50)]);
    let late = FaultKind::Latency(Duration::from_millis(70));
    assert_eq!([slowest(late, None), slowest(late, front), slowest(late, back)], [Ok(170), Ok(100), Ok(100)]);
    // Who came at 0.975 s has 5 of its 20 ms to go when the back stands still.
    let pause = FaultKind::Capacity(0.0);
    assert_eq!(slowest(pause, back), Ok(2030));
    let unknown = slowest(half, Some("bakc"));
    assert_eq!(unknown, Err("services: a fault is to hit bakc, which does not exist".to_owned()));
}

#[test]
fn the_servers_of_a_slow_task_are_busy_for_as_long_as_they_take() {
    // 5 requests a second that take 100 ms there: half of its time, for a tenth of it elsewhere.
    let refused = |cpu: f64, speed: f64| {
        let mut back = service("back", 10, 1, &[]);
        back.slow = Some(Slow { tasks: 1, speed });
        back.task.policy = policy(
            "utilization",
            &[("cpu_sheddable", cpu), ("cpu_sheddable_plus", cpu), ("cpu_critical", cpu), ("cpu_critical_plus", cpu)],
        );
        let flags = [("load", false), ("cpu", true)].map(|(name, on)| (name.to_owned(), Setting::Flag(on)));
        back.task.policy.settings.extend(flags);
        ran(&open_plan(5.0, 10), &tree(vec![back])).0.report.total.measured.rejected
    };
    assert_eq!((refused(0.51, 0.1), refused(0.06, 1.0)), (0, 0));
    assert!(refused(0.49, 0.1) > 10 && refused(0.04, 1.0) > 10);
}

#[test]
fn a_balancer_refuses_what_is_beyond_its_cap_and_nobody_waits_longer_than_that() {
    // Two tasks can do 100 a second each, and are asked 200 times; the third of two that are there would wait.
    let back = with(service("back", 10, 1, &[]), |back| (back.tasks, back.cap) = (2, 2));
    let (finished, cluster) = ran(&open_plan(400.0, 10), &tree(vec![back.clone()]));
    let ledger = &finished.report.total.measured;
    assert_eq!(ledger.rejected + ledger.served, 4000);
    assert!((1990..=2010).contains(&ledger.served), "{ledger:?}");
    let longest = finished.report.phases[0].measured.response_time_ms.max.expect("some were served");
    assert!((19.9..20.1).contains(&longest), "one before it, of 10 ms: {longest}");
    let gauges = cluster.gauges(finished.ended);
    let row = gauges.stages.iter().find(|stage| stage.name == "back/balancer").expect("it is shown");
    assert_eq!((row.refused, gauges.ledger.refused["concurrency"]), (ledger.rejected, ledger.rejected));
    // Calls likewise: each caller counts its own.
    let front = service("front", 0, 64, &["back"]);
    let (finished, cluster) = ran(&open_plan(400.0, 10), &tree(vec![front, back.clone()]));
    let made = cluster.books().remove(0).calls.remove(0);
    assert_eq!(
        (made.refused, made.answered),
        (finished.report.total.measured.rejected, finished.report.total.measured.served)
    );
    assert!((1990..=2010).contains(&made.refused), "{made:?}");
    // Without a cap all are served in the end.
    let (finished, _) = ran(&open_plan(400.0, 10), &tree(vec![with(back, |back| back.cap = 0)]));
    assert_eq!(finished.report.total.measured.rejected, 0);
}

#[test]
fn a_called_service_does_no_work_that_no_caller_waits_for_if_it_is_told_not_to() {
    // Ten requests, one each 100 ms, whose calls take 200 ms on the one server and are waited for 450 ms.
    let ended = |drop_expired: bool| {
        let mut services = vec![service("front", 0, 64, &["back"]), service("back", 200, 1, &[])];
        services[0].calls[0].timeout = Duration::from_millis(450);
        services[1].task.stage_defaults.drop_expired = drop_expired;
        let mut plan = open_plan(10.0, 1);
        // Long enough for the work that nobody waits for.
        let after = Phase { name: "after".to_owned(), duration: Duration::from_secs(2), loads: Vec::new() };
        plan.phases.push(after);
        let (finished, cluster) = ran(&plan, &tree(services));
        let ledger = &finished.report.total.measured;
        let (made, worked) = (&cluster.books()[0].calls[0], cluster.gauges(finished.ended).cpu_s);
        assert_eq!((made.answered, made.failed, read(&cluster, "back")), (ledger.served, ledger.failed, 10));
        (ledger.served, (worked * 1e3).round() as u64)
    };
    // Turns come at 0.1, 0.3, 0.5 ... s. The fourth call ends too late, and those whose turn would come at 1.1, 1.3 and
    // 1.5 s have expired 50 ms before; the next one in the queue has its turn then.
    assert_eq!(ended(false), (3, 2000));
    assert_eq!(ended(true), (3, 1400));
}

/// Four services, the last of which refuses everything (no more than 0 jobs at once are let in after the first).
fn stack(attempts: u8, when_refused: WhenRefused) -> TreeSpec {
    let mut services = vec![
        service("a", 1, 64, &["b"]),
        service("b", 1, 64, &["c"]),
        service("c", 1, 64, &["d"]),
        service("d", 1, 1, &[]),
    ];
    for service in &mut services {
        for call in &mut service.calls {
            *call = CallSpec { attempts, when_refused, ..call.clone() };
        }
    }
    // One request that takes longer than the run fills the only place there is.
    services[3].task.policy = policy("concurrency", &[("max", 1.0)]);
    if let App::Emulated(emulated) = &mut services[3].task.app {
        emulated.service = ServiceTime::Constant(Duration::from_secs(3600));
    }
    tree(services)
}

#[test]
fn every_layer_that_retries_multiplies_by_its_attempts() {
    let (_, cluster) = ran(&open_plan(10.0, 10), &stack(3, WhenRefused::Overloaded));
    // The first of 100 requests waits in d for ever; the others are tried 3 × 3 × 3 times there.
    let counts = ["a", "b", "c", "d"].map(|name| read(&cluster, name));
    assert_eq!(counts, [100, 1 + 99 * 3, 1 + 99 * 9, 1 + 99 * 27]);
}

#[test]
fn with_the_rule_only_the_layer_right_above_retries() {
    let (finished, cluster) = ran(&open_plan(10.0, 10), &stack(3, WhenRefused::DontRetry));
    let counts = ["a", "b", "c", "d"].map(|name| read(&cluster, name));
    assert_eq!(counts, [100, 100, 100, 1 + 99 * 3]);
    assert_eq!(finished.report.total.measured.rejected, 99);
    // Not heeded, "don't retry" changes nothing.
    let mut deaf = stack(3, WhenRefused::DontRetry);
    deaf.services.iter_mut().flat_map(|service| &mut service.calls).for_each(|call| call.heed_dont_retry = false);
    assert_eq!(read(&ran(&open_plan(10.0, 10), &deaf).1, "d"), 1 + 99 * 27);
    // A service that answers with less leaves nothing to retry further up.
    let (finished, cluster) = ran(&open_plan(10.0, 10), &stack(3, WhenRefused::Degrade));
    assert_eq!((read(&cluster, "c"), read(&cluster, "d")), (100, 1 + 99 * 3));
    assert_eq!(finished.report.total.measured.rejected, 0);
}

#[test]
fn a_callers_own_policy_refuses_before_anything_is_sent() {
    let mut spec = stack(3, WhenRefused::DontRetry);
    let settings = [("attempts".to_owned(), 2.0.into()), ("per_client".to_owned(), false.into())].into();
    let client = ClientPolicy { policy: "retry-budget".to_owned(), settings, scope: ClientScope::All };
    spec.services[2].calls[0].client = Some(client);
    let (_, cluster) = ran(&open_plan(10.0, 10), &spec);
    let books = cluster.books();
    let made = &books[2].calls[0];
    // Two attempts are sent, the third is wanted and refused at home.
    assert_eq!((made.attempts, made.refused, made.refused_locally), (1 + 99 * 3, 99 * 2, 99));
    assert_eq!(read(&cluster, "d"), 1 + 99 * 2);
}

/// A service for 100 requests a second, which sheds by criticality as DAGOR does: 150 a second are SHEDDABLE, 50 CRITICAL_PLUS.
/// Who has heard its level on a reply refuses the former where that is cheaper. The client is the users' own, or the front's.
#[test]
fn what_dagor_tells_on_replies_is_refused_before_it_is_sent() {
    let settings = [("user_levels", 1.0)];
    let dagor = || {
        let settings = policy("dagor", &settings).settings;
        ClientPolicy { policy: "dagor".to_owned(), settings, scope: ClientScope::All }
    };
    let mut plan = open_plan(150.0, 20);
    plan.marks.criticality = [(Class(0), Criticality::Sheddable), (Class(1), Criticality::CriticalPlus)].into();
    plan.phases[0].loads.push(Load::Requests {
        from_per_s: 50.0,
        to_per_s: 50.0,
        law: ArrivalLaw::Constant,
        class: Class(1),
    });
    let back = || {
        let mut back = service("back", 10, 1, &[]);
        back.task.policy = policy("dagor", &settings);
        back
    };
    let refused_and_spared = |collaborates: bool, with_front: bool| {
        let mut plan = plan.clone();
        let client = collaborates.then(dagor);
        if !with_front {
            plan.client = client.and_then(|client| client.spec(OBJECTIVE, Vec::new()));
            let (finished, _) = ran(&plan, &tree(vec![back()]));
            let ledger = &finished.report.total.measured;
            return (ledger.rejected, ledger.refused_locally);
        }
        let mut front = service("front", 1, 64, &["back"]);
        front.calls[0].client = client;
        let (_, cluster) = ran(&plan, &tree(vec![front, back()]));
        let made = cluster.books().remove(0).calls.remove(0);
        (made.refused, made.refused_locally)
    };
    for with_front in [false, true] {
        let (alone, none) = refused_and_spared(false, with_front);
        let (refused, spared) = refused_and_spared(true, with_front);
        // Of 3000 SHEDDABLE ones at least a third are too many.
        assert!(alone > 1000 && none == 0, "{alone} refused, {none} spared");
        assert!(refused * 10 < alone && spared > 1000, "{refused} refused, {spared} spared, {alone} without");
    }
}

#[test]
fn what_takes_too_long_fails_and_is_told() {
    let mut spec = tree(vec![service("front", 1, 64, &["back"]), service("back", 500, 64, &[])]);
    spec.services[0].calls[0].timeout = Duration::from_millis(100);
    let (finished, cluster) = ran(&open_plan(10.0, 10), &spec);
    let ledger = &finished.report.total.measured;
    assert_eq!((ledger.failed, ledger.served), (100, 0), "{ledger:?}");
    let books = cluster.books();
    assert_eq!((books[0].calls[0].failed, books[1].callers_gone), (100, 100));
}

#[test]
fn tasks_share_requests_and_slow_ones_take_longer() {
    let mut back = service("back", 10, 4, &[]);
    back.tasks = 4;
    back.slow = Some(Slow { tasks: 1, speed: 0.1 });
    let (finished, cluster) = ran(&open_plan(10.0, 10), &tree(vec![back.clone()]));
    assert_eq!(cluster.books()[0].read_by_task, [25; 4], "one after the other");
    // A quarter takes 100 ms, the others 10.
    assert!((mean_ms(&finished) - (100.0 + 3.0 * 10.0) / 4.0).abs() < 0.1, "{}", mean_ms(&finished));
    // Requests come 10 ms apart: of two tasks, the slow one is asked only when it is free.
    back.balancer = Balancer::LeastLoaded;
    back.tasks = 2;
    let (_, cluster) = ran(&open_plan(100.0, 10), &tree(vec![back.clone()]));
    let books = cluster.books();
    let [slow, quick] = books[0].read_by_task[..] else { panic!("{books:?}") };
    assert!(slow < 120 && slow + quick == 1000, "{slow} {quick}");
    // Connections of users, each with one request.
    back.per = Per::Connection;
    back.balancer = Balancer::RoundRobin;
    assert_eq!(ran(&open_plan(10.0, 10), &tree(vec![back])).1.books()[0].read_by_task, [50, 50]);
}

#[test]
fn few_connections_carry_the_calls_of_many_users() {
    let mut proxy = service("proxy", 1, 64, &["back"]);
    proxy.calls[0].connections = 2;
    let mut back = service("back", 10, 8, &[]);
    back.costs.accept_ms = 2.0;
    let (_, cluster) = ran(&open_plan(100.0, 10), &tree(vec![proxy, back]));
    let read = &cluster.shown(&cluster.services[1], Timestamp::ZERO)[0].calls.read;
    assert!(read.connections_accepted <= 2 + 1, "{read:?}");
    assert_eq!(read.served, 1000);
}

#[test]
fn criticality_customer_attempt_and_deadline_are_carried_on() {
    let mut plan = open_plan(10.0, 10);
    plan.marks.criticality = [(Class(0), controllers::Criticality::Sheddable)].into();
    plan.marks.customer = [(Class(0), 7)].into();
    let mut spec =
        tree(vec![service("front", 1, 64, &["mid"]), service("mid", 1, 64, &["back"]), service("back", 50, 1, &[])]);
    spec.services[0].calls[0].timeout = Duration::from_millis(20);
    // A quota of nothing for customer 7: what comes to the back on its behalf is refused there.
    spec.services[2].task.policy = policy("quota", &[("default_limit", 0.0), ("reserve", 0.0)]);
    spec.services[2]
        .task
        .policy
        .settings
        .insert("limits".to_owned(), controllers::catalogue::Setting::Map([("8".to_owned(), 1.0.into())].into()));
    spec.services[2].task.policy.place = Some(controllers::Place::Stage);
    let (finished, _) = ran(&plan, &spec);
    assert!(finished.report.total.measured.rejected > 90, "{:?}", finished.report.total.measured);
    // Without the quota the first sender's 20 ms end the call of the second: the middle waits no longer than the front.
    spec.services[2].task.policy = policy("none", &[]);
    let (_, cluster) = ran(&plan, &spec);
    assert_eq!(cluster.books()[1].calls[0].failed, 100, "{:?}", cluster.books()[1].calls);
}

#[test]
fn limits_for_all_tasks_together_follow_where_a_customer_goes() {
    // Two tasks, round robin; customer 1 may use 0.2 CPUs of both together, and wants 1: 100 requests a second of 10 ms.
    let mut back = service("back", 10, 2, &[]);
    back.tasks = 2;
    let settings: Settings = [
        ("report_usage".to_owned(), true.into()),
        ("report_every".to_owned(), "1s".into()),
        ("default_limit".to_owned(), 1.0.into()),
    ]
    .into();
    back.task.policy = PolicySpec { name: "quota".to_owned(), place: Some(controllers::Place::Stage), settings };
    let mut plan = open_plan(100.0, 30);
    plan.marks.customer = [(Class(0), 1)].into();
    let free = tree(vec![back]);
    let served = |spec: &TreeSpec| ran(&plan, spec).0.report.total.measured.served;
    assert_eq!(served(&free), 3000, "each task allows a whole CPU");
    let server = PolicySpec {
        name: "quota-server".to_owned(),
        place: None,
        settings: [("default_limit".to_owned(), 0.2.into())].into(),
    };
    let limited = TreeSpec { machines: vec![server], ..free };
    // 20 a second once the quota has been pushed after two seconds or so, and what the accounts held before.
    let served = served(&limited);
    assert!((560..1000).contains(&served), "{served}");
}

#[test]
fn two_runs_are_equal_in_every_event() {
    let mut front = service("front", 2, 16, &["back"]);
    front.tasks = 3;
    front.balancer = Balancer::Random;
    let mut back = service("back", 10, 2, &[]);
    back.tasks = 2;
    back.task.policy = policy("queue-length", &[("max", 3.0)]);
    let spec = tree(vec![front, back]);
    let runs: Vec<_> = (0..2)
        .map(|_| {
            let (finished, cluster) = ran(&open_plan(700.0, 5), &spec);
            (finished.events, finished.report.total.measured, cluster.books())
        })
        .collect();
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0].1.rejected > 100, "{:?}", runs[0].1);
}

#[test]
fn services_that_do_not_fit_together_are_told() {
    let told = |services: Vec<HostedService>| {
        Cluster::new(&tree(services), &PlantPlan::default(), Duration::ZERO, 1).expect_err("it cannot be").to_string()
    };
    assert!(told(vec![service("a", 1, 1, &["b"])]).contains("calls b, which does not exist"));
    assert!(told(vec![service("a", 1, 1, &["a"])]).contains("must come after"));
    assert!(told(vec![service("a", 1, 1, &[]), service("a", 1, 1, &[])]).contains("two services called a"));
    assert!(told(vec![with(service("a", 1, 1, &[]), |a| a.tasks = 5000)]).contains("too many"));
}

#[test]
fn a_balancer_that_hears_of_utilization_sends_tasks_what_they_can_do() {
    // One of two tasks at a quarter of the speed: 25 and 100 requests a second. By turns the slow one has half of 60, and cannot do it; by
    // utilization a fifth, once both have reported, a second after the first answers.
    let read = |balancer| {
        let mut back = service("back", 10, 1, &[]);
        (back.tasks, back.balancer) = (2, balancer);
        back.slow = Some(Slow { tasks: 1, speed: 0.25 });
        let (finished, cluster) = ran(&open_plan(60.0, 21), &tree(vec![back]));
        (
            cluster.books()[0].read_by_task.clone(),
            finished.report.phases[0].measured.response_time_ms.max.expect("some"),
        )
    };
    let (by_turns, longest) = read(Balancer::RoundRobin);
    assert!(by_turns[0] == 630 && longest > 2000.0, "{by_turns:?} {longest}");
    let (heard, longest) = read(Balancer::Utilization);
    assert_eq!(heard.iter().sum::<u64>(), 1260);
    // 30 in the first second, and a fifth of the other 1200.
    assert!((255..=290).contains(&heard[0]) && longest < 500.0, "{heard:?} {longest}");
}

#[test]
fn a_link_of_its_own_delays_calls_and_their_answers() {
    let times = |jitter| {
        let mut services = vec![service("front", 0, 64, &["back"]), service("back", 10, 4, &[])];
        services[0].calls[0].link = Some(CallLink { delay: Duration::from_millis(40), jitter });
        ran(&open_plan(10.0, 10), &tree(services)).0.report.phases[0].measured.response_time_ms
    };
    // One request each 100 ms. Two need a connection first, 40 ms each way: 170 ms. The other 98 take 40 + 10 + 40.
    let found = times(Duration::ZERO);
    let (mean, max) = (found.mean.expect("all were served"), found.max.expect("all were served"));
    assert!((mean - 91.6).abs() < 0.1 && (max - 170.0).abs() < 0.2, "{found:?}");
    // Up to 10 ms more for the call and for its answer: 10 in the mean, with a standard deviation of 0.4.
    let mean = times(Duration::from_millis(10)).mean.expect("all were served");
    assert!((100.3..102.9).contains(&mean), "{mean}");
}

#[test]
fn a_task_that_fails_fast_takes_its_turns_and_the_requests_of_a_balancer_by_load() {
    let failed = |balancer| {
        let back = with(service("back", 10, 2, &[]), |back| (back.tasks, back.balancer) = (2, balancer));
        let (at, lasts) = (Duration::from_secs(2), Duration::from_secs(5));
        let fault = Fault { at, lasts, kind: FaultKind::Errors(1.0), service: Some("back".into()), task: Some(1) };
        let with = PlantPlan { faults: vec![fault], ..PlantPlan::default() };
        ran_with(&open_plan(320.0, 10), &tree(vec![back]), &with).0.report.total.measured.failed
    };
    // 1600 requests come in these 5 s, one each 3.125 ms. In turn half of them fail. By load task 0 gets one and then none for
    // its 10 ms: three of four fail.
    assert_eq!(failed(Balancer::RoundRobin), 800);
    let by_load = failed(Balancer::LeastLoaded);
    assert!((1197..=1202).contains(&by_load), "{by_load}");
}

#[test]
fn an_autoscaled_service_gets_a_task_after_its_start_and_gives_it_back() {
    let secs = Duration::from_secs;
    let autoscale = AutoscaleSpec {
        min: 1,
        first: 1,
        utilization: 0.8,
        tolerance: 0.1,
        period: secs(5),
        down: secs(10),
        start: secs(10),
    };
    let back = with(service("back", 10, 1, &[]), |back| {
        (back.tasks, back.autoscale) = (4, Some(autoscale));
        back.task.stage_defaults.queue = 10;
    });
    let mut plan = open_plan(150.0, 40);
    let found = |plan: &LoadPlan| {
        let (finished, cluster) = ran(plan, &tree(vec![back.clone()]));
        let rows = cluster.gauges(finished.ended).stages;
        let row = rows.into_iter().find(|row| row.name == "autoscaler/back").expect("it is shown");
        let gauges = ["tasks", "added", "removed"].map(|gauge| row.policy[gauge]);
        let absences = cluster.absences(finished.ended).into_iter();
        let of_second = absences.filter(|fault| fault.task == Some(1)).map(|fault| (fault.at, fault.at + fault.lasts));
        let whole = |(from, to): (Duration, Duration)| [from.as_secs(), to.as_secs()];
        (finished.report.total.measured.rejected, gauges, of_second.map(whole).collect::<Vec<_>>())
    };
    // One task does 100 of 150 a second. Its first measurement, at 10 s, is 1.0: ceil(1.0 / 0.8) are 2 from 20 s on, and their
    // 0.75 is near enough. Until then 50 a second are refused, but for those in the queue.
    let (rejected, gauges, second_is_away) = found(&plan);
    assert!((980..=1000).contains(&rejected), "{rejected}");
    assert_eq!((gauges, second_is_away), ([2.0, 1.0, 0.0], vec![[0, 20]]));
    // At 10 a second one is enough.
    let load = Load::Requests { from_per_s: 10.0, to_per_s: 10.0, law: ArrivalLaw::Constant, class: Class(0) };
    plan.phases.push(Phase { name: "calm".to_owned(), duration: secs(30), loads: vec![load] });
    let (_, gauges, second_is_away) = found(&plan);
    assert_eq!(gauges, [1.0, 1.0, 1.0]);
    // The look at 40 s is the last that asks for two: that holds for ten seconds, until the look at 50 s, and the next gives it up.
    assert_eq!(second_is_away, [[0, 20], [55, 70]]);
}
