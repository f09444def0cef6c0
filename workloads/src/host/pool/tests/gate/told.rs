//! What policies are told of requests and of their ends.

use std::cell::RefCell;

use controllers::{Criticality, Note, Outcome, UnixSeconds};

use super::*;
use crate::plan::Marks;

const BUSY: Answer<'static> = Answer::whole(503, &[], b"");
const NEVER: Answer<'static> = Answer::whole(503, &[("X-Retry", b"never")], b"");
const NOTED: Answer<'static> = Answer::whole(200, &[("X-Note", b"18446744073709551615")], b"");
const BUSY_AND_NOTED: Answer<'static> = Answer::whole(503, &[("x-note", b"7")], b"");
const NONSENSE: Answer<'static> = Answer::whole(200, &[("X-Note", b"-1")], b"");

thread_local! {
    static SEEN: RefCell<Vec<(Offer, Option<Outcome>)>> = const { RefCell::new(Vec::new()) };
    static NOTES: RefCell<Vec<Option<Note>>> = const { RefCell::new(Vec::new()) };
    static WALLS: RefCell<Vec<UnixSeconds>> = const { RefCell::new(Vec::new()) };
}

/// Writes down what it is told.
#[derive(Debug, Default)]
struct Scribe {
    offers: BTreeMap<JobId, Offer>,
}

impl Machine for Scribe {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        WALLS.with_borrow_mut(|walls| walls.push(cx.wall));
        if let Seen::Ended { id, outcome, note, .. } = seen {
            let offer = self.offers.remove(id).expect("it was let go");
            SEEN.with_borrow_mut(|seen| seen.push((offer, Some(*outcome))));
            NOTES.with_borrow_mut(|notes| notes.push(*note));
        }
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Scribe {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        WALLS.with_borrow_mut(|walls| walls.push(cx.wall));
        self.offers.insert(job.id, *job);
        Verdict::Admit(Grant::default())
    }
}

/// How a policy is told that one request has ended.
fn told(end: host::ExchangeEnd) -> Outcome {
    let plan = plan(1, 50 * MS);
    let mut pool = pool_with(&SCRIBE, ClientScope::All, &plan);
    pool.advance(Timestamp::ZERO);
    let mut user = pool.take(Timestamp::ZERO).expect("a user has a request");
    user.begins(Timestamp::ZERO);
    if !matches!(end, host::ExchangeEnd::ConnectFailed | host::ExchangeEnd::ConnectTimedOut) {
        pool.books.sends(&mut user, Timestamp::ZERO);
    }
    let _ = pool.settle(user, end.without_answer(), Timestamp::ZERO + MS);
    NOTES.take();
    SEEN.take()[0].1.expect("it ended")
}

#[test]
fn nobody_answered_is_told_apart_from_an_error_and_from_a_time_out() {
    for end in [host::ExchangeEnd::ConnectFailed, host::ExchangeEnd::ConnectTimedOut, host::ExchangeEnd::Broken] {
        assert_eq!(told(end), Outcome::Unavailable, "{end:?}");
    }
    assert_eq!(told(host::ExchangeEnd::TimedOut), Outcome::TimedOut);
    let mut failing = |_: &Call, _| (10 * MS, Answer::whole(500, &[], b""));
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
        ..Marks::default()
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

/// Sends as long as it has credits, which replies grant, and says with each request how many it had to refuse since the last.
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
            // Credits come with time too, so that a sender without any asks again.
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
    const TWO: Answer<'static> = Answer::whole(200, &[("X-Note", b"2")], b"");
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
    // One credit, two more by the first reply, which a refusal and its retry use up; then three are refused before one is sent.
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
fn a_policy_sees_the_wall_clock_that_the_host_sets() {
    let plan = plan(1, 50 * MS);
    let mut pool = pool_with(&SCRIBE, ClientScope::All, &plan);
    pool.set_wall(UnixSeconds(7200));
    pool.advance(Timestamp::ZERO);
    let mut user = pool.take(Timestamp::ZERO).expect("a user has a request");
    pool.books.sends(&mut user, Timestamp::ZERO);
    pool.set_wall(UnixSeconds(7201));
    let _ = pool.settle(user, host::ExchangeOutcome::answered(OK), Timestamp::ZERO + MS);
    assert_eq!(WALLS.take(), [UnixSeconds(7200), UnixSeconds(7201)], "asked, and told of the end");
}
