//! The type that every host drives: a policy with its held jobs, its jobs in flight and their counts.

use std::{collections::BTreeSet, time::Duration};

mod machine;
#[cfg(test)]
mod tests;

pub use machine::MachineSeat;

use serde::{Deserialize, Serialize};

use crate::{
    Ctx, Effect, Effects, Gauge, Grant, JobId, Note, Observer, Offer, Policy, Refusal, RetryHint, Seeded, Seen, SiteId,
    Timestamp, UnixSeconds, Verdict,
    policy::{Reason, Sampling},
    primitives::{JobQueue, JobSet},
};

/// An installed policy.
///
/// A seat stores held jobs with their payload (`J`), tracks the jobs in flight, counts facts that contradict them,
/// stamps grants, and switches policies live. Hosts call [`Seat::offer`] and [`Seat::observe`], and after either (and
/// when a wake-up is due) [`Seat::poll`] until no action is left. Hosts take the lock first and read the clock
/// *afterwards*: the seat clamps and counts a time that goes back.
pub struct Seat<J = ()> {
    site: SiteId,
    policy: Box<dyn Policy>,
    epoch: u32,
    clock: CallTime,
    /// Admitted jobs that have not ended.
    in_flight: JobSet,
    /// Held jobs.
    held: JobQueue<HeldJob<J>>,
    effects: Effects,
    /// Held jobs that a replaced policy had released, and whose release the host has not polled yet.
    released_before: BTreeSet<JobId>,
    /// The last quality that the host was told, 0 to 1.
    quality: f64,
    random: Seeded,
    observer: Box<dyn Observer>,
    counts: Counts,
}

/// The time of the last call.
#[derive(Debug, Clone, Copy, Default)]
struct CallTime {
    now: Timestamp,
    wall: UnixSeconds,
}

/// Totals since the creation of the seat: `offered = admitted + refused + sent_back + left + held`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Offers.
    pub offered: u64,
    /// Admitted jobs, at once or after being held.
    pub admitted: u64,
    /// Refused jobs, at once or after being held.
    pub refused: u64,
    /// Jobs that were sent back for a while.
    pub sent_back: u64,
    /// Held jobs that left without a decision.
    pub left: u64,
    /// Admitted jobs that ended.
    pub ended: u64,
    /// Calls with a time before that of the previous call.
    pub clock_went_back: u64,
    /// Facts that contradict the jobs in flight: a start or an end of a job that is not in flight (reported twice, or
    /// never admitted), and an admission of a job that is. An error of the host, which the seat hides from the policy.
    #[serde(default)]
    pub contradictions: u64,
}

/// The quality of service until a policy sets another.
const FULL_QUALITY: f64 = 1.0;

/// A held job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldJob<J> {
    /// The host's payload.
    pub job: J,
    /// The offer.
    pub offer: Offer,
    /// The time of the offer.
    pub offered: Timestamp,
}

/// The decision on an offer, with the job unless it is held.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum Decision<J> {
    /// Admitted.
    Admit(J, Grant),
    /// Refused.
    Refuse(J, Refusal),
    /// Sent back for this time.
    ComeBack(J, Duration),
    /// Held in the seat: [`Next::Release`] or [`Next::Refuse`] follows.
    Hold,
}

/// The host's next action.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub enum Next<J = ()> {
    /// Admit this held job, then poll again.
    Release(HeldJob<J>, Grant),
    /// Refuse this held job, then poll again.
    Refuse(HeldJob<J>, Refusal),
    /// Perform this effect, which concerns no held job, then poll again.
    Do(Effect),
    /// Poll again at this time or later.
    WakeAt(Timestamp),
    /// Nothing to do.
    Idle,
}

impl<J> Next<J> {
    /// The action as an effect, without the payload. `None`: nothing to do now.
    pub fn effect(&self) -> Option<Effect> {
        match self {
            Self::Release(waiting, grant) => Some(Effect::Release(waiting.offer.id, *grant)),
            Self::Refuse(waiting, refusal) => Some(Effect::Refuse(waiting.offer.id, *refusal)),
            Self::Do(effect) => Some(*effect),
            Self::WakeAt(_) | Self::Idle => None,
        }
    }
}

impl Seat {
    /// Decides on one job without a payload, as [`Seat::decide`].
    pub fn offer(&mut self, now: Timestamp, job: &Offer) -> Verdict {
        self.decide_with(now, job, || ())
    }
}

impl<J> Seat<J> {
    /// Installs a policy. `seed` should come from [`crate::seed_for`] with the site's name.
    #[must_use]
    pub fn new(site: SiteId, policy: Box<dyn Policy>, seed: u64, observer: Box<dyn Observer>) -> Self {
        Self {
            site,
            policy,
            epoch: 0,
            clock: CallTime::default(),
            in_flight: JobSet::default(),
            held: JobQueue::default(),
            effects: Effects::default(),
            released_before: BTreeSet::new(),
            quality: FULL_QUALITY,
            random: Seeded::new(seed),
            observer,
            counts: Counts::default(),
        }
    }

