//! Users that first ask a client-side policy, with a plain agenda in place of a network.

mod holding;
mod told;

use std::{collections::BTreeMap, time::Duration};

use controllers::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Objective, Offer, Policy, Reason, Refusal, Seen, Settings,
    Verdict,
    catalogue::{EntryKind, Setting},
    testing::entry,
};

use super::*;
use crate::{
    client::Clients,
    host,
    measure::Measured,
    persona::{Answer, Call},
    plan::{Behaviour, ClientScope, ClientSpec},
};

const MS: Duration = Duration::from_millis(1);

/// `users` closed users for 10 s, who think 100 ms, and after trouble wait for `wait` and begin a new session.
fn plan(users: u32, wait: Duration) -> LoadPlan {
    let mut plan = url_plan(&[("all", 10, users)]);
    let again = FailureRule::Login { wait };
    behaviour(&mut plan, Behaviour { on_reject: again.clone(), on_failure: again, ..Behaviour::default() });
    plan
}

fn behaviour(plan: &mut LoadPlan, behaviour: Behaviour) {
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    users.behaviour = behaviour;
}

fn client(policy: &str, settings: &[(&str, f64)], scope: ClientScope) -> ClientSpec {
    let settings: Settings = settings.iter().map(|(key, value)| ((*key).to_owned(), Setting::Number(*value))).collect();
    let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    ClientSpec { policy: policy.to_owned(), settings, scope, objective, renewed_in: Vec::new() }
}

