//! Users that first ask a client-side policy, with a plain agenda in place of a network.

use std::{cell::RefCell, collections::BTreeMap, time::Duration};

use controllers::{
    Criticality, Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Note, Objective, Offer, Outcome, Place, Policy,
    Reason, Refusal, Seen, Settings, Verdict,
    catalogue::{EntryKind, Setting, Source},
};

use super::*;
use crate::{
    client::Clients,
    host,
    measure::Ledger,
    persona::{Answer, Call},
    plan::{Behaviour, ClientScope, ClientSpec, Marks, Patience},
};

/// Zero, as histograms show it.
const SMALLEST_MS: f64 = 0.001;
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

const OK: Answer<'static> = Answer { status: 200, headers: &[], body: b"" };
const BUSY: Answer<'static> = Answer { status: 503, headers: &[], body: b"" };
const NEVER: Answer<'static> = Answer { status: 503, headers: &[("X-Retry", b"never")], body: b"" };
const NOTED: Answer<'static> = Answer { status: 200, headers: &[("X-Note", b"18446744073709551615")], body: b"" };
const BUSY_AND_NOTED: Answer<'static> = Answer { status: 503, headers: &[("x-note", b"7")], body: b"" };
const NONSENSE: Answer<'static> = Answer { status: 200, headers: &[("X-Note", b"-1")], body: b"" };

#[derive(Debug)]
struct Found {
    ledger: Ledger,
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

/// Runs with a policy that is in no catalogue.
fn go_with(entry: &'static Entry, scope: ClientScope, plan: &LoadPlan, service: Service<'_>) -> Found {
    let mut pool = UserPool::new(plan, Crowd::new(plan).expect("users can be made"), None, true);
    let clients = clients_of(entry, scope);
    pool.gate = Some(Box::new(UserGate::with(clients, plan)));
    run(plan, pool, service)
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
            && let Some(again) = pool.settle(user, host::Outcome::answered(answer), now)
        {
            begin(again, now, &mut pool, &mut agenda);
        }
    }
    for (_, (user, _)) in agenda {
        pool.cut(user, now);
    }
    let report = pool.finish(now, Health::default());
    let ledger = report.total.ledger;
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
fn who_comes_takes_the_place_of_who_left() {
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
fn who_is_refused_at_the_door_has_come_all_the_same() {
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

/// Holds every request and releases one every 200 ms, in order; every fourth is refused instead.
#[derive(Debug, Default)]
struct Holding {
    waiting: Vec<JobId>,
    next: Option<Timestamp>,
    decided: u64,
}

const BEAT: Duration = Duration::from_millis(200);

impl Machine for Holding {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Left(gone) = seen {
            self.waiting.retain(|id| id != gone);
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.next
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.next = Some(cx.now + BEAT);
        if self.waiting.is_empty() {
            return;
        }
        let first = self.waiting.remove(0);
        self.decided += 1;
        cx.effects.push(if self.decided.is_multiple_of(4) {
            Effect::Refuse(first, Refusal::new(Reason::Rate))
        } else {
            Effect::Release(first, Grant::default())
        });
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Holding {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.next.get_or_insert(cx.now + BEAT);
        self.waiting.push(job.id);
        Verdict::Hold
    }
}

const fn entry(kind: EntryKind) -> Entry {
    Entry {
        name: "test",
        about: "",
        caution: "",
        source: Source { title: "", place: "" },
        deviations: &[],
        places: &[Place::Client],
        presets: &[],
        samples: &[],
        kind,
    }
}

static HOLDING: Entry = entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Holding>::default())));

#[test]
fn users_that_are_held_wait_for_their_turn_and_no_lateness_is_the_generators() {
    let found = go_with(&HOLDING, ClientScope::All, &plan(2, 50 * MS), &mut |_, _| (10 * MS, OK));
    // A user waits at each beat: 49 within the 10 s, and two that wait at the end; each fourth is refused.
    let ledger = found.ledger;
    assert_eq!((ledger.planned, ledger.served, ledger.refused_locally), (51, 39, 12), "{ledger:?}");
    let mean = found.report.total.response_time_ms.mean.expect("there are some");
    assert!((150.0..400.0).contains(&mean), "the wait is in the response time: {mean}");
    assert!(found.report.generator.send_lag_max_ms <= Some(SMALLEST_MS), "{:?}", found.report.generator);
}

#[test]
fn who_loses_patience_at_the_door_goes_and_is_forgotten() {
    let mut plan = plan(20, 50 * MS);
    let lasts = traces::Think::Constant(300 * MS);
    let patience = Some(Patience { lasts, reload: false });
    behaviour(&mut plan, Behaviour { patience, ..Behaviour::default() });
    let found = go_with(&HOLDING, ClientScope::All, &plan, &mut |_, _| (10 * MS, OK));
    // Two waves of 20, 5.3 s apart: in 300 ms one or two are released, and these send again on their own.
    let ledger = found.ledger;
    assert!((2..=12).contains(&ledger.served), "{ledger:?}");
    assert!((36..=44).contains(&ledger.refused_locally), "{ledger:?}");
    assert_eq!((ledger.unsent, ledger.abandoned), (0, 0), "{ledger:?}");
}

/// Sends every request back; the user may ask again at once.
#[derive(Debug, Default)]
struct Away;

impl Machine for Away {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Away {
    fn offer(&mut self, _: &Offer, _: &mut Ctx<'_>) -> Verdict {
        Verdict::ComeBack(Duration::ZERO)
    }
}

static AWAY: Entry = entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Away>::default())));

