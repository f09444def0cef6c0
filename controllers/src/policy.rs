//! The contract between hosts and policies.

use std::{collections::VecDeque, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Gauge, Grant, JobId, Note, Observer, Offer, Outcome, Random, SiteId, Tags, Timestamp, Timing, UnixSeconds,
};

/// Something that learns from facts and asks for its own wake-ups: policies, pool sizing, batching, monitors.
pub trait Machine: fmt::Debug + Send {
    /// Takes in one fact that the host saw.
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>);

    /// The earliest time at which [`Machine::wake`] has work. Hosts may be late, never early.
    fn next_wake(&self) -> Option<Timestamp> {
        None
    }

    /// Does what is due. Called late, it does it once, not once for each period that was missed.
    fn wake(&mut self, cx: &mut Ctx<'_>) {
        let _ = cx;
    }

    /// Settings and estimates, for plots, the control port, and handlers that degrade.
    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64));
}

/// A machine that also decides on arrivals.
pub trait Policy: Machine {
    /// Decides on one arrival, at once. To wait is [`Verdict::Hold`]. Must not panic: it runs under a lock.
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict;
}

/// Where a policy may sit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// At accept: a connection, of which only the address is known.
    Accept,
    /// One seat for the whole service, at dispatch; jobs end when they leave the service.
    Single,
    /// A seat at the entry of each stage.
    Stage,
    /// On the sender's side.
    Client,
    /// In a proxy before a service.
    Proxy,
}

impl Place {
    /// Every place.
    pub const ALL: [Self; 5] = [Self::Accept, Self::Single, Self::Stage, Self::Client, Self::Proxy];

    /// The word for it as a `scope` in files.
    #[must_use]
    pub const fn scope(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Single => "single",
            Self::Stage => "per-stage",
            Self::Client => "client",
            Self::Proxy => "proxy",
        }
    }
}

/// Where a policy will sit: what its builder may know.
#[derive(Debug, Clone)]
pub struct Site {
    /// Its identity within the host.
    pub id: SiteId,
    /// Its name (`list messages`, `dispatch`, `accept`), by which per-site parameters are found.
    pub name: String,
    /// What kind of place it is.
    pub place: Place,
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

/// What a machine is told with each call.
pub struct Ctx<'a> {
    /// Now. Never earlier than in the call before.
    pub now: Timestamp,
    /// Wall clock, for what must agree between processes.
    pub wall: UnixSeconds,
    /// Jobs admitted here that have not ended, and those whose release the host has still to be told of.
    pub in_flight: u32,
    /// Jobs held here about which nothing has been decided.
    pub parked: u32,
    /// The only source of randomness.
    pub random: &'a mut dyn Random,
    /// What the host shall do.
    pub effects: &'a mut Effects,
    /// Where events for plots go. Dropping them changes no decision.
    pub observer: &'a mut dyn Observer,
    pub(crate) site: SiteId,
}

impl Ctx<'_> {
    /// Tells the observer.
    pub fn event(&mut self, event: &crate::PolicyEvent) {
        self.observer.event(self.now, self.site, event);
    }
}

impl fmt::Debug for Ctx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx").field("now", &self.now).field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

/// The answer to an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Come in.
    Admit(Grant),
    /// Go away.
    Refuse(Refusal),
    /// Wait here: an [`Effect::Release`] or [`Effect::Refuse`] follows.
    Hold,
    /// Go away and return after this long, when there will be room.
    ComeBack(Duration),
}

/// Why a job was refused, and what its sender should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, for the error page and the ledger.
    pub reason: Reason,
    /// Advice on trying again.
    pub retry: RetryHint,
}

impl Refusal {
    /// A refusal without advice on retrying.
    #[must_use]
    pub const fn new(reason: Reason) -> Self {
        Self { reason, retry: RetryHint::Unsaid }
    }
}

/// Why a job was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Over the admission rate.
    Rate,
    /// Over the limit of jobs in the system.
    Concurrency,
    /// The queue is full.
    QueueFull,
    /// It waited too long in the queue.
    Waited,
    /// Over the limit of connections.
    Connections,
    /// A later stage or a monitor asked for less.
    Pressure,
    /// A lower class gives way.
    Class,
    /// The sender holds it back itself: too much of what it sends is refused.
    Throttled,
    /// The sender holds a retry back: its budget is used up, or it was told not to retry.
    RetryBudget,
    /// The customer has used up its share.
    Quota,
    /// Too little CPU, memory or room for one of this criticality.
    Utilization,
    /// A service that it needs refused it.
    Callee,
    /// The service is shutting down.
    Draining,
}

impl Reason {
    /// Every reason, for tables made in advance.
    pub const ALL: [Self; 13] = [
        Self::Rate,
        Self::Concurrency,
        Self::QueueFull,
        Self::Waited,
        Self::Connections,
        Self::Pressure,
        Self::Class,
        Self::Throttled,
        Self::RetryBudget,
        Self::Quota,
        Self::Utilization,
        Self::Callee,
        Self::Draining,
    ];

    /// The name used in headers, files and pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Concurrency => "concurrency",
            Self::QueueFull => "queue-full",
            Self::Waited => "waited",
            Self::Connections => "connections",
            Self::Pressure => "pressure",
            Self::Class => "class",
            Self::Throttled => "throttled",
            Self::RetryBudget => "retry-budget",
            Self::Quota => "quota",
            Self::Utilization => "utilization",
            Self::Callee => "callee",
            Self::Draining => "draining",
        }
    }
}

/// Advice on trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryHint {
    /// None given.
    Unsaid,
    /// Not before this long (becomes `Retry-After`).
    After(Duration),
    /// Do not retry at all.
    Never,
}

