//! Everything that watches one site: the policy in its seat, the machines beside it, and the load samples that they asked for.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use super::{
    Action, TurnedAway,
    gauges::name_of,
    sampler::{Probe, Sampler, ready},
};
use crate::{
    Effect, Entry, Grant, JobId, LoadSample, MachineSeat, Next, Note, Offer, Policy, Seat, Seen, SiteId, Timestamp,
    UnixSeconds, Verdict,
    entry::Sampling,
    policy::Resize,
    seat::{Decision, Waiting},
};

/// A policy, and which entry of the catalogue it is.
#[derive(Debug)]
pub struct InstalledPolicy {
    /// The entry.
    pub entry: &'static Entry,
    /// The policy that it made.
    pub policy: Box<dyn Policy>,
}

/// A machine in its place, with the load samples that its entry asks for.
#[derive(Debug)]
pub struct SiteMachine {
    seat: MachineSeat,
    samplers: Vec<Sampler>,
}

impl SiteMachine {
    /// A machine whose entry asks for these samples.
    #[must_use]
    pub fn new(seat: MachineSeat, samples: &[Sampling]) -> Self {
        Self { seat, samplers: Sampler::all(samples, Timestamp::ZERO) }
    }

    /// Shows the wall clock to the machine.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.seat.set_wall(wall);
    }

    /// Tells the machine a fact.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.seat.observe(now, seen);
    }

    /// Takes the samples that are due, collects what the machine wants, and says when to come again.
    pub fn poll(
        &mut self,
        now: Timestamp,
        stage: LoadSample,
        probe: &dyn Probe,
        mut wants: impl FnMut(Effect),
    ) -> Option<Timestamp> {
        let ready = ready(stage);
        for sampler in &mut self.samplers {
            if let Some(sample) = sampler.take(now, stage, ready, probe) {
                self.seat.observe(now, &Seen::Load(sample));
            }
        }
        let wake = loop {
            match self.seat.poll(now) {
                Next::Do(effect) => wants(effect),
                Next::WakeAt(at) => break Some(at),
                // A machine decides about no jobs, so it holds none.
                Next::Idle | Next::Release(..) | Next::Refuse(..) => break None,
            }
        };
        earliest(wake, self.samplers.iter().map(|sampler| sampler.due).min())
    }

    /// Collects the machine's gauges.
    pub fn gauges(&self, into: &mut BTreeMap<String, f64>) {
        self.seat.gauges(&mut |gauge, value| _ = into.insert(name_of(gauge), value));
    }
}

/// A policy in its seat with the machines beside it, the samples that they need, and notes that wait for their replies.
#[derive(Debug)]
pub struct PolicySite<J> {
    seat: Seat<J>,
    entry: &'static Entry,
    samplers: Vec<Sampler>,
    machines: Vec<SiteMachine>,
    /// Jobs that wait for other services: neither running nor ready to run.
    downstream: u32,
    /// What replies are to tell, until they are made.
    notes: BTreeMap<JobId, Note>,
    /// Quality that the policy wants jobs to be served at, 0 to 1.
    quality: f64,
    /// What the host has still to do.
    actions: VecDeque<Action<J>>,
    wants: Vec<Next<J>>,
    /// What is due was done in this round of polls.
    polled: bool,
}

/// Quality of service until a policy says otherwise.
const FULL_QUALITY: f64 = 1.0;

/// What only the queue and the pool of a site can carry out.
pub(super) enum Want<J> {
    /// Let this held job in.
    Release(Waiting<J>, Grant),
    /// Change the size of something.
    Resize(Resize),
    /// Tell an earlier site how hard to shed.
    Shed(Option<SiteId>, f64),
}

impl<J> PolicySite<J> {
    /// A site. The seat must hold the policy of this entry.
    #[must_use]
    pub fn new(seat: Seat<J>, entry: &'static Entry, machines: Vec<SiteMachine>) -> Self {
        let samplers = Sampler::all(entry.samples, Timestamp::ZERO);
        Self {
            seat,
            entry,
            samplers,
            machines,
            downstream: 0,
            notes: BTreeMap::new(),
            quality: FULL_QUALITY,
            actions: VecDeque::new(),
            wants: Vec::new(),
            polled: false,
        }
    }

