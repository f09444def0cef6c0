//! An operator's commands to a pool: spikes, shares of patience, and pauses, with a service that always takes 50 ms.

use std::time::Duration;

use controllers::Objective;

use super::*;
use crate::{
    host::{RequestDeadline, UserCommand},
    plan::{ArrivalLaw, ClientScope, ClientSpec, Patience},
    testing::url_plan,
};

const MS: Duration = Duration::from_millis(1);
const OK: Answer<'static> = Answer::whole(200, &[], b"");

/// A pool that runs in steps of a millisecond.
struct Play {
    pool: UserPool<()>,
    now: Timestamp,
    open: Vec<(Timestamp, Box<UserTask<()>>)>,
    /// Begun requests: their times and users.
    begun: Vec<(Timestamp, u64)>,
}

impl Play {
    fn of(plan: &LoadPlan) -> Self {
        let pool = UserPool::new(plan, Crowd::new(plan).expect("users can be made"), None, false);
        Self { pool, now: Timestamp::ZERO, open: Vec::new(), begun: Vec::new() }
    }

    fn give(&mut self, command: UserCommand) {
        self.pool.apply([command].into(), self.now);
    }

    fn until(&mut self, seconds: f64) {
        while self.now.as_secs_f64() < seconds {
            self.pool.advance(self.now);
            while let Some(user) = self.pool.take(self.now) {
                self.send(user);
            }
            let (done, open) = self.open.drain(..).partition(|(at, _)| *at <= self.now);
            self.open = open;
            for (_, user) in done {
                let outcome = ExchangeOutcome::answered(OK);
                if let Some(user) = self.pool.settle(user, outcome, self.now) {
                    self.send(user);
                }
            }
            self.now = self.now + MS;
        }
    }

    fn send(&mut self, mut user: Box<UserTask<()>>) {
        self.pool.books.sends(&mut user, self.now);
        self.begun.push((self.now, user.number));
        self.open.push((self.now + MS * 50, user));
    }

    /// The number of requests begun in this span of seconds.
    fn between(&self, from: f64, to: f64) -> usize {
        self.begun.iter().filter(|(at, _)| (from..to).contains(&at.as_secs_f64())).count()
    }

    fn users(&self) -> u64 {
        self.pool.states().total()
    }
}

#[test]
fn a_spike_comes_at_once_and_goes_after_its_time() {
    let mut play = Play::of(&url_plan(&[("all", 10, 2)]));
    play.until(2.0);
    assert_eq!(play.users(), 2);
    let before = play.between(1.0, 2.0);
    play.give(UserCommand::Spike { users: 30, stay: Duration::from_secs(3), class: Class(0) });
    play.until(3.0);
    assert_eq!(play.users(), 32);
    // Sixteen times the users, on a service without queues.
    let share = play.between(2.0, 3.0) as f64 / before as f64;
    assert!((14.0..=18.0).contains(&share), "{share}");
    // Each user first finishes its request or its pause.
    play.until(5.5);
    assert_eq!(play.users(), 2);
    play.until(10.5);
    assert!(play.pool.is_drained());
    let report = play.pool.finish(play.now, Health::default());
    assert_eq!(report.total.measured.imbalance(), None);
    assert_eq!(report.total.measured.clients, 32, "users asked for have numbers of their own");
}

#[test]
fn a_rest_is_in_nobodys_response_time_and_everybody_goes_on_as_they_were() {
    let mut play = Play::of(&url_plan(&[("all", 10, 20)]));
    play.until(2.0);
    play.give(UserCommand::Pause);
    // Requests under way end.
    play.until(2.1);
    assert!(play.open.is_empty());
    play.until(4.0);
    assert_eq!(play.between(2.001, 4.0), 0);
    assert_eq!(play.users(), 20);
    play.give(UserCommand::Resume);
    play.until(6.0);
    let (before, after) = (play.between(1.0, 2.0), play.between(5.0, 6.0));
    assert!(before.abs_diff(after) <= 2, "{before} and {after} a second");
    play.until(10.5);
    let report = play.pool.finish(play.now, Health::default());
    let slowest = report.total.measured.response_time_ms.max.expect("answers");
    assert!(slowest < 60.0, "{slowest} ms");
    assert_eq!((report.total.measured.imbalance(), report.generator.unsent), (None, 0));
}

#[test]
fn single_requests_do_not_arrive_in_a_rest() {
    let mut plan = url_plan(&[("all", 10, 0)]);
    let law = ArrivalLaw::Constant;
    plan.phases[0].loads = vec![Load::Requests { from_per_s: 50.0, to_per_s: 50.0, law, class: Class(0) }];
    let mut play = Play::of(&plan);
    play.until(2.0);
    play.give(UserCommand::Pause);
    play.until(4.0);
    play.give(UserCommand::Resume);
    play.until(10.5);
    assert_eq!((play.between(2.01, 4.0), play.between(5.0, 6.0)), (0, 50));
    // The suppressed ones do not arrive later all at once.
    assert!(play.between(4.0, 5.0) <= 51);
}