#[test]
fn who_is_sent_back_again_and_again_times_out() {
    let mut plan = plan(1, 50 * MS);
    plan.timeout = 200 * MS;
    let ledger = go_with(&AWAY, ClientScope::All, &plan, &mut |_, _| (10 * MS, OK)).ledger;
    // A round is 200 ms at the gate and 50 ms of waiting.
    assert_eq!((ledger.planned, ledger.refused_locally), (40, 40), "{ledger:?}");
}

/// Sends every request back once, for 30 ms.
#[derive(Debug, Default)]
struct Later {
    sent_back: bool,
}

impl Machine for Later {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Later {
    fn offer(&mut self, _: &Offer, _: &mut Ctx<'_>) -> Verdict {
        self.sent_back = !self.sent_back;
        if self.sent_back { Verdict::ComeBack(30 * MS) } else { Verdict::Admit(Grant::default()) }
    }
}

static LATER: Entry = entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Later>::default())));

#[test]
fn who_is_told_to_come_back_does_so_with_the_same_request() {
    let found = go_with(&LATER, ClientScope::User, &plan(1, 50 * MS), &mut |_, _| (10 * MS, OK));
    // A round is 30 ms at the gate, 10 ms at the service and 100 ms of thought.
    let ledger = found.ledger;
    assert_eq!((ledger.served, ledger.planned), (72, 72), "{ledger:?}");
    assert_eq!(found.report.total.response_time_ms.max, Some(40.0));
    assert!(found.report.generator.send_lag_max_ms <= Some(SMALLEST_MS), "{:?}", found.report.generator);
}

thread_local! {
    static SEEN: RefCell<Vec<(Offer, Option<Outcome>)>> = const { RefCell::new(Vec::new()) };
    static NOTES: RefCell<Vec<Option<Note>>> = const { RefCell::new(Vec::new()) };
}

/// Logs what it is told.
#[derive(Debug, Default)]
struct Scribe {
    offers: BTreeMap<JobId, Offer>,
}

