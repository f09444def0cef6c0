//! The contract between hosts and policies.

use std::{collections::VecDeque, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    Gauge, Grant, JobId, Note, Observer, Offer, Outcome, Random, SiteId, Tags, Timestamp, Timing, UnixSeconds,
    moments::Moments,
};

mod reason;
mod sampling;

pub use reason::{OwnReason, Reason};
pub use sampling::{SampleKind, Sampling};

/// State that learns from facts and requests its own wake-ups: policies, pool sizing, batching, monitors.
pub trait Machine: fmt::Debug + Send {
    /// Receives one fact that the host observed.
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>);

    /// The earliest time at which [`Machine::wake`] has work. Hosts may be late, never early.
    fn next_wake(&self) -> Option<Timestamp> {
        None
    }

    /// Performs the work that is due. A late call performs it once, not once for each missed period.
    fn wake(&mut self, cx: &mut Ctx<'_>) {
        let _ = cx;
    }

    /// Visits settings and estimates, for plots, the control port, and handlers that degrade.
    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64));

    /// Load samples that this machine needs in addition to those of its catalogue entry: those of a composition's parts.
    fn samples(&self) -> &[Sampling] {
        &[]
    }
}

/// A machine that also decides on arrivals.
///
/// A policy that is no limit law, with a test by hand in a [`Seat`](crate::Seat), which is how hosts drive every policy:
/// it admits as many jobs as are served within its target at the pace of the last second (Little's law).
///
/// ```
/// use std::time::Duration;
/// use controllers::{
///     Ctx, Gauge, JobId, Machine, Offer, Outcome, Policy, Reason, Seat, Seen, SiteId, Tags, Timestamp, Verdict,
/// };
///
/// #[derive(Debug)]
/// struct Pace {
///     target: Duration,
///     limit: u32,
///     served: u32,
///     since: Timestamp,
/// }
///
/// impl Machine for Pace {
///     fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
///         let Seen::Ended { outcome: Outcome::Served, .. } = seen else { return };
///         self.served += 1;
///         let took = cx.now.since(self.since);
///         if took >= Duration::from_secs(1) {
///             let pace = f64::from(self.served) / took.as_secs_f64();
///             self.limit = ((pace * self.target.as_secs_f64()) as u32).max(1);
///             (self.served, self.since) = (0, cx.now);
///         }
///     }
///
///     fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
///         visit(Gauge::of("limit"), f64::from(self.limit));
///     }
/// }
///
/// impl Policy for Pace {
///     fn offer(&mut self, _: &Offer, cx: &mut Ctx<'_>) -> Verdict {
///         Verdict::admit_if(cx.in_flight < self.limit, Reason::Concurrency)
///     }
/// }
///
/// let policy = Pace { target: Duration::from_millis(100), limit: 2, served: 0, since: Timestamp::ZERO };
/// let mut seat = Seat::<()>::new(SiteId(1), Box::new(policy), 1, Box::new(()));
/// let job = |id| Offer { id: JobId(id), tags: Tags::default(), entered: Timestamp::ZERO, note: None };
/// let admits = [1, 2, 3].map(|id| matches!(seat.offer(Timestamp::ZERO, &job(id)), Verdict::Admit(_)));
/// assert_eq!(admits, [true, true, false], "two are inside");
/// ```
pub trait Policy: Machine {
    /// Decides on one arrival without blocking; [`Verdict::Hold`] makes the job wait. Must not panic: it runs under a
    /// lock.
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict;
}

/// Where a policy can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// At accept: decides on connections, of which only the address is known.
    Accept,
    /// At dispatch, one seat for the whole service; jobs end when they leave the service.
    Single,
    /// At the entry of each stage, one seat for each.
    Stage,
    /// On the sender's side.
    Client,
    /// In a proxy before a service.
    Proxy,
}

impl Place {
    /// Every place.
    pub const ALL: [Self; 5] = [Self::Accept, Self::Single, Self::Stage, Self::Client, Self::Proxy];

    /// The value of the key `scope` in files.
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

/// The site of a policy, as its constructor sees it. Hosts make it; a test of a policy makes it by hand, or with `testing::site` of
/// the feature `testing`:
///
/// ```
/// use std::time::Duration;
/// use controllers::{Objective, Place, Site, SiteId};
///
/// let objective = Objective { percentile: 90.0, response_time: Duration::from_millis(100) };
/// let site = Site { id: SiteId(1), name: "stage".to_owned(), place: Place::Single, objective };
/// ```
#[derive(Debug, Clone)]
pub struct Site {
    /// The site's identity within the host.
    pub id: SiteId,
    /// The site's name (`list messages`, `dispatch`, `accept`), the key of per-site parameters.
    pub name: String,
    /// The kind of site.
    pub place: Place,
    /// The objective of the run.
    pub objective: Objective,
}

/// The service-level objective: the percentile of response times stays under the bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// The percentile, 0 to 100.
    pub percentile: f64,
    /// The bound of the response time.
    pub response_time: Duration,
}

