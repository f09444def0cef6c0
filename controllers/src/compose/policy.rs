//! The machine of a composition.

use std::collections::BTreeMap;

use super::shares::LimitShares;
use crate::{
    Ctx, Effect, Effects, Gauge, Grant, JobId, LoadSample, Machine, Offer, Outcome, Place, Policy, Reason, Refusal,
    RetryHint, Seen, Tags, Timestamp, Timing, Verdict,
    policy::{SampleKind, Sampling},
    primitives::JobQueue,
};

/// One policy of a composition.
#[derive(Debug)]
pub(super) struct Part {
    policy: Box<dyn Policy>,
    samples: &'static [Sampling],
    /// Its effects, until the composition has passed them on.
    effects: Effects,
}

impl Part {
    pub(super) fn new(policy: Box<dyn Policy>, samples: &'static [Sampling]) -> Self {
        Self { policy, samples, effects: Effects::default() }
    }

    /// Calls the policy with these counts of jobs.
    fn call<T>(&mut self, cx: &mut Ctx<'_>, jobs: Jobs, call: impl FnOnce(&mut dyn Policy, &mut Ctx<'_>) -> T) -> T {
        let mut own = Ctx {
            now: cx.now,
            wall: cx.wall,
            in_flight: jobs.inside,
            held: jobs.held,
            random: &mut *cx.random,
            effects: &mut self.effects,
            observer: &mut *cx.observer,
            site: cx.site,
        };
        call(&mut *self.policy, &mut own)
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.policy.next_wake().is_some_and(|at| at <= now)
    }

    /// Number of jobs inside up to which a limit admits.
    fn limit(&self) -> Option<f64> {
        let mut found = None;
        self.policy.gauges(&mut |gauge, value| {
            if gauge == Gauge::of("limit") {
                found = Some(value);
            }
        });
        found
    }

    fn wants(&self, sample: &LoadSample) -> bool {
        let kind = match sample {
            LoadSample::Cpu(_) => SampleKind::Cpu,
            LoadSample::Memory(_) => SampleKind::Memory,
            LoadSample::Stage { .. } => SampleKind::Stage,
            LoadSample::Ready(_) => SampleKind::Ready,
        };
        self.samples.iter().any(|sampling| sampling.what == kind)
    }
}

/// The jobs of the site during one call.
#[derive(Debug, Clone, Copy)]
struct Jobs {
    inside: u32,
    held: u32,
}

impl Jobs {
    fn of(cx: &Ctx<'_>) -> Self {
        Self { inside: cx.in_flight, held: cx.held }
    }

    /// The counts for select: every job that it admitted is in flight.
    fn behind_select(self) -> Self {
        Self { inside: self.inside + self.held, held: 0 }
    }

    /// The counts for the limit: jobs in the queue are not offered to it yet.
    fn behind_queue(self) -> Self {
        Self { held: 0, ..self }
    }
}

/// A job that select admitted.
#[derive(Debug, Clone, Copy)]
struct Passed {
    offer: Offer,
    /// The grant of select.
    select: Grant,
    offered: Timestamp,
}

/// An admitted job.
#[derive(Debug, Clone, Copy)]
struct Inside {
    select: Grant,
    limit: Grant,
    queue: Grant,
    /// The time at which the job was admitted.
    since: Timestamp,
}

/// Policies that decide together: see the module.
#[derive(Debug)]
pub(super) struct Composed {
    limit: Option<Part>,
    select: Option<Part>,
    queue: Option<Part>,
    shares: Option<LimitShares>,
    /// Room for the queue comes of the limit: no worker has to be free.
    makes_room: bool,
    /// Jobs that the queue holds.
    held: JobQueue<Passed>,
    inside: BTreeMap<JobId, Inside>,
    samples: Vec<Sampling>,
}

impl Composed {
    pub(super) fn new(limit: Option<Part>, select: Option<Part>, queue: Option<Part>) -> Self {
        let mut samples: Vec<Sampling> = Vec::new();
        for part in [&limit, &select, &queue].into_iter().flatten() {
            for sampling in part.samples {
                if !samples.contains(sampling) {
                    samples.push(*sampling);
                }
            }
        }
        let (held, inside) = (JobQueue::default(), BTreeMap::new());
        Self { limit, select, queue, shares: None, makes_room: false, held, inside, samples }
    }

