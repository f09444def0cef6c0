//! Connections and links in virtual time, with figures worked out by hand. The behaviour of users is tested in
//! `testing`.

use std::{collections::VecDeque, time::Duration};

use super::*;
use crate::{
    StopFlag,
    measure::Window,
    plan::{ClientScope, ClientSpec, ConnectionHabit, LoadPlan, Users},
    testing::url_plan,
};

/// A service with a listen queue from which it takes a connection whenever fewer than `most` are open. It answers after
/// 10 ms, and logs all events.
#[derive(Debug)]
struct Listener {
    most: usize,
    backlog: usize,
    open: Vec<ConnId>,
    queue: VecDeque<(ConnId, Option<SimRequest>)>,
    log: Vec<String>,
    /// The header lines of each request.
    headers: Vec<String>,
    close_after: Option<u32>,
    /// The number of the request whose connection is closed in place of an answer, 10 ms after it was read.
    loses: Option<u32>,
    answered: u32,
}

impl Listener {
    fn new(most: usize, backlog: usize) -> Self {
        let (open, queue, log, headers) = (Vec::new(), VecDeque::new(), Vec::new(), Vec::new());
        Self { most, backlog, open, queue, log, headers, close_after: None, loses: None, answered: 0 }
    }

    fn note(&mut self, cx: &Cx<'_, SimRequest>, what: &str, conn: ConnId) {
        self.log.push(format!("{} {what} {}.{}", cx.now().as_nanos() / 1_000_000, conn.place, conn.generation));
    }

    fn accept(&mut self, cx: &mut Cx<'_, SimRequest>) {
        while self.open.len() < self.most
            && let Some((conn, asked)) = self.queue.pop_front()
        {
            self.open.push(conn);
            if let Some(asked) = asked {
                cx.plan(cx.now() + Duration::from_millis(10), asked);
            }
        }
    }
}

impl SimServer for Listener {
    type Event = SimRequest;

    fn begin(&mut self, _: &mut Cx<'_, SimRequest>) {}

    fn connect(&mut self, conn: ConnId, _: SimClient, cx: &mut Cx<'_, SimRequest>) -> SynResult {
        if self.queue.len() >= self.backlog && self.open.len() >= self.most {
            self.note(cx, "drops", conn);
            return SynResult::Dropped;
        }
        self.queue.push_back((conn, None));
        self.accept(cx);
        SynResult::Taken
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, SimRequest>) {
        self.note(cx, "is asked", asked.conn);
        self.headers.push(asked.call.headers.to_string());
        match self.queue.iter_mut().find(|(conn, _)| *conn == asked.conn) {
            Some((_, unread)) => *unread = Some(*asked),
            None => cx.plan(cx.now() + Duration::from_millis(10), *asked),
        }
    }

    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, SimRequest>) {
        self.note(cx, "loses", conn);
        self.open.retain(|open| *open != conn);
        self.queue.retain(|(waits, _)| *waits != conn);
        self.accept(cx);
    }

    fn happen(&mut self, asked: SimRequest, cx: &mut Cx<'_, SimRequest>) {
        self.answered += 1;
        if self.loses == Some(self.answered) {
            return cx.close(asked.conn);
        }
        cx.reply(asked.conn, Response { status: 200, ..Response::default() });
        if self.close_after == Some(self.answered) {
            cx.close(asked.conn);
        }
    }
}

fn still(delay_ms: u64) -> LinkSpec {
    LinkSpec { delay: Duration::from_millis(delay_ms), jitter: Duration::ZERO, ..LinkSpec::default() }
}

fn plan_of(seconds: u64, users: u32, habit: ConnectionHabit) -> LoadPlan {
    let mut plan = url_plan(&[("all", seconds, users)]);
    if let Users::Url(users) = &mut plan.users {
        users.connections = habit;
    }
    plan
}

