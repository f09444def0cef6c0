//! Policies that hold users, or send them back for a while.

use super::*;
use crate::plan::Patience;

/// Nothing, as histograms show it.
const SMALLEST_MS: f64 = 0.001;

/// Holds everything and lets one go every 200 ms, in order; every fourth is refused then.
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

static HOLDING: Entry = entry(EntryKind::Policy(|reader| reader.make(|(): &(), _| Box::<Holding>::default())));

#[test]
fn users_that_are_held_wait_for_their_turn_and_no_lateness_is_the_generators() {
    let found = go_with(&HOLDING, ClientScope::All, &plan(2, 50 * MS), &mut |_, _| (10 * MS, OK));
    // Somebody waits at each beat: 49 within the 10 s, and two that wait at their end; each fourth is refused.
    let ledger = found.ledger;
    assert_eq!((ledger.planned, ledger.served, ledger.refused_locally), (51, 39, 12), "{ledger:?}");
    let mean = found.report.total.measured.response_time_ms.mean.expect("there are some");
    assert!((150.0..400.0).contains(&mean), "the wait is in the response time: {mean}");
    assert!(found.report.generator.send_lag_max_ms <= Some(SMALLEST_MS), "{:?}", found.report.generator);
}

#[test]
fn a_held_user_that_loses_patience_leaves_and_is_forgotten() {
    let mut plan = plan(20, 50 * MS);
    let lasts = traces::Think::Constant(300 * MS);
    let patience = Some(Patience { lasts, reload: false });
    behaviour(&mut plan, Behaviour { patience, ..Behaviour::default() });
    let found = go_with(&HOLDING, ClientScope::All, &plan, &mut |_, _| (10 * MS, OK));
    // Two waves of 20, 5.3 s apart: in 300 ms one or two are let go, and these come again by themselves.
    let ledger = found.ledger;
    assert!((2..=12).contains(&ledger.served), "{ledger:?}");
    assert!((36..=44).contains(&ledger.refused_locally), "{ledger:?}");
    assert_eq!((ledger.unsent, ledger.abandoned), (0, 0), "{ledger:?}");
}

/// Sends everybody back, who may come again at once.
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
fn a_user_that_is_always_sent_back_times_out() {
    let mut plan = plan(1, 50 * MS);
    plan.timeout = 200 * MS;
    let ledger = go_with(&AWAY, ClientScope::All, &plan, &mut |_, _| (10 * MS, OK)).ledger;
    // A round is 200 ms at the gate and 50 ms of waiting.
    assert_eq!((ledger.planned, ledger.refused_locally), (40, 40), "{ledger:?}");
}

/// Sends everybody back for 30 ms, once.
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
fn a_user_that_is_sent_back_asks_again_with_the_same_request() {
    let found = go_with(&LATER, ClientScope::User, &plan(1, 50 * MS), &mut |_, _| (10 * MS, OK));
    // A round is 30 ms at the gate, 10 ms at the service and 100 ms of thought.
    let ledger = found.ledger;
    assert_eq!((ledger.served, ledger.planned), (72, 72), "{ledger:?}");
    assert_eq!(found.report.total.measured.response_time_ms.max, Some(40.0));
    assert!(found.report.generator.send_lag_max_ms <= Some(SMALLEST_MS), "{:?}", found.report.generator);
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
    // Who is held asks the new policy, which lets nobody go before its first beat.
    plan.client = Some(ClientSpec { renewed_in: vec![1], ..client("none", &[], ClientScope::All) });
    let pool = pool_with(&HOLDING, ClientScope::All, &plan);
    let ledger = run(&plan, pool, &mut |_, _| (10 * MS, OK)).ledger;
    assert!(ledger.served > 20 && ledger.unsent == 0, "{ledger:?}");
}

#[test]
fn requests_that_are_held_until_the_end_are_not_unsent() {
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
