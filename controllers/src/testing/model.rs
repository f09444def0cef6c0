//! An operation model for every policy: random operations, a model of the expected state of the seat, and invariants.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Class, Criticality, Effect, Entry, Gauge, Grant, JobId, Kind, LoadSample, MachineSeat, Next, Note, Offer, Outcome,
    PeerReport, Place, Policy, Seat, Seen, Settings, Site, SiteId, Tags, Timestamp, Timing, UnixSeconds, Verdict,
    entry::{Factory, Setting},
    random::mix,
};

/// An operation of a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation {
    /// Time passes.
    Pass(Duration),
    /// A job with these attributes arrives.
    Offer(Tags),
    /// Work on a waiting job starts.
    Start(usize),
    /// A running (or waiting) job ends, with its cost if the host measures it.
    End(usize, Outcome, Option<Duration>),
    /// A batch is reported.
    Batch(u32),
    /// A held job leaves.
    Leave(usize),
    /// The host reports free workers, correctly or not.
    Room(u32),
    /// A load sample.
    Load(LoadSample),
    /// A report from another site.
    Peer(PeerReport),
    /// The host passes a time before the previous one.
    ClockGoesBack,
    /// A new policy of the same entry replaces the current one.
    Replace,
    /// The host polls, and performs the effects.
    Poll,
}

impl Operation {
    /// Decodes any 64 bits to an operation, so that lists of numbers shrink well.
    #[must_use]
    pub fn decode(code: u64) -> Self {
        let (what, detail) = (code % 100, mix(code));
        let nth = (detail % 64) as usize;
        match what {
            0..=34 => Self::Offer(tags(detail)),
            35..=49 => Self::Start(nth),
            50..=69 => Self::End(nth, OUTCOMES[(detail >> 8) as usize % OUTCOMES.len()], cost(detail >> 16)),
            70..=72 => Self::Batch((detail % 8) as u32),
            73..=76 => Self::Room((detail % 6) as u32),
            77..=79 => Self::Leave(nth),
            80..=84 => Self::Load(sample(detail)),
            85..=86 => Self::Peer(report(detail)),
            87 => Self::ClockGoesBack,
            88 => Self::Replace,
            89..=93 => Self::Poll,
            // From a microsecond to about a minute, short times more often.
            _ => Self::Pass(Duration::from_micros(1 << (detail % 26))),
        }
    }
}

/// Any class, criticality, customer and attempt, the usual ones more often.
fn tags(detail: u64) -> Tags {
    let at = |shift: u32, of: u64| (detail >> shift) % of;
    Tags {
        kind: Kind(at(44, 5) as u16),
        class: Class((detail % 4) as u8),
        user: at(12, 20),
        customer: if at(8, 8) == 0 { at(24, 1 << 32) as u32 } else { at(24, 20) as u32 },
        criticality: Criticality::ALL[at(12, 4) as usize],
        attempt: if at(16, 64) == 0 { u8::MAX } else { at(16, 5).saturating_sub(1) as u8 },
        told_not_to_retry: at(20, 16) == 0,
        ..Tags::default()
    }
}

/// No cost, zero, or up to about a second.
fn cost(detail: u64) -> Option<Duration> {
    (!detail.is_multiple_of(3))
        .then(|| Duration::from_micros(if detail.is_multiple_of(7) { 0 } else { 1 << (detail % 21) }))
}

/// Reports from some sites, the site itself among them, with invalid values among them.
fn report(detail: u64) -> PeerReport {
    let (site, customer) = (SiteId((detail >> 8) as u16 % 4), (detail >> 24) as u32 % 4);
    let share = (detail % 5) as f64 / 4.0;
    let number = match (detail >> 32) % 16 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -share,
        _ => share * 4.0,
    };
    match (detail >> 40) % 6 {
        0 => PeerReport::Pressure { from: site, level: share },
        1 => PeerReport::Usage { from: site, customer, used: number, wanted: number + share },
        2 => PeerReport::Quota { to: site, customer, limit: number },
        3 => PeerReport::Target { to: site, response: Duration::from_millis(u64::from(customer) * 500) },
        4 => PeerReport::Servers { to: site, servers: customer },
        _ => {
            let (queueing, in_service) = (Duration::from_millis(detail >> 56), (detail >> 48) as u32 % 8);
            PeerReport::Server { to: site, server: customer, queueing, in_service }
        }
    }
}

