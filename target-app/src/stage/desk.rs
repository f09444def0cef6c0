//! Everything that watches one site: the seat, the machines beside it, and the load samples that they asked for.

use std::{collections::BTreeMap, time::Duration};

use controllers::{
    Effect, Entry, Gauge, JobId, LoadSample, MachineSeat, Next, Note, Offer, Policy, Seat, Seen, SiteId, Timestamp,
    UnixSeconds, Verdict,
    catalogue::{SampleKind, Sampling},
};

use crate::{clock::Clock, control::reports::Reports, signals::Probe};

/// A policy, and which entry of the catalogue it is.
#[derive(Debug)]
pub struct Chosen {
    /// The entry.
    pub entry: &'static Entry,
    /// The policy that it made.
    pub policy: Box<dyn Policy>,
}

/// A machine in its place, and which entry of the catalogue it is.
#[derive(Debug)]
pub struct Watcher {
    seat: MachineSeat,
    samples: Vec<Due>,
}

impl Watcher {
    /// A machine whose entry asks for these samples.
    #[must_use]
    pub fn new(seat: MachineSeat, samples: &[Sampling]) -> Self {
        Self { seat, samples: Due::all(samples, Timestamp::ZERO) }
    }

    /// Reads the clocks, as [`Desk::read`].
    pub fn read(&mut self, clock: Clock) -> Timestamp {
        self.show_wall(clock.wall());
        clock.now()
    }

    /// Shows the wall clock to the machine.
    pub fn show_wall(&mut self, wall: UnixSeconds) {
        self.seat.set_wall(wall);
    }

    /// Tells the machine a fact.
    pub fn tell(&mut self, now: Timestamp, seen: &Seen) {
        self.seat.observe(now, seen);
    }

    /// Takes the samples that are due, collects what the machine wants, and says when to come again.
    pub fn turn(
        &mut self,
        now: Timestamp,
        stage: LoadSample,
        probe: &dyn Probe,
        wants: &mut Vec<Effect>,
    ) -> Option<Timestamp> {
        let ready = ready(stage);
        for due in &mut self.samples {
            if let Some(sample) = due.take(now, stage, ready, probe) {
                self.seat.observe(now, &Seen::Load(sample));
            }
        }
        let wake = drain(|| self.seat.poll(now), wants);
        earliest(wake, self.samples.iter().map(|due| due.at).min())
    }

    /// Collects the machine's gauges.
    pub fn gauges(&self, into: &mut BTreeMap<String, f64>) {
        self.seat.gauges(&mut |gauge, value| write_down(into, gauge, value));
    }
}

/// One site's seat with the machines beside it. Lives inside the site's lock.
#[derive(Debug)]
pub struct Desk {
    seat: Seat,
    entry: &'static Entry,
    samples: Vec<Due>,
    watchers: Vec<Watcher>,
    /// Jobs that wait for other services: neither running nor ready to run.
    elsewhere: u32,
    /// Where reports to other tasks go; `None`: they are among what the desk wants.
    reports: Option<Reports>,
    /// What replies are to tell, until they are made.
    notes: BTreeMap<JobId, Note>,
}

impl Desk {
    /// A desk. The seat must hold the chosen entry's policy.
    #[must_use]
    pub fn new(seat: Seat, entry: &'static Entry, watchers: Vec<Watcher>) -> Self {
        let samples = Due::all(entry.samples, Timestamp::ZERO);
        Self { seat, entry, samples, watchers, elsewhere: 0, reports: None, notes: BTreeMap::new() }
    }

    /// The same desk, whose reports to other tasks go there.
    #[must_use]
    pub fn reporting(self, reports: Option<Reports>) -> Self {
        Self { reports, ..self }
    }

    /// Reads the clocks: the time for the calls that follow, and the wall clock that policy and machines are shown.
    /// Every entry begins with it, inside the site's lock.
    pub fn read(&mut self, clock: Clock) -> Timestamp {
        self.show_wall(clock.wall());
        clock.now()
    }

    /// Shows the wall clock to policy and machines.
    pub fn show_wall(&mut self, wall: UnixSeconds) {
        self.seat.set_wall(wall);
        for watcher in &mut self.watchers {
            watcher.show_wall(wall);
        }
    }

    /// Asks the policy.
    pub fn offer(&mut self, now: Timestamp, offer: &Offer) -> Verdict {
        self.seat.offer(now, offer)
    }

    /// Tells policy and machines a fact.
    pub fn tell(&mut self, now: Timestamp, seen: &Seen) {
        self.seat.observe(now, seen);
        for watcher in &mut self.watchers {
            watcher.tell(now, seen);
        }
    }

