//! A stage in a plant: queue, seat and pool. The live one is [`crate::stage::Stage`].

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use controllers::{
    Effect, Grant, JobId, LoadSample, Note, Offer, Outcome, PeerReport, Reason, Refusal, Resize, RetryHint, Seen,
    SiteId, Timestamp, Timing, Verdict, site::TurnedAway,
};

use super::world::wall;
use crate::{
    control::wire::StageGauges,
    signals::Probe,
    spec::StageSpec,
    stage::{Chosen, Desk, batch_of},
};

/// The stage.
#[derive(Debug)]
pub(super) struct PlantStage {
    pub(super) name: String,
    pub(super) spec: StageSpec,
    desk: Desk,
    queue: VecDeque<Queued>,
    held: BTreeMap<JobId, (Offer, Timestamp)>,
    workers: u32,
    wanted: u32,
    idle: u32,
    batch: u32,
    full: u64,
    completed: u64,
    busy: Duration,
    pub(super) quality: f64,
}

/// A job that was admitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queued {
    pub(super) offer: Offer,
    pub(super) grant: Grant,
    pub(super) offered: Timestamp,
}

/// What a stage wants from the rest of the plant.
#[derive(Debug, Default)]
pub(super) struct StageNews {
    pub(super) refused: Vec<(JobId, TurnedAway)>,
    pub(super) shed: Vec<(Option<SiteId>, f64)>,
    /// To other sites.
    pub(super) told: Vec<PeerReport>,
    pub(super) wake: Option<Timestamp>,
}

impl PlantStage {
    pub(super) fn new(name: &str, desk: Desk, spec: StageSpec) -> Self {
        let workers = spec.workers.max(1);
        Self {
            name: name.to_owned(),
            desk,
            queue: VecDeque::new(),
            held: BTreeMap::new(),
            workers,
            wanted: workers,
            idle: workers,
            batch: spec.batch.max(1),
            spec,
            full: 0,
            completed: 0,
            busy: Duration::ZERO,
            quality: 1.0,
        }
    }

    pub(super) fn site(&self) -> SiteId {
        self.desk.site()
    }

    /// Puts a job into the queue, if the seat admits it and there is room.
    pub(super) fn enqueue(&mut self, now: Timestamp, mut offer: Offer) -> Result<(), TurnedAway> {
        offer.tags = self.spec.carried(offer.tags);
        if self.queue.len() + self.held.len() >= usize::try_from(self.spec.queue).unwrap_or(usize::MAX) {
            self.full += 1;
            return Err(Refusal::new(Reason::QueueFull).into());
        }
        self.desk.show_wall(wall(now));
        match self.desk.offer(now, &offer) {
            Verdict::Admit(grant) => self.queue.push_back(Queued { offer, grant, offered: now }),
            Verdict::Hold => {
                self.held.insert(offer.id, (offer, now));
                self.tell_room(now);
            }
            Verdict::Refuse(refusal) => return Err(TurnedAway { refusal, note: self.desk.note(offer.id) }),
            Verdict::ComeBack(wait) => {
                return Err(Refusal { reason: Reason::Rate, retry: RetryHint::After(wait) }.into());
            }
        }
        Ok(())
    }

    /// The next batch for an idle worker, which is busy from then on.
    pub(super) fn take(&mut self) -> Option<VecDeque<Queued>> {
        if self.idle == 0 || self.queue.is_empty() {
            return None;
        }
        self.idle -= 1;
        let jobs = batch_of(self.queue.len(), self.idle, self.batch);
        Some(self.queue.drain(..jobs).collect())
    }

    /// A worker begins with a job.
    pub(super) fn started(&mut self, now: Timestamp, queued: &Queued) {
        self.desk.tell(now, &Seen::Started { id: queued.offer.id, waited: now.since(queued.offered) });
    }

    /// A job has ended, `cost` being the work that was done for it. Says what its reply is to tell beside the answer.
    pub(super) fn ended(
        &mut self,
        now: Timestamp,
        queued: &Queued,
        started: Timestamp,
        outcome: Outcome,
        cost: Duration,
    ) -> Option<Note> {
        self.completed += 1;
        let Offer { id, tags, entered, note } = queued.offer;
        let timing = Timing { entered, offered: queued.offered, started, ended: now };
        let seen = Seen::Ended { id, grant: queued.grant, tags, outcome, timing, cost: Some(cost), note };
        self.desk.tell(now, &seen);
        self.desk.note(id)
    }

