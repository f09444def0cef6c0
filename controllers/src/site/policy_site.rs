//! The policy and the machines of one site, with the load samples that they request.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use super::{
    Action, TurnedAway,
    gauges::name_of,
    sampler::{Probe, Samplers, ready},
};
use crate::{
    Effect, Entry, Gauge, Grant, JobId, LoadSample, MachineSeat, Next, Note, Offer, Policy, Seat, Seen, SiteId,
    Timestamp, UnixSeconds, Verdict,
    entry::Sampling,
    policy::Resize,
    seat::{Decision, HeldJob},
};

/// A policy with its entry of the catalogue.
#[derive(Debug)]
pub struct InstalledPolicy {
    /// The entry.
    pub entry: &'static Entry,
    /// The policy, created from the entry.
    pub policy: Box<dyn Policy>,
}

/// An installed machine with the load samples that its entry requests.
#[derive(Debug)]
pub struct SiteMachine {
    entry: &'static Entry,
    seat: MachineSeat,
    samplers: Samplers,
}

impl SiteMachine {
    /// Installs a machine of this entry at `now`.
    #[must_use]
    pub fn new(seat: MachineSeat, entry: &'static Entry, now: Timestamp) -> Self {
        Self { entry, seat, samplers: Samplers::new(entry.samples, now) }
    }

    /// The name of its entry.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Sets the wall clock that the machine sees.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.seat.set_wall(wall);
    }

    /// Passes a fact to the machine.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.seat.observe(now, seen);
    }

    /// Takes the samples that are due, collects the machine's effects, and returns the time of the next poll.
    pub fn poll(
        &mut self,
        now: Timestamp,
        stage: LoadSample,
        probe: &dyn Probe,
        mut wants: impl FnMut(Effect),
    ) -> Option<Timestamp> {
        let Self { seat, samplers, .. } = self;
        let due = samplers.take(now, stage, ready(stage), probe, |sample| seat.observe(now, &Seen::Load(sample)));
        let wake = loop {
            match seat.poll(now) {
                Next::Do(effect) => wants(effect),
                Next::WakeAt(at) => break Some(at),
                // A machine decides on no jobs, so it holds none.
                Next::Idle | Next::Release(..) | Next::Refuse(..) => break None,
            }
        };
        earliest(wake, due)
    }

    /// Collects the machine's gauges.
    pub fn gauges(&self, into: &mut BTreeMap<String, f64>) {
        self.seat.gauges(&mut |gauge, value| _ = into.insert(name_of(gauge), value));
    }
}

/// The seat of a policy and the machines of the same site, with their load samples and the notes for replies.
#[derive(Debug)]
pub struct PolicySite<J> {
    seat: Seat<J>,
    entry: &'static Entry,
    samplers: Samplers,
    machines: Vec<SiteMachine>,
    /// Jobs that wait for other services and are not runnable.
    downstream: u32,
    /// Notes for replies that have not been sent.
    notes: BTreeMap<JobId, Note>,
    /// The quality of service that the policy sets, 0 to 1.
    quality: f64,
    /// The actions that the host has not polled yet.
    actions: VecDeque<Action<J>>,
    /// The time of the next poll.
    wake: Option<Timestamp>,
    wants: Vec<Next<J>>,
    /// True if the work that is due was performed in this round of polls.
    polled: bool,
}

/// The quality of service until a policy sets another.
const FULL_QUALITY: f64 = 1.0;

/// An effect for the queue or the pool of a site.
pub(super) enum Want<J> {
    /// Admit this held job.
    Release(HeldJob<J>, Grant),
    /// Resize a pool or a batch.
    Resize(Resize),
    /// Report pressure to an upstream site.
    Shed(Option<SiteId>, f64),
}

impl<J> PolicySite<J> {
    /// Creates a site. The seat must contain the policy of this entry.
    #[must_use]
    pub fn new(seat: Seat<J>, entry: &'static Entry, machines: Vec<SiteMachine>) -> Self {
        let samplers = Samplers::new(&all_samples(entry, seat.samples()), Timestamp::ZERO);
        Self {
            seat,
            entry,
            samplers,
            machines,
            downstream: 0,
            notes: BTreeMap::new(),
            quality: FULL_QUALITY,
            actions: VecDeque::new(),
            wake: None,
            wants: Vec::new(),
            polled: false,
        }
    }