    /// Division of the limit into shares.
    pub(super) fn dividing(self, shares: Option<LimitShares>) -> Self {
        Self { shares, ..self }
    }

    /// Room by place: in a stage a worker must be free for a job, before a whole service the limit alone makes the room.
    pub(super) fn at(self, place: Place) -> Self {
        let makes_room = place != Place::Stage && self.limit.is_some() && self.queue.is_some();
        Self { makes_room, ..self }
    }

    /// Tells select the end of a job that it admitted and that is not inside.
    fn tell_select(&mut self, job: &Passed, outcome: Outcome, cx: &mut Ctx<'_>, jobs: Jobs) {
        let Some(select) = &mut self.select else { return };
        let timing = Timing { entered: job.offer.entered, offered: job.offered, started: cx.now, ended: cx.now };
        let ended = Seen::Ended {
            id: job.offer.id,
            grant: job.select,
            tags: job.offer.tags,
            outcome,
            timing,
            cost: Some(std::time::Duration::ZERO),
            note: None,
        };
        select.call(cx, jobs.behind_select(), |policy, cx| policy.observe(&ended, cx));
        pass_on(select, cx);
    }

    /// Refuses a job that select admitted.
    fn refused(&mut self, job: &Passed, refusal: Refusal, cx: &mut Ctx<'_>, jobs: Jobs) -> Verdict {
        self.tell_select(job, overloaded(refusal), cx, jobs);
        Verdict::Refuse(refusal)
    }

    /// Asks the limit whether one more job may be inside: its grant, or its refusal.
    fn ask_limit(&mut self, offer: &Offer, cx: &mut Ctx<'_>, jobs: Jobs) -> Verdict {
        let Some(limit) = &mut self.limit else { return Verdict::Admit(Grant::default()) };
        let mut verdict = limit.call(cx, jobs.behind_queue(), |policy, cx| policy.offer(offer, cx));
        if let (Verdict::Refuse(_), Some(shares)) = (verdict, &self.shares) {
            let most = limit.limit().filter(|most| shares.has_room(&offer.tags, *most));
            if let Some(most) = most {
                // Asked as if one place were left: the answer depends on the number inside alone.
                let one_left = Jobs { inside: jobs.inside.min((most as u32).saturating_sub(1)), ..jobs };
                verdict = limit.call(cx, one_left.behind_queue(), |policy, cx| policy.offer(offer, cx));
            }
        }
        pass_on(limit, cx);
        verdict
    }

    /// Admits held jobs, as many as there are free workers, as the limit allows and as the queue selects.
    fn let_in(&mut self, free: u32, cx: &mut Ctx<'_>, jobs: &mut Jobs) {
        for _ in 0..free {
            let Some(oldest) = self.held.iter().next().map(|job| job.offer) else { return };
            let Verdict::Admit(grant) = self.ask_limit(&oldest, cx, *jobs) else {
                // The queue may still refuse what has waited too long.
                self.tell_queue(&Seen::Room(0), Grant::default(), cx, jobs);
                return;
            };
            let before = jobs.inside;
            self.tell_queue(&Seen::Room(1), grant, cx, jobs);
            if jobs.inside == before {
                return;
            }
        }
    }

    /// Tells the queue a fact, and carries out its decisions. `grant`: the limit's grant for the job that the queue releases.
    fn tell_queue(&mut self, seen: &Seen, grant: Grant, cx: &mut Ctx<'_>, jobs: &mut Jobs) {
        let Some(queue) = &mut self.queue else { return };
        queue.call(cx, *jobs, |policy, cx| policy.observe(seen, cx));
        self.carry_out(grant, cx, jobs);
    }

