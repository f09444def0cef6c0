use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use controllers::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Note, Objective, Offer, Outcome, PeerReport, Place, Policy,
    Reason, Refusal, Seat, Seen, SiteId, Tags, Timestamp, Verdict,
    policy::Resize,
    site::{SiteMachine, TurnedAway},
};
use service_core::policies::Resolved;
use tokio::sync::mpsc;

use super::*;
use crate::{service::Boxed, signals::ThisProcess};

mod disciplines;
mod interleavings;

/// An event of a piece of test work.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Done(u64),
    Refused(u64, Reason),
}

#[derive(Debug)]
struct Piece {
    id: u64,
    deadline: Option<Timestamp>,
    takes: Duration,
    panics: bool,
    gone: bool,
    says: mpsc::UnboundedSender<Said>,
    ran: Arc<AtomicU32>,
}

impl StageWork for Piece {
    fn offer(&self) -> Offer {
        let tags = Tags { deadline: self.deadline, ..Tags::default() };
        Offer { id: JobId(self.id), tags, entered: Timestamp::ZERO, note: None }
    }

    fn gone(&self) -> bool {
        self.gone
    }

    fn run<'a>(&'a mut self, _: At<'a>) -> Boxed<'a, Outcome> {
        assert!(!self.panics, "even before there is a future");
        Box::pin(async move {
            tokio::time::sleep(self.takes).await;
            self.ran.fetch_add(1, Ordering::Relaxed);
            Outcome::Served
        })
    }

    fn expire(&mut self, refusal: Refusal) -> Outcome {
        let _ = self.says.send(Said::Refused(self.id, refusal.reason));
        Outcome::Overloaded { retry: true }
    }

    // No client reads notes.
    fn deliver(self, _: Option<Note>) {
        let _ = self.says.send(Said::Done(self.id));
    }

    fn refuse(self, away: TurnedAway) {
        let _ = self.says.send(Said::Refused(self.id, away.refusal.reason));
    }
}

/// A stage with a policy, and what its work says.
struct Bench {
    stage: Arc<LiveStage<Piece>>,
    says: mpsc::UnboundedSender<Said>,
    said: mpsc::UnboundedReceiver<Said>,
    ran: Arc<AtomicU32>,
}

fn spec(workers: u32, queue: u32) -> StageSpec {
    StageSpec { queue, workers, batch: 1, ..StageSpec::default() }
}

fn site() -> controllers::Site {
    controllers::Site {
        id: SiteId(2),
        name: "work".to_owned(),
        place: Place::Stage,
        objective: Objective { percentile: 90.0, response_time: Duration::from_secs(1) },
    }
}

fn none() -> InstalledPolicy {
    let resolved = Resolved::none();
    let policy = resolved.factory.policy(&site()).unwrap();
    InstalledPolicy { entry: resolved.entry, policy }
}

fn bench(policy: Box<dyn Policy>, spec: StageSpec) -> Bench {
    let entry: &'static Entry = none().entry;
    let seat = Seat::new(SiteId(2), policy, 7, Box::new(()));
    Bench::of(LiveStage::new(
        "work",
        PolicySite::new(seat, entry, Vec::new()),
        spec,
        this_process(),
        None,
        ServiceClock::start(),
    ))
}

fn this_process() -> Arc<dyn Probe> {
    Arc::new(ThisProcess::default())
}

fn nobody() -> Neighbours {
    Neighbours { upstream: Vec::new(), room: Box::new(|| {}) }
}

impl Bench {
    fn of(stage: Arc<LiveStage<Piece>>) -> Self {
        stage.start(nobody());
        let (says, said) = mpsc::unbounded_channel();
        Self { stage, says, said, ran: Arc::default() }
    }

    fn piece(&self, id: u64, millis: u64) -> Piece {
        Piece {
            id,
            takes: Duration::from_millis(millis),
            panics: false,
            gone: false,
            deadline: None,
            says: self.says.clone(),
            ran: Arc::clone(&self.ran),
        }
    }

    async fn next(&mut self) -> Said {
        tokio::time::timeout(Duration::from_secs(5), self.said.recv()).await.expect("in time").unwrap()
    }