fn ran(plan: &LoadPlan, link: LinkSpec, world: &mut Listener) -> (SimOutcome, Vec<Window>) {
    let mut windows = Vec::new();
    let finished = run(plan, link, world, |window, _, _| windows.push(window), &StopFlag::new()).expect("it runs");
    assert_eq!(finished.report.faults, Vec::<String>::new());
    (finished, windows)
}

#[test]
fn a_way_of_three_milliseconds_is_gone_four_times_for_a_first_request() {
    let mut world = Listener::new(10, 10);
    // SYN, its answer, the request, the reply: 12 ms, and 10 ms of work. The user then thinks for 100 ms.
    let (finished, _) = ran(&plan_of(1, 1, ConnectionHabit::PerRequest), still(3), &mut world);
    let phase = &finished.report.phases[0];
    let near = |found: Option<f64>, ms: f64| found.is_some_and(|found| (found - ms).abs() < 0.1);
    assert!(
        near(phase.measured.connect_time_ms.p50, 6.0) && near(phase.measured.response_time_ms.p50, 22.0),
        "{phase:?}"
    );
    // A cycle takes 122 ms: requests at 0, 122, …, 976 ms.
    assert_eq!(phase.measured.planned, 9);
    // The service learns of the closed connection 3 ms after the answer arrived.
    assert_eq!(world.log[..3], ["9 is asked 0.0", "25 loses 0.0", "131 is asked 0.1"]);
}

#[test]
fn a_kept_connection_saves_two_ways() {
    let mut world = Listener::new(10, 10);
    let (finished, _) = ran(&plan_of(1, 1, ConnectionHabit::PerUser), still(3), &mut world);
    // The first takes 22 ms, each further one 16: at 0, 122, 238, …, 238 + 6 · 116 = 934 ms.
    assert_eq!(finished.report.phases[0].measured.planned, 9);
    assert!(world.log.iter().all(|line| line.ends_with("0.0") && !line.contains("loses")), "one for the whole stay");
}

#[test]
fn a_full_listen_queue_costs_one_then_two_more_seconds() {
    let mut world = Listener::new(1, 1);
    // Three users at once. The first is taken and keeps its connection; the second waits unaccepted in the queue, its request
    // unread; the third's SYN is dropped at 0, 1, 3, 7 s, until its connect time-out of 10 s.
    let mut plan = plan_of(12, 3, ConnectionHabit::PerUser);
    plan.timeout = Duration::from_secs(60);
    let (finished, _) = ran(&plan, still(0), &mut world);
    let drops: Vec<_> = world.log.iter().filter(|line| line.contains("drops")).map(String::as_str).collect();
    assert_eq!(drops, ["0 drops 2.0", "1000 drops 2.0", "3000 drops 2.0", "7000 drops 2.0"]);
    let ledger = &finished.report.total.measured;
    assert_eq!(ledger.connect_timed_out, 1);
    assert_eq!(finished.report.phases[0].measured.clients_with_connect_timeout, 1.0 / 3.0);
    // Freed at the end of the phase, when the first user leaves: only then its request was read and answered.
    assert_eq!(ledger.in_flight, 0);
}

#[test]
fn the_time_out_of_a_request_does_not_end_a_later_one_on_the_same_connection() {
    let mut world = Listener::new(10, 10);
    let mut plan = plan_of(30, 5, ConnectionHabit::PerUser);
    plan.timeout = Duration::from_millis(105);
    let (finished, _) = ran(&plan, still(0), &mut world);
    // A cycle takes 110 ms, 10 of them the request: a time-out of 105 ms lies in the pause, one of 115 ms in the next
    // request.
    assert_eq!(finished.report.total.measured.timed_out, 0);
    plan.timeout = Duration::from_millis(115);
    let (finished, _) = ran(&plan, still(0), &mut Listener::new(10, 10));
    assert_eq!(finished.report.total.measured.timed_out, 0);
}