const OUTCOMES: [Outcome; 9] = [
    Outcome::Served,
    Outcome::Served,
    Outcome::TimedOut,
    Outcome::Failed,
    Outcome::Unavailable,
    Outcome::Ignored,
    Outcome::Abandoned,
    Outcome::Overloaded { retry: true },
    Outcome::Overloaded { retry: false },
];

fn sample(detail: u64) -> LoadSample {
    let share = (detail >> 8) % 101;
    match detail % 4 {
        0 => LoadSample::Cpu(share as f64 / 100.0),
        1 => LoadSample::Memory(share as f64 / 100.0),
        2 => LoadSample::Ready((detail >> 16) as u32 % 64),
        _ => LoadSample::Stage {
            queue: (detail >> 16) as u32 % 2000,
            workers: (detail >> 32) as u32 % 40,
            idle: (detail >> 40) as u32 % 20,
            completed: (detail >> 48) % 10_000,
        },
    }
}

/// The decisions and effects of a policy in order: two runs of the same operations must agree on them.
pub type Transcript = Vec<String>;

/// Runs operations against an entry and checks the invariants:
///
/// - configured limits hold, also across a live switch;
/// - jobs are conserved, and the host agrees on the jobs in flight and held;
/// - held jobs are released or refused once workers are free for all of them;
/// - only held jobs are released or refused, once each, in no other state;
/// - gauges are finite, rates and limits lie within the settings' bounds, qualities within 0 and 1;
/// - the effects of one moment end, and wake-ups advance time;
/// - no operation of the host causes a panic.
///
/// # Panics
/// If an invariant does not hold.
pub fn check(entry: &'static Entry, settings: &Settings, site: &Site, codes: &[u64]) -> Transcript {
    let factory = crate::Catalogue::built_in()
        .check(entry, Some(site.place).filter(|place| entry.places.contains(place)), settings)
        .unwrap_or_else(|problems| panic!("{}: {problems:?}", entry.name));
    if entry.is_policy() {
        let mut host = Host::new(entry, &factory, site);
        for code in codes {
            host.apply(Operation::decode(*code));
            host.check_invariants();
        }
        host.finish()
    } else {
        check_machine(entry, &factory, site, codes)
    }
}

/// More effects for one moment count as endless.
const MOST_EFFECTS: usize = 10_000;

struct Host<'a> {
    entry: &'static Entry,
    factory: &'a Factory,
    site: &'a Site,
    seat: Seat,
    now: Timestamp,
    next_id: u64,
    waiting: Vec<Admitted>,
    running: Vec<Admitted>,
    held: BTreeMap<JobId, Offer>,
    transcript: Transcript,
    /// Policies before this one.
    replaced: u32,
}

#[derive(Debug, Clone, Copy)]
struct Admitted {
    offer: Offer,
    grant: Grant,
    started: Option<Timestamp>,
}