#[test]
fn the_end_of_the_plan_ends_a_rest_and_a_spike() {
    let mut play = Play::of(&url_plan(&[("all", 3, 5)]));
    play.until(1.0);
    play.give(UserCommand::Spike { users: 5, stay: Duration::from_secs(60), class: Class(0) });
    play.until(2.0);
    play.give(UserCommand::Pause);
    play.until(3.2);
    assert!(play.pool.is_over() && play.pool.is_drained());
    assert_eq!(play.users(), 0);
    // A command after the end has no effect.
    play.give(UserCommand::Spike { users: 5, stay: Duration::from_secs(1), class: Class(0) });
    play.until(4.0);
    assert_eq!(play.users(), 0);
}

#[test]
fn hurried_users_wait_for_a_share_of_what_was_planned() {
    let mut plan = url_plan(&[("all", 10, 1)]);
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    users.behaviour.patience =
        Some(Patience { lasts: traces::Think::Constant(Duration::from_secs(40)), reload: false });
    let mut play = Play::of(&plan);
    let limits = |play: &mut Play| {
        let user = loop {
            play.now = play.now + MS;
            play.pool.advance(play.now);
            if let Some(user) = play.pool.take(play.now) {
                break user;
            }
        };
        let call = user.call().expect("a request").clone();
        let deadline = RequestDeadline::of(plan.timeout, &call, user.at, user.patience_factor());
        let waits = deadline.at.since(user.at);
        play.send(user);
        play.until(play.now.as_secs_f64() + 0.06);
        waits
    };
    assert_eq!(limits(&mut play), Duration::from_secs(40));
    play.give(UserCommand::Patience(0.1));
    assert_eq!(limits(&mut play), Duration::from_secs(4));
    play.give(UserCommand::Patience(1.0));
    assert_eq!(limits(&mut play), Duration::from_secs(40));
}

#[test]
fn a_user_that_leaves_is_counted_as_gone() {
    let mut plan = url_plan(&[("all", 10, 4)]);
    let Users::Url(users) = &mut plan.users else { panic!("users of a URL") };
    users.behaviour.on_reject = FailureRule::Leave;
    let mut play = Play::of(&plan);
    play.until(1.0);
    assert_eq!(play.pool.states().gone, 0);
    let busy = Answer::whole(503, &[], b"");
    let (_, user) = loop {
        play.until(play.now.as_secs_f64() + 0.001);
        if let Some(open) = play.open.pop() {
            break open;
        }
    };
    let outcome = ExchangeOutcome::answered(busy);
    assert!(play.pool.settle(user, outcome, play.now).is_none());
    assert_eq!((play.pool.states().gone, play.users()), (1, 3));
    // The end of the plan is nobody's own wish.
    play.until(10.5);
    assert_eq!(play.pool.states().gone, 1);
}

/// The users' own policy from now on, one for all.
fn client(policy: &str, settings: &[(&str, f64)]) -> UserCommand {
    UserCommand::Client(ClientSpec {
        policy: policy.to_owned(),
        settings: settings.iter().map(|&(key, value)| (key.to_owned(), value.into())).collect(),
        scope: ClientScope::All,
        objective: Objective { percentile: 90.0, response_time: Duration::from_secs(1) },
        renewed_in: Vec::new(),
    })
}

#[test]
fn users_without_a_policy_get_one_and_are_rid_of_it_again() {
    let mut play = Play::of(&url_plan(&[("all", 10, 20)]));
    play.until(2.0);
    let before = play.between(1.0, 2.0);
    assert!(before > 100, "{before}");
    play.give(client("fixed-rate", &[("rate", 10.0), ("depth", 1.0)]));
    play.until(4.0);
    assert!((5..=12).contains(&play.between(3.0, 4.0)), "{}", play.between(3.0, 4.0));
    play.give(client("none", &[]));
    play.until(10.5);
    let after = play.between(7.0, 8.0);
    assert!(after * 4 > before * 3, "{after} {before}");
    assert!(play.pool.is_drained());
    let report = play.pool.finish(play.now, Health::default());
    assert_eq!(report.total.measured.imbalance(), None);
    assert!(report.total.measured.refused_locally > 0);
    assert_eq!(
        report.generator.health.contradictions, 0,
        "ends of requests from before the policy are none of its own"
    );
}

#[test]
fn users_cannot_be_given_a_policy_that_sits_in_a_service() {
    let error = client("seda", &[]).check().expect_err("in a stage").to_string();
    assert!(error.contains("client's side"), "{error}");
}