impl Machine for Scribe {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Ended { id, outcome, note, .. } = seen {
            let offer = self.offers.remove(id).expect("it was let go");
            SEEN.with_borrow_mut(|seen| seen.push((offer, Some(*outcome))));
            NOTES.with_borrow_mut(|notes| notes.push(*note));
        }
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Scribe {
    fn offer(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Verdict {
        self.offers.insert(job.id, *job);
        Verdict::Admit(Grant::default())
    }
}

/// The outcome that a policy is told of a request.
fn told(end: host::End) -> Outcome {
    let plan = plan(1, 50 * MS);
    let mut pool = UserPool::<()>::new(&plan, Crowd::new(&plan).expect("users can be made"), None, true);
    let clients = clients_of(&SCRIBE, ClientScope::All);
    pool.gate = Some(Box::new(UserGate::with(clients, &plan)));
    pool.advance(Timestamp::ZERO);
    let mut user = pool.take(Timestamp::ZERO).expect("a user has a request");
    user.begins(Timestamp::ZERO);
    if !matches!(end, host::End::ConnectFailed | host::End::ConnectTimedOut) {
        pool.books.sends(&mut user, Timestamp::ZERO);
    }
    let _ = pool.settle(user, end.without_answer(), Timestamp::ZERO + MS);
    NOTES.take();
    SEEN.take()[0].1.expect("it ended")
}

#[test]
fn nobody_answered_is_told_apart_from_an_error_and_from_a_time_out() {
    for end in [host::End::ConnectFailed, host::End::ConnectTimedOut, host::End::Broken] {
        assert_eq!(told(end), Outcome::Unavailable, "{end:?}");
    }
    assert_eq!(told(host::End::TimedOut), Outcome::TimedOut);
    let mut failing = |_: &Call, _| (10 * MS, Answer { status: 500, headers: &[], body: b"" });
    let _ = go_with(&SCRIBE, ClientScope::All, &plan(1, 50 * MS), &mut failing);
    NOTES.take();
    assert_eq!(SEEN.take()[0].1, Some(Outcome::Failed), "an answer");
}

static SCRIBE: Entry = entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Scribe>::default())));

#[test]
fn a_policy_is_told_who_asks_and_how_it_ended() {
    let mut plan = plan(1, 50 * MS);
    plan.marks = Marks {
        criticality: [(Class(0), Criticality::Sheddable)].into(),
        customer: [(Class(0), 9)].into(),
        class_header: None,
    };
    let on_reject = FailureRule::RetryNow { attempts: 3 };
    behaviour(&mut plan, Behaviour { on_reject, ..Behaviour::default() });
    let mut answers = [BUSY, NEVER, OK].into_iter();
    let mut sent = Vec::new();
    let _ = go_with(&SCRIBE, ClientScope::All, &plan, &mut |call, now| {
        sent.push((call.attempt, now, call.headers.to_string()));
        (10 * MS, answers.next().unwrap_or(OK))
    });
    let seen = SEEN.take();
    let told: Vec<_> =
        seen.iter().take(3).map(|(offer, outcome)| (offer.tags.attempt, outcome.expect("it ended"))).collect();
    let expected =
        [(0, Outcome::Overloaded { retry: true }), (1, Outcome::Overloaded { retry: false }), (0, Outcome::Served)];
    assert_eq!(told, expected, "after X-Retry: never the user does not try the same again");
    let tags = seen[0].0.tags;
    assert_eq!((tags.criticality, tags.customer, tags.class), (Criticality::Sheddable, 9, Class(0)));
    assert_eq!(tags.deadline, Some(Timestamp::from_secs(60)));
    assert_eq!(sent[2].1, Timestamp::from_millis(5020), "it begins anew after the papers' wait");
    assert_eq!(sent[0].2, "X-Criticality: SHEDDABLE\r\nX-Customer: 9\r\n");
}

#[test]
fn a_policy_is_told_the_note_of_each_reply_and_of_no_other() {
    let plan = plan(1, 50 * MS);
    let mut answers = [NOTED, OK, BUSY_AND_NOTED, NONSENSE].into_iter();
    let _ = go_with(&SCRIBE, ClientScope::All, &plan, &mut |_, _| (10 * MS, answers.next().unwrap_or(OK)));
    let told: Vec<_> = NOTES.take().into_iter().take(5).collect();
    assert_eq!(told, [Some(Note(u64::MAX)), None, Some(Note(7)), None, None]);
}

/// Sends as long as it has credits, which replies grant; each request carries the number of refusals since the last.
#[derive(Debug)]
struct Credits {
    left: u64,
    wanted: u64,
}

impl Machine for Credits {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Ended { note: Some(Note(granted)), .. } = seen {
            self.left += granted;
        }
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Credits {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if self.left == 0 {
            self.wanted += 1;
            // Credits also come with time, so that a sender without any asks again.
            self.left = u64::from(self.wanted == 3);
            return Verdict::Refuse(Refusal::new(Reason::Throttled));
        }
        self.left -= 1;
        cx.effects.push(Effect::Annotate(job.id, Note(std::mem::take(&mut self.wanted))));
        Verdict::Admit(Grant::default())
    }
}