    /// Decides on one job, and returns it unless it is held. After [`Decision::Admit`] the host must report the end
    /// once, as [`Seen::Ended`].
    pub fn decide(&mut self, now: Timestamp, offer: &Offer, job: J) -> Decision<J> {
        let mut given = Some(job);
        let verdict = self.decide_with(now, offer, || given.take().expect("asked for once"));
        let Some(job) = given else { return Decision::Hold };
        match verdict {
            Verdict::Admit(grant) => Decision::Admit(job, grant),
            Verdict::Refuse(refusal) => Decision::Refuse(job, refusal),
            Verdict::ComeBack(wait) => Decision::ComeBack(job, wait),
            Verdict::Hold => unreachable!("a held job has been taken"),
        }
    }

    /// The same, with a payload that is created only if the job is held.
    pub fn decide_with(&mut self, now: Timestamp, offer: &Offer, job: impl FnOnce() -> J) -> Verdict {
        self.advance(now);
        self.counts.offered += 1;
        // Written where it is returned, and not moved: every decision passes here.
        let mut verdict = self.ask(offer);
        match &mut verdict {
            Verdict::Admit(grant) => {
                grant.epoch = self.epoch;
                self.admit(offer.id);
            }
            Verdict::Refuse(_) => self.counts.refused += 1,
            Verdict::ComeBack(_) => self.counts.sent_back += 1,
            Verdict::Hold => {
                let job = job();
                self.held.push(offer.id, HeldJob { job, offer: *offer, offered: now });
            }
        }
        verdict
    }

    /// Removes a held job that left. `None`: the job is not held (decided, or never offered here).
    #[inline(never)] // inlined into `observe`, it would cost every fact registers
    pub fn leave(&mut self, now: Timestamp, id: JobId) -> Option<HeldJob<J>> {
        self.advance(now);
        let gone = self.held.remove(id)?;
        self.effects.forget(id);
        self.released_before.remove(&id);
        self.counts.left += 1;
        let (policy, mut cx) = self.split();
        policy.observe(&Seen::Left(id), &mut cx);
        Some(gone)
    }

    /// True if this job is held.
    #[must_use]
    pub fn holds(&self, id: JobId) -> bool {
        self.held.contains(id)
    }

    /// True if this job was admitted and has not ended.
    #[must_use]
    pub fn is_in_flight(&self, id: JobId) -> bool {
        self.in_flight.contains(id)
    }

