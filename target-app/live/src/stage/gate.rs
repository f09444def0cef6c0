//! A live gate: a lock and a timer round the machine [`Gate`], before dispatch and at accept.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{
    JobId, Note, Offer, Outcome, Reason, Refusal, Seen, Timestamp, UnixSeconds,
    site::{Action, Entered, Gate, InstalledPolicy, Permit, PolicySite, StageGauges, TurnedAway},
};
use tokio::sync::oneshot;

use super::{Shared, SharedSite};
use crate::{clock::ServiceClock, reports::Reports, signals::Probe};

/// A gate with a policy. While the policy is `none`, jobs pass without taking the lock.
#[derive(Debug)]
pub struct AdmissionGate {
    watched: AtomicBool,
    quality: AtomicU64,
    told: LastNote,
    unwatched: AtomicU64,
    probe: Arc<dyn Probe>,
    /// The outgoing usage reports; `None` if no host carries them.
    reports: Option<Reports>,
    shared: Shared<Gate<Continuation>>,
}

/// The note that a policy put on a reply last.
#[derive(Debug, Default)]
struct LastNote {
    is_some: AtomicBool,
    number: AtomicU64,
}

impl LastNote {
    fn keep(&self, Note(number): Note) {
        self.number.store(number, Ordering::Relaxed);
        self.is_some.store(true, Ordering::Release);
    }

    fn read(&self) -> Option<Note> {
        self.is_some.load(Ordering::Acquire).then(|| Note(self.number.load(Ordering::Relaxed)))
    }

    fn forget(&self) {
        self.is_some.store(false, Ordering::Release);
    }
}

/// The gate's decision about a job.
pub type AdmissionResult = Result<GatePermit, TurnedAway>;

/// The decision about a held job, once it is made.
pub type HeldDecision = oneshot::Receiver<AdmissionResult>;

/// The answer to an offer.
#[derive(Debug)]
pub enum GateAnswer {
    /// Admitted or refused.
    Decided(AdmissionResult),
    /// Neither yet.
    Held(HeldDecision),
}

/// Continues a held job once the gate has decided. It runs at once, in the task whose call led to the decision, outside the gate's lock.
pub type Continuation = Box<dyn FnOnce(AdmissionResult) + Send>;

/// The permit of an admitted job. It ends once: by [`GatePermit::end`], or as abandoned when dropped.
#[derive(Debug)]
pub struct GatePermit(Option<(Arc<AdmissionGate>, Permit)>);

impl AdmissionGate {
    /// A gate. `capacity`: jobs that can be worked on side by side behind it; `probe`: where load samples come from.
    #[must_use]
    pub fn new(
        name: &str,
        site: PolicySite<Continuation>,
        capacity: u32,
        probe: Arc<dyn Probe>,
        reports: Option<Reports>,
        clock: ServiceClock,
    ) -> Arc<Self> {
        let gate = Gate::new(name, site, capacity);
        Arc::new(Self {
            watched: AtomicBool::new(gate.is_watched()),
            quality: AtomicU64::new(1.0_f64.to_bits()),
            told: LastNote::default(),
            unwatched: AtomicU64::new(0),
            probe,
            reports,
            shared: Shared::new(gate, clock),
        })
    }

    /// Offers a job. `None`: the gate holds the job, and calls the continuation that `held` makes once it has decided.
    pub fn offer(self: &Arc<Self>, offer: Offer, held: impl FnOnce() -> Continuation) -> Option<AdmissionResult> {
        if !self.is_watched() {
            self.unwatched.fetch_add(1, Ordering::Relaxed);
            return Some(Ok(GatePermit(None)));
        }
        match self.with(|gate, now| gate.offer(now, offer, held)) {
            Entered::In(permit) => Some(Ok(GatePermit(permit.map(|permit| (Arc::clone(self), permit))))),
            Entered::Refused(away) => Some(Err(away)),
            Entered::Held => None,
        }
    }

    /// Removes a job whose client has gone, if the gate holds it.
    pub fn leave(self: &Arc<Self>, id: JobId) {
        if self.shared.peek(|gate| gate.holds(id)) {
            let gone = self.with(|gate, now| gate.leave(now, id));
            drop(gone);
        }
    }

    /// Offers a job and waits while the gate holds it. Dropping the future removes the job.
    ///
    /// # Errors
    /// The refusal.
    pub async fn enter(self: &Arc<Self>, offer: Offer) -> AdmissionResult {
        match self.ask(offer) {
            GateAnswer::Decided(decided) => decided,
            GateAnswer::Held(decision) => {
                let _leaving = Leaving { gate: self, id: offer.id };
                decision.await.unwrap_or_else(|_| Err(Refusal::new(Reason::Draining).into()))
            }
        }
    }

