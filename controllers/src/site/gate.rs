//! A policy without a queue of its own: before dispatch, where jobs end when they leave the service, and at accept.

use std::time::Duration;

use super::{
    Action, InstalledPolicy, Permit, PolicySite, Probe, StageGauges, TurnedAway, gauges::counts_beside, watch::Want,
};
use crate::{
    JobId, LoadSample, Note, Offer, Outcome, Seen, SiteId, Timestamp, Timing, UnixSeconds, Verdict, seat::Waiting,
};

/// The gate.
#[derive(Debug)]
pub struct Gate<J> {
    name: String,
    site: PolicySite<J>,
    /// Jobs that can be worked on side by side behind the gate: what queue disciplines are told as room.
    capacity: u32,
    completed: u64,
    unwatched: u64,
}

/// What a gate says to a job.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum Entered {
    /// Come in. Without a policy there is no permit, and no end to be told.
    In(Option<Permit>),
    /// Go away.
    Refused(TurnedAway),
    /// The gate keeps it: [`Action::Admit`] or [`Action::Refuse`] follows.
    Held,
}

impl<J> Gate<J> {
    /// A gate. `capacity`: jobs that can be worked on side by side behind it.
    #[must_use]
    pub fn new(name: &str, site: PolicySite<J>, capacity: u32) -> Self {
        Self { name: name.to_owned(), site, capacity, completed: 0, unwatched: 0 }
    }

    /// Shows the wall clock to policy and machines. Hosts do so before each call.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.site.set_wall(wall);
    }

    /// True while a policy other than `none` sits here.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.site.policy_name() != "none"
    }

    /// A job asks to be let in; `job` is what the gate keeps of it if it is held.
    pub fn offer(&mut self, now: Timestamp, offer: Offer, job: impl FnOnce() -> J) -> Entered {
        if !self.is_watched() {
            self.unwatched += 1;
            return Entered::In(None);
        }
        match self.site.decide_with(now, &offer, job) {
            Verdict::Admit(grant) => Entered::In(Some(Permit { offer, grant, offered: now, started: None })),
            Verdict::Refuse(refusal) => Entered::Refused(TurnedAway { refusal, note: self.site.note(offer.id) }),
            Verdict::ComeBack(wait) => Entered::Refused(TurnedAway::until(wait)),
            Verdict::Hold => {
                self.tell_room(now);
                Entered::Held
            }
        }
    }

    /// Work on a job begins.
    pub fn started(&mut self, now: Timestamp, permit: &mut Permit) {
        permit.started = Some(now);
        let waited = now.since(permit.offered);
        self.site.observe(now, &Seen::Started { id: permit.offer.id, waited });
    }

    /// A job leaves; `cost`: the CPU time that it took, where that is known; `told`: what the last reply to a call on its
    /// behalf told. Says what its own reply is to tell beside the answer.
    pub fn ended(
        &mut self,
        now: Timestamp,
        permit: Permit,
        outcome: Outcome,
        cost: Option<Duration>,
        told: Option<Note>,
    ) -> Option<Note> {
        let Permit { offer: Offer { id, tags, entered, .. }, grant, offered, started } = permit;
        let started = started.unwrap_or(now);
        let timing = Timing { entered, offered, started, ended: now };
        self.completed += 1;
        self.site.observe(now, &Seen::Ended { id, grant, tags, outcome, timing, cost, note: told });
        let to_tell = self.site.note(id);
        // SEDA's controllers run when a batch is done; here each job is a batch of its own.
        self.site.observe(now, &Seen::Batch { jobs: 1, busy: now.since(started) });
        self.tell_room(now);
        to_tell
    }

    /// A held job goes away. `None` if it was decided about.
    pub fn leave(&mut self, now: Timestamp, id: JobId) -> Option<J> {
        self.site.leave(now, id)
    }

    /// Tells policy and machines a fact that another site saw.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.site.observe(now, seen);
    }

    /// Switches the policy: jobs behind the gate keep their permits, held ones are offered to the new one.
    pub fn replace(&mut self, now: Timestamp, installed: InstalledPolicy) {
        self.site.replace(now, installed);
    }

    /// What the host has to do. To be called after every other call until it answers [`Action::WakeAt`] or [`Action::Idle`].
    pub fn poll(&mut self, now: Timestamp, probe: &dyn Probe) -> Action<J> {
        loop {
            match self.site.next_action() {
                Some(action) => return action,
                None => self.turn(now, probe),
            }
        }
    }

    /// True if it holds this job.
    #[must_use]
    pub fn holds(&self, id: JobId) -> bool {
        self.site.seat().holds(id)
    }

    /// Quality that the policy wants jobs to be served at, 0 to 1.
    #[must_use]
    pub fn quality(&self) -> f64 {
        self.site.quality()
    }

    /// Which site it is.
    #[must_use]
    pub fn id(&self) -> SiteId {
        self.site.id()
    }

    /// What can be seen of it.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        let counts = self.site.seat().counts();
        StageGauges {
            name: self.name.clone(),
            queue: self.site.seat().parked(),
            offered: counts.offered + self.unwatched,
            admitted: counts.admitted + self.unwatched,
            refused: counts.refused + counts.sent_back,
            completed: self.completed + self.unwatched,
            policy: self.site.gauges(),
            counts: counts_beside(counts),
            policy_name: self.site.policy_name().to_owned(),
            ..StageGauges::default()
        }
    }

    fn free(&self) -> u32 {
        self.capacity.saturating_sub(self.site.seat().in_flight())
    }

    fn tell_room(&mut self, now: Timestamp) {
        let free = self.free();
        self.site.tell_room(now, free);
    }

    /// Asks policy and machines what they want.
    fn turn(&mut self, now: Timestamp, probe: &dyn Probe) {
        let sample = LoadSample::Stage {
            queue: self.site.seat().parked(),
            workers: self.capacity,
            idle: self.free(),
            completed: self.completed,
        };
        let wake = self.site.turn(now, sample, probe, |want, actions| match want {
            Want::Release(Waiting { job, offer, offered }, grant) => {
                actions.push_back(Action::Admit(job, Permit { offer, grant, offered, started: None }));
            }
            // Nothing lies before a gate that could shed, and it has no pool.
            Want::Resize(_) | Want::Shed(..) => {}
        });
        self.site.end_turn(wake, None);
    }
}
