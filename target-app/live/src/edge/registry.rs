//! All open connections: which are overdue, and which make room.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use controllers::Timestamp;
use spec::EdgeSpec;
use tokio::{sync::Notify, task::AbortHandle};

use super::{
    conn::{Conn, ConnPhase},
    source::{ClientSource, SourceCounts},
};

/// The open connections, each with one place or more ([`Membership::takes`]).
#[derive(Debug)]
pub struct Registry {
    /// The number of places.
    cap: usize,
    open: Mutex<Open>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    slots: BTreeMap<u64, Slot>,
    /// The places of all but those that were chosen to make room, and are about to end.
    taken: usize,
    /// The number of connections with such places by source.
    sources: SourceCounts,
}

impl Open {
    /// Tells so many connections to end, those with the highest scores, and returns their number.
    fn end_highest(&mut self, scored: &mut [(f64, u64)], wanted: usize) -> usize {
        let wanted = wanted.min(scored.len());
        if wanted == 0 {
            return 0;
        }
        scored.select_nth_unstable_by(wanted - 1, |(one, _), (other, _)| other.total_cmp(one));
        let mut ended = 0;
        for (_, id) in &scored[..wanted] {
            let Some(slot) = self.slots.get_mut(id).filter(|slot| slot.conn.end_if_evictable()) else { continue };
            slot.task.abort();
            ended += 1;
            self.taken -= std::mem::take(&mut slot.places);
            self.sources.remove(ClientSource::of(slot.conn.peer));
        }
        ended
    }
}

/// The score from which a client counts as slow: the time for which one that moves nothing is waited for, seconds.
const A_WHILE_S: f64 = 0.25;
/// The divisor of the number of connections that make room at a time.
const AT_ONCE: usize = 64;

#[derive(Debug)]
struct Slot {
    conn: Arc<Conn>,
    task: AbortHandle,
    /// 0: it was chosen to make room.
    places: usize,
}

impl Registry {
    /// No connections, and so many places.
    pub(crate) fn new(cap: usize) -> Arc<Self> {
        Arc::new(Self { cap, open: Mutex::default(), changed: Notify::default() })
    }

    /// The number of places.
    pub(crate) fn cap(&self) -> usize {
        self.cap
    }

    /// True if there is a place for one more.
    pub(crate) fn has_room(&self) -> bool {
        self.lock().taken < self.cap
    }

    /// The number of open connections, with those whose tasks have been told to end and have not yet.
    pub(crate) fn all(&self) -> usize {
        self.lock().slots.len()
    }

    /// The number of connections from this source, without those chosen to make room.
    pub(crate) fn len_from(&self, source: ClientSource) -> usize {
        self.lock().sources.of(source)
    }

    /// The number of connections in these phases.
    pub(crate) fn in_phase(&self, phases: &[ConnPhase]) -> u32 {
        let open = self.lock();
        let count = open.slots.values().filter(|slot| phases.contains(&slot.conn.phase())).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Adds a connection. `start` starts its task, with the guard that removes the connection again.
    pub fn add(self: &Arc<Self>, conn: Arc<Conn>, start: impl FnOnce(Membership) -> AbortHandle) {
        let mut open = self.lock();
        let id = open.next;
        open.next += 1;
        let task = start(Membership { registry: Arc::clone(self), id });
        open.sources.add(ClientSource::of(conn.peer));
        open.taken += 1;
        open.slots.insert(id, Slot { conn, task, places: 1 });
    }

    /// Closes the connections with the highest scores ([`Conn::eviction_score`]), those of one source if one is named,
    /// and returns their number. Several at once: a search through all connections for each new one would be work that
    /// a flood of connections causes.
    pub(crate) fn evict(&self, now: Timestamp, of: Option<ClientSource>) -> usize {
        let mut guard = self.lock();
        let open = &mut *guard;
        let is_among = |slot: &Slot| of.is_none_or(|source| source == ClientSource::of(slot.conn.peer));
        let among = open.slots.iter().filter(|(_, slot)| slot.places > 0 && is_among(slot));
        let mut scored: Vec<(f64, u64)> =
            among.filter_map(|(&id, slot)| Some((slot.conn.eviction_score(now)?, id))).collect();
        let wanted = (scored.len() / AT_ONCE).max(1);
        open.end_highest(&mut scored, wanted)
    }

    /// Closes the slowest of those that have kept the service waiting in a request for a while, but for so many, and returns their
    /// number.
    pub(crate) fn end_slowest_but(&self, most: usize, now: Timestamp) -> usize {
        let mut guard = self.lock();
        let open = &mut *guard;
        let slow = open.slots.iter().filter(|(_, slot)| slot.conn.is_slow());
        let scored = slow.filter_map(|(&id, slot)| Some((slot.conn.eviction_score(now)?, id)));
        let mut scored: Vec<(f64, u64)> = scored.filter(|(score, _)| *score >= A_WHILE_S).collect();
        let wanted = scored.len().saturating_sub(most);
        open.end_highest(&mut scored, wanted)
    }

    /// Closes overdue connections.
    pub(crate) fn reap(&self, now: Timestamp, limits: &EdgeSpec) {
        self.close_if(|conn| conn.end_if_overdue(now, limits));
    }

    /// A mark between the connections so far and those that are added from now on.
    pub(crate) fn mark(&self) -> u64 {
        self.lock().next
    }

    /// The number of connections before a mark that have not ended. Those of them between requests are closed, and, if `new`,
    /// those before their first one.
    pub(crate) fn close_idle_before(&self, mark: u64, new: bool) -> usize {
        let open = self.lock();
        open.slots.range(..mark).filter(|(_, slot)| slot.conn.end_if_idle(new)).for_each(|(_, slot)| slot.task.abort());
        open.slots.range(..mark).count()
    }

    /// Closes all connections.
    pub fn close_all(&self) {
        self.close_if(|_| true);
    }

    /// Waits until a connection has closed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn close_if(&self, doomed: impl Fn(&Conn) -> bool) {
        self.lock().slots.values().filter(|slot| doomed(&slot.conn)).for_each(|slot| slot.task.abort());
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by a connection's task: whichever way that ends, the connection is removed from the list.
#[derive(Debug)]
pub struct Membership {
    registry: Arc<Registry>,
    id: u64,
}

impl Membership {
    /// Gives the connection so many places, for which others may have to make room. Returns the number of those; `None` if there is too
    /// little and nobody could. `places` is asked in turn: the last answer counts.
    pub fn takes(&self, places: impl FnOnce() -> usize, now: Timestamp) -> Option<usize> {
        let mut guard = self.registry.lock();
        let open = &mut *guard;
        let Some(slot) = open.slots.get_mut(&self.id).filter(|slot| slot.places > 0) else { return Some(0) };
        let before = std::mem::replace(&mut slot.places, places());
        open.taken = open.taken - before + slot.places;
        let has_enough = open.taken <= self.registry.cap;
        drop(guard);
        if has_enough { Some(0) } else { Some(self.registry.evict(now, None)).filter(|&ended| ended > 0) }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut guard = self.registry.lock();
        let open = &mut *guard;
        let slot = open.slots.remove(&self.id);
        if let Some(slot) = slot.as_ref().filter(|slot| slot.places > 0) {
            open.taken -= slot.places;
            open.sources.remove(ClientSource::of(slot.conn.peer));
        }
        drop(guard);
        drop(slot);
        self.registry.changed.notify_one();
    }
}
