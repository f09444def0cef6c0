//! A policy that knows what each request will cost: the plant tells it what other policies must estimate.
//!
//! It is not in the catalogue, and no live host can have it: only a plant knows the draws of offered requests. It does
//! not know future arrivals, so in an open loop it is not the bound; that is computed offline. It holds as many jobs as
//! it can still finish within the objective. If that is too much, it gives up the longest of the jobs that are due
//! before the first one that would be late (Moore and Hodgson: for one server and the present jobs, no choice finishes
//! more in time), and admits the rest in the order of due times, as many at once as serve best. Refusing also costs the
//! service time, and requests are older than the plant knows: a share of the objective is kept as a margin.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use controllers::{
    Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Offer, Place, Policy, Reason, Refusal, Seen, Settings, Timestamp,
    Verdict,
    catalogue::{EntryKind, Source},
    site::InstalledPolicy,
};
use installed::catalogue;

/// The share of the objective that is used for planning.
const PLANNED: f64 = 0.9;

/// The costs of requests that were read, until the oracle has been asked about them.
#[derive(Debug, Clone, Default)]
pub(super) struct Foresight(Arc<Mutex<BTreeMap<JobId, Duration>>>);

impl Foresight {
    pub(super) fn tell(&self, id: JobId, work: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, work);
    }

    fn take(&self, id: JobId) -> Option<Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id)
    }
}

/// Its entry in ledgers and gauges. Not in the catalogue: only a plant can make one.
static ENTRY: Entry = Entry {
    name: "oracle",
    about: "knows the cost of every request that is offered, and finishes as many as it can in time",
    caution: "exists in virtual time alone",
    source: Source {
        title: "Moore, An n job, one machine sequencing algorithm for minimizing the number of late jobs, 1968",
        place: "Management Science 15(1), with Hodgson's version of the rule",
    },
    deviations: &[],
    places: &[Place::Single],
    presets: &[],
    samples: &[],
    roles: &[],
    // Without foresight no decision is possible; the plant installs its own instance.
    kind: EntryKind::Policy(|reader| {
        reader.make(|(): &(), site| {
            let none = catalogue().find("none").and_then(|none| none.check(&Settings::new()).ok()?.policy(site));
            none.unwrap_or_else(|| unreachable!("the catalogue has the policy none"))
        })
    }),
};

/// The oracle for a plant with this number of servers, which serves best with this number of jobs at once, and this
/// objective.
pub(super) fn chosen(foresight: &Foresight, servers: u32, at_once: u32, objective: Duration) -> InstalledPolicy {
    let oracle = Oracle {
        foresight: foresight.clone(),
        servers: servers.max(1),
        at_once: at_once.max(1),
        patience: objective.mul_f64(PLANNED),
        held: BTreeMap::new(),
        due: BTreeMap::new(),
        busy: BTreeSet::new(),
        owed: Duration::ZERO,
        owed_at: Timestamp::ZERO,
    };
    InstalledPolicy { entry: &ENTRY, policy: Box::new(oracle) }
}

#[derive(Debug)]
struct Oracle {
    foresight: Foresight,
    servers: u32,
    at_once: u32,
    patience: Duration,
    /// Held jobs by due time, with their work.
    held: BTreeMap<(Timestamp, JobId), Duration>,
    due: BTreeMap<JobId, Timestamp>,
    /// Admitted jobs.
    busy: BTreeSet<JobId>,
    /// The remaining work of admitted jobs at that time, if nothing delays the servers.
    owed: Duration,
    owed_at: Timestamp,
}

impl Oracle {
    /// The remaining work of admitted jobs.
    fn owed(&mut self, now: Timestamp) -> Duration {
        let done = now.since(self.owed_at) * self.servers;
        self.owed = if self.busy.is_empty() { Duration::ZERO } else { self.owed.saturating_sub(done) };
        self.owed_at = now;
        self.owed
    }

    /// Gives up jobs that cannot be finished in time.
    fn choose(&mut self, cx: &mut Ctx<'_>) {
        let mut free_at = cx.now + self.owed(cx.now) / self.servers;
        let mut kept = BTreeSet::new();
        let mut given_up = Vec::new();
        for (&(due, id), &work) in &self.held {
            kept.insert((work, id));
            free_at = free_at + work / self.servers;
            // A single job takes its whole work on one server, however many there are.
            let alone = cx.now + work > due;
            if alone {
                kept.remove(&(work, id));
            }
            let longest = if alone {
                Some((work, id))
            } else if free_at > due {
                kept.pop_last()
            } else {
                None
            };
            if let Some((work, id)) = longest {
                free_at = Timestamp::ZERO + free_at.since(Timestamp::ZERO).saturating_sub(work / self.servers);
                given_up.push(id);
            }
        }
        for id in given_up {
            self.forget(id);
            cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::Waited)));
        }
    }

    fn release(&mut self, free: u32, cx: &mut Ctx<'_>) {
        let busy = u32::try_from(self.busy.len()).unwrap_or(u32::MAX);
        for _ in 0..free.min(self.at_once.saturating_sub(busy)) {
            let Some(((_, id), work)) = self.held.pop_first() else { return };
            self.due.remove(&id);
            self.owed = self.owed(cx.now) + work;
            self.busy.insert(id);
            cx.effects.push(Effect::Release(id, Grant::default()));
        }
    }

    fn forget(&mut self, id: JobId) {
        if let Some(due) = self.due.remove(&id) {
            self.held.remove(&(due, id));
        }
    }
}

impl Machine for Oracle {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Room(free) => {
                self.choose(cx);
                self.release(*free, cx);
            }
            Seen::Left(id) => self.forget(*id),
            Seen::Ended { id, .. } | Seen::Freed(id) => {
                self.busy.remove(id);
            }
            _ => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("held"), self.held.len() as f64);
    }
}

impl Policy for Oracle {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        // A job whose cost it does not know (held before it began) counts as without cost.
        let work = self.foresight.take(job.id).unwrap_or_default();
        let due = job.entered + self.patience;
        if cx.now + work > due {
            return Verdict::Refuse(Refusal::new(Reason::Waited));
        }
        self.held.insert((due, job.id), work);
        self.due.insert(job.id, due);
        Verdict::Hold
    }
}
