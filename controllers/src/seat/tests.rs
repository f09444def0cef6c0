//! The seat's bookkeeping, with a policy that does as it is told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use super::*;
use crate::{Grant, Machine, Outcome, Tags, Timing};

/// Answers offers with what is in the script; keeps what it was told.
#[derive(Debug, Default)]
struct Scripted {
    script: VecDeque<Verdict>,
    on_batch: Vec<Effect>,
    wake: Option<Timestamp>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    fn new(script: impl IntoIterator<Item = Verdict>) -> Self {
        Self { script: script.into_iter().collect(), ..Self::default() }
    }

    fn note(&self, what: String) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }
}

impl Machine for Scripted {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Batch { .. } => self.on_batch.drain(..).for_each(|effect| cx.effects.push(effect)),
            Seen::Ended { id, grant, .. } => self.note(format!("ended {} with {}", id.0, grant.cookie)),
            Seen::Freed(id) => self.note(format!("freed {}", id.0)),
            Seen::Left(id) => self.note(format!("left {}", id.0)),
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.wake
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.note(format!("woken at {:?}", cx.now));
        self.wake = None;
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Scripted {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.note(format!("offered {} with {} in flight and {} held", job.id.0, cx.in_flight, cx.held));
        self.script.pop_front().unwrap_or(Verdict::Hold)
    }
}

const BATCH: Seen = Seen::Batch { jobs: 1, busy: Duration::ZERO };
const NO: Refusal = Refusal::new(Reason::Rate);

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn offer(id: u64) -> Offer {
    Offer { id: JobId(id), tags: Tags::default(), entered: Timestamp::ZERO, note: None }
}

fn ended(id: u64, grant: Grant) -> Seen {
    let zero = Timestamp::ZERO;
    let timing = Timing { entered: zero, offered: zero, started: zero, ended: zero };
    Seen::Ended {
        id: JobId(id),
        grant,
        tags: Tags::default(),
        outcome: Outcome::Served,
        timing,
        cost: None,
        note: None,
    }
}

fn seat(policy: Scripted) -> (Seat, Arc<Mutex<Vec<String>>>) {
    let told = policy.told.clone();
    (Seat::new(SiteId(1), Box::new(policy), 1, Box::new(())), told)
}