/// The context of a call to a machine.
pub struct Ctx<'a> {
    /// The current time, never earlier than in the previous call.
    pub now: Timestamp,
    /// The wall clock, for values that must agree between processes.
    pub wall: UnixSeconds,
    /// Jobs that were admitted here and have not ended, and jobs whose release the host has not polled yet.
    pub in_flight: u32,
    /// Jobs held here without a decision.
    pub held: u32,
    /// The only source of randomness.
    pub random: &'a mut dyn Random,
    /// The actions that the machine requests from the host.
    pub effects: &'a mut Effects,
    /// The receiver of events for plots. Dropping events changes no decision.
    pub observer: &'a mut dyn Observer,
    pub(crate) site: SiteId,
}

impl Ctx<'_> {
    /// Passes an event to the observer.
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
    /// Admit the job.
    Admit(Grant),
    /// Refuse the job.
    Refuse(Refusal),
    /// Hold the job: an [`Effect::Release`] or [`Effect::Refuse`] follows.
    Hold,
    /// Send the job back: the sender asks again after this time.
    ComeBack(Duration),
}

impl Verdict {
    /// Admits, or refuses for this reason.
    pub const fn admit_if(admits: bool, otherwise: Reason) -> Self {
        if admits { Self::Admit(Grant::new(0)) } else { Self::Refuse(Refusal::new(otherwise)) }
    }
}

/// The reason of a refusal, with advice for the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, for the error page and the ledger.
    pub reason: Reason,
    /// Advice on retrying.
    pub retry: RetryHint,
}

impl Refusal {
    /// A refusal without advice on retrying.
    #[must_use]
    pub const fn new(reason: Reason) -> Self {
        Self { reason, retry: RetryHint::Unsaid }
    }
}

/// Advice on retrying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryHint {
    /// No advice.
    Unsaid,
    /// Retry after this time at the earliest (the header `Retry-After`).
    After(Duration),
    /// Do not retry.
    Never,
}

/// What a host in virtual time knows beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foresight {
    /// The service behind the site, told once before the first offer.
    Service {
        /// Its servers.
        servers: u32,
        /// The number of jobs inside with which it serves best.
        at_once: u32,
    },
    /// A job that is offered next.
    Work {
        /// The job.
        id: JobId,
        /// The time that its work takes one server.
        time: Duration,
    },
}

/// One fact that a host observed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// The number of free workers. Queue disciplines release or refuse their held jobs on this fact.
    Room(u32),
    /// Work on a job started.
    Started {
        /// The job.
        id: JobId,
        /// The time that the job waited in the queue.
        waited: Duration,
    },
    /// A worker finished a batch of jobs. SEDA's controllers run on this fact.
    Batch {
        /// Jobs in the batch.
        jobs: u32,
        /// The time that the worker spent on the batch.
        busy: Duration,
    },
    /// An admitted job ended.
    Ended {
        /// The job.
        id: JobId,
        /// The grant of its admission.
        grant: Grant,
        /// Its attributes on arrival.
        tags: Tags,
        /// The outcome.
        outcome: Outcome,
        /// The times of its steps.
        timing: Timing,
        /// The CPU time of the job, where the host measures it.
        cost: Option<Duration>,
        /// The note of a reply: at a sender, of the reply to its request; at a service, of the last reply to the calls
        /// of the job.
        note: Option<Note>,
    },
    /// A held job left, for example because its sender disconnected.
    Left(JobId),
    /// What a host in virtual time knows beforehand. Only entries that are bounds are told
    /// ([`Bound::Costs`](crate::catalogue::Bound)).
    Foreseen(Foresight),
    /// A job that a replaced policy had admitted ended: a slot is free, and the end carries no information. Only the
    /// seat reports this.
    Freed(JobId),
    /// A load sample that the catalogue entry requests.
    Load(LoadSample),
    /// A report from another site.
    Peer(PeerReport),
}

/// A sample of load. The catalogue says which samples a machine needs, and their period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoadSample {
    /// CPU time that the process used, as a share of the CPU time available to it, 0 to 1.
    Cpu(f64),
    /// Memory in use, as a share of the memory limit, 0 to 1.
    Memory(f64),
    /// A stage's queue and pool.
    Stage {
        /// Jobs waiting in the queue.
        queue: u32,
        /// Workers in the pool.
        workers: u32,
        /// Idle workers.
        idle: u32,
        /// Jobs finished since the start of the stage.
        completed: u64,
    },
    /// Runnable tasks of this site: jobs in progress, and jobs that wait for a worker.
    Ready(u32),
}