#[test]
fn a_connection_that_the_service_has_closed_is_opened_anew() {
    let mut world = Listener::new(10, 10);
    world.close_after = Some(2);
    let (finished, _) = ran(&plan_of(1, 1, ConnectionHabit::PerUser), still(0), &mut world);
    let ledger = &finished.report.total.measured;
    assert_eq!((ledger.resent, ledger.failed, ledger.served), (1, 0, ledger.sent));
}

#[test]
fn a_request_that_was_read_on_a_kept_connection_is_not_sent_again() {
    let mut world = Listener::new(10, 10);
    world.loses = Some(3);
    let (finished, _) = ran(&plan_of(1, 1, ConnectionHabit::PerUser), still(0), &mut world);
    let (ledger, read) = (&finished.report.total.measured, world.headers.len() as u64);
    assert_eq!((ledger.failed, ledger.resent, ledger.sent, ledger.planned), (1, 0, read, read));
    assert_eq!(finished.report.total.measured.response_time_ms.censored, 1);
}

#[test]
fn two_runs_agree_in_every_event_and_another_seed_does_not() {
    let mut plan = plan_of(20, 30, ConnectionHabit::PerRequest);
    if let Users::Url(users) = &mut plan.users {
        users.think = traces::Think::Exponential { mean: Duration::from_millis(300) };
    }
    let link = LinkSpec {
        delay: Duration::from_millis(2),
        jitter: Duration::from_millis(5),
        loss: 0.02,
        ..LinkSpec::default()
    };
    let run_once = |plan: &LoadPlan| {
        let mut world = Listener::new(8, 4);
        let (finished, windows) = ran(plan, link, &mut world);
        (world.log, windows, finished.events, finished.ended, finished.digest)
    };
    let first = run_once(&plan);
    assert_eq!(first, run_once(&plan));
    plan.seed += 1;
    let other = run_once(&plan);
    assert!(first.0 != other.0 && first.4 != other.4, "another seed");
}

#[test]
fn the_digest_sees_one_event_more_and_one_nanosecond() {
    let digest = |delay: Duration, users| {
        let plan = plan_of(2, users, ConnectionHabit::PerUser);
        let link = LinkSpec { delay, jitter: Duration::ZERO, ..LinkSpec::default() };
        ran(&plan, link, &mut Listener::new(10, 10)).0.digest
    };
    let first = digest(Duration::from_millis(1), 3);
    assert_eq!(first, digest(Duration::from_millis(1), 3));
    assert_ne!(first, digest(Duration::from_nanos(1_000_001), 3));
    assert_ne!(first, digest(Duration::from_millis(1), 4));
}