    async fn until(&self, wanted: impl Fn(&StageGauges) -> bool) -> StageGauges {
        for _ in 0..500 {
            let gauges = self.stage.gauges();
            if wanted(&gauges) {
                return gauges;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("waited in vain: {:#?}", self.stage.gauges());
    }
}

/// A policy made of closures, that writes down what it is told.
struct Scripted<O, S> {
    offer: O,
    seen: S,
}

impl<O, S> std::fmt::Debug for Scripted<O, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl<O: Send, S: FnMut(&Seen, &mut Ctx<'_>) + Send> Machine for Scripted<O, S> {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        (self.seen)(seen, cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("p90_ms"), 12.0);
    }
}

impl<O: FnMut(&Offer) -> Verdict + Send, S: FnMut(&Seen, &mut Ctx<'_>) + Send> Policy for Scripted<O, S> {
    fn offer(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Verdict {
        (self.offer)(job)
    }
}

fn admit(_: &Offer) -> Verdict {
    Verdict::Admit(Grant::default())
}

#[tokio::test]
async fn jobs_are_worked_on_in_order_and_told_to_the_seat() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let seen = move |seen: &Seen, _: &mut Ctx<'_>| {
        let _ = tell.send(match seen {
            Seen::Started { id, .. } => format!("started {}", id.0),
            Seen::Ended { id, outcome, .. } => format!("ended {} {outcome:?}", id.0),
            Seen::Batch { jobs, .. } => format!("batch {jobs}"),
            _ => return,
        });
    };
    let mut bench = bench(Box::new(Scripted { offer: admit, seen }), spec(1, 10));
    for id in 0..3 {
        bench.stage.enqueue(bench.piece(id, 1)).unwrap();
    }
    for id in 0..3 {
        assert_eq!(bench.next().await, Said::Done(id));
    }
    bench.until(|gauges| gauges.idle == 1).await;
    let mut heard = Vec::new();
    while let Ok(line) = told.try_recv() {
        heard.push(line);
    }
    let of = |id| [format!("started {id}"), format!("ended {id} Served"), "batch 1".to_owned()];
    assert_eq!(heard, [of(0), of(1), of(2)].concat());
}

#[tokio::test]
async fn the_queue_is_bounded_and_the_refused_job_comes_back() {
    let bench = bench(Box::new(Scripted { offer: admit, seen: |_: &_, _: &mut Ctx<'_>| {} }), spec(1, 2));
    bench.stage.enqueue(bench.piece(0, 200)).unwrap();
    bench.until(|gauges| gauges.queue == 0 && gauges.offered == 1).await;
    bench.stage.enqueue(bench.piece(1, 1)).unwrap();
    bench.stage.enqueue(bench.piece(2, 1)).unwrap();
    let refused = bench.stage.enqueue(bench.piece(3, 1)).unwrap_err();
    assert_eq!((refused.work.id, refused.away.refusal.reason), (3, Reason::QueueFull));
    let gauges = bench.until(|gauges| gauges.completed == 3).await;
    assert_eq!((gauges.offered, gauges.admitted, gauges.refused), (4, 3, 1));
}

#[tokio::test]
async fn held_jobs_wait_in_the_stage_and_are_released_or_refused() {
    let seen = |seen: &Seen, cx: &mut Ctx<'_>| {
        if let Seen::Peer(_) = seen {
            cx.effects.push(Effect::Release(JobId(0), Grant::default()));
            cx.effects.push(Effect::Refuse(JobId(1), Refusal::new(Reason::Class)));
        }
    };
    let mut bench = bench(Box::new(Scripted { offer: |_: &Offer| Verdict::Hold, seen }), spec(1, 3));
    for id in 0..3 {
        bench.stage.enqueue(bench.piece(id, 1)).unwrap();
    }
    assert_eq!(
        bench.stage.enqueue(bench.piece(3, 1)).unwrap_err().away.refusal.reason,
        Reason::QueueFull,
        "held jobs take room"
    );
    bench.stage.hear(&Seen::Peer(PeerReport::Pressure { from: SiteId(1), level: 1.0 }));
    let mut said = [bench.next().await, bench.next().await];
    said.sort_by_key(|said| matches!(said, Said::Refused(..)));
    assert_eq!(said, [Said::Done(0), Said::Refused(1, Reason::Class)]);
    // The next policy admits the third.
    bench.stage.replace(none());
    assert_eq!(bench.next().await, Said::Done(2));
    assert_eq!(bench.stage.gauges().policy_name, "none");
}

#[tokio::test]
async fn a_queue_discipline_is_told_when_workers_are_free() {
    let mut waiting = std::collections::VecDeque::new();
    let (tell, mut told) = mpsc::unbounded_channel();
    // Last in, first out.
    let seen = move |seen: &Seen, cx: &mut Ctx<'_>| {
        while let Ok(id) = told.try_recv() {
            waiting.push_back(id);
        }
        if let Seen::Room(free) = seen {
            for _ in 0..*free {
                let Some(id) = waiting.pop_back() else { return };
                cx.effects.push(Effect::Release(id, Grant::default()));
            }
        }
    };
    let offer = move |offer: &Offer| {
        let _ = tell.send(offer.id);
        Verdict::Hold
    };
    let mut bench = bench(Box::new(Scripted { offer, seen }), spec(1, 10));
    bench.until(|gauges| gauges.idle == 1).await;
    for id in 0..4 {
        bench.stage.enqueue(bench.piece(id, 30)).unwrap();
    }
    let mut order = Vec::new();
    for _ in 0..4 {
        order.push(bench.next().await);
    }
    assert_eq!(order, [0, 3, 2, 1].map(Said::Done), "the first found a free worker, then the youngest goes first");
}

#[tokio::test]
async fn a_panic_is_caught_counted_and_answered() {
    let failed = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&failed);
    let seen = move |seen: &Seen, _: &mut Ctx<'_>| {
        if let Seen::Ended { outcome: Outcome::Failed, .. } = seen {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    };
    let mut bench = bench(Box::new(Scripted { offer: admit, seen }), spec(1, 10));
    bench.stage.enqueue(Piece { panics: true, ..bench.piece(0, 1) }).unwrap();
    bench.stage.enqueue(bench.piece(1, 1)).unwrap();
    assert_eq!(bench.next().await, Said::Done(0));
    assert_eq!(bench.next().await, Said::Done(1), "the worker lives on");
    assert_eq!((bench.stage.panics(), failed.load(Ordering::Relaxed), bench.ran.load(Ordering::Relaxed)), (1, 1, 1));
}

