//! The one type that every host drives: a policy, its held jobs, and the bookkeeping that keeps both honest.

use std::{
    collections::BTreeSet,
    hash::{BuildHasherDefault, Hasher},
    time::Duration,
};

mod machine;
#[cfg(test)]
mod tests;

pub use machine::MachineSeat;

use serde::{Deserialize, Serialize};

use crate::{
    Ctx, Effect, Effects, Gauge, Grant, JobId, Note, Observer, Offer, Policy, Refusal, RetryHint, Seeded, Seen, SiteId,
    Timestamp, UnixSeconds, Verdict, gate::Line, policy::Reason,
};

/// A policy in its place.
///
/// Keeps held jobs with what they came with (`J`), knows which jobs are in flight, counts what contradicts that, stamps grants, and switches policies live. Hosts
/// call [`Seat::offer`] and [`Seat::observe`], and after either (and when a wake-up is due) [`Seat::poll`] until it
/// has nothing more to do. Take the lock first, *then* read the clock: a time that goes back is clamped and counted.
pub struct Seat<J = ()> {
    site: SiteId,
    policy: Box<dyn Policy>,
    epoch: u32,
    now: Timestamp,
    wall: UnixSeconds,
    /// Jobs admitted that have not ended.
    in_flight: InFlight,
    /// Held jobs.
    parked: Line<Waiting<J>>,
    effects: Effects,
    /// Held jobs that an earlier policy had released when it was replaced, and the host does not know of yet.
    released_before: BTreeSet<JobId>,
    /// The quality that the host was last told to serve at.
    quality: f64,
    random: Seeded,
    observer: Box<dyn Observer>,
    counts: Counts,
}

/// Jobs in flight. Each decision looks here twice, so it is a table and no tree; nobody goes through it, so its order decides nothing.
type InFlight = hashbrown::HashSet<JobId, BuildHasherDefault<Spread>>;

/// Spreads identities, which mostly come one after the other, over a table.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
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
    /// Facts that contradict what is in flight: a start or an end of a job that is not (told twice, or never admitted), and
    /// an admission of one that is. A mistake of the host, of which the policy is not told.
    #[serde(default)]
    pub contradictions: u64,
}

/// What hosts serve at until a policy says otherwise.
const FULL_QUALITY: f64 = 1.0;

/// A held job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting<J> {
    /// What the host gave with it.
    pub job: J,
    /// What is known of it.
    pub offer: Offer,
    /// Since when it is held.
    pub offered: Timestamp,
}

/// The answer to an offer, with the job if it is not held.
#[derive(Debug, PartialEq)]
#[must_use]
pub enum Decision<J> {
    /// It is let in.
    Admit(J, Grant),
    /// It is turned away.
    Refuse(J, Refusal),
    /// It is to come back after this long.
    ComeBack(J, Duration),
    /// The seat keeps it: [`Next::Release`] or [`Next::Refuse`] follows.
    Hold,
}

/// What the host has to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use]
pub enum Next<J = ()> {
    /// Let this held job in, then poll again.
    Release(Waiting<J>, Grant),
    /// Turn this held job away, then poll again.
    Refuse(Waiting<J>, Refusal),
    /// This, which is about no held job, then poll again.
    Do(Effect),
    /// Nothing until then; poll again at that time or later.
    WakeAt(Timestamp),
    /// Nothing.
    Idle,
}

impl<J> Next<J> {
    /// What is to be done, without what a held job came with. `None`: nothing now.
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
    /// Decides on one job that comes with nothing, as [`Seat::decide`].
    pub fn offer(&mut self, now: Timestamp, job: &Offer) -> Verdict {
        self.decide_with(now, job, || ())
    }
}

impl<J> Seat<J> {
    /// Puts a policy in a place. `seed` should come from [`crate::seed_for`] with the site's name.
    #[must_use]
    pub fn new(site: SiteId, policy: Box<dyn Policy>, seed: u64, observer: Box<dyn Observer>) -> Self {
        Self {
            site,
            policy,
            epoch: 0,
            now: Timestamp::ZERO,
            wall: UnixSeconds::default(),
            in_flight: InFlight::default(),
            parked: Line::default(),
            effects: Effects::default(),
            released_before: BTreeSet::new(),
            quality: FULL_QUALITY,
            random: Seeded::new(seed),
            observer,
            counts: Counts::default(),
        }
    }

    /// Decides on one job, which is handed back unless it is held. After [`Decision::Admit`] the host must report its end once, by
    /// [`Seen::Ended`].
    pub fn decide(&mut self, now: Timestamp, offer: &Offer, job: J) -> Decision<J> {
        match self.verdict(now, offer) {
            Verdict::Admit(grant) => Decision::Admit(job, grant),
            Verdict::Refuse(refusal) => Decision::Refuse(job, refusal),
            Verdict::ComeBack(wait) => Decision::ComeBack(job, wait),
            Verdict::Hold => {
                self.parked.push(offer.id, Waiting { job, offer: *offer, offered: now });
                Decision::Hold
            }
        }
    }

