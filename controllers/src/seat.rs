//! The one type that every host drives: a policy, its held jobs, and the bookkeeping that keeps both honest.

use std::{collections::BTreeSet, time::Duration};

mod machine;
#[cfg(test)]
mod tests;

pub use machine::MachineSeat;

use serde::{Deserialize, Serialize};

use crate::{
    Ctx, Effect, Effects, Gauge, JobId, Note, Observer, Offer, Policy, Refusal, RetryHint, Seeded, Seen, Timestamp,
    UnixSeconds, Verdict, gate::Line, policy::Reason,
};

/// Identifies a site (a stage, a listener, a client) within one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SiteId(pub u16);

/// Where a policy will sit: what its builder may know.
#[derive(Debug, Clone)]
pub struct Site {
    /// Its identity within the host.
    pub id: SiteId,
    /// Its name (`list messages`, `dispatch`, `accept`), by which per-site parameters are found.
    pub name: String,
    /// What kind of place it is.
    pub place: crate::catalogue::Place,
    /// The objective of the run: a percentile (0 to 100) and the response time it must stay under.
    pub objective: Objective,
}

/// What the service promises: this percentile of response times stays under this time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// 0 to 100.
    pub percentile: f64,
    /// The bound.
    pub response_time: Duration,
}

/// A policy in its place.
///
/// Counts jobs in flight and held, asserts order and conservation, stamps grants, and switches policies live. Hosts
/// call [`Seat::offer`] and [`Seat::observe`], and after either (and when a wake-up is due) [`Seat::poll`] until it
/// has nothing more to do. Take the lock first, *then* read the clock: a time that goes back is clamped and counted.
pub struct Seat {
    site: SiteId,
    policy: Box<dyn Policy>,
    epoch: u32,
    now: Timestamp,
    wall: UnixSeconds,
    in_flight: u32,
    /// Held jobs.
    parked: Line<Offer>,
    effects: Effects,
    /// Held jobs that an earlier policy had released when it was replaced, and the host does not know of yet.
    released_before: BTreeSet<JobId>,
    /// The quality that the host was last told to serve at.
    quality: f64,
    random: Seeded,
    observer: Box<dyn Observer>,
    counts: Counts,
    #[cfg(debug_assertions)]
    admitted: BTreeSet<JobId>,
}

/// Totals since the seat was made: `offered = admitted + refused + sent_back + left + parked`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Jobs that asked.
    pub offered: u64,
    /// Jobs let in, at once or later.
    pub admitted: u64,
    /// Jobs turned away, at once or later.
    pub refused: u64,
    /// Jobs told to come back.
    pub sent_back: u64,
    /// Held jobs that went away by themselves.
    pub left: u64,
    /// Admitted jobs that ended.
    pub ended: u64,
    /// Calls whose time lay before the call before them.
    pub clock_went_back: u64,
}

/// What hosts serve at until a policy says otherwise.
const FULL_QUALITY: f64 = 1.0;

/// What the host has to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub enum Next {
    /// This, then poll again.
    Do(Effect),
    /// Nothing until then; poll again at that time or later.
    WakeAt(Timestamp),
    /// Nothing.
    Idle,
}

impl Seat {
    /// Puts a policy in a place. `seed` should come from [`crate::seed_for`] with the site's name.
    #[must_use]
    pub fn new(site: SiteId, policy: Box<dyn Policy>, seed: u64, observer: Box<dyn Observer>) -> Self {
        Self {
            site,
            policy,
            epoch: 0,
            now: Timestamp::ZERO,
            wall: UnixSeconds::default(),
            in_flight: 0,
            parked: Line::default(),
            effects: Effects::default(),
            released_before: BTreeSet::new(),
            quality: FULL_QUALITY,
            random: Seeded::new(seed),
            observer,
            counts: Counts::default(),
            #[cfg(debug_assertions)]
            admitted: BTreeSet::new(),
        }
    }

    /// Decides on one job. After [`Verdict::Admit`] the host must report its end once, by [`Seen::Ended`].
    pub fn offer(&mut self, now: Timestamp, job: &Offer) -> Verdict {
        self.advance(now);
        self.counts.offered += 1;
        let mut verdict = self.ask(job);
        match &mut verdict {
            Verdict::Admit(grant) => {
                grant.epoch = self.epoch;
                self.admit(job.id);
            }
            Verdict::Refuse(_) => self.counts.refused += 1,
            Verdict::ComeBack(_) => self.counts.sent_back += 1,
            Verdict::Hold => self.parked.push(job.id, *job),
        }
        verdict
    }