/// A service that takes this time and gives this answer.
type Service<'a> = &'a mut dyn FnMut(&Call, Timestamp) -> (Duration, Answer<'static>);

const OK: Answer<'static> = Answer::whole(200, &[], b"");

#[derive(Debug)]
struct Found {
    ledger: Measured,
    most_in_flight: usize,
    report: crate::measure::Report,
}

fn go(plan: &LoadPlan, service: Service<'_>) -> Found {
    run(plan, UserPool::new(plan, Crowd::new(plan).expect("users can be made"), None, true), service)
}

fn clients_of<J>(entry: &'static Entry, scope: ClientScope) -> Clients<J> {
    Clients::new(
        entry,
        entry.check(&Settings::new()).expect("no settings"),
        scope,
        client("none", &[], scope).objective,
        1,
    )
}

/// Users with a policy that is in no catalogue.
fn pool_with(entry: &'static Entry, scope: ClientScope, plan: &LoadPlan) -> UserPool<()> {
    let mut pool = UserPool::new(plan, Crowd::new(plan).expect("users can be made"), None, true);
    pool.gate = Some(Box::new(UserGate::with(clients_of(entry, scope), GateSettings::of(plan))));
    pool
}

fn go_with(entry: &'static Entry, scope: ClientScope, plan: &LoadPlan, service: Service<'_>) -> Found {
    run(plan, pool_with(entry, scope, plan), service)
}

fn run(plan: &LoadPlan, pool: UserPool<()>, service: Service<'_>) -> Found {
    run_at(plan, pool, |due| due, service)
}

/// `at`: the time at which the generator reaches the events that are due.
fn run_at(plan: &LoadPlan, mut pool: UserPool<()>, at: impl Fn(Timestamp) -> Timestamp, service: Service<'_>) -> Found {
    let (mut agenda, mut sequence, mut most_in_flight) = (BTreeMap::new(), 0_u64, 0);
    let mut begin = |mut user: Box<UserTask<()>>, now, pool: &mut UserPool<()>, agenda: &mut BTreeMap<_, _>| {
        let call = user.call().expect("a request").clone();
        user.begins(now);
        pool.books.number(&mut user);
        pool.books.sends(&mut user, now);
        let (takes, answer) = service(&call, now);
        sequence += 1;
        agenda.insert((now + takes, sequence), (user, answer));
        most_in_flight = most_in_flight.max(agenda.len());
    };
    let (mut now, mut turns) = (Timestamp::ZERO, 0);
    let end = Timestamp::from_secs(10) + plan.drain;
    while !pool.is_drained() {
        let next = agenda.first_key_value().map(|((at, _), _)| *at);
        let due = [next, pool.next_due().map(|due| at(due).max(now))].into_iter().flatten().min();
        let Some(due) = due.filter(|due| *due <= end) else { break };
        assert!(due >= now, "time goes back");
        turns = if due > now { 0 } else { turns + 1 };
        assert!(turns < 10_000, "time stands still at {now:?}");
        now = due;
        pool.advance(now);
        while let Some(user) = pool.take(now) {
            begin(user, now, &mut pool, &mut agenda);
        }
        if next == Some(now)
            && let Some((_, (user, answer))) = agenda.pop_first()
            && let Some(again) = pool.settle(user, host::ExchangeOutcome::answered(answer), now)
        {
            begin(again, now, &mut pool, &mut agenda);
        }
    }
    for (_, (user, _)) in agenda {
        pool.cut(user, now);
    }
    let report = pool.finish(now, Health::default());
    let ledger = report.total.measured.clone();
    assert_eq!((ledger.imbalance(), &report.faults), (None, &Vec::new()), "{ledger:?}");
    assert_eq!(ledger.planned, ledger.unsent + ledger.refused_locally + ledger.connect_failed + ledger.sent);
    Found { ledger, most_in_flight, report }
}

#[test]
fn a_scope_is_how_many_users_share_a_policy() {
    for (scope, most) in [(ClientScope::All, 1), (ClientScope::Group(4), 3), (ClientScope::User, 12)] {
        let mut plan = plan(12, 50 * MS);
        plan.client = Some(client("concurrency", &[("max", 1.0)], scope));
        let found = go(&plan, &mut |_, _| (80 * MS, OK));
        assert_eq!(found.most_in_flight, most, "{scope:?}");
        assert!(found.ledger.served > 300 * most as u64 / 12, "{scope:?} {:?}", found.ledger);
        assert_eq!(found.ledger.refused_locally > 0, scope != ClientScope::User, "{scope:?} {:?}", found.ledger);
        assert_eq!(found.ledger.sent, found.ledger.served, "{scope:?} {:?}", found.ledger);
    }
}

#[test]
fn a_new_user_takes_the_place_of_one_that_left() {
    // Open arrivals at 100/s that stay for 20 ms each: two or three at once, so a few groups do for all of them.
    let mut plan = plan(0, 50 * MS);
    let law = crate::plan::ArrivalLaw::Constant;
    plan.phases[0].loads = vec![Load::Requests { from_per_s: 100.0, to_per_s: 100.0, law, class: Class(0) }];
    plan.client = Some(client("concurrency", &[("max", 1.0)], ClientScope::Group(10)));
    let found = go(&plan, &mut |_, _| (25 * MS, OK));
    assert_eq!(found.most_in_flight, 1, "one group of ten places serves them all");
    assert!(found.ledger.refused_locally > 600, "{:?}", found.ledger);
}

/// The dispersion of arrivals at 100/s, of which a client-side policy releases 20 a second.
fn spread(at: impl Fn(Timestamp) -> Timestamp) -> crate::measure::Dispersion {
    let mut plan = plan(0, 50 * MS);
    behaviour(&mut plan, Behaviour { on_reject: FailureRule::Leave, ..Behaviour::default() });
    let law = crate::plan::ArrivalLaw::Poisson;
    plan.phases[0].loads = vec![Load::Requests { from_per_s: 100.0, to_per_s: 100.0, law, class: Class(0) }];
    plan.client = Some(client("fixed-rate", &[("rate", 20.0), ("depth", 1.0)], ClientScope::All));
    let pool = UserPool::new(&plan, Crowd::new(&plan).expect("users can be made"), None, true);
    let Found { ledger, report, .. } = run_at(&plan, pool, at, &mut |_, _| (10 * MS, OK));
    assert!(ledger.refused_locally > 3 * ledger.sent && ledger.sent > 100, "{ledger:?}");
    report.phases[0].arrivals.expect("they are independent")
}

#[test]
fn arrivals_that_the_client_gate_refuses_count_as_arrivals() {
    let found = spread(|due| due);
    // The index of 100 windows; the released ones come evenly, two in each.
    assert!((0.60..1.54).contains(&found.index) && (9.0..11.0).contains(&found.per_window), "{found:?}");
    // A generator that stands still for 2 s sends no arrivals, and then all of them.
    let (from, until) = (Timestamp::from_secs(3), Timestamp::from_secs(5));
    let found = spread(|due| if due > from && due < until { until } else { due });
    // One window of 200 among 100 with a mean of 10: 190² over 99 over 10, and the empty ones.
    assert!(found.index > 35.0, "{found:?}");
}

#[test]
fn users_that_come_back_at_once_do_not_stop_the_time() {
    let waits = [FailureRule::Login { wait: Duration::ZERO }, FailureRule::RetryNow { attempts: 100 }];
    for on_reject in waits {
        let mut plan = plan(3, Duration::ZERO);
        behaviour(&mut plan, Behaviour { on_reject: on_reject.clone(), ..Behaviour::default() });
        plan.client = Some(client("fixed-rate", &[("rate", 1.0), ("depth", 1.0)], ClientScope::All));
        let found = go(&plan, &mut |_, _| (10 * MS, OK));
        assert!(found.ledger.served <= 12 && found.ledger.served >= 2, "{on_reject:?} {:?}", found.ledger);
        assert!(found.ledger.refused_locally > 100, "{on_reject:?} {:?}", found.ledger);
    }
}

#[test]
fn a_local_refusal_is_tried_again_with_its_number_as_the_behaviour_says() {
    let mut plan = plan(1, Duration::ZERO);
    let on_reject = FailureRule::Backoff { base: 10 * MS, cap: 100 * MS, attempts: 3 };
    behaviour(&mut plan, Behaviour { on_reject, ..Behaviour::default() });
    plan.client = Some(client("fixed-rate", &[("rate", 0.01), ("depth", 1.0)], ClientScope::All));
    let found = go(&plan, &mut |_, _| (10 * MS, OK));
    // One is admitted; then three attempts at 0.11 s and after each 5 s that follow.
    let ledger = found.ledger;
    assert_eq!((ledger.served, ledger.refused_locally, ledger.retries), (1, 6, 4), "{ledger:?}");
}

#[test]
fn the_end_of_a_request_that_its_policy_does_not_know_is_in_the_generators_health() {
    let mut plan = plan(2, Duration::ZERO);
    plan.client = Some(client("none", &[], ClientScope::User));
    let mut pool: UserPool<()> = UserPool::new(&plan, Crowd::new(&plan).expect("users can be made"), None, true);
    let now = Timestamp::from_secs(1);
    let next = |pool: &mut UserPool<()>| {
        let mut user = pool.take(now).expect("it is due");
        user.begins(now);
        pool.books.sends(&mut user, now);
        user
    };
    pool.advance(now);
    let first = next(&mut pool);
    // The first user's policy is lost while its request is under way, and the second user gets a new one in its place.
    let gate = pool.gate.as_mut().expect("a policy");
    gate.part(first.client.as_ref().expect("its state"));
    let client = gate.join(1);
    pool.ready.iter_mut().for_each(|due| due.user.client.as_mut().expect("its state").member = client.member);
    let second = next(&mut pool);
    pool.settle(second, host::ExchangeOutcome::answered(OK), now);
    // A panic with debug assertions, which tests have.
    let settled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.settle(first, host::ExchangeOutcome::answered(OK), now);
    }));
    let health = pool.finish(now, Health::default()).generator.health;
    assert_eq!((settled.is_err(), health.contradictions), (cfg!(debug_assertions), 1));
}