/// One fact that a host saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// This many workers are free. Queue disciplines hold everything and release or refuse here.
    Room(u32),
    /// Work on a job began, after it waited this long.
    Started {
        /// Which job.
        id: JobId,
        /// How long it waited in the queue.
        waited: Duration,
    },
    /// A batch of jobs was finished, `busy` being the time its worker spent on it. SEDA's controllers run on these.
    Batch {
        /// Jobs in the batch.
        jobs: u32,
        /// Time spent on it.
        busy: Duration,
    },
    /// An admitted job ended.
    Ended {
        /// Which job.
        id: JobId,
        /// What it was admitted with.
        grant: Grant,
        /// What was known of it.
        tags: Tags,
        /// How it ended.
        outcome: Outcome,
        /// When things happened to it.
        timing: Timing,
        /// CPU time that was measured for it, if any was.
        cost: Option<Duration>,
        /// What a reply told: at a sender that of its request; at a service the last one to the calls on the job's behalf.
        note: Option<Note>,
    },
    /// A held job went away.
    Left(JobId),
    /// A job that an earlier policy had admitted ended: there is room, and nothing to learn. Only the seat says this.
    Freed(JobId),
    /// A load sample that the catalogue entry asks for.
    Load(LoadSample),
    /// A word from another site.
    Peer(PeerReport),
}

/// Samples of load. The catalogue says which a machine needs and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadSample {
    /// Share of the CPU time that this process may use which it used, 0 to 1.
    Cpu(f64),
    /// Share of the memory limit in use, 0 to 1.
    Memory(f64),
    /// A stage's queue and pool.
    Stage {
        /// Jobs waiting in the queue.
        queue: u32,
        /// Workers that exist.
        workers: u32,
        /// Workers that wait for work.
        idle: u32,
        /// Jobs finished since the stage began.
        completed: u64,
    },
    /// Tasks at this site that are running or ready to run now: jobs being worked on, and those that wait for a worker.
    Ready(u32),
}

/// What one site tells others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeerReport {
    /// `from` cannot keep up: send less. `level` 0 means relief, 1 the strongest.
    Pressure {
        /// Who says so.
        from: SiteId,
        /// 0 to 1.
        level: f64,
    },
    /// To whoever divides quotas: what a customer uses at `from`. CPU seconds per second, over the time since the last
    /// such report.
    Usage {
        /// Who says so.
        from: SiteId,
        /// Whose usage.
        customer: u32,
        /// What was used.
        used: f64,
        /// What would have been used if no request had been refused for its quota: `used` or more.
        wanted: f64,
    },
    /// To a site with quotas: from now on a customer may use this much there.
    Quota {
        /// Whom it is for.
        to: SiteId,
        /// Whose limit.
        customer: u32,
        /// CPU seconds per second.
        limit: f64,
    },
}

/// What a machine wants its host to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// Let a held job in.
    Release(JobId, Grant),
    /// Turn a held job away.
    Refuse(JobId, Refusal),
    /// Serve at this quality from now on, 0 to 1.
    Quality(f64),
    /// Tell an earlier site (or, for a monitor, the sites it watches) how hard to shed: 0 relief, 1 the most.
    Shed {
        /// Whom to tell; `None`: every site upstream (or watched).
        to: Option<SiteId>,
        /// 0 to 1.
        level: f64,
    },
    /// Change the size of something.
    Resize(Resize),
    /// Put this on the job's reply.
    Annotate(JobId, Note),
    /// Take this to other sites: a usage report to whoever divides quotas, a quota to the site that it names.
    Tell(PeerReport),
}

/// What to resize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resize {
    /// Workers of a stage's pool.
    Workers(u32),
    /// Largest batch that a worker takes.
    Batch(u32),
}

/// Effects in order, waiting for the host.
#[derive(Debug, Default)]
pub struct Effects {
    waiting: VecDeque<Effect>,
    releases: u32,
    refusals: u32,
}

impl Effects {
    /// Adds one at the end.
    pub fn push(&mut self, effect: Effect) {
        self.count(&effect, 1);
        self.waiting.push_back(effect);
    }

    /// Takes the first.
    pub fn pop(&mut self) -> Option<Effect> {
        let effect = self.waiting.pop_front()?;
        self.count(&effect, -1);
        Some(effect)
    }

    /// True if there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes what is to be put on this job's reply.
    pub(crate) fn take_note(&mut self, of: JobId) -> Option<Note> {
        let at = self.waiting.iter().position(|effect| matches!(effect, Effect::Annotate(id, _) if *id == of))?;
        match self.waiting.remove(at) {
            Some(Effect::Annotate(_, note)) => Some(note),
            _ => None,
        }
    }

    /// Held jobs whose release the host has still to be told of.
    #[must_use]
    pub(crate) fn releases(&self) -> u32 {
        self.releases
    }

    /// Held jobs that have been decided about.
    #[must_use]
    pub(crate) fn decided(&self) -> u32 {
        self.releases + self.refusals
    }

    /// Drops what was decided about a held job that is gone.
    pub(crate) fn forget(&mut self, gone: JobId) {
        if self.decided() == 0 {
            return;
        }
        let all = std::mem::take(self);
        for effect in all.waiting {
            match effect {
                Effect::Release(id, _) | Effect::Refuse(id, _) if id == gone => {}
                other => self.push(other),
            }
        }
    }

    fn count(&mut self, effect: &Effect, by: i32) {
        let counter = match effect {
            Effect::Release(..) => &mut self.releases,
            Effect::Refuse(..) => &mut self.refusals,
            _ => return,
        };
        *counter = counter.saturating_add_signed(by);
    }
}