    /// Carries out the decisions of the queue.
    fn carry_out(&mut self, grant: Grant, cx: &mut Ctx<'_>, jobs: &mut Jobs) {
        while let Some(effect) = self.queue.as_mut().and_then(|queue| queue.effects.pop()) {
            match effect {
                Effect::Release(id, queue) => {
                    let Some(job) = self.held.remove(id) else { continue };
                    jobs.inside += 1;
                    jobs.held = jobs.held.saturating_sub(1);
                    self.inside.insert(id, Inside { select: job.select, limit: grant, queue, since: cx.now });
                    cx.effects.push(Effect::Release(id, Grant::default()));
                }
                Effect::Refuse(id, refusal) => {
                    let Some(job) = self.held.remove(id) else { continue };
                    jobs.held = jobs.held.saturating_sub(1);
                    cx.effects.push(Effect::Refuse(id, refusal));
                    self.tell_select(&job, overloaded(refusal), cx, *jobs);
                }
                other => cx.effects.push(other),
            }
        }
    }

    /// Tells every part whose samples `wanted` accepts.
    fn tell_all(&mut self, seen: &Seen, cx: &mut Ctx<'_>, jobs: &mut Jobs, wanted: impl Fn(&Part) -> bool) {
        if let Some(select) = self.select.as_mut().filter(|part| wanted(part)) {
            select.call(cx, jobs.behind_select(), |policy, cx| policy.observe(seen, cx));
            pass_on(select, cx);
        }
        if let Some(limit) = self.limit.as_mut().filter(|part| wanted(part)) {
            limit.call(cx, jobs.behind_queue(), |policy, cx| policy.observe(seen, cx));
            pass_on(limit, cx);
        }
        if self.queue.as_ref().is_some_and(wanted) {
            self.tell_queue(seen, Grant::default(), cx, jobs);
        }
    }

    /// An admitted job ended: each part gets its own grant.
    fn ended(&mut self, id: JobId, tags: &Tags, seen: &Seen, cx: &mut Ctx<'_>, jobs: &mut Jobs) {
        let Some(job) = self.inside.remove(&id) else { return };
        self.shares.iter_mut().for_each(|shares| shares.leave(tags));
        if let Some(select) = &mut self.select {
            let own = with(seen, job.select, None);
            select.call(cx, jobs.behind_select(), |policy, cx| policy.observe(&own, cx));
            pass_on(select, cx);
        }
        if let Some(limit) = &mut self.limit {
            let own = with(seen, job.limit, self.queue.is_some().then_some(job.since));
            limit.call(cx, jobs.behind_queue(), |policy, cx| policy.observe(&own, cx));
            pass_on(limit, cx);
        }
        self.tell_queue(&with(seen, job.queue, None), Grant::default(), cx, jobs);
    }

    /// A held job left.
    fn left(&mut self, id: JobId, cx: &mut Ctx<'_>, jobs: &mut Jobs) {
        let Some(job) = self.held.remove(id) else {
            // It had been released, and left before its host saw that.
            self.inside.remove(&id);
            return;
        };
        self.tell_select(&job, Outcome::Abandoned, cx, *jobs);
        self.tell_queue(&Seen::Left(id), Grant::default(), cx, jobs);
    }
}

/// The end of a job with the grant of one part; a limit behind a queue was offered the job when the queue released it.
fn with(seen: &Seen, own: Grant, since: Option<Timestamp>) -> Seen {
    let mut seen = *seen;
    if let Seen::Ended { grant, timing, .. } = &mut seen {
        *grant = own;
        timing.offered = since.unwrap_or(timing.offered);
    }
    seen
}

/// The outcome that select is told for a refusal by a later part.
fn overloaded(refusal: Refusal) -> Outcome {
    Outcome::Overloaded { retry: refusal.retry != RetryHint::Never }
}

/// Passes on the effects of a part that holds no jobs.
fn pass_on(part: &mut Part, cx: &mut Ctx<'_>) {
    while let Some(effect) = part.effects.pop() {
        if !matches!(effect, Effect::Release(..) | Effect::Refuse(..)) {
            cx.effects.push(effect);
        }
    }
}