impl<'a> Host<'a> {
    fn new(entry: &'static Entry, factory: &'a Factory, site: &'a Site) -> Self {
        Self {
            entry,
            factory,
            site,
            seat: Seat::new(site.id, build(entry, factory, site), 7, Box::new(())),
            now: Timestamp::ZERO,
            next_id: 0,
            waiting: Vec::new(),
            running: Vec::new(),
            held: BTreeMap::new(),
            transcript: Vec::new(),
            replaced: 0,
        }
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Pass(time) => self.pass(time),
            Operation::Offer(tags) => self.offer(tags),
            Operation::Start(nth) => self.start(nth),
            Operation::End(nth, outcome, cost) => self.end(nth, outcome, cost),
            Operation::Batch(jobs) => {
                let busy = Duration::from_millis(u64::from(jobs) * 3);
                self.seat.observe(self.now, &Seen::Batch { jobs, busy });
            }
            Operation::Leave(nth) => self.leave(nth),
            Operation::Room(free) => self.seat.observe(self.now, &Seen::Room(free)),
            Operation::Load(sample) => self.seat.observe(self.now, &Seen::Load(sample)),
            Operation::Peer(report) => self.seat.observe(self.now, &Seen::Peer(report)),
            Operation::ClockGoesBack => {
                let nothing = Seen::Batch { jobs: 0, busy: Duration::ZERO };
                self.seat.observe(self.now, &nothing);
                let before = self.seat.counts().clock_went_back;
                let earlier = self.now - Duration::from_millis(5);
                self.seat.observe(earlier, &nothing);
                let counted = self.seat.counts().clock_went_back - before;
                assert_eq!(counted, u64::from(earlier < self.now), "a time from before is counted");
            }
            Operation::Replace => {
                self.replaced += 1;
                self.seat.replace(self.now, build(self.entry, self.factory, self.site));
            }
            Operation::Poll => self.poll(),
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        // Starts half an hour before a full hour, so that runs cross it.
        self.seat.set_wall(UnixSeconds(1_799_998_200 + self.now.as_nanos() / 1_000_000_000));
    }

    fn offer(&mut self, tags: Tags) {
        self.next_id += 1;
        let entered = self.now - Duration::from_millis(2);
        let offer = Offer { id: JobId(self.next_id), tags, entered, note: note(self.next_id) };
        let verdict = self.seat.offer(self.now, &offer);
        self.transcript.push(format!("{:?} {verdict:?}", self.now));
        match verdict {
            Verdict::Admit(grant) => self.waiting.push(Admitted { offer, grant, started: None }),
            Verdict::Hold => drop(self.held.insert(offer.id, offer)),
            Verdict::Refuse(_) | Verdict::ComeBack(_) => {}
        }
    }

    fn start(&mut self, nth: usize) {
        if self.waiting.is_empty() {
            return;
        }
        let mut job = self.waiting.remove(nth % self.waiting.len());
        job.started = Some(self.now);
        let waited = self.now.since(job.offer.entered);
        self.seat.observe(self.now, &Seen::Started { id: job.offer.id, waited });
        self.running.push(job);
    }

    fn end(&mut self, nth: usize, outcome: Outcome, cost: Option<Duration>) {
        let from = if self.running.is_empty() { &mut self.waiting } else { &mut self.running };
        if from.is_empty() {
            return;
        }
        let Admitted { offer, grant, started } = from.remove(nth % from.len());
        let timing = Timing {
            entered: offer.entered,
            offered: offer.entered,
            started: started.unwrap_or(self.now),
            ended: self.now,
        };
        let note = note(mix(offer.id.0));
        let ended = Seen::Ended { id: offer.id, grant, tags: offer.tags, outcome, timing, cost, note };
        self.seat.observe(self.now, &ended);
    }

    fn leave(&mut self, nth: usize) {
        let Some(id) = self.held.keys().nth(nth % self.held.len().max(1)).copied() else { return };
        self.held.remove(&id);
        self.seat.observe(self.now, &Seen::Left(id));
    }

    fn poll(&mut self) {
        for _ in 0..MOST_EFFECTS {
            let next = self.seat.poll(self.now);
            match next.effect() {
                Some(effect) => self.done(effect),
                None => {
                    let late = matches!(next, Next::WakeAt(at) if at <= self.now);
                    assert!(!late, "a wake-up that was just served at {:?}: {next:?}", self.now);
                    return;
                }
            }
        }
        panic!("{}: effects for {:?} do not end", self.entry.name, self.now);
    }

    fn done(&mut self, effect: Effect) {
        self.transcript.push(format!("{:?} {effect:?}", self.now));
        match effect {
            Effect::Release(id, grant) => {
                let offer = self.held.remove(&id).unwrap_or_else(|| panic!("{id:?} was released, but not held"));
                self.waiting.push(Admitted { offer, grant, started: None });
            }
            Effect::Refuse(id, _) => {
                assert!(self.held.remove(&id).is_some(), "{id:?} was refused, but not held");
            }
            Effect::Quality(quality) => assert!((0.0..=1.0).contains(&quality), "quality {quality}"),
            Effect::Shed { level, .. } => assert!((0.0..=1.0).contains(&level), "level {level}"),
            Effect::Tell(report) => check_report(report),
            Effect::Resize(_) | Effect::Annotate(..) => {}
        }
    }