    /// Sets the wall clock that policy and machines see. Hosts call this before each other call, inside the site's
    /// lock.
    pub fn set_wall(&mut self, wall: UnixSeconds) {
        self.seat.set_wall(wall);
        for machine in &mut self.machines {
            machine.set_wall(wall);
        }
    }

    /// Decides on a job.
    pub(super) fn decide(&mut self, now: Timestamp, offer: &Offer, job: J) -> Decision<J> {
        self.seat.decide(now, offer, job)
    }

    /// Decides on a job whose payload is created only if it is held.
    pub(super) fn decide_with(&mut self, now: Timestamp, offer: &Offer, job: impl FnOnce() -> J) -> Verdict {
        self.seat.decide_with(now, offer, job)
    }

    /// Removes a held job that left.
    pub(super) fn leave(&mut self, now: Timestamp, id: JobId) -> Option<J> {
        let gone = self.seat.leave(now, id)?;
        for machine in &mut self.machines {
            machine.observe(now, &Seen::Left(id));
        }
        Some(gone.job)
    }

    /// Passes a fact to policy and machines.
    pub fn observe(&mut self, now: Timestamp, seen: &Seen) {
        self.seat.observe(now, seen);
        for machine in &mut self.machines {
            machine.observe(now, seen);
        }
    }

    /// The host's next action; `None`: call [`PolicySite::turn`] first, once in a round of polls.
    pub(super) fn next_action(&mut self) -> Option<Action<J>> {
        if !std::mem::replace(&mut self.polled, true) {
            return None;
        }
        Some(self.actions.pop_front().unwrap_or_else(|| {
            self.polled = false;
            self.wake.map_or(Action::Idle, Action::WakeAt)
        }))
    }