static CREDITS: Entry =
    entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::new(Credits { left: 1, wanted: 0 }))));

#[test]
fn demand_travels_up_with_requests_and_credits_down_with_replies() {
    const TWO: Answer<'static> = Answer { status: 200, headers: &[("X-Note", b"2")], body: b"" };
    let mut plan = plan(1, 50 * MS);
    let on_reject = FailureRule::RetryNow { attempts: 3 };
    behaviour(&mut plan, Behaviour { on_reject, ..Behaviour::default() });
    let mut answers = [TWO, BUSY].into_iter();
    let mut demand = Vec::new();
    let _ = go_with(&CREDITS, ClientScope::All, &plan, &mut |call, _| {
        let notes: Vec<_> = call.headers.lines().filter_map(|line| line.strip_prefix("x-note: ")).collect();
        assert_eq!(notes.len(), 1, "{:?}", call.headers);
        demand.push(notes[0].to_owned());
        (10 * MS, answers.next().unwrap_or(OK))
    });
    // One credit, and two more by the first reply, which a refusal and its retry use up; then three are refused before
    // one is sent.
    assert_eq!(demand[..4], ["0", "0", "0", "3"]);
}

#[test]
fn a_user_that_does_not_heed_tries_again_and_its_policy_is_told() {
    let mut plan = plan(1, 50 * MS);
    let on_reject = FailureRule::RetryNow { attempts: 3 };
    behaviour(&mut plan, Behaviour { on_reject, heed_dont_retry: false, ..Behaviour::default() });
    let mut answers = [BUSY, NEVER].into_iter();
    let _ = go_with(&SCRIBE, ClientScope::All, &plan, &mut |_, _| (10 * MS, answers.next().unwrap_or(OK)));
    let told = SEEN.take().into_iter().take(4).map(|(offer, _)| (offer.tags.attempt, offer.tags.told_not_to_retry));
    assert_eq!(told.collect::<Vec<_>>(), [(0, false), (1, false), (2, true), (0, false)]);
}

#[test]
fn a_phase_may_begin_with_a_policy_as_new() {
    let mut plan = url_plan(&[("calm", 5, 1), ("busy", 5, 1)]);
    let settings = [("rate", 0.01), ("depth", 1.0)];
    for (renewed_in, served) in [(Vec::new(), 1), (vec![1], 2)] {
        let client = client("fixed-rate", &settings, ClientScope::All);
        plan.client = Some(ClientSpec { renewed_in, ..client });
        let again = FailureRule::Login { wait: 500 * MS };
        behaviour(&mut plan, Behaviour { on_reject: again, ..Behaviour::default() });
        assert_eq!(go(&plan, &mut |_, _| (10 * MS, OK)).ledger.served, served);
    }
    // Held users ask the new policy, which releases none before its first beat.
    plan.client = Some(ClientSpec { renewed_in: vec![1], ..client("none", &[], ClientScope::All) });
    let mut pool = UserPool::new(&plan, Crowd::new(&plan).expect("users can be made"), None, true);
    let clients = clients_of(&HOLDING, ClientScope::All);
    pool.gate = Some(Box::new(UserGate::with(clients, &plan)));
    let ledger = run(&plan, pool, &mut |_, _| (10 * MS, OK)).ledger;
    assert!(ledger.served > 20 && ledger.unsent == 0, "{ledger:?}");
}

#[test]
fn what_never_got_through_the_door_by_the_end_is_not_unsent() {
    let mut plan = plan(5, 50 * MS);
    plan.drain = Duration::ZERO;
    static NOBODY: Entry = entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Shut>::default())));
    let found = go_with(&NOBODY, ClientScope::All, &plan, &mut |_, _| (10 * MS, OK));
    let ledger = found.ledger;
    assert_eq!((ledger.planned, ledger.refused_locally, ledger.unsent), (5, 5, 0), "{ledger:?}");
}

/// Holds for ever.
#[derive(Debug, Default)]
struct Shut;

impl Machine for Shut {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Shut {
    fn offer(&mut self, _: &Offer, _: &mut Ctx<'_>) -> Verdict {
        Verdict::Hold
    }
}
