//! Stages and gates by hand, round a policy that does as it is told.

use std::{collections::VecDeque, time::Duration};

use super::*;
use crate::{
    Catalogue, Ctx, Effect, Gauge, Grant, JobId, LoadSample, Machine, Note, Offer, Outcome, PeerReport, Policy, Reason,
    Refusal, Resize, RetryHint, Seat, Seen, SiteId, Tags, Timestamp, Verdict,
};

/// Answers offers with what is in the script; does what the next batch, room or end is to cause.
#[derive(Debug, Default)]
struct Scripted {
    verdicts: VecDeque<Verdict>,
    on_batch: Vec<Effect>,
    on_room: Vec<Effect>,
    room: u32,
}

impl Machine for Scripted {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Batch { .. } => self.on_batch.drain(..).for_each(|effect| cx.effects.push(effect)),
            Seen::Room(free) => {
                self.room = *free;
                self.on_room.drain(..).for_each(|effect| cx.effects.push(effect));
            }
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("p90_ms"), 12.0);
        visit(Gauge::of("room"), f64::from(self.room));
    }
}

impl Policy for Scripted {
    fn offer(&mut self, _: &Offer, _: &mut Ctx<'_>) -> Verdict {
        self.verdicts.pop_front().unwrap_or(Verdict::Admit(Grant::default()))
    }
}

const NO: Refusal = Refusal::new(Reason::Class);

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

fn offer(id: u64) -> Offer {
    Offer { id: JobId(id), tags: Tags::default(), entered: Timestamp::ZERO, note: None }
}

fn site(policy: Scripted) -> PolicySite<u64> {
    let entry = Catalogue::built_in().find("fixed-rate").expect("it is there");
    PolicySite::new(Seat::new(SiteId(2), Box::new(policy), 7, Box::new(())), entry, Vec::new())
}

fn stage(policy: Scripted, workers: u32) -> Stage<u64> {
    Stage::new("work", site(policy), StageLimits { queue: 4, workers, batch: 2, drop_expired: false })
}

fn wants(stage: &mut Stage<u64>, ms: u64) -> Vec<Action<u64>> {
    std::iter::repeat_with(|| stage.poll(at(ms), &LoadReading::default()))
        .take_while(|action| *action != Action::Idle)
        .collect()
}

fn batch(task: WorkerStep<u64>) -> Vec<u64> {
    match task {
        WorkerStep::Batch(batch) => batch.into_iter().map(|queued| queued.job).collect(),
        WorkerStep::Wait | WorkerStep::Leave => Vec::new(),
    }
}

#[test]
fn workers_take_batches_and_leave_idle_colleagues_their_share() {
    let mut stage = stage(Scripted::default(), 2);
    for id in 0..4 {
        assert_eq!(stage.offer(at(0), offer(id), id), Ok(()));
    }
    assert_eq!(wants(&mut stage, 0), [Action::Start(2)]);
    let full = TurnedAway::from(Refusal::new(Reason::QueueFull));
    assert_eq!(stage.offer(at(0), offer(4), 4), Err((4, full)), "the fifth finds four in the queue");
    assert_eq!(batch(stage.take()), [0, 1]);
    assert_eq!(batch(stage.take()), [2, 3]);
    assert_eq!(stage.take(), WorkerStep::Wait);
    stage.batch_done(at(30), 2, at(10));
    let gauges = stage.gauges();
    assert_eq!((gauges.workers, gauges.idle, gauges.queue, gauges.refused, gauges.offered), (2, 1, 0, 1, 5));
    assert!((gauges.busy_ms - 20.0).abs() < 1e-9);
    assert_eq!(stage.reported_p90(), Some(Duration::from_millis(12)));
}

#[test]
fn room_is_told_while_jobs_are_held_and_released_ones_queue() {
    let release = Effect::Release(JobId(1), Grant::default());
    let policy = Scripted {
        verdicts: [Verdict::Admit(Grant::default()), Verdict::Hold, Verdict::Hold].into(),
        on_batch: vec![Effect::Refuse(JobId(2), NO), Effect::Annotate(JobId(2), Note(5))],
        on_room: vec![release],
        room: 0,
    };
    let mut stage = stage(policy, 1);
    for id in 0..3 {
        assert_eq!(stage.offer(at(0), offer(id), id), Ok(()));
    }
    assert_eq!((batch(stage.take()), stage.gauges().queue), (vec![0], 2));
    assert_eq!(stage.gauges().policy["room"], 0.0, "the one worker has a job to take");
    stage.batch_done(at(1), 1, at(0));
    assert_eq!(stage.gauges().policy["room"], 1.0);
    let away = TurnedAway { refusal: NO, note: Some(Note(5)) };
    assert_eq!(wants(&mut stage, 1), [Action::Refuse(2, away), Action::Start(1)]);
    assert_eq!(batch(stage.take()), [1]);
}