    /// The same, where what comes with a job is only made if it is held.
    pub fn decide_with(&mut self, now: Timestamp, offer: &Offer, job: impl FnOnce() -> J) -> Verdict {
        let verdict = self.verdict(now, offer);
        if verdict == Verdict::Hold {
            self.parked.push(offer.id, Waiting { job: job(), offer: *offer, offered: now });
        }
        verdict
    }

    /// A held job goes away by itself. `None` if it is not held: it was let in, turned away, or never here.
    pub fn leave(&mut self, now: Timestamp, id: JobId) -> Option<Waiting<J>> {
        self.advance(now);
        let gone = self.parked.remove(id)?;
        self.effects.forget(id);
        self.released_before.remove(&id);
        self.counts.left += 1;
        let (policy, mut cx) = self.split();
        policy.observe(&Seen::Left(id), &mut cx);
        Some(gone)
    }

    /// True if it keeps this job.
    #[must_use]
    pub fn holds(&self, id: JobId) -> bool {
        self.parked.contains(id)
    }

    /// Tells the policy one fact.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.advance(now);
        match *seen {
            Seen::Ended { id, grant, .. } => {
                if !self.end(id) {
                    return;
                }
                if grant.epoch != self.epoch {
                    // Admitted by a policy that has been replaced: there is room, and nothing to learn from it.
                    let (policy, mut cx) = self.split();
                    policy.observe(&Seen::Freed(id), &mut cx);
                    return;
                }
            }
            Seen::Started { id, .. } if !self.in_flight.contains(&id) => {
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

    /// Does what is due and says what the host has to do. Call until it returns [`Next::WakeAt`] or [`Next::Idle`].
    pub fn poll(&mut self, now: Timestamp) -> Next<J> {
        self.advance(now);
        if self.effects.is_empty() && self.policy.next_wake().is_some_and(|at| at <= self.now) {
            let (policy, mut cx) = self.split();
            policy.wake(&mut cx);
        }
        while let Some(effect) = self.effects.pop() {
            if let Some(next) = self.settle(effect) {
                return next;
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
        for job in self.parked.iter().map(|waiting| waiting.offer).collect::<Vec<_>>() {
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
        count(self.in_flight.len())
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

    fn verdict(&mut self, now: Timestamp, offer: &Offer) -> Verdict {
        self.advance(now);
        self.counts.offered += 1;
        let mut verdict = self.ask(offer);
        match &mut verdict {
            Verdict::Admit(grant) => {
                grant.epoch = self.epoch;
                self.admit(offer.id);
            }
            Verdict::Refuse(_) => self.counts.refused += 1,
            Verdict::ComeBack(_) => self.counts.sent_back += 1,
            Verdict::Hold => {}
        }
        verdict
    }

    fn ask(&mut self, job: &Offer) -> Verdict {
        let (policy, mut cx) = self.split();
        policy.offer(job, &mut cx)
    }

    fn split(&mut self) -> (&mut dyn Policy, Ctx<'_>) {
        let cx = Ctx {
            now: self.now,
            wall: self.wall,
            in_flight: count(self.in_flight.len()) + self.effects.releases(),
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
    fn settle(&mut self, effect: Effect) -> Option<Next<J>> {
        match effect {
            Effect::Release(id, mut grant) => {
                let waiting = self.parked.remove(id)?;
                // The end of what an earlier policy released says nothing to this one.
                let before = u32::from(self.released_before.remove(&id));
                grant.epoch = self.epoch.wrapping_sub(before);
                self.admit(id);
                Some(Next::Release(waiting, grant))
            }
            Effect::Refuse(id, refusal) => {
                let waiting = self.parked.remove(id)?;
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

    /// False if it is not in flight: then there is nothing to learn, and no room.
    fn end(&mut self, id: JobId) -> bool {
        let known = self.in_flight.remove(&id);
        if known {
            self.counts.ended += 1;
        } else {
            self.contradicts("ended twice, or was never admitted", id);
        }
        known
    }

    /// The host's mistake. It shows in tests; a service that runs is not to stop for it, and whoever judges its figures sees the count.
    fn contradicts(&mut self, what: &str, id: JobId) {
        self.counts.contradictions += 1;
        debug_assert!(false, "{id:?} {what}");
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl<J> std::fmt::Debug for Seat<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seat")
            .field("site", &self.site)
            .field("policy", &self.policy)
            .field("in_flight", &self.in_flight.len())
            .field("parked", &self.parked.len())
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