    fn check_invariants(&self) {
        let counts = self.seat.counts();
        let held = u64::from(self.seat.held());
        assert_eq!(
            counts.offered,
            counts.admitted + counts.refused + counts.sent_back + counts.left + held,
            "{}: {counts:?}",
            self.entry.name
        );
        assert_eq!(counts.admitted - counts.ended, u64::from(self.seat.in_flight()));
        assert_eq!(self.seat.in_flight() as usize, self.waiting.len() + self.running.len());
        assert_eq!(held as usize, self.held.len());
        let in_flight = self.waiting.len() + self.running.len();
        let limited = match self.entry.name {
            "concurrency" | "connections" => Some((in_flight, "max")),
            "queue-length" => Some((self.waiting.len(), "max")),
            _ => None,
        };
        if let Some((jobs, limit)) = limited {
            assert!(jobs as f64 <= number(self.factory, limit), "{}: {jobs} over {limit}", self.entry.name);
        }
        // Of a composition: that of its limit, whose queue has a limit of its own, and beyond it the shares, which each policy counts anew.
        let shares = match self.factory.setting("shares") {
            Some(Setting::Map(shares)) => shares.values().filter_map(Setting::number).collect(),
            _ => Vec::new(),
        };
        for part in self.factory.parts().iter().filter(|part| !part.keeps_queue()) {
            for limit in ["max", "limit_max"].into_iter().filter(|limit| part.setting(limit).is_some()) {
                let most = number(part, limit);
                let beyond: f64 = shares.iter().map(|share| (most * share).ceil().max(1.0)).sum();
                let beyond = beyond * f64::from(self.replaced + 1);
                assert!(in_flight as f64 <= most + beyond, "{}: {in_flight} over {limit}", self.entry.name);
            }
        }
        self.seat.gauges(&mut |gauge, value| check_gauge(self.entry, self.factory, gauge, value));
    }

    /// Follows wake-ups for a while, and ends all jobs.
    fn finish(mut self) -> Transcript {
        self.poll();
        let from = self.now;
        for _ in 0..50 {
            let Next::WakeAt(at) = self.seat.poll(self.now) else { break };
            self.now = at;
            self.poll();
        }
        if matches!(self.seat.poll(self.now), Next::WakeAt(_)) {
            assert!(self.now.since(from) >= Duration::from_millis(1), "{}: wake-ups spin", self.entry.name);
        }
        // Held jobs must be decided once all others have ended, or they would be held for ever.
        loop {
            self.end(0, Outcome::Served, None);
            // Hosts report free workers as long as jobs are held.
            if !self.held.is_empty() {
                self.seat.observe(self.now, &Seen::Room(1));
            }
            self.poll();
            self.check_invariants();
            if self.waiting.is_empty() && self.running.is_empty() {
                break;
            }
        }
        assert!(self.held.is_empty(), "{} holds {} jobs of an empty service", self.entry.name, self.held.len());
        self.transcript
    }
}

/// Some jobs and replies carry a note of another policy.
fn note(detail: u64) -> Option<Note> {
    detail.is_multiple_of(5).then(|| Note(mix(detail)))
}

fn build(entry: &'static Entry, factory: &Factory, site: &Site) -> Box<dyn Policy> {
    factory.policy(site).unwrap_or_else(|| panic!("{} is no policy", entry.name))
}

/// A parameter that is a number or a count.
fn number(factory: &Factory, name: &str) -> f64 {
    factory.setting(name).and_then(Setting::number).unwrap_or_else(|| panic!("{name} is no number of {factory:?}"))
}