    /// Shows the wall clock to policy and machines. Hosts do so before each call, inside the site's lock.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.seat.set_wall(wall);
        for machine in &mut self.machines {
            machine.set_wall(wall);
        }
    }

    /// Asks the policy.
    pub(super) fn decide(&mut self, now: Timestamp, offer: &Offer, job: J) -> Decision<J> {
        self.seat.decide(now, offer, job)
    }

    /// Asks the policy about a job that is only made if it is held.
    pub(super) fn decide_with(&mut self, now: Timestamp, offer: &Offer, job: impl FnOnce() -> J) -> Verdict {
        self.seat.decide_with(now, offer, job)
    }

    /// A held job goes away.
    pub(super) fn leave(&mut self, now: Timestamp, id: JobId) -> Option<J> {
        let gone = self.seat.leave(now, id)?;
        for machine in &mut self.machines {
            machine.observe(now, &Seen::Left(id));
        }
        Some(gone.job)
    }

    /// Tells policy and machines a fact.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.seat.observe(now, seen);
        for machine in &mut self.machines {
            machine.observe(now, seen);
        }
    }

    /// What the host has to do next; `None`: first [`PolicySite::turn`], once in a round of polls.
    pub(super) fn next_action(&mut self) -> Option<Action<J>> {
        if !std::mem::replace(&mut self.polled, true) {
            return None;
        }
        let action = self.actions.pop_front().unwrap_or(Action::Idle);
        if matches!(action, Action::WakeAt(_) | Action::Idle) {
            self.polled = false;
        }
        Some(action)
    }

    /// Asks policy and machines what they want. What is about the queue or the pool goes to `carry_out`, which says what the host has to
    /// do for it.
    pub(super) fn turn(
        &mut self,
        now: Timestamp,
        sample: LoadSample,
        probe: &dyn Probe,
        mut carry_out: impl FnMut(Want<J>, &mut VecDeque<Action<J>>),
    ) -> Option<Timestamp> {
        let mut wants = std::mem::take(&mut self.wants);
        let wake = self.collect(now, sample, probe, &mut wants);
        for want in wants.drain(..) {
            match want {
                Next::Release(waiting, grant) => carry_out(Want::Release(waiting, grant), &mut self.actions),
                Next::Refuse(Waiting { job, offer, .. }, refusal) => {
                    let note = self.note(offer.id);
                    self.actions.push_back(Action::Refuse(job, TurnedAway { refusal, note }));
                }
                Next::Do(Effect::Quality(quality)) => self.quality = quality,
                Next::Do(Effect::Tell(report)) => self.actions.push_back(Action::Tell(report)),
                Next::Do(Effect::Shed { to, level }) => carry_out(Want::Shed(to, level), &mut self.actions),
                Next::Do(Effect::Resize(resize)) => carry_out(Want::Resize(resize), &mut self.actions),
                // Held jobs come by themselves, and notes are kept for the replies.
                Next::Do(Effect::Release(..) | Effect::Refuse(..) | Effect::Annotate(..)) => {}
                Next::WakeAt(_) | Next::Idle => {}
            }
        }
        self.wants = wants;
        wake
    }

    /// Ends a turn: the actions in their order, `more` among them, and then the next wake-up.
    pub(super) fn end_turn(&mut self, wake: Option<Timestamp>, more: Option<Action<J>>) {
        self.actions.extend(more);
        self.actions.make_contiguous().sort_by_key(Action::rank);
        self.actions.push_back(wake.map_or(Action::Idle, Action::WakeAt));
    }

    /// Quality that the policy wants jobs to be served at, 0 to 1.
    pub(super) fn quality(&self) -> f64 {
        self.quality
    }

    /// Tells policy and machines that so many workers are free, if jobs are held for them.
    pub(super) fn tell_room(&mut self, now: Timestamp, free: u32) {
        if free > 0 && self.seat.parked() > 0 {
            self.observe(now, &Seen::Room(free));
        }
    }

    /// Does what is due, collects what policy and machines want, and says when to come again.
    fn collect(
        &mut self,
        now: Timestamp,
        stage: LoadSample,
        probe: &dyn Probe,
        wants: &mut Vec<Next<J>>,
    ) -> Option<Timestamp> {
        let Self { seat, samplers, machines, downstream, notes, .. } = self;
        let ready = (seat.in_flight() + seat.parked()).saturating_sub(*downstream);
        for sampler in &mut *samplers {
            if let Some(sample) = sampler.take(now, stage, ready, probe) {
                seat.observe(now, &Seen::Load(sample));
            }
        }
        let mut wake = loop {
            match seat.poll(now) {
                Next::Do(Effect::Annotate(id, note)) => _ = notes.insert(id, note),
                Next::WakeAt(at) => break Some(at),
                Next::Idle => break None,
                want => wants.push(want),
            }
        };
        wake = earliest(wake, samplers.iter().map(|sampler| sampler.due).min());
        for machine in machines {
            let at = machine.poll(now, stage, probe, |effect| match effect {
                Effect::Annotate(id, note) => _ = notes.insert(id, note),
                effect => wants.push(Next::Do(effect)),
            });
            wake = earliest(wake, at);
        }
        wake
    }

    /// What the reply of this job, which is made now, is to tell beside the answer.
    pub fn note(&mut self, of: JobId) -> Option<Note> {
        self.seat.note(of).or_else(|| self.notes.remove(&of))
    }

    /// So many jobs that were admitted here wait for other services now.
    pub(super) fn set_downstream(&mut self, jobs: u32) {
        self.downstream = jobs;
    }

    /// Jobs that were admitted here and wait for other services.
    pub(super) fn downstream(&self) -> u32 {
        self.downstream
    }

    /// Switches the policy; jobs that are held are offered to the new one.
    pub(super) fn replace(&mut self, now: Timestamp, installed: InstalledPolicy) {
        self.quality = FULL_QUALITY;
        self.entry = installed.entry;
        self.samplers = Sampler::all(installed.entry.samples, now);
        self.seat.replace(now, installed.policy);
    }

    /// The seat, to count.
    #[must_use]
    pub fn seat(&self) -> &Seat<J> {
        &self.seat
    }

    /// Which site it is.
    #[must_use]
    pub fn id(&self) -> SiteId {
        self.seat.site()
    }

    /// Name of the policy in the catalogue.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        self.entry.name
    }

    /// Gauges of policy and machines by name; with a class, `name[class]`.
    pub(super) fn gauges(&self) -> BTreeMap<String, f64> {
        let mut into = BTreeMap::new();
        for machine in &self.machines {
            machine.gauges(&mut into);
        }
        self.seat.gauges(&mut |gauge, value| _ = into.insert(name_of(gauge), value));
        into
    }

    /// The policy's own 90th percentile, where it has one.
    pub(super) fn p90(&self) -> Option<Duration> {
        let mut found = None;
        self.seat.gauges(&mut |gauge, value| {
            if gauge == crate::Gauge::of("p90_ms") && value.is_finite() && value >= 0.0 {
                found = Some(Duration::from_nanos((value * 1e6) as u64));
            }
        });
        found
    }
}

/// The earlier of two wake-ups.
#[must_use]
pub fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (some, None) | (None, some) => some,
    }
}
