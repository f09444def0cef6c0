//! A policy without a queue of its own: before dispatch, where jobs end when they leave the service, and at accept.

use std::time::Duration;

use super::{
    Action, InstalledPolicy, Permit, PolicySite, Probe, StageGauges, TurnedAway, gauges::counts_beside,
    policy_site::Want,
};
use crate::{
    Gauge, JobId, LoadSample, Note, Offer, Outcome, Seen, SiteId, Timestamp, Timing, UnixSeconds, Verdict,
    seat::HeldJob,
};

/// A policy with its held jobs, and the capacity behind it.
#[derive(Debug)]
pub struct Gate<J> {
    name: String,
    site: PolicySite<J>,
    /// Jobs that can be processed concurrently behind the gate, the basis of the free capacity that queue disciplines
    /// see.
    capacity: u32,
    completed: u64,
    unwatched: u64,
}

/// The answer of a gate to a job.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum Entered {
    /// Admitted. Without a policy there is no permit, and no end to report.
    In(Option<Permit>),
    /// Refused.
    Refused(TurnedAway),
    /// Held: [`Action::Admit`] or [`Action::Refuse`] follows.
    Held,
}

impl<J> Gate<J> {
    /// Creates a gate. `capacity`: jobs that can be processed concurrently behind it.
    #[must_use]
    pub fn new(name: &str, site: PolicySite<J>, capacity: u32) -> Self {
        Self { name: name.to_owned(), site, capacity, completed: 0, unwatched: 0 }
    }

    /// Sets the wall clock that policy and machines see. Hosts call this before each other call.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.site.set_wall(wall);
    }

    /// True while a policy other than `none` is installed.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.site.policy_name() != "none"
    }

    /// Decides on a job; `job` creates the payload that the gate stores if the job is held.
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

    /// Reports the start of work on a job.
    pub fn started(&mut self, now: Timestamp, permit: &mut Permit) {
        permit.started = Some(now);
        let waited = now.since(permit.offered);
        self.site.observe(now, &Seen::Started { id: permit.offer.id, waited });
    }

    /// Removes the note that was put on the reply of an admitted job so far, for a host that sends the head of a reply before
    /// the job ends.
    pub fn note(&mut self, permit: &Permit) -> Option<Note> {
        self.site.note(permit.offer.id)
    }

    /// Reports the end of a job, and returns the note for its reply. `cost`: its CPU time, where known; `told`: the
    /// note of the last reply to its calls.
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
        // SEDA's controllers run after a batch; here each job is a batch.
        self.site.observe(now, &Seen::Batch { jobs: 1, busy: now.since(started) });
        self.tell_room(now);
        to_tell
    }

    /// Removes a held job that left. `None`: it was decided already.
    pub fn leave(&mut self, now: Timestamp, id: JobId) -> Option<J> {
        self.site.leave(now, id)
    }

    /// Passes a fact from another site to policy and machines.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.site.observe(now, seen);
    }

    /// Switches the policy: admitted jobs keep their permits, held jobs are offered to the new policy.
    pub fn replace(&mut self, now: Timestamp, installed: InstalledPolicy) {
        self.site.replace(now, installed);
    }

    /// The host's next action. Call after every other call until it returns [`Action::WakeAt`] or [`Action::Idle`].
    pub fn poll(&mut self, now: Timestamp, probe: &dyn Probe) -> Action<J> {
        loop {
            match self.site.next_action() {
                Some(action) => return action,
                None => self.turn(now, probe),
            }
        }
    }

    /// True if this job is held.
    #[must_use]
    pub fn holds(&self, id: JobId) -> bool {
        self.site.seat().holds(id)
    }

    /// The quality of service that the policy sets, 0 to 1.
    #[must_use]
    pub fn quality(&self) -> f64 {
        self.site.quality()
    }

    /// The site.
    #[must_use]
    pub fn id(&self) -> SiteId {
        self.site.id()
    }

    /// The gauges of the gate.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        let counts = self.site.seat().counts();
        StageGauges {
            name: self.name.clone(),
            queue: self.site.seat().held(),
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

    /// The value of a gauge of the policy, if it has one.
    #[must_use]
    pub fn gauge(&self, gauge: Gauge) -> Option<f64> {
        self.site.gauge(gauge)
    }

    fn free(&self) -> u32 {
        self.capacity.saturating_sub(self.site.seat().in_flight())
    }

    fn tell_room(&mut self, now: Timestamp) {
        let free = self.free();
        self.site.tell_room(now, free);
    }

    /// Collects the effects of policy and machines.
    fn turn(&mut self, now: Timestamp, probe: &dyn Probe) {
        let sample = LoadSample::Stage {
            queue: self.site.seat().held(),
            workers: self.capacity,
            idle: self.free(),
            completed: self.completed,
        };
        let wake = self.site.turn(now, sample, probe, |want, actions| match want {
            Want::Release(HeldJob { job, offer, offered }, grant) => {
                actions.push_back(Action::Admit(job, Permit { offer, grant, offered, started: None }));
            }
            // A gate has no upstream site that could shed, and no pool.
            Want::Resize(_) | Want::Shed(..) => {}
        });
        self.site.end_turn(wake, None);
    }
}
