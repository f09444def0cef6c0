//! A seat without a queue of its own in a plant: before dispatch, and at accept. The live one is [`crate::stage::Door`].

use std::{collections::BTreeMap, time::Duration};

use controllers::{
    Effect, JobId, LoadSample, Note, Offer, Outcome, PeerReport, Reason, Refusal, RetryHint, Seen, Timestamp, Timing,
    Verdict, site::TurnedAway,
};

use super::{visit::Pass, world::wall};
use crate::{
    control::wire::StageGauges,
    signals::Probe,
    stage::{Chosen, Desk},
};

/// The door.
#[derive(Debug)]
pub(super) struct PlantDoor {
    name: String,
    desk: Desk,
    /// Jobs that can be worked on side by side behind the door.
    capacity: u32,
    held: BTreeMap<JobId, (Offer, Timestamp)>,
    completed: u64,
    unwatched: u64,
    pub(super) quality: f64,
}

/// What a door says to a job.
#[derive(Debug)]
pub(super) enum Entered {
    /// Come in; without a policy there is no pass.
    In(Option<Pass>),
    Refused(TurnedAway),
    Held,
}

/// What a door has decided about jobs that it held, and when it wants to be looked at again.
#[derive(Debug, Default)]
pub(super) struct DoorNews {
    pub(super) released: Vec<(JobId, Pass)>,
    pub(super) refused: Vec<(JobId, TurnedAway)>,
    /// To other sites.
    pub(super) told: Vec<PeerReport>,
    pub(super) wake: Option<Timestamp>,
}

impl PlantDoor {
    pub(super) fn new(name: &str, desk: Desk, capacity: u32) -> Self {
        Self { name: name.to_owned(), desk, capacity, held: BTreeMap::new(), completed: 0, unwatched: 0, quality: 1.0 }
    }

    /// True while a policy other than `none` sits here.
    pub(super) fn is_watched(&self) -> bool {
        self.desk.policy_name() != "none"
    }

    pub(super) fn enter(&mut self, now: Timestamp, offer: &Offer) -> Entered {
        if !self.is_watched() {
            self.unwatched += 1;
            return Entered::In(None);
        }
        self.desk.show_wall(wall(now));
        match self.desk.offer(now, offer) {
            Verdict::Admit(grant) => Entered::In(Some(Pass { grant, offered: now, started: None })),
            Verdict::Refuse(refusal) => Entered::Refused(TurnedAway { refusal, note: self.desk.note(offer.id) }),
            Verdict::ComeBack(wait) => {
                Entered::Refused(Refusal { reason: Reason::Rate, retry: RetryHint::After(wait) }.into())
            }
            Verdict::Hold => {
                self.held.insert(offer.id, (*offer, now));
                self.tell_room(now);
                Entered::Held
            }
        }
    }

    /// Work on a job begins.
    pub(super) fn started(&mut self, now: Timestamp, id: JobId, pass: &mut Pass) {
        pass.started = Some(now);
        self.desk.tell(now, &Seen::Started { id, waited: now.since(pass.offered) });
    }

    /// A job leaves. Says what its reply is to tell beside the answer.
    pub(super) fn finish(
        &mut self,
        now: Timestamp,
        offer: &Offer,
        pass: Pass,
        outcome: Outcome,
        cost: Option<Duration>,
    ) -> Option<Note> {
        let started = pass.started.unwrap_or(now);
        let timing = Timing { entered: offer.entered, offered: pass.offered, started, ended: now };
        let Offer { id, tags, note, .. } = *offer;
        self.completed += 1;
        self.desk.tell(now, &Seen::Ended { id, grant: pass.grant, tags, outcome, timing, cost, note });
        let to_tell = self.desk.note(id);
        self.desk.tell(now, &Seen::Batch { jobs: 1, busy: now.since(started) });
        self.tell_room(now);
        to_tell
    }

    /// A job that is held goes away.
    pub(super) fn left(&mut self, now: Timestamp, id: JobId) {
        if self.held.remove(&id).is_some() {
            self.desk.tell(now, &Seen::Left(id));
        }
    }

    pub(super) fn hear(&mut self, now: Timestamp, seen: &Seen) {
        self.desk.tell(now, seen);
    }

    pub(super) fn replace(&mut self, now: Timestamp, chosen: Chosen) {
        self.quality = 1.0;
        self.desk.replace(now, chosen);
    }

    /// Does what is due, and says what was decided.
    pub(super) fn turn(&mut self, now: Timestamp, probe: &dyn Probe) -> DoorNews {
        let sample = LoadSample::Stage {
            queue: self.desk.seat().parked(),
            workers: self.capacity,
            idle: self.free(),
            completed: self.completed,
        };
        self.desk.show_wall(wall(now));
        let mut wants = Vec::new();
        let mut news = DoorNews { wake: self.desk.turn(now, sample, probe, &mut wants), ..DoorNews::default() };
        for effect in wants {
            match effect {
                Effect::Release(id, grant) => {
                    if let Some((_, offered)) = self.held.remove(&id) {
                        news.released.push((id, Pass { grant, offered, started: None }));
                    }
                }
                Effect::Refuse(id, refusal) => {
                    if self.held.remove(&id).is_some() {
                        news.refused.push((id, TurnedAway { refusal, note: self.desk.note(id) }));
                    }
                }
                Effect::Quality(quality) => self.quality = quality,
                Effect::Tell(report) => news.told.push(report),
                // As at the live door: nothing lies before it, it has no pool, and the desk keeps notes for replies.
                Effect::Shed { .. } | Effect::Resize(_) | Effect::Annotate(..) => {}
            }
        }
        news
    }

    /// Jobs that it holds.
    pub(super) fn holds(&self, id: JobId) -> bool {
        self.held.contains_key(&id)
    }

    pub(super) fn gauges(&self) -> StageGauges {
        let counts = self.desk.seat().counts();
        let mut policy = BTreeMap::new();
        self.desk.gauges(&mut policy);
        StageGauges {
            name: self.name.clone(),
            queue: self.desk.seat().parked(),
            offered: counts.offered + self.unwatched,
            admitted: counts.admitted + self.unwatched,
            refused: counts.refused + counts.sent_back,
            completed: self.completed + self.unwatched,
            policy,
            policy_name: self.desk.policy_name().to_owned(),
            ..StageGauges::default()
        }
    }

    fn free(&self) -> u32 {
        self.capacity.saturating_sub(self.desk.seat().in_flight())
    }

    fn tell_room(&mut self, now: Timestamp) {
        let free = self.free();
        if free > 0 && !self.held.is_empty() {
            self.desk.tell(now, &Seen::Room(free));
        }
    }
}
