//! A policy that knows what each request will cost: its host tells it what other policies must estimate.
//!
//! No live host can have it: only a plant knows the draws of offered requests. It does not know future arrivals, so in
//! an open loop it is not the bound; that is computed offline. It holds as many jobs as it can still finish within the
//! objective. If that is too much, it gives up the longest of the jobs that are due before the first one that would be
//! late (Moore and Hodgson: for one server and the present jobs, no choice finishes more in time), and admits the rest
//! in the order of due times, as many at once as serve best. Refusing also costs the service time, and requests are
//! older than the plant knows: a share of the objective is kept as a margin.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    Ctx, Effect, Foresight, Gauge, Grant, JobId, Machine, Offer, Place, Policy, Reason, Refusal, Seen, Site, Timestamp,
    Verdict,
    entry::{Bound, CostBound, Entry, EntryKind, Source},
};

/// The share of the objective that is used for planning.
const PLANNED: f64 = 0.9;

/// Knows what each request will cost.
pub const ORACLE: Entry = Entry {
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
    kind: EntryKind::Bound(Bound::Costs(CostBound {
        make: |reader| reader.make(|(): &(), site| Box::new(Oracle::of(site))),
        knows_arrivals: true,
    })),
};

#[derive(Debug)]
struct Oracle {
    /// The costs of requests that have not been offered yet.
    foreseen: BTreeMap<JobId, Duration>,
    /// The servers of the service.
    servers: u32,
    /// The number of jobs inside with which the service serves best.
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
    fn of(site: &Site) -> Self {
        Self {
            foreseen: BTreeMap::new(),
            servers: 1,
            at_once: 1,
            patience: site.objective.response_time.mul_f64(PLANNED),
            held: BTreeMap::new(),
            due: BTreeMap::new(),
            busy: BTreeSet::new(),
            owed: Duration::ZERO,
            owed_at: Timestamp::ZERO,
        }
    }

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
            Seen::Foreseen(Foresight::Service { servers, at_once }) => {
                (self.servers, self.at_once) = ((*servers).max(1), (*at_once).max(1));
            }
            Seen::Foreseen(Foresight::Work { id, time }) => _ = self.foreseen.insert(*id, *time),
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
        let work = self.foreseen.remove(&job.id).unwrap_or_default();
        let due = job.entered + self.patience;
        if cx.now + work > due {
            return Verdict::Refuse(Refusal::new(Reason::Waited));
        }
        self.held.insert((due, job.id), work);
        self.due.insert(job.id, due);
        Verdict::Hold
    }
}
