use controllers::{Class, Timestamp};

use super::*;
use crate::{
    persona::{Answer, Purpose},
    plan::{ArrivalLaw, FailureRule, Load, LoadPlan, UrlRequest, Users},
    testing::url_plan,
};

mod gate;
mod overrides;
mod setback;

/// The first draws of the users of a class, in order of arrival.
fn draws(plan: &LoadPlan, class: u8) -> Vec<f64> {
    let mut pool: UserPool<()> = UserPool::new(plan, Crowd::new(plan).expect("users can be made"), None, false);
    pool.advance(Timestamp::from_secs(1));
    let users = std::iter::from_fn(|| pool.take(Timestamp::from_secs(1)));
    let of_class = users.filter(|user| user.call().is_some_and(|call| call.class == Class(class)));
    of_class.map(|user| user.draws.uniform(Purpose::Transition)).collect()
}

#[test]
fn one_more_class_does_not_shift_the_draws_of_another() {
    let mut plan = url_plan(&[("all", 10, 5)]);
    let alone = draws(&plan, 0);
    assert_eq!(alone.len(), 5);
    // They arrive in between, so that the users have other numbers.
    plan.phases[0].loads.insert(0, Load::Users { from: 3, to: 3, class: Class(1) });
    assert_eq!(draws(&plan, 1).len(), 3);
    assert_eq!(draws(&plan, 0), alone);
    plan.phases[0].loads.push(Load::Users { from: 3, to: 3, class: Class(2) });
    plan.phases[0].loads.reverse();
    assert_eq!(draws(&plan, 0), alone);
}

#[test]
fn a_redirect_that_is_written_again_on_a_new_connection_is_one_hop() {
    let plan = url_plan(&[("all", 10, 2)]);
    let mut pool: UserPool<()> = UserPool::new(&plan, Crowd::new(&plan).expect("users can be made"), None, true);
    let now = Timestamp::from_secs(1);
    pool.advance(now);
    let mut user = pool.take(now).expect("a user");
    assert_eq!(pool.books.number(&mut user), Some(0));
    pool.books.sends(&mut user, now);
    // The state in which `go_on` leaves a redirected user.
    let sending = user.in_flight_mut().expect("a request");
    sending.call.hop = 1;
    sending.written = false;
    assert_eq!(pool.books.number(&mut user), Some(1));
    pool.books.sends(&mut user, now);
    pool.books.sends(&mut user, now);
    pool.cut(user, now);
    let mut unconnected = pool.take(now).expect("another user");
    assert_eq!(pool.books.number(&mut unconnected), Some(2));
    pool.cut(unconnected, now);
    let report = pool.finish(now, Health::default());
    assert_eq!(report.faults, [""; 0]);
    assert_eq!((report.total.measured.sent, report.total.measured.hops), (1, 1));
    let numbers = report.numbers.expect("they were numbered");
    assert_eq!((numbers.given(), numbers.written()), (3, 2), "what found no connection was not written");
    assert_eq!(numbers.without_answer().expect("few").collect::<Vec<_>>(), [(1, Fate::InFlight)]);
}

#[test]
fn users_that_leave_by_themselves_are_forgotten() {
    // In every second 100 users arrive and all but one leave; after a reject a user leaves for good.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let phases = names.iter().enumerate().map(|(n, name)| (*name, 1, if n % 2 == 0 { 1 } else { 100 }));
    let mut plan = url_plan(&phases.collect::<Vec<_>>());
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    users.behaviour.on_reject = FailureRule::Leave;
    let mut pool: UserPool<()> = UserPool::new(&plan, Crowd::new(&plan).expect("users can be made"), None, false);
    let rejected = Answer::whole(503, &[], b"");
    for second in 0..11 {
        let now = Timestamp::from_secs(second);
        pool.advance(now + std::time::Duration::from_millis(500));
        while let Some(mut user) = pool.take(now) {
            pool.books.sends(&mut user, now);
            assert!(pool.settle(user, ExchangeOutcome::answered(rejected), now).is_none(), "it leaves");
        }
        assert_eq!(pool.population.counts(), (0, 0), "second {second}");
    }
    assert!(pool.schedule.next_due().is_some(), "the run is not over");
}