#[test]
fn the_digest_sees_which_of_its_own_events_a_world_met() {
    /// Schedules one event for the first second, which has no effect.
    struct Idle(ConnId);
    impl SimServer for Idle {
        type Event = ConnId;
        fn begin(&mut self, cx: &mut Cx<'_, ConnId>) {
            cx.plan(cx.now() + Duration::from_secs(1), self.0);
        }
        fn connect(&mut self, _: ConnId, _: SimClient, _: &mut Cx<'_, ConnId>) -> SynResult {
            SynResult::Taken
        }
        fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, ConnId>) {
            cx.reply(asked.conn, Response { status: 200, ..Response::default() });
        }
        fn hang_up(&mut self, _: ConnId, _: &mut Cx<'_, ConnId>) {}
        fn happen(&mut self, _: ConnId, _: &mut Cx<'_, ConnId>) {}
    }
    let plan = plan_of(2, 1, ConnectionHabit::PerUser);
    let met = |place| {
        let mut world = Idle(ConnId { place, generation: 0 });
        let finished = run(&plan, still(1), &mut world, |_, _, _| {}, &StopFlag::new()).expect("it runs");
        (finished.events, finished.digest)
    };
    let (one, other) = (met(1), met(2));
    assert_eq!((one, one.0), (met(1), other.0));
    assert_ne!(one.1, other.1);
}

#[test]
fn a_request_has_the_same_key_whatever_the_service_does() {
    #[derive(Debug, Default)]
    struct Keys {
        reject: bool,
        seen: Vec<(u64, u64)>,
    }
    impl SimServer for Keys {
        type Event = ();
        fn begin(&mut self, _: &mut Cx<'_, ()>) {}
        fn connect(&mut self, _: ConnId, _: SimClient, _: &mut Cx<'_, ()>) -> SynResult {
            SynResult::Taken
        }
        fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, ()>) {
            self.seen.push((asked.user, asked.key));
            let status = if self.reject && asked.user.is_multiple_of(2) { 503 } else { 200 };
            cx.reply(asked.conn, Response { status, ..Response::default() });
        }
        fn hang_up(&mut self, _: ConnId, _: &mut Cx<'_, ()>) {}
        fn happen(&mut self, (): (), _: &mut Cx<'_, ()>) {}
    }
    let plan = plan_of(20, 4, ConnectionHabit::PerUser);
    let keys = |reject| {
        let mut world = Keys { reject, seen: Vec::new() };
        run(&plan, still(0), &mut world, |_, _, _| {}, &StopFlag::new()).expect("it runs");
        (0..4).map(|user| world.seen.iter().filter(|(who, _)| *who == user).map(|(_, key)| *key).collect()).collect()
    };
    let (all, some): (Vec<Vec<u64>>, Vec<Vec<u64>>) = (keys(false), keys(true));
    for user in 0..4 {
        assert!(some[user].len() >= 4, "{}", some[user].len());
        assert!(all[user].starts_with(&some[user]), "user {user}");
    }
}

#[test]
fn users_have_a_policy_of_their_own_here_as_well() {
    let mut plan = plan_of(10, 6, ConnectionHabit::PerUser);
    let objective = controllers::Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    let settings = [("max".to_owned(), 1.0.into())].into();
    let policy = "concurrency".to_owned();
    plan.client =
        Some(ClientSpec { policy, settings, scope: ClientScope::Group(3), objective, renewed_in: Vec::new() });
    let (finished, _) = ran(&plan, still(1), &mut Listener::new(10, 10));
    // All come at once, and one of three is admitted. The other four are refused at 0 s and come again at 5 s.
    let ledger = &finished.report.total.measured;
    assert_eq!(ledger.imbalance(), None, "{ledger:?}");
    assert_eq!((ledger.planned, ledger.unsent), (ledger.refused_locally + ledger.sent, 0), "{ledger:?}");
    assert!((4..=10).contains(&ledger.refused_locally), "{ledger:?}");
    assert!(ledger.served > 150 && ledger.served == ledger.sent, "{ledger:?}");
}

#[test]
fn a_policy_of_the_users_own_sees_the_hours_go_by() {
    // Each half hour a user asks, whose level of importance by DAGOR is another one in each hour.
    let mut plan = plan_of(3 * 3600, 1, ConnectionHabit::PerRequest);
    if let Users::Url(users) = &mut plan.users {
        users.think = traces::Think::Constant(Duration::from_secs(1800));
    }
    plan.client = Some(ClientSpec {
        policy: "dagor".to_owned(),
        settings: controllers::Settings::new(),
        scope: ClientScope::All,
        objective: controllers::Objective { percentile: 90.0, response_time: Duration::from_secs(1) },
        renewed_in: Vec::new(),
    });
    let mut world = Listener::new(10, 10);
    ran(&plan, still(3), &mut world);
    let notes = &world.headers[..6];
    assert!(notes.iter().all(|note| note.contains("x-note: ")), "{notes:?}");
    let by_hour = [[&notes[0], &notes[1]], [&notes[2], &notes[3]], [&notes[4], &notes[5]]];
    assert!(by_hour.iter().all(|[first, second]| first == second), "{notes:?}");
    assert!(notes[0] != notes[2] && notes[2] != notes[4], "{notes:?}");
}