fn take(told: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut *told.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The grant of an admission.
fn granted(verdict: Verdict) -> Grant {
    let Verdict::Admit(grant) = verdict else { panic!("{verdict:?}") };
    grant
}

#[test]
fn every_answer_is_counted_once() {
    let (mut seat, _) = seat(Scripted::new([
        Verdict::Admit(Grant::default()),
        Verdict::Refuse(NO),
        Verdict::ComeBack(Duration::from_secs(1)),
        Verdict::Hold,
    ]));
    for id in 1..=4 {
        let _ = seat.offer(at(id), &offer(id));
    }
    let counts = Counts { offered: 4, admitted: 1, refused: 1, sent_back: 1, ..Counts::default() };
    assert_eq!((seat.counts(), seat.in_flight(), seat.held()), (counts, 1, 1));
}

#[test]
fn held_jobs_are_released_and_refused_in_the_order_that_the_policy_says() {
    let (mut seat, _) = seat(Scripted {
        on_batch: vec![
            Effect::Release(JobId(2), Grant::new(5)),
            Effect::Quality(0.5),
            Effect::Refuse(JobId(1), NO),
            Effect::Release(JobId(3), Grant::default()),
        ],
        ..Scripted::default()
    });
    for id in 1..=3 {
        assert_eq!(seat.offer(at(0), &offer(id)), Verdict::Hold);
    }
    seat.observe(at(1), &BATCH);
    assert!(matches!(seat.poll(at(1)).effect(), Some(Effect::Release(JobId(2), grant)) if grant.cookie == 5));
    assert_eq!(seat.poll(at(1)), Next::Do(Effect::Quality(0.5)));
    assert_eq!(seat.poll(at(1)).effect(), Some(Effect::Refuse(JobId(1), NO)));
    assert_eq!((seat.in_flight(), seat.held()), (1, 1), "the third is held until the host is told");
    assert!(matches!(seat.poll(at(1)).effect(), Some(Effect::Release(JobId(3), _))));
    assert_eq!(seat.poll(at(1)), Next::Idle);
    assert_eq!((seat.in_flight(), seat.held(), seat.counts().refused), (2, 0, 1));
}

#[test]
fn a_job_that_left_is_not_released() {
    let (mut seat, told) =
        seat(Scripted { on_batch: vec![Effect::Release(JobId(1), Grant::default())], ..Scripted::default() });
    let _ = seat.offer(at(0), &offer(1));
    seat.observe(at(1), &BATCH);
    seat.observe(at(1), &Seen::Left(JobId(1)));
    assert_eq!(seat.poll(at(1)), Next::Idle);
    assert_eq!((seat.in_flight(), seat.held(), seat.counts().left), (0, 0, 1));
    // Told twice, it counts once.
    seat.observe(at(2), &Seen::Left(JobId(1)));
    assert_eq!(seat.counts().left, 1);
    assert_eq!(take(&told), ["offered 1 with 0 in flight and 0 held", "left 1"]);
}

#[test]
fn a_release_that_the_host_was_not_told_of_counts_as_in_flight() {
    let (mut seat, told) =
        seat(Scripted { on_batch: vec![Effect::Release(JobId(1), Grant::default())], ..Scripted::default() });
    let _ = seat.offer(at(0), &offer(1));
    seat.observe(at(1), &BATCH);
    let _ = seat.offer(at(1), &offer(2));
    assert_eq!(take(&told)[1], "offered 2 with 1 in flight and 0 held");
}

#[test]
fn a_new_policy_is_offered_what_is_held_and_learns_nothing_of_older_jobs() {
    let (mut seat, _) = seat(Scripted::new([Verdict::Admit(Grant::new(1))]));
    let old = granted(seat.offer(at(0), &offer(1)));
    for id in 2..=4 {
        assert_eq!(seat.offer(at(0), &offer(id)), Verdict::Hold);
    }
    let next = Scripted::new([Verdict::Admit(Grant::new(9)), Verdict::ComeBack(Duration::from_secs(3)), Verdict::Hold]);
    let told = next.told.clone();
    seat.replace(at(1), Box::new(next));
    assert_eq!(
        take(&told),
        [
            "offered 2 with 1 in flight and 3 held",
            "offered 3 with 2 in flight and 2 held", // the release of 2 counts already
            "offered 4 with 2 in flight and 1 held",
        ]
    );
    let Some(Effect::Release(JobId(2), new)) = seat.poll(at(1)).effect() else { panic!("2 was admitted") };
    let wait = RetryHint::After(Duration::from_secs(3));
    let come_back = Refusal { reason: Reason::Rate, retry: wait };
    assert_eq!(seat.poll(at(1)).effect(), Some(Effect::Refuse(JobId(3), come_back)));
    assert_eq!(seat.poll(at(1)), Next::Idle);
    assert_eq!((seat.in_flight(), seat.held()), (2, 1));

    seat.observe(at(2), &ended(1, old));
    seat.observe(at(2), &ended(2, new));
    assert_eq!(take(&told), ["freed 1", "ended 2 with 9"]);
    assert_eq!((seat.in_flight(), seat.counts().ended), (0, 2));
}

#[test]
fn what_the_old_policy_had_decided_stands() {
    let (mut seat, _) =
        seat(Scripted { on_batch: vec![Effect::Quality(0.1), Effect::Refuse(JobId(1), NO)], ..Scripted::default() });
    let _ = seat.offer(at(0), &offer(1));
    seat.observe(at(0), &BATCH);
    seat.replace(at(0), Box::new(Scripted::new([Verdict::Admit(Grant::default())])));
    // Its wish for a quality goes with it, its refusal does not, and the new policy is not asked about job 1.
    assert_eq!(seat.poll(at(0)).effect(), Some(Effect::Refuse(JobId(1), NO)));
    assert_eq!(seat.poll(at(0)), Next::Idle);
}

#[test]
fn the_end_of_what_the_old_policy_released_is_not_told_to_the_new_one() {
    let release = Effect::Release(JobId(1), Grant::new(7));
    let (mut seat, _) = seat(Scripted { on_batch: vec![release], ..Scripted::default() });
    assert_eq!(seat.offer(at(0), &offer(1)), Verdict::Hold);
    seat.observe(at(0), &BATCH);
    let next = Scripted::default();
    let told = next.told.clone();
    seat.replace(at(0), Box::new(next));
    let Some(Effect::Release(JobId(1), grant)) = seat.poll(at(0)).effect() else { panic!("1 was released") };
    seat.observe(at(1), &ended(1, grant));
    assert_eq!(take(&told), ["freed 1"]);
}

#[test]
fn a_new_policy_does_not_inherit_a_degraded_service() {
    let (mut seat, _) = seat(Scripted { on_batch: vec![Effect::Quality(0.1)], ..Scripted::default() });
    seat.observe(at(0), &BATCH);
    assert_eq!(seat.poll(at(0)), Next::Do(Effect::Quality(0.1)));
    seat.replace(at(1), Box::new(Scripted::default()));
    assert_eq!(seat.poll(at(1)), Next::Do(Effect::Quality(1.0)));
    seat.replace(at(2), Box::new(Scripted::default()));
    assert_eq!(seat.poll(at(2)), Next::Idle);
}

#[test]
fn a_clock_that_goes_back_is_clamped_and_counted() {
    let (mut seat, told) = seat(Scripted { wake: Some(at(10)), ..Scripted::default() });
    let _ = seat.offer(at(20), &offer(1));
    assert_eq!(seat.poll(at(5)), Next::Idle);
    assert_eq!(seat.counts().clock_went_back, 1);
    assert_eq!(take(&told)[1], "woken at 0.020000000s");
}

#[test]
fn wake_ups_are_asked_for_and_served_late_but_not_early() {
    let (mut seat, told) = seat(Scripted { wake: Some(at(10)), ..Scripted::default() });
    assert_eq!(seat.poll(at(9)), Next::WakeAt(at(10)));
    assert_eq!(take(&told).len(), 0);
    assert_eq!(seat.poll(at(500)), Next::Idle);
    assert_eq!(take(&told), ["woken at 0.500000000s"]);
}

/// Tells a seat what cannot be: with debug assertions it panics, and without it goes on. In both it is counted once.
fn contradict(seat: &mut Seat, tell: impl FnOnce(&mut Seat)) {
    let before = seat.counts().contradictions;
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tell(&mut *seat)));
    assert_eq!(told.is_err(), cfg!(debug_assertions));
    assert_eq!(seat.counts().contradictions, before + 1);
}