#[test]
fn nobody_arrives_any_more_once_a_run_of_open_load_is_stopped() {
    let mut plan = url_plan(&[("all", 10, 1)]);
    plan.phases[0].loads =
        vec![Load::Requests { from_per_s: 100.0, to_per_s: 100.0, law: ArrivalLaw::Constant, class: Class(0) }];
    let mut pool: UserPool<()> = UserPool::new(&plan, Crowd::new(&plan).expect("users can be made"), None, false);
    let arrived = |pool: &mut UserPool<()>, now| {
        pool.advance(now);
        std::iter::from_fn(|| pool.take(now)).count()
    };
    assert!(arrived(&mut pool, Timestamp::from_secs(1)) >= 99);
    pool.stop(Timestamp::from_secs(1));
    assert_eq!(arrived(&mut pool, Timestamp::from_secs(4)), 0);
}

#[test]
fn what_has_not_begun_when_as_long_again_has_passed_is_never_sent() {
    let mut plan = url_plan(&[("all", 2, 1)]);
    plan.phases[0].loads =
        vec![Load::Requests { from_per_s: 100.0, to_per_s: 100.0, law: ArrivalLaw::Constant, class: Class(0) }];
    let mut pool: UserPool<()> = UserPool::new(&plan, Crowd::new(&plan).expect("users can be made"), None, false);
    let [in_time, late] = [4000, 4001].map(Timestamp::from_millis);
    pool.advance(in_time);
    let begun = pool.take(in_time).expect("it is behind, and may be");
    assert!(!pool.has_given_up(in_time) && pool.has_given_up(late));
    assert!(pool.take(late).is_none());
    pool.cut(begun, late);
    let ledger = pool.finish(late, Health::default()).total.measured;
    assert_eq!((ledger.planned, ledger.unsent, ledger.sent), (200, 200, 0), "the first one was not written either");
}

#[test]
fn users_for_whom_there_is_no_room_are_counted_by_their_types_and_never_made() {
    let mut plan = url_plan(&[("all", 1, 1)]);
    let rate = 3.0 * MOST_WAITING as f64;
    plan.phases[0].loads =
        vec![Load::Requests { from_per_s: rate, to_per_s: rate, law: ArrivalLaw::Constant, class: Class(0) }];
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    let request = |name: &str, weight| UrlRequest {
        name: name.to_owned(),
        weight,
        method: "GET".to_owned(),
        path: format!("/{name}"),
        headers: Vec::new(),
        body: None,
    };
    users.requests = vec![request("common", 3.0), request("rare", 1.0)];
    let new = || UserPool::<()>::new(&plan, Crowd::new(&plan).expect("users can be made"), None, false);
    let (end, late) = (Timestamp::from_secs(1), Timestamp::from_secs(3));
    let of_types = |report: &Report| {
        let of = |name: &str| &report.total.by_type[name];
        [of("common"), of("rare")].map(|ledger| (ledger.planned, ledger.unsent))
    };

    // Each has its turn.
    let mut pool = new();
    while pool.next_due().is_some_and(|due| due <= end) {
        pool.advance(end);
        while let Some(user) = pool.take(end) {
            pool.cut(user, end);
        }
    }
    let all = of_types(&pool.finish(end, Health::default()));
    assert!(all[0].0 > 2 * all[1].0 && all[1].0 > MOST_WAITING as u64 / 2, "{all:?}");

    // None has: neither if the host looks for what is due, nor if it does not.
    for looks in [usize::MAX, 0, 3] {
        let mut pool = new();
        for _ in 0..looks {
            pool.advance(end);
            assert!(pool.ready() <= MOST_WAITING, "{} are kept", pool.ready());
            if pool.next_due().is_none_or(|due| due > end) {
                break;
            }
        }
        assert!(pool.has_given_up(late) && pool.take(late).is_none());
        let report = pool.finish(late, Health::default());
        assert_eq!(of_types(&report), all.map(|(planned, _)| (planned, planned)), "{looks} looks");
        assert_eq!(report.faults, [""; 0]);
    }
}

#[test]
fn a_schedule_faster_than_it_is_carried_out_leaves_the_host_its_turns() {
    let mut plan = url_plan(&[("all", 1, 1)]);
    plan.phases[0].loads =
        vec![Load::Requests { from_per_s: 1e7, to_per_s: 1e7, law: ArrivalLaw::Constant, class: Class(0) }];
    let mut pool: UserPool<()> = UserPool::new(&plan, Crowd::new(&plan).expect("users can be made"), None, false);
    pool.advance(Timestamp::from_secs(1));
    assert!((1..=AT_ONCE).contains(&pool.ready()), "{}", pool.ready());
    assert!(pool.next_due().is_some_and(|due| due < Timestamp::from_millis(10)), "the rest is due in the next turn");
}

#[test]
fn a_user_between_requests_takes_little_memory() {
    // Up to a hundred thousand of them wait.
    let bytes = size_of::<UserTask<()>>();
    assert!(bytes <= 512, "{bytes}");
}
