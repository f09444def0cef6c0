//! Users that begin again at once after a request that failed at once.

use std::{sync::Arc, time::Duration};

use controllers::Kind;

use super::*;
use crate::{
    host::ExchangeEnd,
    mail::arashi,
    plan::{Account, ArrivalLaw, Behaviour, MailUsers, UrlUsers},
    replay::{Object, Pace, ReplaySession, ReplaySessions, ReplayStep, Texts},
};

const MS: Duration = Duration::from_millis(1);

/// For 100 s, users of one URL that begin again at once, whatever went wrong.
fn restless(seed: u64, load: Load) -> LoadPlan {
    let mut plan = url_plan(&[("all", 100, 1)]);
    plan.seed = seed;
    plan.phases[0].loads = vec![load];
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    users.think = traces::Think::Constant(Duration::ZERO);
    users.behaviour = Behaviour::on_any_failure(FailureRule::Login { wait: Duration::ZERO });
    plan
}

fn pool(plan: &LoadPlan) -> UserPool<()> {
    UserPool::new(plan, Crowd::new(plan).expect("users can be made"), None, false)
}

/// Ends the next user's request in this way, at once. Returns the time until a user is due.
fn ends(pool: &mut UserPool<()>, now: Timestamp, end: ExchangeEnd) -> Option<Duration> {
    let mut user = pool.take(now).expect("a user has a request");
    user.begins(now);
    if end != ExchangeEnd::ConnectFailed {
        pool.books.sends(&mut user, now);
    }
    assert!(pool.settle(user, end.without_answer(), now).is_none(), "it does not begin anew at one moment");
    pool.next_due().map(|due| due.since(now))
}