#[test]
fn the_actions_of_a_call_come_in_one_order() {
    let report = PeerReport::Pressure { from: SiteId(2), level: 0.5 };
    let on_batch = vec![
        Effect::Shed { to: None, level: 0.5 },
        Effect::Resize(Resize::Workers(3)),
        Effect::Tell(report),
        Effect::Quality(0.25),
        Effect::Resize(Resize::Batch(0)),
    ];
    let mut stage = stage(Scripted { on_batch, ..Scripted::default() }, 1);
    assert_eq!(stage.offer(at(0), offer(0), 0), Ok(()));
    assert_eq!(batch(stage.take()), [0]);
    stage.batch_done(at(1), 1, at(0));
    assert_eq!(wants(&mut stage, 1), [Action::Tell(report), Action::Hire(2), Action::Shed(None, 0.5)]);
    assert_eq!((stage.gauges().workers, stage.gauges().batch, stage.quality()), (3, 1, 0.25));
    let next = InstalledPolicy {
        entry: Catalogue::built_in().find("none").expect("it is there"),
        policy: Box::new(Scripted::default()),
    };
    stage.replace(at(2), next);
    assert_eq!((stage.quality(), stage.gauges().policy_name.as_str()), (1.0, "none"));
}

#[test]
fn too_many_workers_leave_idle_ones_at_once_and_busy_ones_after_their_batch() {
    let on_batch = vec![Effect::Resize(Resize::Workers(1))];
    let mut stage = stage(Scripted { on_batch, ..Scripted::default() }, 3);
    for id in 0..2 {
        assert_eq!(stage.offer(at(0), offer(id), id), Ok(()));
    }
    assert_eq!((batch(stage.take()), batch(stage.take())), (vec![0], vec![1]));
    // Two are busy, one is idle. The first that is done finds that one is enough.
    stage.batch_done(at(1), 1, at(0));
    assert_eq!(wants(&mut stage, 1), [Action::Dismiss(2)]);
    assert_eq!((stage.gauges().workers, stage.gauges().idle), (1, 0));
    assert_eq!((stage.take(), stage.take(), stage.take()), (WorkerStep::Leave, WorkerStep::Leave, WorkerStep::Wait));
    stage.batch_done(at(2), 1, at(0));
    assert_eq!((stage.gauges().workers, stage.gauges().idle), (1, 1));
}

#[test]
fn a_closed_stage_takes_nothing_and_lets_its_workers_go_when_it_is_empty() {
    let mut stage = stage(Scripted::default(), 1);
    assert_eq!(stage.offer(at(0), offer(0), 0), Ok(()));
    stage.close();
    assert_eq!(stage.offer(at(0), offer(1), 1), Err((1, Refusal::new(Reason::Draining).into())));
    assert_eq!((batch(stage.take()), stage.is_drained()), (vec![0], true));
    stage.batch_done(at(1), 1, at(0));
    assert_eq!(stage.take(), WorkerStep::Leave);
}

fn gate(policy: Scripted) -> Gate<u64> {
    Gate::new("dispatch", site(policy), 2)
}

#[test]
fn a_gate_keeps_held_jobs_and_hands_out_permits() {
    let policy = Scripted {
        verdicts: [Verdict::Admit(Grant::default()), Verdict::Hold, Verdict::Hold].into(),
        on_room: vec![Effect::Release(JobId(1), Grant::default())],
        ..Scripted::default()
    };
    let mut gate = gate(policy);
    let Entered::In(Some(permit)) = gate.offer(at(0), offer(0), || 0) else { panic!("it is let in") };
    assert_eq!(gate.offer(at(1), offer(1), || 1), Entered::Held);
    let Action::Admit(1, released) = gate.poll(at(1), &LoadReading::default()) else {
        panic!("there was room for one")
    };
    assert_eq!(gate.poll(at(1), &LoadReading::default()), Action::Idle);
    assert_eq!(gate.offer(at(2), offer(2), || 2), Entered::Held);
    assert_eq!((gate.holds(JobId(2)), gate.leave(at(3), JobId(2)), gate.leave(at(3), JobId(2))), (true, Some(2), None));
    for permit in [permit, released] {
        assert_eq!(gate.ended(at(4), permit, Outcome::Served, None, None), None);
    }
    let gauges = gate.gauges();
    assert_eq!((gauges.offered, gauges.admitted, gauges.completed, gauges.queue), (3, 2, 2, 0));
}

#[test]
fn a_job_that_is_sent_back_is_refused_with_the_time_where_hosts_cannot_wait() {
    let wait = Duration::from_secs(3);
    let mut gate = gate(Scripted { verdicts: [Verdict::ComeBack(wait)].into(), ..Scripted::default() });
    let Entered::Refused(away) = gate.offer(at(0), offer(0), || 0) else { panic!("it is refused") };
    assert_eq!(away.refusal, Refusal { reason: Reason::Rate, retry: RetryHint::After(wait) });
}

#[test]
fn a_machine_that_samples_load_is_told_when_that_is_due() {
    const STAGE: LoadSample = LoadSample::Stage { queue: 3, workers: 2, idle: 1, completed: 9 };
    let entry = Catalogue::built_in().find("thread-pool").expect("it is there");
    let [sampling] = entry.samples else { panic!("one kind of samples") };
    let mut samplers = sampler::Samplers::new(entry.samples, at(0));
    let mut taken = |now| {
        let mut told = Vec::new();
        let next = samplers.take(now, STAGE, 4, &LoadReading::default(), |sample| told.push(sample));
        (told, next)
    };
    assert_eq!(taken(at(0) + sampling.period / 2), (vec![], Some(at(0) + sampling.period)));
    let late = at(0) + sampling.period * 5;
    assert_eq!(taken(late), (vec![STAGE], Some(late + sampling.period)));
    assert_eq!(taken(late).0, [], "once, not once for each period that was missed");
}
