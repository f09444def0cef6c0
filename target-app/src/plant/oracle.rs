//! A policy that knows what each request will cost: what a policy would have to guess, it is told by the plant.
//!
//! It is no policy of the catalogue, and no live host can have it: only a plant knows the draws of what is offered. Of what is
//! to come it knows nothing, so that in an open loop it is not the bound; that is computed offline. It holds what it can
//! still finish within the objective; whenever that is too much, it gives up the longest job of those that are due before the
//! first one that would be late (Moore and Hodgson: for one server and what is there now, no choice finishes more in time), and
//! lets the rest in by due time, as many at once as serve best. Refusing costs the service something too, and
//! requests are older than the plant knows: a share of the objective is kept as a margin.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use controllers::{
    Catalogue, Ctx, Effect, Entry, Gauge, Grant, JobId, Machine, Offer, Place, Policy, Reason, Refusal, Seen, Settings,
    Timestamp, Verdict,
    catalogue::{EntryKind, Source},
    site::InstalledPolicy,
};

/// The share of the objective that is planned with.
const PLANNED: f64 = 0.9;

/// What requests that were read will cost, until the oracle has been asked about them.
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

/// Its line in books and gauges. Not in the catalogue: nobody but a plant can make one.
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
    // Without foresight there is nothing that could decide; the plant puts its own in place.
    kind: EntryKind::Policy(|reader| {
        reader.make(|(): &(), site| {
            let none = Catalogue::find("none").and_then(|none| none.check(&Settings::new()).ok()?.policy(site));
            none.unwrap_or_else(|| unreachable!("the catalogue has the policy none"))
        })
    }),
};

/// The oracle for a plant with so many servers, which does best with so many jobs at once, and this objective.
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
    /// By due time, with the work.
    held: BTreeMap<(Timestamp, JobId), Duration>,
    due: BTreeMap<JobId, Timestamp>,
    /// Those let in.
    busy: BTreeSet<JobId>,
    /// The work that was still to be done on them then, if nothing holds the servers up.
    owed: Duration,
    owed_at: Timestamp,
}

impl Oracle {
    /// The work that is still to be done on those let in.
    fn owed(&mut self, now: Timestamp) -> Duration {
        let done = now.since(self.owed_at) * self.servers;
        self.owed = if self.busy.is_empty() { Duration::ZERO } else { self.owed.saturating_sub(done) };
        self.owed_at = now;
        self.owed
    }

    /// Gives up what cannot be finished in time.
    fn choose(&mut self, cx: &mut Ctx<'_>) {
        let mut free_at = cx.now + self.owed(cx.now) / self.servers;
        let mut kept = BTreeSet::new();
        let mut given_up = Vec::new();
        for (&(due, id), &work) in &self.held {
            kept.insert((work, id));
            free_at = free_at + work / self.servers;
            // Alone on one server it takes its whole work, however many there are.
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
        // Of a job that it was told nothing of (held before it began) it thinks that it costs nothing.
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