/// A report from one site to others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeerReport {
    /// Site `from` is overloaded, or relieved of its overload.
    Pressure {
        /// The reporting site.
        from: SiteId,
        /// The pressure, 0 (relief) to 1.
        level: f64,
    },
    /// Usage of a customer at site `from`, for the machine that divides quotas: CPU seconds per second since the
    /// previous report.
    Usage {
        /// The reporting site.
        from: SiteId,
        /// The customer.
        customer: u32,
        /// Actual usage.
        used: f64,
        /// Estimated usage without refusals for the quota: at least `used`.
        wanted: f64,
    },
    /// A customer's new limit at a site with quotas.
    Quota {
        /// The site.
        to: SiteId,
        /// The customer.
        customer: u32,
        /// The limit, CPU seconds per second.
        limit: f64,
    },
    /// Offers of one class at a sentry since its previous report, for the control plane.
    Arrivals {
        /// The sentry's site.
        from: SiteId,
        /// The class by importance, 0 for the most important one.
        rank: u8,
        /// The number of offers.
        offered: u64,
    },
    /// What a sentry saw since its previous report, for the control plane.
    Workload {
        /// The sentry's site.
        from: SiteId,
        /// Refused requests.
        refused: u64,
        /// Inherent service times of ended requests.
        service: Moments,
        /// Times between offers.
        interarrival: Moments,
        /// The CPU utilization of the sentry, 0 to 1.
        cpu: f64,
    },
    /// What waits and what is in service at a server, from its nucleus, for the control plane.
    Nucleus {
        /// The server's site.
        from: SiteId,
        /// The mean time that a request waited for its service.
        #[serde(with = "crate::millis")]
        queueing: Duration,
        /// Requests in service.
        in_service: u32,
    },
    /// The same for the sentry of that server.
    Server {
        /// The sentry's site.
        to: SiteId,
        /// Which of its servers, from 0 to one less than their number.
        server: u32,
        /// The mean time that a request waited for its service.
        #[serde(with = "crate::millis")]
        queueing: Duration,
        /// Requests in service.
        in_service: u32,
    },
    /// The response time that a sentry aims at from now on, `R_sla`.
    Target {
        /// The sentry's site.
        to: SiteId,
        /// The response time.
        #[serde(with = "crate::millis")]
        response: Duration,
    },
    /// The number of servers behind a sentry from now on.
    Servers {
        /// The sentry's site.
        to: SiteId,
        /// The number.
        servers: u32,
    },
}

/// An action that a machine requests from its host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// Admit a held job.
    Release(JobId, Grant),
    /// Refuse a held job.
    Refuse(JobId, Refusal),
    /// Serve at this quality, 0 to 1, until the next such effect.
    Quality(f64),
    /// Report pressure to an upstream site (or, from a monitor, to the sites that it watches), which then sheds load.
    Shed {
        /// The site; `None`: every upstream (or watched) site.
        to: Option<SiteId>,
        /// The pressure, 0 (relief) to 1.
        level: f64,
    },
    /// Resize a pool or a batch.
    Resize(Resize),
    /// Put the note on the job's reply.
    Annotate(JobId, Note),
    /// Deliver a report to other sites: usage to the machine that divides quotas, a quota to the site that it names.
    Tell(PeerReport),
}

/// The object and its new size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resize {
    /// The number of workers of a stage's pool.
    Workers(u32),
    /// The largest batch that a worker takes.
    Batch(u32),
}

/// The queue of effects that the host has not polled yet.
#[derive(Debug, Default)]
pub struct Effects {
    waiting: VecDeque<Effect>,
    releases: u32,
    refusals: u32,
}

impl Effects {
    /// Appends an effect.
    pub fn push(&mut self, effect: Effect) {
        self.count(&effect, 1);
        self.waiting.push_back(effect);
    }

    /// Removes the first effect.
    pub fn pop(&mut self) -> Option<Effect> {
        let effect = self.waiting.pop_front()?;
        self.count(&effect, -1);
        Some(effect)
    }

    /// True if no effect waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Removes the note for this job's reply.
    pub(crate) fn take_note(&mut self, of: JobId) -> Option<Note> {
        let at = self.waiting.iter().position(|effect| matches!(effect, Effect::Annotate(id, _) if *id == of))?;
        match self.waiting.remove(at) {
            Some(Effect::Annotate(_, note)) => Some(note),
            _ => None,
        }
    }

    /// Held jobs whose release the host has not polled yet.
    #[must_use]
    pub(crate) fn releases(&self) -> u32 {
        self.releases
    }

    /// Held jobs with a decision that the host has not polled yet.
    #[must_use]
    pub(crate) fn decided(&self) -> u32 {
        self.releases + self.refusals
    }

    /// Drops the decision about a held job that has left.
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