    /// Offers a job.
    pub fn ask(self: &Arc<Self>, offer: Offer) -> GateAnswer {
        let (sender, decision) = oneshot::channel();
        // A permit without a receiver ends when it is dropped.
        let decided = self.offer(offer, || Box::new(|decided| drop(sender.send(decided))));
        decided.map_or(GateAnswer::Held(decision), GateAnswer::Decided)
    }

    /// True while a policy other than `none` sits here.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Acquire)
    }

    /// The quality of service that the policy asks for, 0 to 1.
    #[must_use]
    pub fn quality(&self) -> f64 {
        f64::from_bits(self.quality.load(Ordering::Relaxed))
    }

    /// The note that the policy put on a reply last.
    pub fn last_note(&self) -> Option<Note> {
        self.told.read()
    }

    /// Switches the policy; jobs inside keep their permits, jobs that wait are offered to the new one.
    pub fn replace(self: &Arc<Self>, installed: InstalledPolicy) {
        self.with(|gate, now| {
            gate.replace(now, installed);
            self.watched.store(gate.is_watched(), Ordering::Release);
        });
        self.told.forget();
    }

    /// Tells the policy a fact that another site observed.
    pub fn hear(self: &Arc<Self>, seen: &Seen) {
        self.with(|gate, now| gate.observe(now, seen));
    }

    /// The current gauges.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        let unwatched = self.unwatched.load(Ordering::Relaxed);
        let mut gauges = self.shared.peek(|gate| gate.gauges());
        for count in [&mut gauges.offered, &mut gauges.admitted, &mut gauges.completed] {
            *count += unwatched;
        }
        gauges
    }
}

impl GatePermit {
    /// The permit of a job that passed while the policy was `none`.
    pub fn none() -> Self {
        Self(None)
    }

    /// Work on the job begins.
    pub fn started(&mut self) {
        if let Some((gate, permit)) = &mut self.0 {
            gate.with(|gate, now| gate.started(now, permit));
        }
    }

    /// Work on the job begins, and the head of its reply will go before the job ends. Returns the note that the policy has
    /// put on the reply so far.
    pub fn started_before_reply(&mut self) -> Option<Note> {
        let (gate, permit) = self.0.as_mut()?;
        gate.with(|gate, now| {
            gate.started(now, permit);
            gate.note(permit)
        })
    }

    /// Ends a job that no worker has worked on. Returns the note for the sender's policy.
    pub fn end(mut self, outcome: Outcome) -> Option<Note> {
        self.finish(outcome, None, None)
    }

    /// Ends a job. `cost`: its CPU time, where that is known; `told`: the note of the last reply to a call on its behalf. Returns the note
    /// for the sender's policy.
    pub fn end_served(mut self, outcome: Outcome, cost: Option<Duration>, told: Option<Note>) -> Option<Note> {
        self.finish(outcome, cost, told)
    }

    fn finish(&mut self, outcome: Outcome, cost: Option<Duration>, told: Option<Note>) -> Option<Note> {
        let (gate, permit) = self.0.take()?;
        let note = gate.with(|gate, now| gate.ended(now, permit, outcome, cost, told));
        note.into_iter().for_each(|note| gate.told.keep(note));
        note
    }
}

impl Drop for GatePermit {
    fn drop(&mut self) {
        self.finish(Outcome::Abandoned, None, None);
    }
}

/// Removes a held job when its waiter is dropped.
struct Leaving<'a> {
    gate: &'a Arc<AdmissionGate>,
    id: JobId,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.gate.leave(self.id);
    }
}

impl SharedSite for AdmissionGate {
    type Machine = Gate<Continuation>;
    /// Held jobs about which the gate has decided.
    type Wants = Vec<(Continuation, AdmissionResult)>;

    fn shared(&self) -> &Shared<Self::Machine> {
        &self.shared
    }

    fn set_wall(gate: &mut Self::Machine, wall: UnixSeconds) {
        gate.set_wall(wall);
    }

    fn poll(self: &Arc<Self>, gate: &mut Self::Machine, now: Timestamp) -> (Self::Wants, Option<Timestamp>) {
        let mut decided = Vec::new();
        let wake = loop {
            match gate.poll(now, &*self.probe) {
                Action::Admit(waits, permit) => decided.push((waits, Ok(GatePermit(Some((Arc::clone(self), permit)))))),
                Action::Refuse(waits, away) => decided.push((waits, Err(away))),
                Action::Tell(report) => self.reports.iter().for_each(|reports| reports.tell(report)),
                Action::WakeAt(at) => break Some(at),
                Action::Idle => break None,
                // A gate has no workers, and no site upstream.
                Action::Start(_) | Action::Hire(_) | Action::Dismiss(_) | Action::Shed(..) => {}
            }
        };
        self.quality.store(gate.quality().to_bits(), Ordering::Relaxed);
        (decided, wake)
    }

    fn carry_out(self: &Arc<Self>, decided: Self::Wants) {
        decided.into_iter().for_each(|(held, decided)| held(decided));
    }
}