/// The pauses after this number of requests in a row that ended in this way.
fn pauses(seed: u64, end: ExchangeEnd, count: usize) -> Vec<Duration> {
    let mut pool = pool(&restless(seed, Load::users(1)));
    let mut now = Timestamp::ZERO;
    pool.advance(now);
    let mut next = || {
        let pause = ends(&mut pool, now, end).expect("it comes again");
        now = now + pause;
        pool.advance(now);
        pause
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn the_bound_of_the_pause_doubles_from_10_ms_to_a_second_and_the_pause_is_drawn_below_it() {
    for end in [ExchangeEnd::ConnectFailed, ExchangeEnd::Broken] {
        let runs: Vec<_> = (0..200).map(|seed| pauses(seed, end, 10)).collect();
        for nth in 0..10 {
            let bound = (10 * MS * (1 << nth)).min(1000 * MS);
            let of_all: Vec<_> = runs.iter().map(|pauses| pauses[nth]).collect();
            assert!(of_all.iter().all(|pause| (MS..=bound).contains(pause)), "{nth}: {of_all:?}");
            // Uniform draws: the mean of 200 is within a tenth of the bound from its half.
            let mean = of_all.iter().sum::<Duration>() / 200;
            assert!(mean > bound.mul_f64(0.4) && mean < bound.mul_f64(0.6), "{nth}: {mean:?} of {bound:?}");
        }
        assert_eq!(pauses(7, end, 10), runs[7], "drawn from the seed");
    }
}

const OK: Answer<'static> = Answer::whole(200, &[], b"");

/// A user whose eighth request in a row has found no connection, and who has just sent the ninth.
fn after_eight_failures() -> (UserPool<()>, Box<UserTask<()>>, Timestamp) {
    let mut pool = pool(&restless(1, Load::users(1)));
    let mut now = Timestamp::ZERO;
    pool.advance(now);
    for _ in 0..8 {
        now = now + ends(&mut pool, now, ExchangeEnd::ConnectFailed).expect("it comes again");
        pool.advance(now);
    }
    let mut user = pool.take(now).expect("it is due");
    pool.books.sends(&mut user, now);
    (pool, user, now)
}

#[test]
fn an_answer_ends_the_row_and_a_time_out_is_no_setback() {
    let (mut pool, user, now) = after_eight_failures();
    let again = pool.settle(user, ExchangeOutcome::answered(OK), now).expect("it begins anew at once");
    let again = pool.settle(again, ExchangeEnd::TimedOut.without_answer(), now).expect("and after a time-out, too");
    assert!(pool.settle(again, ExchangeEnd::ConnectFailed.without_answer(), now).is_none());
    let pause = pool.next_due().expect("it comes again").since(now);
    assert!(pause <= 10 * MS, "{pause:?}");
    let statuses = pool.finish(now, Health::default()).total.replies;
    assert_eq!((statuses.statuses, statuses.errors), ([(200, 1)].into(), [("no connection".to_owned(), 9)].into()));
}

#[test]
fn what_the_pause_takes_is_no_part_of_the_response_time() {
    let (mut pool, user, now) = after_eight_failures();
    pool.settle(user, ExchangeOutcome::answered(OK), now + 5 * MS);
    let report = pool.finish(now + 5 * MS, Health::default());
    let longest = report.total.measured.response_time_ms.max.expect("one was served");
    assert!((longest - 5.0).abs() < 0.01, "{longest}");
    assert_eq!(report.total.measured.served, 1, "and it was wanted only then");
}

#[test]
fn in_an_open_load_every_request_tries_at_its_time() {
    let law = ArrivalLaw::Constant;
    let plan = restless(1, Load::Requests { from_per_s: 100.0, to_per_s: 100.0, law, class: Class(0) });
    let mut pool = pool(&plan);
    let mut tried = 0;
    while let Some(now) = pool.next_due().filter(|due| *due < Timestamp::from_secs(1)) {
        pool.advance(now);
        while pool.ready() > 0 {
            ends(&mut pool, now, ExchangeEnd::ConnectFailed);
            tried += 1;
        }
    }
    assert_eq!(tried, 100);
    assert_eq!(pool.states().backing_off, 0);
}

const COUNT: u32 = 20;

/// Users by kind, reaction and load: [`COUNT`] of them within the first of ten seconds.
fn population(mail: bool, reaction: FailureRule, load: Load) -> LoadPlan {
    let mut plan = url_plan(&[("first", 1, 0), ("rest", 9, 0)]);
    plan.phases[0].loads = vec![load.clone()];
    // Users that stay otherwise leave at the end of the phase.
    plan.phases[1].loads = matches!(load, Load::Users { .. }).then_some(load).into_iter().collect();
    let behaviour = Behaviour::on_any_failure(reaction);
    let account = |n: u32| Account { user: format!("u{n}"), password: "p".into() };
    plan.users = if mail {
        Users::Mail(MailUsers { behaviour, ..MailUsers::new(arashi(), (0..COUNT).map(account).collect()) })
    } else {
        Users::Url(UrlUsers { behaviour, think: traces::Think::Constant(Duration::ZERO), ..UrlUsers::new("/") })
    };
    plan
}

fn recorded(pace: Pace) -> Load {
    let step = |n: u16| ReplayStep {
        kind: Kind(n.min(2)),
        at: 100 * MS * u32::from(n),
        pause: 100 * MS,
        object: Object { folder: None, message: 0 },
        texts: Texts::default(),
    };
    let steps: Arc<[ReplayStep]> = (0..6).map(step).collect();
    let session =
        |user| ReplaySession { at: MS * user, user, name: "joe".into(), class: Class(0), steps: steps.clone() };
    let sessions = ReplaySessions::listed("six steps each", (0..COUNT).map(session).collect());
    Load::Replay { sessions, pace, classes: vec![Class(0)] }
}

/// The times of requests in the plan's ten seconds, each of which ended in this way at once; of an endless loop, the
/// first 100 000.
fn tried(plan: &LoadPlan, end: ExchangeEnd) -> Vec<Timestamp> {
    let mut pool = pool(plan);
    let mut tried = Vec::new();
    while let Some(now) = pool.next_due().filter(|due| *due < Timestamp::from_secs(10)) {
        pool.advance(now);
        let mut next = pool.take(now);
        while let Some(mut user) = next {
            tried.push(now);
            assert!(tried.len() < 100_000, "a loop, at {now:?}");
            user.begins(now);
            if end != ExchangeEnd::ConnectFailed {
                pool.books.sends(&mut user, now);
            }
            next = pool.settle(user, end.without_answer(), now).or_else(|| pool.take(now));
        }
    }
    tried
}

#[test]
fn whoever_comes_and_however_they_try_again_a_dead_service_is_tried_a_few_times_a_second() {
    let of = f64::from(COUNT);
    let (law, class) = (ArrivalLaw::Constant, Class(0));
    let loads = [
        ("users", Load::users(COUNT)),
        ("sessions", Load::Sessions { from_per_s: of, to_per_s: of, law, class }),
        ("requests", Load::Requests { from_per_s: of, to_per_s: of, law, class }),
        ("recorded by the clock", recorded(Pace::Clock)),
        ("recorded by pauses", recorded(Pace::Sessions)),
    ];
    let backoff = |base, cap| FailureRule::Backoff { base, cap, attempts: 255 };
    let reactions = [
        FailureRule::Login { wait: Duration::ZERO },
        FailureRule::Login { wait: MS },
        FailureRule::RetryNow { attempts: 255 },
        backoff(MS, MS),
        backoff(Duration::ZERO, 5 * MS),
    ];
    for (name, load) in loads {
        for reaction in &reactions {
            for mail in [true, false] {
                let plan = population(mail, reaction.clone(), load.clone());
                for end in [ExchangeEnd::ConnectFailed, ExchangeEnd::Broken] {
                    let tried = tried(&plan, end).len();
                    // Bounds of 10, 20, 40 ... 1000 ms: about 7 attempts in the first second, and 2 in each after it.
                    let most = COUNT as usize * 40;
                    assert!(
                        (COUNT as usize..most).contains(&tried),
                        "{name}, mail {mail}, {reaction:?}, {end:?}: {tried} attempts"
                    );
                    let gives_up = !mail && load != Load::users(COUNT) || name == "requests";
                    let login = matches!(reaction, FailureRule::Login { .. });
                    assert!(tried > most / 4 || gives_up && login, "{name}, mail {mail}, {reaction:?}: {tried}");
                }
            }
        }
    }
}

#[test]
fn a_longer_wait_of_their_own_is_what_users_wait() {
    let plan = population(false, FailureRule::Login { wait: 4000 * MS }, Load::users(1));
    let tried = tried(&plan, ExchangeEnd::ConnectFailed);
    let first = tried[0];
    assert_eq!(tried, [first, first + 4000 * MS, first + 8000 * MS]);
}

#[test]
fn recorded_requests_try_once_at_their_times() {
    let plan = population(false, FailureRule::Login { wait: Duration::ZERO }, recorded(Pace::Clock));
    let mut times: Vec<Timestamp> =
        (0..COUNT).flat_map(|user| (0..6).map(move |n| Timestamp::ZERO + MS * user + 100 * MS * n)).collect();
    times.sort();
    assert_eq!(tried(&plan, ExchangeEnd::ConnectFailed), times);
}

#[test]
fn a_retry_keeps_the_moment_at_which_the_request_was_wanted() {
    let plan = population(false, FailureRule::RetryNow { attempts: 255 }, Load::users(1));
    let mut pool = pool(&plan);
    let start = pool.next_due().expect("a user comes");
    let mut now = start;
    for attempt in 0..8 {
        pool.advance(now);
        let mut user = pool.take(now).expect("it tries again");
        let call = user.call().expect("a request").clone();
        assert_eq!((call.attempt, call.wanted_at), (attempt, start));
        assert_eq!(user.at, now, "and what the pause takes is no lag of the sender's");
        user.begins(now);
        assert!(pool.settle(user, ExchangeEnd::ConnectFailed.without_answer(), now).is_none());
        now = pool.next_due().expect("it comes again");
    }
}