    /// Collects the effects of policy and machines. Effects for the queue or the pool go to `carry_out`, which adds the
    /// host's actions.
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
                Next::Refuse(HeldJob { job, offer, .. }, refusal) => {
                    let note = self.note(offer.id);
                    self.actions.push_back(Action::Refuse(job, TurnedAway { refusal, note }));
                }
                Next::Do(Effect::Quality(quality)) => self.quality = quality,
                Next::Do(Effect::Tell(report)) => self.actions.push_back(Action::Tell(report)),
                Next::Do(Effect::Shed { to, level }) => carry_out(Want::Shed(to, level), &mut self.actions),
                Next::Do(Effect::Resize(resize)) => carry_out(Want::Resize(resize), &mut self.actions),
                // The seat returns decisions on held jobs itself, and notes are stored for the replies.
                Next::Do(Effect::Release(..) | Effect::Refuse(..) | Effect::Annotate(..)) => {}
                Next::WakeAt(_) | Next::Idle => {}
            }
        }
        self.wants = wants;
        wake
    }

    /// Ends a turn: sorts the actions, with `more` among them. The next wake-up comes after them.
    pub(super) fn end_turn(&mut self, wake: Option<Timestamp>, more: Option<Action<J>>) {
        self.actions.extend(more);
        if self.actions.len() > 1 {
            self.actions.make_contiguous().sort_by_key(Action::rank);
        }
        self.wake = wake;
    }

    /// The quality of service that the policy sets, 0 to 1.
    pub(super) fn quality(&self) -> f64 {
        self.quality
    }

    /// Reports free workers to policy and machines, if jobs are held.
    pub(super) fn tell_room(&mut self, now: Timestamp, free: u32) {
        if free > 0 && self.seat.held() > 0 {
            self.observe(now, &Seen::Room(free));
        }
    }

    /// Performs the work that is due, collects the effects of policy and machines, and returns the time of the next
    /// poll.
    fn collect(
        &mut self,
        now: Timestamp,
        stage: LoadSample,
        probe: &dyn Probe,
        wants: &mut Vec<Next<J>>,
    ) -> Option<Timestamp> {
        let Self { seat, samplers, machines, downstream, notes, .. } = self;
        let ready = (seat.in_flight() + seat.held()).saturating_sub(*downstream);
        let due = samplers.take(now, stage, ready, probe, |sample| seat.observe(now, &Seen::Load(sample)));
        let mut wake = loop {
            match seat.poll(now) {
                Next::Do(Effect::Annotate(id, note)) => _ = notes.insert(id, note),
                Next::WakeAt(at) => break Some(at),
                Next::Idle => break None,
                want => wants.push(want),
            }
        };
        wake = earliest(wake, due);
        for machine in machines {
            let at = machine.poll(now, stage, probe, |effect| match effect {
                Effect::Annotate(id, note) => _ = notes.insert(id, note),
                effect => wants.push(Next::Do(effect)),
            });
            wake = earliest(wake, at);
        }
        wake
    }

    /// Removes the note for the reply of this job, which the host sends now.
    pub fn note(&mut self, of: JobId) -> Option<Note> {
        self.seat.note(of).or_else(|| self.notes.remove(&of))
    }

    /// Sets the number of admitted jobs that wait for other services.
    pub(super) fn set_downstream(&mut self, jobs: u32) {
        self.downstream = jobs;
    }

    /// Admitted jobs that wait for other services.
    pub(super) fn downstream(&self) -> u32 {
        self.downstream
    }

    /// Switches the policy; held jobs are offered to the new one.
    pub(super) fn replace(&mut self, now: Timestamp, installed: InstalledPolicy) {
        self.quality = FULL_QUALITY;
        self.entry = installed.entry;
        self.samplers = Samplers::new(&all_samples(installed.entry, installed.policy.samples()), now);
        self.seat.replace(now, installed.policy);
    }

    /// Puts these machines in place of those that there are.
    pub(super) fn replace_machines(&mut self, machines: Vec<SiteMachine>) {
        self.machines = machines;
    }

    /// The names of the machines' entries.
    pub(super) fn machine_names(&self) -> Vec<&'static str> {
        self.machines.iter().map(SiteMachine::name).collect()
    }

    /// Adds an action of the host to those of the next poll.
    pub(super) fn act(&mut self, action: Action<J>) {
        self.actions.push_back(action);
    }

    /// The seat, for its counts.
    #[must_use]
    pub fn seat(&self) -> &Seat<J> {
        &self.seat
    }

    /// The site.
    #[must_use]
    pub fn id(&self) -> SiteId {
        self.seat.site()
    }

    /// The name of the policy's entry.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        self.entry.name
    }

    /// Gauges of policy and machines by name; of one class: `name[class]`.
    pub(super) fn gauges(&self) -> BTreeMap<String, f64> {
        let mut into = BTreeMap::new();
        for machine in &self.machines {
            machine.gauges(&mut into);
        }
        self.seat.gauges(&mut |gauge, value| _ = into.insert(name_of(gauge), value));
        into
    }

    /// The value of a gauge of the policy, if it has one.
    pub(super) fn gauge(&self, wanted: Gauge) -> Option<f64> {
        let mut found = None;
        self.seat.gauges(&mut |gauge, value| {
            if gauge == wanted && value.is_finite() {
                found = Some(value);
            }
        });
        found
    }

    /// The policy's estimate of the 90th percentile of response times, if it has one.
    pub(super) fn reported_p90(&self) -> Option<Duration> {
        let p90_ms = self.gauge(Gauge::of("p90_ms")).filter(|p90_ms| *p90_ms >= 0.0);
        p90_ms.map(|p90_ms| Duration::from_nanos((p90_ms * 1e6) as u64))
    }
}

/// The load samples that an entry and its policy request.
fn all_samples(entry: &Entry, own: &[Sampling]) -> Vec<Sampling> {
    entry.samples.iter().chain(own).copied().collect()
}

/// The earlier of two times.
#[must_use]
#[inline]
pub fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (some, None) | (None, some) => some,
    }
}