    /// Passes one fact to the policy.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.advance(now);
        match *seen {
            Seen::Ended { id, grant, .. } => {
                if !self.end(id) {
                    return;
                }
                if grant.epoch != self.epoch {
                    // A replaced policy admitted it: a slot is free, and the end carries no information.
                    let (policy, mut cx) = self.split();
                    policy.observe(&Seen::Freed(id), &mut cx);
                    return;
                }
            }
            Seen::Started { id, .. } if !self.is_in_flight(id) => {
                self.contradicts("started, and is not in flight", id);
                return;
            }
            Seen::Left(id) => {
                self.leave(now, id);
                return;
            }
            _ => {}
        }
        let (policy, mut cx) = self.split();
        policy.observe(seen, &mut cx);
    }

    /// Performs the work that is due, and returns the host's next action. Call until it returns [`Next::WakeAt`] or
    /// [`Next::Idle`].
    pub fn poll(&mut self, now: Timestamp) -> Next<J> {
        self.advance(now);
        if self.effects.is_empty() {
            match self.policy.next_wake() {
                Some(at) if at <= self.clock.now => {
                    let (policy, mut cx) = self.split();
                    policy.wake(&mut cx);
                }
                // After most calls there is nothing to do.
                later => return self.idle_until(later),
            }
        }
        while let Some(effect) = self.effects.pop() {
            if let Some(next) = self.settle(effect) {
                return next;
            }
        }
        self.idle_until(self.policy.next_wake())
    }

    fn idle_until(&self, wake: Option<Timestamp>) -> Next<J> {
        match wake {
            // A policy that is due again at once must not keep its host in the loop.
            Some(at) => Next::WakeAt(at.max(self.clock.now + Duration::from_nanos(1))),
            None => Next::Idle,
        }
    }

    /// Switches to another policy while jobs are in flight. Held jobs are offered to the new policy in order;
    /// [`Seat::poll`] returns the decisions.
    pub fn replace(&mut self, now: Timestamp, policy: Box<dyn Policy>) {
        self.advance(now);
        // Decisions of the replaced policy about held jobs stand; its other effects are dropped.
        let mut decided = BTreeSet::new();
        let mut standing = Effects::default();
        while let Some(effect) = self.effects.pop() {
            if let Effect::Release(id, _) | Effect::Refuse(id, _) = effect {
                decided.insert(id);
                if matches!(effect, Effect::Release(..)) {
                    self.released_before.insert(id);
                }
                standing.push(effect);
            }
        }
        self.effects = standing;
        // The next policy may know nothing of quality, and must not inherit a degraded service.
        if self.quality != FULL_QUALITY {
            self.effects.push(Effect::Quality(FULL_QUALITY));
        }
        self.policy = policy;
        self.epoch = self.epoch.wrapping_add(1);
        for job in self.held.iter().map(|waiting| waiting.offer).collect::<Vec<_>>() {
            if decided.contains(&job.id) {
                continue;
            }
            match self.ask(&job) {
                Verdict::Admit(grant) => self.effects.push(Effect::Release(job.id, grant)),
                Verdict::Refuse(refusal) => self.effects.push(Effect::Refuse(job.id, refusal)),
                Verdict::ComeBack(wait) => {
                    let refusal = Refusal { reason: Reason::Rate, retry: RetryHint::After(wait) };
                    self.effects.push(Effect::Refuse(job.id, refusal));
                }
                Verdict::Hold => {}
            }
        }
    }

    /// Removes the policy's note for this job's reply, if one was set since the last poll: for a host that sends the
    /// reply before it polls.
    pub fn note(&mut self, of: JobId) -> Option<Note> {
        self.effects.take_note(of)
    }

    /// The policy's gauges.
    pub fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.policy.gauges(visit);
    }

    /// Load samples that the policy needs beside those of its entry.
    pub(crate) fn samples(&self) -> &[Sampling] {
        self.policy.samples()
    }

    /// Admitted jobs that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight.len()
    }

    /// Held jobs.
    #[must_use]
    pub fn held(&self) -> u32 {
        self.held.len()
    }

    /// Totals since the creation of the seat.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The site.
    #[must_use]
    pub fn site(&self) -> SiteId {
        self.site
    }

    /// Sets the wall clock that the policy sees.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.clock.wall = wall;
    }

    fn ask(&mut self, job: &Offer) -> Verdict {
        let (policy, mut cx) = self.split();
        policy.offer(job, &mut cx)
    }

    fn split(&mut self) -> (&mut dyn Policy, Ctx<'_>) {
        let cx = Ctx {
            now: self.clock.now,
            wall: self.clock.wall,
            in_flight: self.in_flight.len() + self.effects.releases(),
            held: self.held.len().saturating_sub(self.effects.decided()),
            random: &mut self.random,
            effects: &mut self.effects,
            observer: &mut *self.observer,
            site: self.site,
        };
        (&mut *self.policy, cx)
    }

    fn advance(&mut self, now: Timestamp) {
        if now < self.clock.now {
            self.counts.clock_went_back += 1;
        } else {
            self.clock.now = now;
        }
    }

    /// Counts the release or refusal of a held job. `None`: the job has left.
    fn settle(&mut self, effect: Effect) -> Option<Next<J>> {
        match effect {
            Effect::Release(id, mut grant) => {
                let waiting = self.held.remove(id)?;
                // The end of a job that a replaced policy released carries no information for this one.
                let before = u32::from(self.released_before.remove(&id));
                grant.epoch = self.epoch.wrapping_sub(before);
                self.admit(id);
                Some(Next::Release(waiting, grant))
            }
            Effect::Refuse(id, refusal) => {
                let waiting = self.held.remove(id)?;
                self.counts.refused += 1;
                Some(Next::Refuse(waiting, refusal))
            }
            Effect::Quality(quality) => {
                self.quality = quality;
                Some(Next::Do(effect))
            }
            other => Some(Next::Do(other)),
        }
    }

    fn admit(&mut self, id: JobId) {
        self.counts.admitted += 1;
        if !self.in_flight.insert(id) {
            self.contradicts("was admitted, and is in flight already", id);
        }
    }

    /// Removes a job from the jobs in flight. False: it was not in flight, so its end frees no slot.
    fn end(&mut self, id: JobId) -> bool {
        let known = self.in_flight.remove(id);
        if known {
            self.counts.ended += 1;
        } else {
            self.contradicts("ended twice, or was never admitted", id);
        }
        known
    }

    /// Counts an error of the host. It panics in debug builds; a running service continues, and the count appears in
    /// its figures.
    #[cold]
    fn contradicts(&mut self, what: &str, id: JobId) {
        self.counts.contradictions += 1;
        debug_assert!(false, "{id:?} {what}");
    }
}

impl<J> std::fmt::Debug for Seat<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat")
            .field("site", &self.site)
            .field("policy", &self.policy)
            .field("in_flight", &self.in_flight.len())
            .field("held", &self.held.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