#[tokio::test]
async fn work_for_a_client_that_has_gone_is_done_unless_the_switch_says_otherwise() {
    for (switch, runs) in [(false, 1), (true, 0)] {
        let abandoned = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&abandoned);
        let seen = move |seen: &Seen, _: &mut Ctx<'_>| {
            if let Seen::Ended { outcome: Outcome::Abandoned, .. } = seen {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        };
        let spec = StageSpec { drop_abandoned: switch, ..spec(1, 10) };
        let mut bench = bench(Box::new(Scripted { offer: admit, seen }), spec);
        bench.stage.enqueue(Piece { gone: true, ..bench.piece(0, 1) }).unwrap();
        assert_eq!(bench.next().await, Said::Done(0));
        assert_eq!((bench.ran.load(Ordering::Relaxed), abandoned.load(Ordering::Relaxed)), (runs, 1));
    }
}

#[tokio::test]
async fn expired_work_is_dropped_at_its_turn_if_the_switch_says_so() {
    for (switch, deadline, runs) in [(false, 0, 1), (true, 0, 0), (true, 3600, 1)] {
        let spec = StageSpec { drop_expired: switch, ..spec(1, 10) };
        let mut bench = bench(Box::new(Scripted { offer: admit, seen: |_: &_, _: &mut Ctx<'_>| {} }), spec);
        let deadline = Some(Timestamp::from_secs(deadline));
        bench.stage.enqueue(Piece { deadline, ..bench.piece(0, 1) }).unwrap();
        if runs == 0 {
            assert_eq!(bench.next().await, Said::Refused(0, Reason::Waited));
        }
        assert_eq!(bench.next().await, Said::Done(0));
        assert_eq!(bench.ran.load(Ordering::Relaxed), runs, "{switch}, {deadline:?}");
    }
}

#[tokio::test]
async fn the_pool_grows_and_shrinks_as_its_machine_wishes() {
    let seen = |seen: &Seen, cx: &mut Ctx<'_>| {
        if let Seen::Peer(PeerReport::Pressure { level, .. }) = seen {
            cx.effects.push(Effect::Resize(Resize::Workers(*level as u32)));
            cx.effects.push(Effect::Resize(Resize::Batch(3)));
        }
    };
    let mut bench = bench(Box::new(Scripted { offer: admit, seen }), spec(1, 10));
    let resize = |to: f64| bench.stage.hear(&Seen::Peer(PeerReport::Pressure { from: SiteId(1), level: to }));
    resize(4.0);
    bench.until(|gauges| gauges.workers == 4 && gauges.idle == 4 && gauges.batch == 3).await;
    resize(0.0);
    bench.until(|gauges| gauges.workers == 1 && gauges.idle == 1).await;
    bench.stage.enqueue(bench.piece(0, 1)).unwrap();
    assert_eq!(bench.next().await, Said::Done(0));
}

#[tokio::test]
async fn batches_leave_idle_workers_their_share() {
    let bench = bench(
        Box::new(Scripted { offer: admit, seen: |_: &_, _: &mut Ctx<'_>| {} }),
        StageSpec { batch: 100, ..spec(2, 10) },
    );
    bench.until(|gauges| gauges.idle == 2).await;
    for id in 0..4 {
        bench.stage.enqueue(bench.piece(id, 100)).unwrap();
    }
    let gauges = bench.until(|gauges| gauges.offered == 4 && gauges.queue == 0).await;
    assert_eq!((gauges.idle, gauges.completed), (0, 0), "two and two, not four for one of them");
}

#[tokio::test]
async fn handlers_read_quality_and_p90_without_the_lock() {
    let seen = |seen: &Seen, cx: &mut Ctx<'_>| {
        if let Seen::Batch { .. } = seen {
            cx.effects.push(Effect::Quality(0.25));
        }
    };
    let mut bench = bench(Box::new(Scripted { offer: admit, seen }), spec(1, 10));
    let at = bench.stage.at(Timestamp::ZERO, Timestamp::ZERO);
    assert_eq!((at.quality, at.p90), (1.0, None));
    bench.stage.enqueue(bench.piece(0, 1)).unwrap();
    bench.next().await;
    bench.until(|gauges| gauges.idle == 1).await;
    let at = bench.stage.at(Timestamp::ZERO, Timestamp::ZERO);
    assert_eq!((at.quality, at.p90), (0.25, Some(Duration::from_millis(12))));
}

/// Wakes itself, and has a word for upstream each time.
#[derive(Debug)]
struct Alarm(Timestamp, Arc<AtomicU32>);

impl Machine for Alarm {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn next_wake(&self) -> Option<Timestamp> {
        Some(self.0)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        assert!(cx.now >= self.0, "never early");
        self.0 = cx.now + Duration::from_millis(20);
        self.1.fetch_add(1, Ordering::Relaxed);
        cx.effects.push(Effect::Shed { to: None, level: 0.5 });
    }

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Alarm {
    fn offer(&mut self, _: &Offer, _: &mut Ctx<'_>) -> Verdict {
        Verdict::Admit(Grant::default())
    }
}

#[tokio::test]
async fn a_policy_is_woken_in_time_and_its_word_reaches_upstream() {
    let woken = Arc::new(AtomicU32::new(0));
    let policy = Box::new(Alarm(Timestamp::from_millis(20), Arc::clone(&woken)));
    let seat = Seat::new(SiteId(2), policy, 7, Box::new(()));
    let stage = LiveStage::<Piece>::new(
        "work",
        PolicySite::new(seat, none().entry, Vec::new()),
        spec(1, 1),
        this_process(),
        None,
        ServiceClock::start(),
    );
    let heard = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&heard);
    let ear = Upstream::new(SiteId(1), move |seen| {
        assert!(matches!(seen, Seen::Peer(PeerReport::Pressure { from: SiteId(2), .. })));
        counter.fetch_add(1, Ordering::Relaxed);
    });
    stage.start(Neighbours { upstream: vec![ear], ..nobody() });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let woken = woken.load(Ordering::Relaxed);
    assert!((5..=25).contains(&woken), "{woken} wakes in 500 ms, one each 20 ms or later");
    assert_eq!(heard.load(Ordering::Relaxed), woken);
}

/// Counts calls that were shown another wall clock than the machine's.
#[derive(Debug, Default, Clone)]
struct Watch {
    calls: Arc<AtomicU32>,
    wrong: Arc<AtomicU32>,
}

impl Watch {
    fn look(&self, cx: &Ctx<'_>) {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.wrong.fetch_add(u32::from(cx.wall.0.abs_diff(wall) > 2), Ordering::Relaxed);
    }
}

impl Machine for Watch {
    fn observe(&mut self, _: &Seen, cx: &mut Ctx<'_>) {
        self.look(cx);
    }

    fn next_wake(&self) -> Option<Timestamp> {
        None
    }

    fn wake(&mut self, _: &mut Ctx<'_>) {}

    fn gauges(&self, _: &mut dyn FnMut(Gauge, f64)) {}
}

impl Policy for Watch {
    fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        self.look(cx);
        Verdict::Admit(Grant::default())
    }
}

#[tokio::test]
async fn policies_and_machines_are_shown_the_wall_clock() {
    let (policy, machine) = (Watch::default(), Watch::default());
    let seat = Seat::new(SiteId(2), Box::new(policy.clone()), 7, Box::new(()));
    let beside = controllers::MachineSeat::new(SiteId(2), Box::new(machine.clone()), 7, Box::new(()));
    let desk = PolicySite::new(seat, none().entry, vec![SiteMachine::new(beside, none().entry, Timestamp::ZERO)]);
    let mut bench = Bench::of(LiveStage::new("work", desk, spec(1, 1), this_process(), None, ServiceClock::start()));
    bench.stage.enqueue(bench.piece(1, 1)).unwrap();
    assert_eq!(bench.next().await, Said::Done(1));
    // The policy: an offer, a start, an end. The machine: the latter two.
    assert!(policy.calls.load(Ordering::Relaxed) >= 3 && machine.calls.load(Ordering::Relaxed) >= 2);
    assert_eq!((policy.wrong.load(Ordering::Relaxed), machine.wrong.load(Ordering::Relaxed)), (0, 0));
}