#[test]
fn an_end_that_is_told_twice_is_counted_and_frees_no_room() {
    let admit = || Verdict::Admit(Grant::default());
    let (mut seat, told) = seat(Scripted::new([admit(), admit()]));
    let first = granted(seat.offer(at(0), &offer(1)));
    granted(seat.offer(at(0), &offer(2)));
    seat.observe(at(1), &ended(1, first));
    take(&told);
    contradict(&mut seat, |seat| seat.observe(at(2), &ended(1, first)));
    assert_eq!((seat.in_flight(), seat.counts().ended), (1, 1), "2 is still here");
    assert_eq!(take(&told).len(), 0, "the policy learns nothing from it");
}

#[test]
fn starts_and_ends_of_unknown_jobs_are_counted_and_not_told() {
    let (mut seat, told) = seat(Scripted::new([Verdict::Refuse(NO), Verdict::Hold]));
    for id in [1, 2] {
        let _ = seat.offer(at(0), &offer(id));
    }
    take(&told);
    // Refused, held, never offered.
    for id in [1, 2, 3] {
        contradict(&mut seat, |seat| seat.observe(at(1), &ended(id, Grant::default())));
        let started = Seen::Started { id: JobId(id), waited: Duration::ZERO };
        contradict(&mut seat, |seat| seat.observe(at(1), &started));
    }
    assert_eq!((seat.in_flight(), seat.held(), seat.counts().ended), (0, 1, 0));
    assert_eq!(take(&told).len(), 0);
}

#[test]
fn an_admission_of_what_is_in_flight_already_is_counted() {
    let admit = || Verdict::Admit(Grant::default());
    let (mut seat, _) = seat(Scripted::new([admit(), admit()]));
    granted(seat.offer(at(0), &offer(1)));
    contradict(&mut seat, |seat| _ = seat.offer(at(1), &offer(1)));
    assert_eq!(seat.in_flight(), 1);
}