fn check_gauge(entry: &Entry, factory: &Factory, gauge: Gauge, value: f64) {
    let name = entry.name;
    assert!(value.is_finite(), "{name}: {gauge:?} is {value}");
    match gauge.name {
        "quality" => assert!((0.0..=1.0).contains(&value), "{name}: quality {value}"),
        "admission_rate_per_s" if gauge.class.is_some() => {
            let (min, max) = (number(factory, "rate_min"), number(factory, "rate_max"));
            assert!((min..=max).contains(&value), "{name}: {gauge:?} {value} is not in {min} to {max}");
        }
        "limit" if factory.setting("limit_max").is_some() => {
            let max = number(factory, "limit_max");
            assert!((1.0..=max).contains(&value), "{name}: limit {value} is not in 1 to {max}");
        }
        "held" => {
            let queue = factory.parts().iter().find(|part| part.keeps_queue()).unwrap_or(factory);
            // HAProxy's queue has no bound unless it is given one.
            let most = ["max", "burst"].iter().find_map(|key| queue.setting(key)?.number());
            assert!(most.map_or(name == "maxconn-queue", |most| value <= most), "{name}: {value} are held");
        }
        "admission_rate_per_s" => assert!(value > 0.0, "{name}: rate {value}"),
        _ => assert!(value >= 0.0, "{name}: {gauge:?} is {value}"),
    }
}

/// Checks that reports of a machine are valid, even after invalid reports from others.
fn check_report(report: PeerReport) {
    match report {
        PeerReport::Pressure { level, .. } => assert!((0.0..=1.0).contains(&level), "{report:?}"),
        PeerReport::Usage { used, wanted, .. } => {
            assert!(used >= 0.0 && wanted >= used && wanted.is_finite(), "{report:?}");
        }
        PeerReport::Quota { limit, .. } => assert!(limit >= 0.0 && limit.is_finite(), "{report:?}"),
        PeerReport::Workload { service, interarrival, cpu, .. } => {
            let of_times =
                [service, interarrival].into_iter().all(|moments| moments.sum >= 0.0 && moments.sum.is_finite());
            assert!(of_times && (0.0..=1.0).contains(&cpu), "{report:?}");
        }
        PeerReport::Arrivals { .. }
        | PeerReport::Nucleus { .. }
        | PeerReport::Server { .. }
        | PeerReport::Target { .. }
        | PeerReport::Servers { .. } => {}
    }
}

fn check_machine(entry: &'static Entry, factory: &Factory, site: &Site, codes: &[u64]) -> Transcript {
    let machine = factory.machine(site).unwrap_or_else(|| panic!("{} is no machine", entry.name));
    let mut seat = MachineSeat::new(site.id, machine, 7, Box::new(()));
    let mut now = Timestamp::ZERO;
    let mut transcript = Vec::new();
    for code in codes {
        match Operation::decode(*code) {
            Operation::Pass(time) => now = now + time,
            Operation::Load(sample) => seat.observe(now, &Seen::Load(sample)),
            Operation::Peer(report) => seat.observe(now, &Seen::Peer(report)),
            _ => seat.observe(now, &Seen::Load(sample(mix(*code)))),
        }
        for effects in 0.. {
            assert!(effects < MOST_EFFECTS, "{}: effects for {now:?} do not end", entry.name);
            let Some(effect) = seat.poll(now).effect() else { break };
            match effect {
                Effect::Shed { level, .. } => assert!((0.0..=1.0).contains(&level), "level {level}"),
                Effect::Tell(report) => check_report(report),
                _ => {}
            }
            transcript.push(format!("{now:?} {effect:?}"));
        }
        seat.gauges(&mut |gauge, value| check_gauge(entry, factory, gauge, value));
    }
    transcript
}

/// Every combination of entry, preset and place, with default settings.
#[must_use]
pub fn every_build() -> Vec<(&'static Entry, Settings, Place)> {
    let mut all = Vec::new();
    for entry in crate::Catalogue::built_in().entries() {
        let presets = entry.presets.iter().map(|preset| super::settings([("preset", preset.name.into())]));
        for settings in std::iter::once(Settings::new()).chain(presets) {
            for place in entry.places {
                all.push((entry, settings.clone(), *place));
            }
        }
    }
    all
}