    /// A worker is done with its batch, and looks for another one; if there are too many, it goes home.
    pub(super) fn batch_done(&mut self, now: Timestamp, jobs: u32, began: Timestamp) {
        let busy = now.since(began);
        self.busy += busy;
        self.desk.tell(now, &Seen::Batch { jobs, busy });
        if self.workers > self.wanted {
            self.workers -= 1;
        } else {
            self.idle += 1;
        }
        self.tell_room(now);
    }

    pub(super) fn hear(&mut self, now: Timestamp, seen: &Seen) {
        self.desk.tell(now, seen);
    }

    pub(super) fn replace(&mut self, now: Timestamp, chosen: Chosen) {
        self.quality = 1.0;
        self.desk.replace(now, chosen);
        self.tell_room(now);
    }

    /// So many of its jobs wait for other services.
    pub(super) fn set_elsewhere(&mut self, jobs: u32) {
        self.desk.set_elsewhere(jobs);
    }

    /// Does what is due, and what concerns queue and pool; the rest is news.
    pub(super) fn turn(&mut self, now: Timestamp, probe: &dyn Probe) -> StageNews {
        self.desk.show_wall(wall(now));
        let mut wants = Vec::new();
        let mut news =
            StageNews { wake: self.desk.turn(now, self.sample(), probe, &mut wants), ..StageNews::default() };
        for effect in wants {
            match effect {
                Effect::Release(id, grant) => {
                    if let Some((offer, offered)) = self.held.remove(&id) {
                        self.queue.push_back(Queued { offer, grant, offered });
                    }
                }
                Effect::Refuse(id, refusal) => {
                    if self.held.remove(&id).is_some() {
                        news.refused.push((id, TurnedAway { refusal, note: self.desk.note(id) }));
                    }
                }
                Effect::Quality(quality) => self.quality = quality,
                Effect::Shed { to, level } => news.shed.push((to, level)),
                Effect::Resize(Resize::Workers(wanted)) => self.resize(wanted),
                Effect::Resize(Resize::Batch(batch)) => self.batch = batch.max(1),
                Effect::Tell(report) => news.told.push(report),
                // As in the live stage: the desk keeps it for the reply.
                Effect::Annotate(..) => {}
            }
        }
        news
    }

    pub(super) fn gauges(&self) -> StageGauges {
        let counts = self.desk.seat().counts();
        let mut policy = BTreeMap::new();
        self.desk.gauges(&mut policy);
        StageGauges {
            name: self.name.clone(),
            queue: count(self.queue.len() + self.held.len()),
            workers: self.workers,
            idle: self.idle,
            batch: self.batch,
            offered: counts.offered + self.full,
            admitted: counts.admitted,
            refused: counts.refused + counts.sent_back + self.full,
            completed: self.completed,
            busy_ms: self.busy.as_secs_f64() * 1e3,
            policy,
            counts: BTreeMap::new(),
            policy_name: self.desk.policy_name().to_owned(),
        }
    }

    fn resize(&mut self, wanted: u32) {
        self.wanted = wanted.max(1);
        if self.workers < self.wanted {
            self.idle += self.wanted - self.workers;
            self.workers = self.wanted;
        } else {
            // Idle ones go at once, busy ones after their batch.
            let go = (self.workers - self.wanted).min(self.idle);
            self.idle -= go;
            self.workers -= go;
        }
    }

    /// Queue disciplines hold everything and let in what free workers can take.
    fn tell_room(&mut self, now: Timestamp) {
        let free = self.idle.saturating_sub(count(self.queue.len()));
        if free > 0 && !self.held.is_empty() {
            self.desk.tell(now, &Seen::Room(free));
        }
    }

    fn sample(&self) -> LoadSample {
        LoadSample::Stage {
            queue: count(self.queue.len() + self.held.len()),
            workers: self.workers,
            idle: self.idle,
            completed: self.completed,
        }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