    /// Tells the policy one fact.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.advance(now);
        match *seen {
            Seen::Ended { id, grant, .. } => {
                self.end(id);
                if grant.epoch != self.epoch {
                    // Admitted by a policy that has been replaced: there is room, and nothing to learn from it.
                    let (policy, mut cx) = self.split();
                    policy.observe(&Seen::Freed(id), &mut cx);
                    return;
                }
            }
            Seen::Left(id) => {
                if self.parked.remove(id).is_none() {
                    return; // the host has been told of its release or refusal
                }
                self.effects.forget(id);
                self.released_before.remove(&id);
                self.counts.left += 1;
            }
            _ => {}
        }
        let (policy, mut cx) = self.split();
        policy.observe(seen, &mut cx);
    }

    /// Does what is due and says what the host has to do. Call until it returns [`Next::WakeAt`] or [`Next::Idle`].
    pub fn poll(&mut self, now: Timestamp) -> Next {
        self.advance(now);
        if self.effects.is_empty() && self.policy.next_wake().is_some_and(|at| at <= self.now) {
            let (policy, mut cx) = self.split();
            policy.wake(&mut cx);
        }
        while let Some(effect) = self.effects.pop() {
            if let Some(effect) = self.settle(effect) {
                return Next::Do(effect);
            }
        }
        match self.policy.next_wake() {
            // A policy that is due again at once still lets its host breathe.
            Some(at) => Next::WakeAt(at.max(self.now + Duration::from_nanos(1))),
            None => Next::Idle,
        }
    }

    /// Switches to another policy while jobs are in flight. Held jobs are offered to it again, in order; what becomes of
    /// them comes out of [`Seat::poll`].
    pub fn replace(&mut self, now: Timestamp, policy: Box<dyn Policy>) {
        self.advance(now);
        // What the old policy decided about held jobs stands; its other wishes go with it.
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
        for job in self.parked.iter().copied().collect::<Vec<_>>() {
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

    /// What the policy wants to be told on this job's reply, if it has said so since the last poll: for a host that makes the
    /// reply before it polls.
    pub fn note(&mut self, of: JobId) -> Option<Note> {
        self.effects.take_note(of)
    }

    /// The policy's gauges.
    pub fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.policy.gauges(visit);
    }

    /// Jobs admitted that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Jobs held.
    #[must_use]
    pub fn parked(&self) -> u32 {
        self.parked.len()
    }

    /// Totals since the seat was made.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Where it sits.
    #[must_use]
    pub fn site(&self) -> SiteId {
        self.site
    }

    /// Sets the wall clock that policies are shown.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.wall = wall;
    }

    fn ask(&mut self, job: &Offer) -> Verdict {
        let (policy, mut cx) = self.split();
        policy.offer(job, &mut cx)
    }

    fn split(&mut self) -> (&mut dyn Policy, Ctx<'_>) {
        let cx = Ctx {
            now: self.now,
            wall: self.wall,
            in_flight: self.in_flight + self.effects.releases(),
            parked: self.parked.len().saturating_sub(self.effects.decided()),
            random: &mut self.random,
            effects: &mut self.effects,
            observer: &mut *self.observer,
            site: self.site,
        };
        (&mut *self.policy, cx)
    }

    fn advance(&mut self, now: Timestamp) {
        if now < self.now {
            self.counts.clock_went_back += 1;
        } else {
            self.now = now;
        }
    }

    /// Books a release or refusal of a held job. `None` if the job is gone already.
    fn settle(&mut self, effect: Effect) -> Option<Effect> {
        match effect {
            Effect::Release(id, mut grant) => {
                self.parked.remove(id)?;
                // The end of what an earlier policy released says nothing to this one.
                let before = u32::from(self.released_before.remove(&id));
                grant.epoch = self.epoch.wrapping_sub(before);
                self.admit(id);
                Some(Effect::Release(id, grant))
            }
            Effect::Refuse(id, refusal) => {
                self.parked.remove(id)?;
                self.counts.refused += 1;
                Some(Effect::Refuse(id, refusal))
            }
            Effect::Quality(quality) => {
                self.quality = quality;
                Some(effect)
            }
            other => Some(other),
        }
    }

    fn admit(&mut self, id: JobId) {
        self.counts.admitted += 1;
        self.in_flight += 1;
        #[cfg(debug_assertions)]
        assert!(self.admitted.insert(id), "{id:?} is in flight already");
        let _ = id;
    }

    fn end(&mut self, id: JobId) {
        assert!(self.in_flight > 0, "{id:?} ended, but nothing is in flight");
        self.in_flight -= 1;
        self.counts.ended += 1;
        #[cfg(debug_assertions)]
        assert!(self.admitted.remove(&id), "{id:?} ended twice, or was never admitted");
    }
}

impl std::fmt::Debug for Seat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat")
            .field("site", &self.site)
            .field("policy", &self.policy)
            .field("in_flight", &self.in_flight)
            .field("parked", &self.parked.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