    /// Does what is due, collects what policy and machines want, and says when to come again.
    pub fn turn(
        &mut self,
        now: Timestamp,
        stage: LoadSample,
        probe: &dyn Probe,
        wants: &mut Vec<Effect>,
    ) -> Option<Timestamp> {
        let ready = (self.seat.in_flight() + self.seat.parked()).saturating_sub(self.elsewhere);
        for due in &mut self.samples {
            if let Some(sample) = due.take(now, stage, ready, probe) {
                self.seat.observe(now, &Seen::Load(sample));
            }
        }
        let mut wake = drain(|| self.seat.poll(now), wants);
        wake = earliest(wake, self.samples.iter().map(|due| due.at).min());
        for watcher in &mut self.watchers {
            wake = earliest(wake, watcher.turn(now, stage, probe, wants));
        }
        let Self { reports, notes, .. } = self;
        wants.retain(|want| match (want, &reports) {
            (Effect::Annotate(id, note), _) => {
                notes.insert(*id, *note);
                false
            }
            (Effect::Tell(report), Some(reports)) => {
                reports.tell(*report);
                false
            }
            _ => true,
        });
        wake
    }

    /// What the reply of this job, which is made now, is to tell beside the answer.
    pub fn note(&mut self, of: JobId) -> Option<Note> {
        self.seat.note(of).or_else(|| self.notes.remove(&of))
    }

    /// So many jobs that were admitted here wait for other services now.
    pub fn set_elsewhere(&mut self, jobs: u32) {
        self.elsewhere = jobs;
    }

    /// Switches the policy; jobs that are held are offered to the new one.
    pub fn replace(&mut self, now: Timestamp, chosen: Chosen) {
        self.entry = chosen.entry;
        self.samples = Due::all(chosen.entry.samples, now);
        self.seat.replace(now, chosen.policy);
    }

    /// The seat, to count.
    #[must_use]
    pub fn seat(&self) -> &Seat {
        &self.seat
    }

    /// The site.
    #[must_use]
    pub fn site(&self) -> SiteId {
        self.seat.site()
    }

    /// Name of the policy in the catalogue.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        self.entry.name
    }

    /// Gauges of policy and machines by name; with a class, `name[class]`.
    pub fn gauges(&self, into: &mut BTreeMap<String, f64>) {
        for watcher in &self.watchers {
            watcher.gauges(into);
        }
        self.seat.gauges(&mut |gauge, value| write_down(into, gauge, value));
    }
}

fn write_down(into: &mut BTreeMap<String, f64>, gauge: Gauge, value: f64) {
    let name = match gauge.class {
        Some(class) => format!("{}[{}]", gauge.name, class.0),
        None => gauge.name.to_owned(),
    };
    into.insert(name, value);
}

fn drain(mut poll: impl FnMut() -> Next, wants: &mut Vec<Effect>) -> Option<Timestamp> {
    loop {
        let next = poll();
        match next.effect() {
            Some(effect) => wants.push(effect),
            None => return if let Next::WakeAt(at) = next { Some(at) } else { None },
        }
    }
}

/// Jobs being worked on and waiting, for a machine that has no seat to count them: a worker's batch counts as one.
fn ready(stage: LoadSample) -> u32 {
    match stage {
        LoadSample::Stage { queue, workers, idle, .. } => workers.saturating_sub(idle) + queue,
        LoadSample::Cpu(_) | LoadSample::Memory(_) | LoadSample::Ready(_) => 0,
    }
}

/// The earlier of two wake-ups.
pub(crate) fn earliest(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (some, None) | (None, some) => some,
    }
}

/// A load sample that somebody asked for, and when it is to be taken next.
#[derive(Debug)]
struct Due {
    sampling: Sampling,
    at: Timestamp,
    /// When CPU time was last looked at, and what had been used by then.
    looked: Option<(Timestamp, Duration)>,
}

impl Due {
    fn all(samples: &[Sampling], now: Timestamp) -> Vec<Self> {
        let due = |&sampling: &Sampling| Self {
            sampling,
            // A share of CPU time needs a first look to count from, at once.
            at: if sampling.what == SampleKind::Cpu { now } else { now + sampling.period },
            looked: None,
        };
        samples.iter().map(due).collect()
    }

    /// The sample, if it is due. A late one is taken once, not once for each period that was missed.
    fn take(&mut self, now: Timestamp, stage: LoadSample, ready: u32, probe: &dyn Probe) -> Option<LoadSample> {
        if now < self.at {
            return None;
        }
        self.at = now + self.sampling.period;
        match self.sampling.what {
            SampleKind::Stage => Some(stage),
            SampleKind::Ready => Some(LoadSample::Ready(ready)),
            SampleKind::Memory => Some(LoadSample::Memory(probe.memory_share())),
            SampleKind::Cpu => self.cpu_share(now, probe).map(LoadSample::Cpu),
        }
    }

    /// CPU time over the time that the process could have had since the last look, 0 to 1; `None` at the first.
    fn cpu_share(&mut self, now: Timestamp, probe: &dyn Probe) -> Option<f64> {
        let used = probe.cpu_time();
        let (at, before) = self.looked.replace((now, used))?;
        let could = now.since(at).as_secs_f64() * probe.cpus();
        let did = used.saturating_sub(before).as_secs_f64();
        Some(if could > 0.0 { (did / could).clamp(0.0, 1.0) } else { 0.0 })
    }
}