impl Machine for Composed {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        let mut jobs = Jobs::of(cx);
        match seen {
            Seen::Room(_) if self.makes_room => {}
            Seen::Room(free) => self.let_in(*free, cx, &mut jobs),
            Seen::Ended { id, tags, .. } => self.ended(*id, tags, seen, cx, &mut jobs),
            Seen::Left(id) => self.left(*id, cx, &mut jobs),
            Seen::Load(sample) => self.tell_all(seen, cx, &mut jobs, |part| part.wants(sample)),
            Seen::Started { .. } | Seen::Batch { .. } | Seen::Freed(_) | Seen::Peer(_) | Seen::Foreseen(_) => {
                self.tell_all(seen, cx, &mut jobs, |_| true);
            }
        }
        if self.makes_room {
            self.let_in(u32::MAX, cx, &mut jobs);
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        let parts = [&self.select, &self.limit, &self.queue].into_iter().flatten();
        parts.filter_map(|part| part.policy.next_wake()).min()
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        let mut jobs = Jobs::of(cx);
        if let Some(select) = self.select.as_mut().filter(|part| part.is_due(cx.now)) {
            select.call(cx, jobs.behind_select(), |policy, cx| policy.wake(cx));
            pass_on(select, cx);
        }
        if let Some(limit) = self.limit.as_mut().filter(|part| part.is_due(cx.now)) {
            limit.call(cx, jobs.behind_queue(), |policy, cx| policy.wake(cx));
            pass_on(limit, cx);
        }
        if let Some(queue) = self.queue.as_mut().filter(|part| part.is_due(cx.now)) {
            queue.call(cx, jobs, |policy, cx| policy.wake(cx));
            self.carry_out(Grant::default(), cx, &mut jobs);
        }
        if self.makes_room {
            self.let_in(u32::MAX, cx, &mut jobs);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        for part in [&self.select, &self.limit, &self.queue].into_iter().flatten() {
            part.policy.gauges(visit);
        }
    }

    fn samples(&self) -> &[Sampling] {
        &self.samples
    }
}

impl Policy for Composed {
    fn offer(&mut self, offer: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        let jobs = Jobs::of(cx);
        let mut passed = Passed { offer: *offer, select: Grant::default(), offered: cx.now };
        if let Some(select) = &mut self.select {
            let verdict = select.call(cx, jobs.behind_select(), |policy, cx| policy.offer(offer, cx));
            pass_on(select, cx);
            match verdict {
                Verdict::Admit(grant) => passed.select = grant,
                // A selector decides at once: a job that it held could not be released.
                Verdict::Hold => return Verdict::Refuse(Refusal::new(Reason::Class)),
                refused => return refused,
            }
        }
        let mut queue_grant = Grant::default();
        if let Some(queue) = &mut self.queue {
            let verdict = queue.call(cx, jobs, |policy, cx| policy.offer(offer, cx));
            match verdict {
                Verdict::Hold => self.held.push(offer.id, passed),
                Verdict::Admit(grant) => queue_grant = grant,
                Verdict::Refuse(_) | Verdict::ComeBack(_) => {}
            }
            let mut jobs = Jobs { held: jobs.held + u32::from(verdict == Verdict::Hold), ..jobs };
            self.carry_out(Grant::default(), cx, &mut jobs);
            if self.makes_room {
                self.let_in(u32::MAX, cx, &mut jobs);
            }
            match verdict {
                Verdict::Admit(_) => {}
                Verdict::Refuse(refusal) => return self.refused(&passed, refusal, cx, jobs),
                Verdict::ComeBack(_) => {
                    self.tell_select(&passed, Outcome::Overloaded { retry: true }, cx, jobs);
                    return verdict;
                }
                Verdict::Hold => return Verdict::Hold,
            }
        }
        match self.ask_limit(offer, cx, jobs) {
            Verdict::Admit(limit) => {
                let inside = Inside { select: passed.select, limit, queue: queue_grant, since: cx.now };
                self.inside.insert(offer.id, inside);
                self.shares.iter_mut().for_each(|shares| shares.enter(&offer.tags));
                Verdict::Admit(Grant::default())
            }
            Verdict::Refuse(refusal) => self.refused(&passed, refusal, cx, jobs),
            Verdict::ComeBack(wait) => {
                self.tell_select(&passed, Outcome::Overloaded { retry: true }, cx, jobs);
                Verdict::ComeBack(wait)
            }
            // A limit decides at once, too.
            Verdict::Hold => self.refused(&passed, Refusal::new(Reason::Concurrency), cx, jobs),
        }
    }
}
